//! How a run looks on `POST /api/chat`: the text so far, and tools at work.

use helve_agent::Frame;
use helve_store::StoreError;
use helve_types::{CallId, ConversationId, Ending, Fact, Live, PartId, PartKind, RunId, ToolOutput};
use serde_json::{Map, Value, json};

use crate::problem::Problem;
use crate::sse::{DONE, Render, data_of};

pub(super) struct ChatRender {
    run: RunId,
    conversation: Option<ConversationId>,
    text: SoFar,
    thinking: SoFar,
    /// Something was added that has not been sent.
    grown: bool,
    calls: Vec<Call>,
}

struct Call {
    id: CallId,
    provider_id: Option<String>,
    tool: String,
    arguments: String,
    /// The client has to run it.
    delegated: bool,
}

/// Text that grows part by part; only the last part may still be taken back.
#[derive(Default)]
struct SoFar {
    all: String,
    /// Where the part in progress begins, and which it is.
    open: Option<(usize, PartId)>,
}

impl SoFar {
    fn set(&mut self, part: &PartId, text: &str) {
        self.reopen(part);
        self.all.push_str(text);
    }

    fn push(&mut self, part: &PartId, text: &str) -> bool {
        let ours = self.open.as_ref().is_some_and(|(_, open)| open == part);
        if ours {
            self.all.push_str(text);
        }
        ours
    }

    /// Whether the finished text differs from what was known of it.
    fn finish(&mut self, part: &PartId, text: &str) -> bool {
        let known = self.open.as_ref().filter(|(_, open)| open == part).map(|(start, _)| &self.all[*start..]);
        let new = known != Some(text);
        if new {
            self.set(part, text);
        }
        self.open = None;
        new
    }

    fn void(&mut self) {
        if let Some((start, _)) = self.open.take() {
            self.all.truncate(start);
        }
    }

    fn reopen(&mut self, part: &PartId) {
        match &self.open {
            Some((start, open)) if open == part => self.all.truncate(*start),
            _ => {
                if !self.all.is_empty() {
                    self.all.push_str("\n\n");
                }
                self.open = Some((self.all.len(), part.clone()));
            }
        }
    }
}

impl ChatRender {
    pub(super) fn new(run: RunId, conversation: Option<ConversationId>) -> Self {
        Self {
            run,
            conversation,
            text: SoFar::default(),
            thinking: SoFar::default(),
            grown: false,
            calls: vec![],
        }
    }

    /// An event with the members that all of them have.
    fn send(&self, members: Value, out: &mut Vec<u8>) {
        let mut event = Map::new();
        event.insert("runId".into(), self.run.to_string().into());
        if let Some(conversation) = self.conversation {
            event.insert("conversationId".into(), conversation.to_string().into());
        }
        if let Value::Object(members) = members {
            event.extend(members);
        }
        data_of(out, &event);
    }

    fn fact(&mut self, fact: &Fact, out: &mut Vec<u8>) {
        match fact {
            Fact::TextFinished { part, text, .. } => self.grown |= self.text.finish(part, text),
            Fact::ReasoningFinished { part, text, .. } => self.grown |= self.thinking.finish(part, text),
            Fact::StepRestarted { .. } => {
                self.text.void();
                self.thinking.void();
                self.grown = true;
            }
            Fact::ToolRequested { call, provider_id, tool, arguments, .. } => self.calls.push(Call {
                id: call.clone(),
                provider_id: provider_id.clone(),
                tool: tool.clone(),
                arguments: arguments.clone(),
                delegated: false,
            }),
            Fact::ToolStarted { call, .. } => self.tool(call, "searching", json!({}), out),
            Fact::ToolDelegated { call, .. } => {
                if let Some(held) = self.calls.iter_mut().find(|held| held.id == *call) {
                    held.delegated = true;
                }
                self.tool(call, "waiting", json!({"for": "client"}), out);
            }
            Fact::ApprovalAsked(question) => {
                let more = json!({"for": "approval", "approvalId": question.approval});
                self.tool(&question.call, "waiting", more, out);
            }
            Fact::ToolFinished { call, output, .. } => self.tool(call, "done", shown(output), out),
            Fact::ToolFailed { call, failure, .. } | Fact::ToolRefused { call, failure, .. } => {
                self.tool(call, "failed", json!({"error": failure.message}), out);
            }
            Fact::ToolUnknown { call, because, .. } => {
                self.tool(call, "failed", json!({"error": because, "outcome": "unknown"}), out);
            }
            Fact::RunFailed { code, message } => self.error(code, message, out),
            Fact::RunCancelled(_) => self.error("cancelled", "the run was stopped", out),
            Fact::RunFinished { ending: Ending::ClientTools } => self.client_calls(out),
            _ => {}
        }
    }

    fn tool(&mut self, call: &CallId, state: &str, more: Value, out: &mut Vec<u8>) {
        self.flush(out);
        let Some(held) = self.calls.iter().find(|held| held.id == *call) else { return };
        let input: Value = serde_json::from_str(&held.arguments).unwrap_or_default();
        let mut tool = json!({"id": held.id, "name": held.tool, "state": state, "input": input});
        if let (Value::Object(tool), Value::Object(more)) = (&mut tool, more) {
            tool.extend(more);
        }
        self.send(json!({"tool": tool}), out);
    }

    fn client_calls(&mut self, out: &mut Vec<u8>) {
        self.flush(out);
        let calls: Vec<Value> = self
            .calls
            .iter()
            .filter(|held| held.delegated)
            .map(|held| {
                json!({
                    "id": held.provider_id.as_deref().unwrap_or(held.id.as_str()),
                    "type": "function",
                    "function": {"name": held.tool, "arguments": held.arguments}
                })
            })
            .collect();
        self.send(json!({"tool_calls": calls}), out);
    }

    fn error(&mut self, code: &str, message: &str, out: &mut Vec<u8>) {
        self.flush(out);
        self.send(json!({"error": {"code": code, "message": message}}), out);
    }

    fn live(&mut self, live: &Live) {
        match live {
            Live::PartStarted { part, kind, text, .. } => match kind {
                PartKind::Text => self.text.set(part, text),
                PartKind::Reasoning => self.thinking.set(part, text),
                PartKind::Input | PartKind::Progress => return,
            },
            Live::PartDelta { part, text } => {
                if !self.text.push(part, text) && !self.thinking.push(part, text) {
                    return;
                }
            }
            Live::StepStarted { .. } | Live::ServerDraining => return,
        }
        self.grown = true;
    }
}

fn shown(output: &ToolOutput) -> Value {
    json!({"output": output.text, "title": output.title})
}

impl Render for ChatRender {
    fn begin(&mut self, out: &mut Vec<u8>) {
        self.send(json!({}), out);
    }

    fn frame(&mut self, frame: &Frame, out: &mut Vec<u8>) {
        match frame {
            Frame::Event(recorded) => self.fact(&recorded.event.fact, out),
            Frame::Live(live) => self.live(live),
        }
    }

    fn flush(&mut self, out: &mut Vec<u8>) {
        if std::mem::take(&mut self.grown) {
            self.send(json!({"content": self.text.all, "thinking": self.thinking.all}), out);
        }
    }

    fn failed(&mut self, error: StoreError, out: &mut Vec<u8>) {
        self.send(json!({"error": Problem::from(error).in_stream()}), out);
        out.extend_from_slice(DONE);
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(DONE);
    }
}
