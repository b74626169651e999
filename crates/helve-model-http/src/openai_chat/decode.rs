//! From frames to events: a small machine that remembers which calls it has met.

use std::borrow::Cow;
use std::collections::VecDeque;

use helve_model::{ModelError, ModelErrorKind, ModelEvent};
use helve_types::{StopReason, Usage};
use serde_json::Value;

use super::wire;
use crate::protocol::Decoder;

pub(super) fn decoder() -> Decoder {
    let mut state = State::default();
    Box::new(move |frame, events| match frame.map(str::trim) {
        Some("[DONE]") | None => state.end(events),
        Some(data) => state.take(&parse(data)?, events),
    })
}

pub(super) fn whole(body: &str, events: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
    let mut state = State { whole: true, ..State::default() };
    state.take(&parse(body)?, events)?;
    state.end(events)
}

fn parse(data: &str) -> Result<wire::Chunk<'_>, ModelError> {
    serde_json::from_str(data).map_err(|error| {
        let shown: String = data.chars().take(120).collect();
        ModelError::new(
            ModelErrorKind::Broken,
            format!("the model server sent something that is not a chat completion ({error}): {shown}"),
        )
    })
}

#[derive(Default)]
struct State {
    /// Nothing comes in pieces: every call is one of its own, even if two have the same id.
    whole: bool,
    calls: Vec<Call>,
    finish: Option<StopReason>,
    ended: bool,
}

/// A call that has been met on the wire; our number for it is its place in the list.
struct Call {
    wire_index: Option<u32>,
    id: Option<String>,
    /// Whether its name is known and its beginning was told.
    started: bool,
    /// Arguments that came before the name.
    held: String,
}

impl State {
    fn take(&mut self, chunk: &wire::Chunk<'_>, events: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        if let Some(error) = &chunk.error {
            return Err(in_band(error));
        }
        for choice in chunk.choices.iter().filter(|choice| choice.index == 0) {
            if let Some(delta) = choice.delta.as_ref().or(choice.message.as_ref()) {
                self.take_delta(delta, events);
            }
            if let Some(reason) = &choice.finish_reason {
                self.finish = Some(stop_reason(reason));
            }
            events.extend(choice.usage.as_ref().map(usage));
        }
        events.extend(chunk.usage.as_ref().map(usage));
        Ok(())
    }

    fn take_delta(&mut self, delta: &wire::Delta<'_>, events: &mut VecDeque<ModelEvent>) {
        let reasoning = delta.reasoning_content.as_deref().or(delta.reasoning.as_deref());
        if let Some(text) = reasoning.filter(|text| !text.is_empty()) {
            events.push_back(ModelEvent::Reasoning(text.into()));
        }
        let text: Cow<'_, str> = match &delta.content {
            Some(wire::Content::Text(text)) => Cow::Borrowed(text),
            Some(wire::Content::Parts(parts)) => {
                parts.iter().filter_map(|part| part.text.as_deref()).collect::<String>().into()
            }
            None => Cow::Borrowed(""),
        };
        if !text.is_empty() {
            events.push_back(ModelEvent::Text(text.into_owned()));
        }
        for piece in delta.tool_calls.iter().flatten() {
            self.take_call(piece, events);
        }
    }

    fn take_call(&mut self, piece: &wire::CallDelta<'_>, events: &mut VecDeque<ModelEvent>) {
        let id = piece.id.as_deref().filter(|id| !id.is_empty());
        let name = piece.function.as_ref().and_then(|function| function.name.as_deref());
        let name = name.filter(|name| !name.is_empty());
        let place = self.place(piece.index, id, name);
        let index = u32::try_from(place).unwrap_or(u32::MAX);
        let call = &mut self.calls[place];
        let arguments = match piece.function.as_ref().and_then(|function| function.arguments.as_ref()) {
            None | Some(Value::Null) => Cow::Borrowed(""),
            Some(Value::String(text)) => Cow::Borrowed(text.as_str()),
            // Not what the protocol says, but clear enough.
            Some(value) => Cow::Owned(value.to_string()),
        };
        if !call.started {
            let Some(name) = name else {
                call.held.push_str(&arguments);
                return;
            };
            call.started = true;
            let id = call.id.clone();
            events.push_back(ModelEvent::CallStarted { index, id, tool: name.into() });
            let held = std::mem::take(&mut call.held);
            if !held.is_empty() {
                events.push_back(ModelEvent::CallArguments { index, text: held });
            }
        }
        if !arguments.is_empty() {
            events.push_back(ModelEvent::CallArguments { index, text: arguments.into_owned() });
        }
    }

    /// Which call a piece belongs to: the one with its index, unless it names another id; without an index
    /// the last one, unless it begins a new one.
    fn place(&mut self, wire_index: Option<u32>, id: Option<&str>, name: Option<&str>) -> usize {
        let same_id = |call: &Call| id.is_none() || call.id.is_none() || call.id.as_deref() == id;
        let known = match wire_index {
            _ if self.whole => None,
            Some(_) => self.calls.iter().rposition(|call| call.wire_index == wire_index && same_id(call)),
            None => {
                let last = self.calls.len().checked_sub(1);
                last.filter(|last| same_id(&self.calls[*last]) && (id.is_some() || name.is_none()))
            }
        };
        if let Some(place) = known {
            if let Some(id) = id {
                self.calls[place].id.get_or_insert_with(|| id.into());
            }
            return place;
        }
        self.calls.push(Call { wire_index, id: id.map(Into::into), started: false, held: String::new() });
        self.calls.len() - 1
    }

    fn end(&mut self, events: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        if self.ended {
            return Ok(());
        }
        let Some(reason) = self.finish else {
            let message = "the model's answer broke off: the stream ended before the answer did";
            return Err(ModelError::new(ModelErrorKind::Broken, message));
        };
        self.ended = true;
        let called = self.calls.iter().any(|call| call.started);
        let reason = if called && reason == StopReason::Stop { StopReason::ToolCalls } else { reason };
        events.push_back(ModelEvent::Finished(reason));
        Ok(())
    }
}

