//! `POST /api/agent`: an agent by its name, pieces or the whole.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use futures_util::StreamExt;
use helve_runtime::{Frame, StartInput, StartRequest, Started};
use helve_store::{Scope, StoreError};
use helve_types::{CallId, CallState, Ending, Fact, Live, PartKind, Question, RunState, Spent, ToolChoice};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::access::{Principal, Right};
use crate::app::App;
use crate::input::ForeignJson;
use crate::problem::Problem;
use crate::protocols::accumulated_text::AccumulatedText;
use crate::protocols::call_words::{answer_word, stream_word};
use crate::protocols::client_tools::tool_choice;
use crate::protocols::request_params::{RequestParams, ToolSwitches, disabled_tools, system_prompt};
use crate::protocols::tool_failure::ToolFailure;
use crate::protocols::tool_progress::ToolProgress;
use crate::routes::{Operation, Routes};
use crate::sse::{DONE, Render, Subscriber, data_of, ending_sentence, run_question, server_stopping};
use crate::start_run::{self, RunHeaders, parse_conversation};

pub(crate) fn routes(routes: Routes) -> Routes {
    routes.add(
        Operation::post("/api/agent", Right::Chat, "Ask an agent; pieces of its answer, or the whole")
            .header("X-Agent-ID", "The agent; the default one if there is none.")
            .starts_run()
            .for_user()
            .example(json!({"message": "What is 12.5% of 3480?", "userId": "mei", "stream": false}))
            .gives::<AgentAnswer>()
            .gives_events(),
        ask_agent,
    )
}

