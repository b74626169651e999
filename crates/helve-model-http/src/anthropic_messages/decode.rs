//! Decodes frames into events. The state is the blocks of the answer in their order.

use std::collections::VecDeque;

use helve_model::{ModelError, ModelErrorKind, ModelEvent};
use helve_types::{StopReason, Usage};
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::wire;
use crate::protocol::Decoder;
use crate::server_error;

pub(super) fn decoder() -> Decoder {
    let mut state = State::default();
    Box::new(move |frame, events| match frame {
        // Sent by gateways that translate from OpenAI's protocol.
        Some("[DONE]") => {
            state.handle_done_mark(events);
            Ok(())
        }
        Some(data) => state.apply(parse(data)?, events),
        None => state.check_complete(),
    })
}

pub(super) fn decode_complete(body: &str, events: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
    let mut state = State::default();
    state.apply(parse(body)?, events)?;
    state.check_complete()
}

fn parse(data: &str) -> Result<wire::Event, ModelError> {
    serde_json::from_str(data).map_err(|error| {
        let shown: String = data.chars().take(120).collect();
        ModelError::new(
            ModelErrorKind::Broken,
            format!("the model server sent something that is no event of a message ({error}): {shown}"),
        )
    })
}

#[derive(Default)]
struct State {
    blocks: Vec<Block>,
    /// The number of calls so far.
    calls: u32,
    usage: wire::Usage,
    finish: Option<StopReason>,
    ended: bool,
}

struct Block {
    wire_index: u32,
    kind: Kind,
    /// The block so far.
    value: Value,
    /// The streamed arguments of a call.
    arguments: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
    Call {
        index: u32,
        /// Whether any arguments were streamed.
        has_arguments: bool,
    },
    /// A block of a tool on the vendor's side. Helve declares none, so that such blocks are not expected.
    Foreign,
}

impl State {
    fn apply(&mut self, event: wire::Event, events: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        match event {
            wire::Event::MessageStart { message } => self.record_usage(message.usage, events),
            wire::Event::ContentBlockStart { index, content_block } => {
                self.begin_block(index, content_block, events)
            }
            wire::Event::ContentBlockDelta { index, delta } => self.extend_block(index, delta, events),
            wire::Event::ContentBlockStop { index } => self.finish_block(index, events),
            wire::Event::MessageDelta { delta, usage } => {
                self.finish = delta.stop_reason.as_deref().map(parse_stop_reason).or(self.finish);
                self.record_usage(usage, events);
            }
            wire::Event::MessageStop => self.finish(events),
            wire::Event::Message(answer) => {
                for (index, block) in (0..).zip(answer.content) {
                    self.begin_block(index, block, events);
                }
                self.finish = answer.stop_reason.as_deref().map(parse_stop_reason);
                self.record_usage(answer.usage, events);
                self.finish(events);
            }
            wire::Event::Error { error } => return Err(server_error::from_stream(&error)),
            wire::Event::Other => {}
        }
        Ok(())
    }

    fn begin_block(&mut self, wire_index: u32, value: Value, events: &mut VecDeque<ModelEvent>) {
        let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let kind = match &*text("type") {
            "text" => {
                emit(ModelEvent::Text, text("text"), events);
                Kind::Text
            }
            "thinking" => {
                emit(ModelEvent::Reasoning, text("thinking"), events);
                Kind::Thinking
            }
            "redacted_thinking" => Kind::Thinking,
            "tool_use" => {
                let index = self.calls;
                self.calls += 1;
                let id = Some(text("id")).filter(|id| !id.is_empty());
                events.push_back(ModelEvent::CallStarted { index, id, tool: text("name") });
                Kind::Call { index, has_arguments: false }
            }
            _ => Kind::Foreign,
        };
        self.blocks.push(Block { wire_index, kind, value, arguments: String::new() });
    }

    fn extend_block(&mut self, wire_index: u32, delta: wire::Delta, events: &mut VecDeque<ModelEvent>) {
        let Some(block) = self.blocks.iter_mut().rfind(|block| block.wire_index == wire_index) else {
            return;
        };
        match delta {
            wire::Delta::Text { text } => {
                append_text(&mut block.value, "text", &text);
                emit(ModelEvent::Text, text, events);
            }
            wire::Delta::Thinking { thinking } => {
                append_text(&mut block.value, "thinking", &thinking);
                emit(ModelEvent::Reasoning, thinking, events);
            }
            // Sent once and complete.
            wire::Delta::Signature { signature } => set_text(&mut block.value, "signature", signature),
            wire::Delta::InputJson { partial_json } => {
                if let Kind::Call { index, has_arguments } = &mut block.kind {
                    *has_arguments |= !partial_json.is_empty();
                    block.arguments.push_str(&partial_json);
                    let index = *index;
                    emit(|text| ModelEvent::CallArguments { index, text }, partial_json, events);
                }
            }
            wire::Delta::Other => {}
        }
    }

    /// A block that was cut is marked so too; arguments that did not come are no sign that there are none.
    fn finish_block(&self, wire_index: u32, events: &mut VecDeque<ModelEvent>) {
        let block = self.blocks.iter().rfind(|block| block.wire_index == wire_index);
        if let Some(Block { kind: Kind::Call { index, has_arguments: true }, .. }) = block {
            events.push_back(ModelEvent::CallFinished { index: *index });
        }
    }

