//! How a run looks on `POST /api/chat`: the text so far, and tools at work.

use helve_runtime::Frame;
use helve_store::StoreError;
use helve_types::{
    CallId, CallState, ConversationId, Ending, Fact, FailureKind, Live, Notice, PartKind, RunId, ToolOutput,
};
use helve_wire::sse::DONE;
use serde_json::{Map, Value, json};

use super::messages::NewMessages;
use super::request::CallFormat;
use crate::problem::Problem;
use crate::protocols::accumulated_text::AccumulatedText;
use crate::protocols::call_words::stream_word;
use crate::protocols::tool_failure::ToolFailure;
use crate::protocols::tool_progress::ToolProgress;
use crate::sse::{Render, run_error, run_question, server_stopping, write_value};

pub(super) struct ChatRender {
    run: RunId,
    conversation: Option<ConversationId>,
    text: AccumulatedText,
    thinking: AccumulatedText,
    calls: Vec<RenderedCall>,
    progress: ToolProgress,
    /// What a client that keeps the history has to add to it.
    new_messages: NewMessages,
    /// Why the run ends before its answer, where that is known.
    because: Option<String>,
    calls_in: CallFormat,
}

struct RenderedCall {
    id: CallId,
    tool: String,
    arguments: String,
    /// The client has to run it.
    delegated: bool,
}