const AGENT_HEADER: &str = "x-agent-id";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentBody {
    message: String,
    conversation_id: Option<String>,
    user_id: Option<String>,
    /// The name of a configured model, or `name:variant`.
    model: Option<String>,
    /// A variant of the model.
    variant: Option<String>,
    /// Over those of the model, the agent and the variant.
    #[serde(default)]
    params: RequestParams,
    /// `false` for one answer in one piece.
    #[serde(default = "yes")]
    stream: bool,
    /// `false` withholds all tools. Or names of tools, each with `false` if this run does without it.
    #[serde(default)]
    tools: AgentTools,
    /// Added to the agent's system prompt.
    system: Option<String>,
    /// Whether the web is searched for the message before the model is first asked; as the agent or else the model has it if
    /// not said.
    #[serde(alias = "pre_search")]
    #[schemars(extend("x-aliases" = ["pre_search"]))]
    pre_search: Option<bool>,
    /// `none`, `auto`, `required`, or `{"type": "function", "function": {"name"}}`.
    #[serde(rename = "tool_choice", alias = "toolChoice")]
    #[schemars(extend("x-aliases" = ["toolChoice"]))]
    tool_choice: Option<Value>,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum AgentTools {
    All(bool),
    ToolSwitches(ToolSwitches),
}

impl Default for AgentTools {
    fn default() -> Self {
        Self::All(true)
    }
}

/// The whole answer.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AgentAnswer {
    content: String,
    thinking: String,
    run: String,
    conversation: Option<String>,
    state: RunState,
    #[serde(flatten)]
    spent: Spent,
    tools: Vec<AgentToolView>,
    /// Why a completed run ended: with `step_limit` the steps ran out and the last answer was given without tools;
    /// with `without_call` a call was required and the model answered in words; with `repeating` the run went round in
    /// circles and a person ended it; with `refused` a person refused a call and the agent has `end_when_refused`.
    #[serde(skip_serializing_if = "Option::is_none")]
    ending: Option<Ending>,
    /// The questions that a waiting run waits for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    approvals: Vec<Question>,
    /// Why the run failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// The same as a code.
    #[serde(skip_serializing_if = "Option::is_none")]
    error_code: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AgentToolView {
    #[serde(skip)]
    call: Option<CallId>,
    name: String,
    /// `requested`, `done`, `failed` or `unknown`.
    state: &'static str,
    /// Why there is no output.
    #[serde(flatten)]
    failure: Option<ToolFailure>,
}

pub(crate) async fn ask_agent(
    State(app): State<App>,
    principal: Principal,
    headers: HeaderMap,
    mut body: ForeignJson<AgentBody>,
) -> Result<Response, Problem> {
    let agent = headers.get(AGENT_HEADER).map(|name| String::from_utf8_lossy(name.as_bytes()).into_owned());
    let (world, route) = (app.runtime.world(), "POST /api/agent");
    let key = start_run::idempotency_key(&headers, route, agent.as_deref(), &body.bytes, world)?;
    let AgentBody {
        message,
        conversation_id,
        user_id,
        model,
        variant,
        params,
        stream,
        tools,
        system,
        pre_search,
        tool_choice: choice,
    } = body.value;
    let (tools, switches) = match tools {
        AgentTools::All(tools) => (tools, ToolSwitches::default()),
        AgentTools::ToolSwitches(switches) => (true, switches),
    };
    let (without_tools, unknown) = disabled_tools(switches, app.runtime.registry())?;
    body.ignored.0.extend(unknown.into_iter().map(|name| format!("tools.{name}")));
    let choice = tool_choice(choice.as_ref())?;
    let principal = principal.acting_as(user_id.as_deref())?;
    let user = principal.user.clone();
    let conversation = conversation_id.as_deref().map(parse_conversation).transpose()?;
    let request = StartRequest {
        agent,
        model,
        variant,
        params: params.checked()?,
        system: system_prompt(system)?,
        without_tools,
        pre_search,
        tool_choice: if tools { choice } else { ToolChoice::None },
        stream,
        key,
        ..StartRequest::new(user, StartInput::Message { conversation, text: message })
    };
    // Before the run is on record, so that nothing runs for somebody who cannot hear of it.
    let subscriber = if stream { Some(Subscriber::new(&app, principal)?) } else { None };
    let started = start_run::start(&app, request).await?;
    if let Some(subscriber) = subscriber {
        return Ok(body.ignored.on(start_run::stream(subscriber, started, PieceRender::default())));
    }
    let whole = AgentAnswer {
        content: String::new(),
        thinking: String::new(),
        run: started.run.to_string(),
        conversation: started.conversation.map(|id| id.to_string()),
        state: RunState::Running,
        spent: Spent::default(),
        tools: vec![],
        ending: None,
        approvals: vec![],
        error: None,
        error_code: None,
    };
    let names = RunHeaders::of(&started);
    Ok(body.ignored.on(names.on(axum::Json(gather(&app, whole, started).await?))))
}

/// Follows the run until it is over or waits for somebody.
async fn gather(app: &App, mut whole: AgentAnswer, started: Started) -> Result<AgentAnswer, Problem> {
    let Started { run, mut follower, .. } = started;
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
            fact @ (Fact::StepFinished { .. } | Fact::StepRestarted { .. }) => {
                whole.spent = whole.spent.plus(Spent::of(fact).unwrap_or_default());
            }
            Fact::ToolRequested { call, tool, .. } => whole.tools.push(AgentToolView {
                call: Some(call.clone()),
                name: tool.clone(),
                state: answer_word(CallState::Requested),
                failure: None,
            }),
            Fact::ToolFinished { call, .. } => whole.end_call(call, CallState::Finished, None),
            Fact::ToolFailed { call, failure, .. } | Fact::ToolRefused { call, failure, .. } => {
                whole.end_call(call, CallState::Failed, Some(failure.into()));
            }
            Fact::ToolUnknown { call, because, .. } => {
                whole.end_call(call, CallState::Unknown, Some(ToolFailure::unknown(because)));
            }
            Fact::ApprovalAsked(question) => whole.approvals.push(question.clone()),
            Fact::ApprovalAnswered { approval, .. } => {
                whole.approvals.retain(|question| question.approval != *approval);
            }
            Fact::RunWaiting { state } => {
                whole.state = *state;
                // The log of an older run may go on from here.
                if app.runtime.store().run(Scope::Everyone, run).await?.last_seq == recorded.event.seq {
                    break;
                }
            }
            Fact::RunFinished { ending } => {
                whole.state = RunState::Completed;
                whole.ending = Some(*ending);
            }
            Fact::RunCancelled(_) => whole.state = RunState::Cancelled,
            Fact::RunFailed { code, message } => {
                whole.state = RunState::Failed;
                whole.error_code = Some(code.clone());
                whole.error = Some(message.clone());
            }
            _ => {}
        }
    }
    if whole.state.is_final() {
        whole.approvals.clear();
    }
    Ok(whole)
}

impl AgentAnswer {
    fn end_call(&mut self, call: &CallId, state: CallState, failure: Option<ToolFailure>) {
        if let Some(tool) = self.tools.iter_mut().find(|tool| tool.call.as_ref() == Some(call)) {
            tool.state = answer_word(state);
            tool.failure = failure;
        }
    }
}

