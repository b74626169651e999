//! `POST /api/agent`: an agent by its name, pieces or the whole.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use helve_agent::{Follower, Frame, StartInput, StartRequest};
use helve_store::StoreError;
use helve_types::{CallId, Fact, Live, PartId, PartKind, RunState, ToolChoice, Usage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::access::Principal;
use crate::app::App;
use crate::input::Json;
use crate::problem::Problem;
use crate::sse::{DONE, Render, data_of};
use crate::start::{self, parse_conversation};

const AGENT_HEADER: &str = "x-agent-id";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentBody {
    message: String,
    conversation_id: Option<String>,
    user_id: Option<String>,
    model: Option<String>,
    /// `false` for one answer in one piece.
    #[serde(default = "yes")]
    stream: bool,
    /// `false` withholds all tools.
    #[serde(default = "yes")]
    tools: bool,
}

fn yes() -> bool {
    true
}

/// The whole answer.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Whole {
    content: String,
    thinking: String,
    run: String,
    conversation: Option<String>,
    state: RunState,
    usage: Usage,
    tools: Vec<WholeTool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WholeTool {
    #[serde(skip)]
    call: Option<CallId>,
    name: String,
    /// `requested`, `done`, `failed` or `unknown`.
    state: &'static str,
}

pub(crate) async fn agent(
    State(app): State<App>,
    principal: Principal,
    headers: HeaderMap,
    body: Json<AgentBody>,
) -> Result<Response, Problem> {
    let key = start::idempotency_key(&headers, "POST /api/agent", &body.bytes, app.runtime.world())?;
    let AgentBody { message, conversation_id, user_id, model, stream, tools } = body.value;
    let user = principal.acting_for(user_id.as_deref())?;
    let conversation = conversation_id.as_deref().map(parse_conversation).transpose()?;
    let agent = headers.get(AGENT_HEADER).map(|name| String::from_utf8_lossy(name.as_bytes()).into_owned());
    let request = StartRequest {
        agent,
        model,
        tool_choice: if tools { ToolChoice::Auto } else { ToolChoice::None },
        stream,
        key,
        ..StartRequest::new(user, StartInput::Message { conversation, text: message })
    };
    let started = start::start(&app, request).await?;
    if stream {
        return Ok(start::stream(&app, principal, started, PieceRender::default()));
    }
    let whole = Whole {
        content: String::new(),
        thinking: String::new(),
        run: started.run.to_string(),
        conversation: started.conversation.map(|id| id.to_string()),
        state: RunState::Running,
        usage: Usage::default(),
        tools: vec![],
        error: None,
    };
    let mut response = axum::Json(gather(whole, started.follower).await?).into_response();
    start::mark_replayed(&mut response, started.replayed);
    Ok(response)
}

/// Follows the run until it is over or waits for somebody.
async fn gather(mut whole: Whole, mut follower: Follower) -> Result<Whole, Problem> {
    let add = |all: &mut String, more: &str| {
        if !all.is_empty() {
            all.push_str("\n\n");
        }
        all.push_str(more);
    };
    while let Some(frame) = follower.next().await {
        let Frame::Event(recorded) = frame? else { continue };
        match &recorded.event.fact {
            Fact::TextFinished { text, .. } => add(&mut whole.content, text),
            Fact::ReasoningFinished { text, .. } => add(&mut whole.thinking, text),
            Fact::StepFinished { usage, .. } => whole.usage = whole.usage.plus(*usage),
            Fact::ToolRequested { call, tool, .. } => whole.tools.push(WholeTool {
                call: Some(call.clone()),
                name: tool.clone(),
                state: "requested",
            }),
            Fact::ToolFinished { call, .. } => whole.settle(call, "done"),
            Fact::ToolFailed { call, .. } | Fact::ToolRefused { call, .. } => whole.settle(call, "failed"),
            Fact::ToolUnknown { call, .. } => whole.settle(call, "unknown"),
            Fact::RunWaiting { state } => {
                whole.state = *state;
                break;
            }
            Fact::RunFinished { .. } => whole.state = RunState::Completed,
            Fact::RunCancelled(_) => whole.state = RunState::Cancelled,
            Fact::RunFailed { message, .. } => {
                whole.state = RunState::Failed;
                whole.error = Some(message.clone());
            }
            _ => {}
        }
    }
    Ok(whole)
}

impl Whole {
    fn settle(&mut self, call: &CallId, state: &'static str) {
        if let Some(tool) = self.tools.iter_mut().find(|tool| tool.call.as_ref() == Some(call)) {
            tool.state = state;
        }
    }
}

/// Pieces of the answer as they come.
#[derive(Default)]
struct PieceRender {
    /// The text part in progress and how much of it was sent.
    open: Option<(PartId, usize)>,
    sent_any: bool,
}

impl PieceRender {
    fn piece(&mut self, text: &str, out: &mut Vec<u8>) {
        if !text.is_empty() {
            self.sent_any = true;
            data_of(out, &json!({"content": text}));
        }
    }

    fn begin_part(&mut self, part: &PartId, out: &mut Vec<u8>) {
        if self.sent_any {
            self.piece("\n\n", out);
        }
        self.open = Some((part.clone(), 0));
    }

    /// Sends what is new of a part whose whole text is known.
    fn up_to(&mut self, part: &PartId, text: &str, out: &mut Vec<u8>) {
        if self.open.as_ref().is_none_or(|(open, _)| open != part) {
            self.begin_part(part, out);
        }
        let sent = self.open.as_ref().map_or(0, |(_, sent)| *sent);
        let new = text.get(sent..).unwrap_or_default().to_owned();
        self.piece(&new, out);
        self.open = Some((part.clone(), text.len()));
    }
}

impl Render for PieceRender {
    fn frame(&mut self, frame: &Frame, out: &mut Vec<u8>) {
        match frame {
            Frame::Live(Live::PartStarted { part, kind: PartKind::Text, text, .. }) => {
                self.up_to(part, text, out)
            }
            Frame::Live(Live::PartDelta { part, text }) => {
                if let Some((open, sent)) = &mut self.open
                    && open == part
                {
                    *sent += text.len();
                    self.piece(text, out);
                }
            }
            Frame::Live(_) => {}
            Frame::Event(recorded) => match &recorded.event.fact {
                Fact::TextFinished { part, text, .. } => {
                    self.up_to(part, text, out);
                    self.open = None;
                }
                // What was sent cannot be taken back, but it can be said to be void.
                Fact::StepRestarted { .. } if self.open.take().is_some() => {
                    data_of(out, &json!({"restart": true}));
                    self.sent_any = false;
                }
                Fact::RunFailed { code, message } => {
                    data_of(out, &json!({"error": {"code": code, "message": message}}));
                }
                Fact::RunCancelled(_) => {
                    let message = "the run was stopped";
                    data_of(out, &json!({"error": {"code": "cancelled", "message": message}}));
                }
                _ => {}
            },
        }
    }

    fn failed(&mut self, error: StoreError, out: &mut Vec<u8>) {
        data_of(out, &json!({"error": Problem::from(error).in_stream()}));
        out.extend_from_slice(DONE);
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(DONE);
    }
}
