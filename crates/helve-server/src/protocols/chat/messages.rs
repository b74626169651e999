//! What a client that keeps the history has to add to it: every message of the run, in order.

use helve_types::{CallId, Fact, ToolOutput};
use serde_json::{Value, json};

/// Gathers the messages of a run from its facts.
#[derive(Default)]
pub(super) struct NewMessages {
    messages: Vec<Value>,
    /// The step that is being read.
    text: String,
    calls: Vec<(CallId, Value)>,
    /// What became of its calls.
    results: Vec<(CallId, String)>,
}

impl NewMessages {
    pub(super) fn apply_fact(&mut self, fact: &Fact) {
        match fact {
            Fact::TextFinished { text, .. } => {
                self.close_assistant_message();
                self.text.push_str(text);
            }
            Fact::ToolRequested { call, tool, arguments, .. } => {
                self.close_assistant_message();
                let function = json!({"name": tool, "arguments": arguments});
                self.calls
                    .push((call.clone(), json!({"id": call, "type": "function", "function": function})));
            }
            Fact::ToolDelegated { call, arguments: Some(given), .. } => {
                if let Some((_, held)) = self.calls.iter_mut().find(|(id, _)| id == call) {
                    held["function"]["arguments"] = json!(given);
                }
            }
            Fact::ToolFinished { call, output: ToolOutput { text, .. }, .. } => {
                self.add_result(call, text.clone())
            }
            Fact::ToolFailed { call, failure, .. } | Fact::ToolRefused { call, failure, .. } => {
                self.add_result(call, format!("Error: {}", failure.message));
            }
            Fact::ToolUnknown { call, because, .. } => self.add_result(call, format!("Error: {because}")),
            // What it had said is void.
            Fact::StepRestarted { .. } if self.results.is_empty() => {
                self.text.clear();
                self.calls.clear();
            }
            _ => {}
        }
    }

    fn add_result(&mut self, call: &CallId, text: String) {
        self.results.push((call.clone(), text));
    }

    /// A step is over where the next one begins: when all its calls have results and the model writes again.
    fn close_assistant_message(&mut self) {
        if !self.results.is_empty() {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let (text, calls) = (std::mem::take(&mut self.text), std::mem::take(&mut self.calls));
        if text.is_empty() && calls.is_empty() {
            return;
        }
        let mut message = json!({"role": "assistant", "content": text});
        if !calls.is_empty() {
            message["tool_calls"] = calls.iter().map(|(_, call)| call.clone()).collect();
        }
        self.messages.push(message);
        for (call, text) in std::mem::take(&mut self.results) {
            self.messages.push(json!({"role": "tool", "tool_call_id": call, "content": text}));
        }
    }

    /// All of them.
    pub(super) fn finish(&mut self) -> Vec<Value> {
        self.flush();
        std::mem::take(&mut self.messages)
    }
}