impl ChatRender {
    pub(super) fn new(run: RunId, conversation: Option<ConversationId>, calls_in: CallFormat) -> Self {
        let (text, thinking) = (AccumulatedText::default(), AccumulatedText::default());
        Self {
            run,
            conversation,
            text,
            thinking,
            calls: vec![],
            progress: ToolProgress::default(),
            new_messages: NewMessages::default(),
            because: None,
            calls_in,
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
        write_value(out, &event);
    }

    fn fact(&mut self, fact: &Fact, out: &mut Vec<u8>) {
        let keeps_history = self.conversation.is_none();
        if keeps_history {
            self.new_messages.take(fact);
        }
        if keeps_history && fact.is_last() {
            self.flush(out);
            let messages = self.new_messages.finish();
            if !messages.is_empty() {
                self.send(json!({"messages": messages}), out);
            }
        }
        match fact {
            Fact::TextFinished { part, text, .. } => self.text.finish(part, text),
            Fact::ReasoningFinished { part, text, .. } => self.thinking.finish(part, text),
            Fact::StepFinished { .. } | Fact::StepRestarted { .. } => {
                self.text.end_step();
                self.thinking.end_step();
            }
            Fact::ToolRequested { call, tool, arguments, .. } => self.calls.push(RenderedCall {
                id: call.clone(),
                tool: tool.clone(),
                arguments: arguments.clone(),
                delegated: false,
            }),
            Fact::ToolStarted { call, .. } => self.tool(call, CallState::Running, json!({}), out),
            Fact::ToolDelegated { call, arguments, .. } => {
                if let Some(held) = self.calls.iter_mut().find(|held| held.id == *call) {
                    held.delegated = true;
                    // The model's own words stay where they say the same.
                    if let Some(given) = arguments.as_ref().filter(|given| !is_same(&held.arguments, given)) {
                        held.arguments.clone_from(given);
                    }
                }
                self.tool(call, CallState::Delegated, json!({"for": "client"}), out);
            }
            Fact::ApprovalAsked(question) => {
                let more = json!({"for": "approval", "approvalId": question.approval});
                match question.call_id() {
                    Some(call) => self.tool(call, CallState::Asked, more, out),
                    None => self.send(run_question(question), out),
                }
            }
            Fact::BudgetSpent { because, .. } => self.because = Some(because.clone()),
            Fact::ToolFinished { call, output, .. } => {
                self.tool(call, CallState::Finished, output_members(output), out)
            }
            Fact::ToolFailed { call, failure, .. } | Fact::ToolRefused { call, failure, .. } => {
                let mut more = json!(ToolFailure::from(failure));
                if let (FailureKind::UnknownTool, Some(held)) =
                    (failure.kind, self.calls.iter().find(|held| held.id == *call))
                {
                    // Clients of other systems know a call of no tool as a call of `invalid`.
                    more["name"] = json!("invalid");
                    more["input"] = json!({"tool": held.tool, "error": failure.message});
                }
                self.tool(call, CallState::Failed, more, out);
            }
            Fact::ToolUnknown { call, because, .. } => {
                let mut more = json!(ToolFailure::unknown(because));
                more["outcome"] = json!("unknown");
                self.tool(call, CallState::Unknown, more, out);
            }
            Fact::RunFailed { code, message, notice } => self.error(code, message, notice.as_deref(), out),
            Fact::RunCancelled(_) => self.error("cancelled", "the run was stopped", None, out),
            Fact::RunFinished { ending } => self.render_ending(*ending, out),
            _ => {}
        }
    }

    fn tool(&mut self, call: &CallId, state: CallState, more: Value, out: &mut Vec<u8>) {
        self.flush(out);
        let Some(state) = stream_word(state) else { return };
        let Some(held) = self.calls.iter().find(|held| held.id == *call) else { return };
        let input: Value = serde_json::from_str(&held.arguments).unwrap_or_default();
        let mut tool = json!({"id": held.id, "name": held.tool, "state": state, "input": input});
        if let (Value::Object(tool), Value::Object(more)) = (&mut tool, more) {
            tool.extend(more);
        }
        self.send(json!({"tool": tool}), out);
    }

    /// An answer needs no more words; any other ending says why there is no more.
    fn render_ending(&mut self, ending: Ending, out: &mut Vec<u8>) {
        self.flush(out);
        if ending == Ending::ClientTools {
            let calls = self.client_calls();
            if self.calls_in == CallFormat::Content {
                let calls = json!({"tool_calls": calls}).to_string();
                let texts = [self.text.text(), &calls];
                let content =
                    texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n");
                self.send(json!({"content": content, "thinking": self.thinking.text()}), out);
            }
            self.send(json!({"tool_calls": calls, "ending": ending}), out);
        } else if let Some((_, message)) = ending.lack() {
            let message = self.because.as_deref().unwrap_or(message);
            self.send(json!({"ending": ending, "message": message}), out);
        }
    }

    fn client_calls(&self) -> Vec<Value> {
        let call = |held: &RenderedCall| {
            json!({
                "id": held.id,
                "type": "function",
                "function": {"name": held.tool, "arguments": held.arguments}
            })
        };
        self.calls.iter().filter(|held| held.delegated).map(call).collect()
    }

    fn error(&mut self, code: &str, message: &str, notice: Option<&Notice>, out: &mut Vec<u8>) {
        self.flush(out);
        self.send(json!({"error": run_error(code, message, notice)}), out);
    }

    fn live(&mut self, live: &Live) {
        self.progress.take(live);
        match live {
            Live::PartStarted { part, kind: PartKind::Text, text, .. } => self.text.set(part, text),
            Live::PartStarted { part, kind: PartKind::Reasoning, text, .. } => self.thinking.set(part, text),
            Live::PartDelta { part, text } => {
                // It goes to whichever has the part, if any.
                _ = self.text.push(part, text) || self.thinking.push(part, text);
            }
            Live::PartStarted { .. } | Live::StepStarted { .. } | Live::ServerDraining => {}
        }
    }
}

fn output_members(output: &ToolOutput) -> Value {
    let mut shown = json!({"output": output.text});
    if let Some(title) = &output.title {
        shown["title"] = json!(title);
    }
    if let Some(metadata) = &output.metadata {
        shown["metadata"] = metadata.clone();
    }
    if !output.attachments.is_empty() {
        shown["attachments"] = json!(output.attachments);
    }
    shown
}

impl Render for ChatRender {
    fn begin(&mut self, out: &mut Vec<u8>) {
        self.send(json!({}), out);
    }

    fn frame(&mut self, frame: &Frame, out: &mut Vec<u8>) {
        match frame {
            Frame::Event(recorded) => self.fact(&recorded.event.fact, out),
            Frame::Live(Live::ServerDraining) => {
                self.flush(out);
                self.send(server_stopping(), out);
            }
            Frame::Live(live) => self.live(live),
        }
    }

    fn flush(&mut self, out: &mut Vec<u8>) {
        let changes = [self.text.take_change(), self.thinking.take_change()];
        if changes.iter().any(Option::is_some) {
            self.send(json!({"content": self.text.text(), "thinking": self.thinking.text()}), out);
        }
        for tool in self.progress.take_unsent() {
            self.send(json!({"tool": tool}), out);
        }
    }

    fn render_error(&mut self, error: StoreError, out: &mut Vec<u8>) {
        self.send(json!({"error": Problem::from(error).to_json()}), out);
        out.extend_from_slice(DONE);
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(DONE);
    }
}

fn is_same(written: &str, given: &str) -> bool {
    let read = |text: &str| serde_json::from_str::<Value>(text).ok();
    read(written).is_some_and(|written| Some(written) == read(given))
}