/// Pieces of the answer as they come.
#[derive(Default)]
struct PieceRender {
    text: AccumulatedText,
    /// How much of it was sent.
    sent: usize,
    progress: ToolProgress,
    /// The names of the tools that were called.
    calls: Vec<(CallId, String)>,
    /// Why the run ends before its answer, where that is known.
    because: Option<String>,
}

impl PieceRender {
    fn fact(&mut self, fact: &Fact, out: &mut Vec<u8>) {
        match fact {
            Fact::TextFinished { part, text, .. } => self.text.finish(part, text),
            Fact::StepFinished { .. } | Fact::StepRestarted { .. } => self.text.end_step(),
            Fact::BudgetSpent { because, .. } => self.because = Some(because.clone()),
            Fact::ApprovalAsked(question) => {
                let Some(call) = question.call() else { return self.send(run_question(question), out) };
                let input: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
                let tool = json!({
                    "id": call.id,
                    "name": call.tool,
                    "state": stream_word(CallState::Asked),
                    "for": "approval",
                    "approvalId": question.approval,
                    "input": input
                });
                self.send(json!({"tool": tool}), out);
            }
            Fact::ToolRequested { call, tool, .. } => self.calls.push((call.clone(), tool.clone())),
            Fact::ToolFailed { call, failure, .. } | Fact::ToolRefused { call, failure, .. } => {
                self.failed_call(call, json!(ToolFailure::from(failure)), out);
            }
            Fact::ToolUnknown { call, because, .. } => {
                let mut failure = json!(ToolFailure::unknown(because));
                failure["outcome"] = json!("unknown");
                self.failed_call(call, failure, out);
            }
            Fact::RunFinished { ending } => {
                if let Some(message) = ending_sentence(*ending) {
                    let message = self.because.as_deref().unwrap_or(message);
                    self.send(json!({"ending": ending, "message": message}), out);
                }
            }
            Fact::RunFailed { code, message } => self.error(code, message, out),
            Fact::RunCancelled(_) => self.error("cancelled", "the run was stopped", out),
            _ => {}
        }
    }

    fn failed_call(&mut self, call: &CallId, mut tool: Value, out: &mut Vec<u8>) {
        let name = self.calls.iter().find(|(id, _)| id == call).map(|(_, name)| name);
        tool["id"] = json!(call);
        tool["name"] = json!(name);
        tool["state"] = json!(stream_word(CallState::Failed));
        self.send(json!({"tool": tool}), out);
    }

    fn error(&mut self, code: &str, message: &str, out: &mut Vec<u8>) {
        self.send(json!({"error": {"code": code, "message": message}}), out);
    }

    fn send(&mut self, event: Value, out: &mut Vec<u8>) {
        self.flush(out);
        data_of(out, &event);
    }
}

impl Render for PieceRender {
    fn frame(&mut self, frame: &Frame, out: &mut Vec<u8>) {
        if let Frame::Live(live) = frame {
            self.progress.take(live);
        }
        match frame {
            Frame::Event(recorded) => self.fact(&recorded.event.fact, out),
            Frame::Live(Live::PartStarted { part, kind: PartKind::Text, text, .. }) => {
                self.text.set(part, text);
            }
            Frame::Live(Live::PartDelta { part, text }) => _ = self.text.push(part, text),
            Frame::Live(Live::ServerDraining) => {
                self.flush(out);
                data_of(out, &server_stopping());
            }
            Frame::Live(_) => {}
        }
    }

    fn flush(&mut self, out: &mut Vec<u8>) {
        for tool in self.progress.take_unsent() {
            data_of(out, &json!({"tool": tool}));
        }
        let Some(changed_from) = self.text.take_change() else { return };
        // What was sent cannot be taken back, but it can be said to be void and what holds of it sent again.
        if changed_from < self.sent {
            data_of(out, &json!({"restart": true}));
            self.sent = 0;
        }
        let piece = &self.text.text()[self.sent..];
        if !piece.is_empty() {
            data_of(out, &json!({"content": piece}));
        }
        self.sent = self.text.text().len();
    }

    fn failed(&mut self, error: StoreError, out: &mut Vec<u8>) {
        data_of(out, &json!({"error": Problem::from(error).to_json()}));
        out.extend_from_slice(DONE);
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(DONE);
    }
}