    fn record_usage(&mut self, more: Option<wire::Usage>, events: &mut VecDeque<ModelEvent>) {
        let Some(more) = more else { return };
        let known = &mut self.usage;
        known.input_tokens = more.input_tokens.or(known.input_tokens);
        known.output_tokens = more.output_tokens.or(known.output_tokens);
        known.cache_creation_input_tokens =
            more.cache_creation_input_tokens.or(known.cache_creation_input_tokens);
        known.cache_read_input_tokens = more.cache_read_input_tokens.or(known.cache_read_input_tokens);
        events.push_back(ModelEvent::Usage(to_usage(known)));
    }

    /// Handles the end mark: the answer is complete even without a stop reason. Incomplete calls mean that it was cut; an
    /// empty stream is no answer.
    fn handle_done_mark(&mut self, events: &mut VecDeque<ModelEvent>) {
        if self.finish.is_none() && !self.blocks.is_empty() {
            let is_cut = |block: &Block| {
                matches!(block.kind, Kind::Call { .. })
                    && arguments_of_block(&block.value, StopReason::Length).is_none()
                    && serde_json::from_str::<IgnoredAny>(&block.arguments).is_err_and(|error| error.is_eof())
            };
            let cut = self.blocks.iter().any(is_cut);
            self.finish = Some(if cut { StopReason::Length } else { StopReason::Stop });
        }
        self.finish(events);
    }

    /// Finishes the answer. Without a stop reason it is not complete; see `check_complete`.
    fn finish(&mut self, events: &mut VecDeque<ModelEvent>) {
        let Some(reason) = self.finish else { return };
        if self.ended {
            return;
        }
        self.ended = true;
        for block in &self.blocks {
            if let Kind::Call { index, has_arguments: false } = block.kind
                && let Some(text) = arguments_of_block(&block.value, reason)
            {
                events.push_back(ModelEvent::CallArguments { index, text });
            }
        }
        events.extend(self.echo().map(ModelEvent::Echo));
        let called = self.calls > 0 && reason == StopReason::Stop;
        events.push_back(ModelEvent::Finished(if called { StopReason::ToolCalls } else { reason }));
    }

    /// All blocks in their order, if some are thinking. Calls are kept by id only: their arguments are in the log, where a
    /// user may have changed them.
    fn echo(&self) -> Option<Value> {
        if !self.blocks.iter().any(|block| block.kind == Kind::Thinking) {
            return None;
        }
        let kept = self.blocks.iter().filter_map(|block| match block.kind {
            Kind::Thinking => Some(block.value.clone()),
            Kind::Text => Some(json!({"type": "text", "text": block.value.get("text")?})),
            Kind::Call { .. } => Some(json!({"type": "tool_use", "id": block.value.get("id")?})),
            Kind::Foreign => None,
        });
        Some(json!({"blocks": kept.collect::<Vec<_>>()}))
    }

    fn check_complete(&self) -> Result<(), ModelError> {
        if self.ended {
            return Ok(());
        }
        let message = "the model's answer broke off: the stream ended before the answer did";
        Err(ModelError::new(ModelErrorKind::Broken, message))
    }
}

fn emit(event: impl FnOnce(String) -> ModelEvent, text: String, events: &mut VecDeque<ModelEvent>) {
    if !text.is_empty() {
        events.push_back(event(text));
    }
}

fn append_text(block: &mut Value, key: &str, more: &str) {
    match block.get_mut(key) {
        Some(Value::String(text)) => text.push_str(more),
        _ => set_text(block, key, more.to_owned()),
    }
}

fn set_text(block: &mut Value, key: &str, text: String) {
    if let Some(members) = block.as_object_mut() {
        members.insert(key.to_owned(), Value::String(text));
    }
}

/// The arguments of a call without streamed arguments; none if the message was cut, since arguments may be missing.
fn arguments_of_block(block: &Value, reason: StopReason) -> Option<String> {
    let given = block.get("input").and_then(Value::as_object).filter(|input| !input.is_empty());
    match given {
        Some(_) => block.get("input").map(Value::to_string),
        None => (reason != StopReason::Length).then(|| "{}".to_owned()),
    }
}

fn parse_stop_reason(word: &str) -> StopReason {
    match word {
        "end_turn" | "stop_sequence" => StopReason::Stop,
        "tool_use" => StopReason::ToolCalls,
        // A full context cuts an answer as the length limit does.
        "max_tokens" | "model_context_window_exceeded" => StopReason::Length,
        "refusal" => StopReason::ContentFilter,
        // `pause_turn` occurs only with tools on the vendor's side.
        _ => StopReason::Other,
    }
}

fn to_usage(usage: &wire::Usage) -> Usage {
    let read = usage.cache_read_input_tokens.unwrap_or(0);
    let written = usage.cache_creation_input_tokens.unwrap_or(0);
    Usage {
        input_tokens: usage.input_tokens.unwrap_or(0).saturating_add(read).saturating_add(written),
        output_tokens: usage.output_tokens.unwrap_or(0),
        cached_tokens: read,
        cache_write_tokens: written,
        // Part of the output tokens; the vendor does not report them separately.
        reasoning_tokens: 0,
    }
}

#[cfg(test)]
mod tests;