/// An error that came after a status of success.
fn in_band(error: &Value) -> ModelError {
    let said = error.get("message").unwrap_or(error);
    let said = said.as_str().map_or_else(|| said.to_string(), str::to_owned);
    let text =
        format!("{} {said}", error.get("type").and_then(Value::as_str).unwrap_or_default()).to_lowercase();
    let kind = if text.contains("overload") || text.contains("rate") || text.contains("unavailable") {
        ModelErrorKind::Unavailable
    } else {
        ModelErrorKind::Broken
    };
    ModelError::new(kind, format!("the model server reported an error: {said}"))
}

fn stop_reason(word: &str) -> StopReason {
    match word {
        "stop" | "end_turn" | "eos" => StopReason::Stop,
        "tool_calls" | "function_call" => StopReason::ToolCalls,
        "length" | "max_tokens" => StopReason::Length,
        "content_filter" => StopReason::ContentFilter,
        _ => StopReason::Other,
    }
}

fn usage(usage: &wire::Usage) -> ModelEvent {
    let cached = usage.prompt_tokens_details.as_ref().and_then(|details| details.cached_tokens);
    let written = usage.prompt_tokens_details.as_ref().and_then(|details| details.cache_write_tokens);
    let reasoning = usage.completion_tokens_details.as_ref().and_then(|details| details.reasoning_tokens);
    ModelEvent::Usage(Usage {
        input_tokens: usage.prompt_tokens.unwrap_or(0),
        output_tokens: usage.completion_tokens.unwrap_or(0),
        cached_tokens: cached.or(usage.prompt_cache_hit_tokens).unwrap_or(0),
        cache_write_tokens: written.unwrap_or(0),
        reasoning_tokens: reasoning.unwrap_or(0),
    })
}

#[cfg(test)]
mod tests;
