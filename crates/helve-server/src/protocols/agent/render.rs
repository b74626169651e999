//! How a run looks on `POST /api/agent`: the answer in pieces, questions, and calls that failed.

use helve_runtime::Frame;
use helve_store::StoreError;
use helve_types::{CallId, CallState, Fact, Live, Notice, PartKind};
use helve_wire::sse::DONE;
use serde_json::{Value, json};

use crate::problem::Problem;
use crate::protocols::accumulated_text::AccumulatedText;
use crate::protocols::call_words::word_in_stream;
use crate::protocols::tool_failure::ToolFailure;
use crate::protocols::tool_progress::ToolProgress;
use crate::sse::{Render, question_event, run_error, server_stopping_event, write_value};

/// Writes pieces of the answer as they come.
#[derive(Default)]
pub(super) struct AgentRender {
    text: AccumulatedText,
    /// How much of it was sent.
    sent: usize,
    progress: ToolProgress,
    /// The names of the tools that were called.
    calls: Vec<(CallId, String)>,
    /// Why the run ends before its answer, where that is known.
    because: Option<String>,
}

impl AgentRender {
    fn render_fact(&mut self, fact: &Fact, out: &mut Vec<u8>) {
        match fact {
            Fact::TextFinished { part, text, .. } => self.text.finish_part(part, text),
            Fact::StepFinished { .. } | Fact::StepRestarted { .. } => self.text.end_step(),
            Fact::BudgetSpent { because, .. } => self.because = Some(because.clone()),
            Fact::ApprovalAsked(question) => {
                let Some(call) = question.call() else {
                    return self.write_event(question_event(question), out);
                };
                let input: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
                let tool = json!({
                    "id": call.id,
                    "name": call.tool,
                    "state": word_in_stream(CallState::Asked),
                    "for": "approval",
                    "approvalId": question.approval,
                    "input": input
                });
                self.write_event(json!({"tool": tool}), out);
            }
            Fact::SubagentAsked(asked) => {
                let question = &asked.question;
                let Some(call) = question.call() else {
                    return self.write_event(question_event(question), out);
                };
                let input: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
                let tool = json!({
                    "id": asked.call,
                    "name": call.tool,
                    "state": word_in_stream(CallState::Asked),
                    "for": "approval",
                    "approvalId": question.approval,
                    "asker": question.asker,
                    "input": input
                });
                self.write_event(json!({"tool": tool}), out);
            }
            Fact::ToolRequested { call, tool, .. } => self.calls.push((call.clone(), tool.clone())),
            Fact::ToolFailed { call, failure, .. } | Fact::ToolRefused { call, failure, .. } => {
                self.render_failed_call(call, json!(ToolFailure::from(failure)), out);
            }
            Fact::ToolUnknown { call, because, .. } => {
                let mut failure = json!(ToolFailure::unknown(because));
                failure["outcome"] = json!("unknown");
                self.render_failed_call(call, failure, out);
            }
            Fact::RunFinished { ending } => {
                if let Some((_, message)) = ending.lack() {
                    let message = self.because.as_deref().unwrap_or(message);
                    self.write_event(json!({"ending": ending, "message": message}), out);
                }
            }
            Fact::RunFailed { code, message, notice } => {
                self.render_error_event(code, message, notice.as_deref(), out)
            }
            Fact::RunCancelled(_) => self.render_error_event("cancelled", "the run was stopped", None, out),
            _ => {}
        }
    }

    fn render_failed_call(&mut self, call: &CallId, mut tool: Value, out: &mut Vec<u8>) {
        let name = self.calls.iter().find(|(id, _)| id == call).map(|(_, name)| name);
        tool["id"] = json!(call);
        tool["name"] = json!(name);
        tool["state"] = json!(word_in_stream(CallState::Failed));
        self.write_event(json!({"tool": tool}), out);
    }

    fn render_error_event(&mut self, code: &str, message: &str, notice: Option<&Notice>, out: &mut Vec<u8>) {
        self.write_event(json!({"error": run_error(code, message, notice)}), out);
    }

    fn write_event(&mut self, event: Value, out: &mut Vec<u8>) {
        self.render_flush(out);
        write_value(out, &event);
    }
}

impl Render for AgentRender {
    fn render_frame(&mut self, frame: &Frame, out: &mut Vec<u8>) {
        if let Frame::Live(live) = frame {
            self.progress.apply_live(live);
        }
        match frame {
            Frame::Event(recorded) => self.render_fact(&recorded.event.fact, out),
            Frame::Live(Live::PartStarted { part, kind: PartKind::Text, text, .. }) => {
                self.text.set_part(part, text);
            }
            Frame::Live(Live::PartDelta { part, text }) => _ = self.text.push_to_part(part, text),
            Frame::Live(Live::ServerDraining) => {
                self.render_flush(out);
                write_value(out, &server_stopping_event());
            }
            Frame::Live(_) => {}
        }
    }

    fn render_flush(&mut self, out: &mut Vec<u8>) {
        for tool in self.progress.take_unsent() {
            write_value(out, &json!({"tool": tool}));
        }
        let Some(changed_from) = self.text.take_change() else { return };
        // What was sent cannot be taken back, but it can be said to be void and what holds of it sent again.
        if changed_from < self.sent {
            write_value(out, &json!({"restart": true}));
            self.sent = 0;
        }
        let piece = &self.text.text()[self.sent..];
        if !piece.is_empty() {
            write_value(out, &json!({"content": piece}));
        }
        self.sent = self.text.text().len();
    }

    fn render_error(&mut self, error: StoreError, out: &mut Vec<u8>) {
        write_value(out, &json!({"error": Problem::from(error).to_json()}));
        out.extend_from_slice(DONE);
    }

    fn render_end(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(DONE);
    }
}
