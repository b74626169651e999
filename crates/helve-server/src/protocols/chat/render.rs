//! How a run looks on `POST /api/chat`: the text so far, and tools at work.

use helve_runtime::Frame;
use helve_store::StoreError;
use helve_types::{
    CallId, CallState, ConversationId, Ending, Fact, FailureKind, Live, Notice, PartKind, RunId,
    SubagentAnswered, SubagentAsked, SubagentStarted, ToolOutput,
};
use helve_wire::sse::DONE;
use serde_json::{Map, Value, json};

use super::messages::NewMessages;
use super::request::CallFormat;
use crate::problem::Problem;
use crate::protocols::accumulated_text::AccumulatedText;
use crate::protocols::call_words::word_in_stream;
use crate::protocols::tool_failure::ToolFailure;
use crate::protocols::tool_progress::ToolProgress;
use crate::sse::{Render, question_event, run_error, server_stopping_event, write_value};

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
    fn write_event(&self, members: Value, out: &mut Vec<u8>) {
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

    /// What becomes of a call that another agent works on.
    fn render_subagent(&mut self, fact: &Fact, out: &mut Vec<u8>) {
        match fact {
            Fact::SubagentStarted(SubagentStarted { call, run, agent, .. }) => {
                self.render_tool(
                    call,
                    CallState::Running,
                    json!({"subagent": {"run": run, "agent": agent}}),
                    out,
                );
            }
            Fact::SubagentAsked(SubagentAsked { call, question }) => {
                let more = json!({
                    "for": "approval",
                    "approvalId": question.approval,
                    "question": question,
                });
                self.render_tool(call, CallState::Asked, more, out);
            }
            Fact::SubagentAnswered(SubagentAnswered { call, .. }) => {
                self.render_tool(call, CallState::Running, json!({}), out);
            }
            _ => {}
        }
    }

    fn render_fact(&mut self, fact: &Fact, out: &mut Vec<u8>) {
        let keeps_history = self.conversation.is_none();
        if keeps_history {
            self.new_messages.apply_fact(fact);
        }
        if keeps_history && fact.is_last() {
            self.render_flush(out);
            let messages = self.new_messages.finish();
            if !messages.is_empty() {
                self.write_event(json!({"messages": messages}), out);
            }
        }
        match fact {
            Fact::TextFinished { part, text, .. } => self.text.finish_part(part, text),
            Fact::ReasoningFinished { part, text, .. } => self.thinking.finish_part(part, text),
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
            Fact::ToolStarted { call, .. } => self.render_tool(call, CallState::Running, json!({}), out),
            Fact::ToolDelegated { call, arguments, .. } => {
                if let Some(held) = self.calls.iter_mut().find(|held| held.id == *call) {
                    held.delegated = true;
                    // The model's own words stay where they say the same.
                    if let Some(given) = arguments.as_ref().filter(|given| !is_same(&held.arguments, given)) {
                        held.arguments.clone_from(given);
                    }
                }
                self.render_tool(call, CallState::Delegated, json!({"for": "client"}), out);
            }
            Fact::ApprovalAsked(question) => {
                let more = json!({"for": "approval", "approvalId": question.approval});
                match question.call_id() {
                    Some(call) => self.render_tool(call, CallState::Asked, more, out),
                    None => self.write_event(question_event(question), out),
                }
            }
            Fact::BudgetSpent { because, .. } => self.because = Some(because.clone()),
            Fact::ToolFinished { call, output, .. } => {
                self.render_tool(call, CallState::Finished, output_members(output), out)
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
                self.render_tool(call, CallState::Failed, more, out);
            }
            Fact::ToolUnknown { call, because, .. } => {
                let mut more = json!(ToolFailure::unknown(because));
                more["outcome"] = json!("unknown");
                self.render_tool(call, CallState::Unknown, more, out);
            }
            Fact::RunFailed { code, message, notice } => {
                self.render_error_event(code, message, notice.as_deref(), out)
            }
            Fact::RunCancelled(_) => self.render_error_event("cancelled", "the run was stopped", None, out),
            Fact::RunFinished { ending } => self.render_ending(*ending, out),
            other => self.render_subagent(other, out),
        }
    }

    fn render_tool(&mut self, call: &CallId, state: CallState, more: Value, out: &mut Vec<u8>) {
        self.render_flush(out);
        let Some(state) = word_in_stream(state) else { return };
        let Some(held) = self.calls.iter().find(|held| held.id == *call) else { return };
        let input: Value = serde_json::from_str(&held.arguments).unwrap_or_default();
        let mut tool = json!({"id": held.id, "name": held.tool, "state": state, "input": input});
        if let (Value::Object(tool), Value::Object(more)) = (&mut tool, more) {
            tool.extend(more);
        }
        self.write_event(json!({"tool": tool}), out);
    }

    /// An answer needs no more words; any other ending says why there is no more.
    fn render_ending(&mut self, ending: Ending, out: &mut Vec<u8>) {
        self.render_flush(out);
        if ending == Ending::ClientTools {
            let calls = self.client_calls();
            if self.calls_in == CallFormat::Content {
                let calls = json!({"tool_calls": calls}).to_string();
                let texts = [self.text.text(), &calls];
                let content =
                    texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n");
                self.write_event(json!({"content": content, "thinking": self.thinking.text()}), out);
            }
            self.write_event(json!({"tool_calls": calls, "ending": ending}), out);
        } else if let Some((_, message)) = ending.lack() {
            let message = self.because.as_deref().unwrap_or(message);
            self.write_event(json!({"ending": ending, "message": message}), out);
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

    fn render_error_event(&mut self, code: &str, message: &str, notice: Option<&Notice>, out: &mut Vec<u8>) {
        self.render_flush(out);
        self.write_event(json!({"error": run_error(code, message, notice)}), out);
    }

    fn render_live(&mut self, live: &Live) {
        self.progress.apply_live(live);
        match live {
            Live::PartStarted { part, kind: PartKind::Text, text, .. } => self.text.set_part(part, text),
            Live::PartStarted { part, kind: PartKind::Reasoning, text, .. } => {
                self.thinking.set_part(part, text)
            }
            Live::PartDelta { part, text } => {
                // It goes to whichever has the part, if any.
                _ = self.text.push_to_part(part, text) || self.thinking.push_to_part(part, text);
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
    fn render_begin(&mut self, out: &mut Vec<u8>) {
        self.write_event(json!({}), out);
    }

    fn render_frame(&mut self, frame: &Frame, out: &mut Vec<u8>) {
        match frame {
            Frame::Event(recorded) => self.render_fact(&recorded.event.fact, out),
            Frame::Live(Live::ServerDraining) => {
                self.render_flush(out);
                self.write_event(server_stopping_event(), out);
            }
            Frame::Live(live) => self.render_live(live),
        }
    }

    fn render_flush(&mut self, out: &mut Vec<u8>) {
        let changes = [self.text.take_change(), self.thinking.take_change()];
        if changes.iter().any(Option::is_some) {
            self.write_event(json!({"content": self.text.text(), "thinking": self.thinking.text()}), out);
        }
        for tool in self.progress.take_unsent() {
            self.write_event(json!({"tool": tool}), out);
        }
    }

    fn render_error(&mut self, error: StoreError, out: &mut Vec<u8>) {
        self.write_event(json!({"error": Problem::from(error).to_json()}), out);
        out.extend_from_slice(DONE);
    }

    fn render_end(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(DONE);
    }
}

fn is_same(written: &str, given: &str) -> bool {
    let read = |text: &str| serde_json::from_str::<Value>(text).ok();
    read(written).is_some_and(|written| Some(written) == read(given))
}
