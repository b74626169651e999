//! Decodes frames into events. The state is the calls that have begun.

mod calls;
mod echo_fields;

use std::borrow::Cow;
use std::collections::VecDeque;

use helve_model::{ModelError, ModelErrorKind, ModelEvent};
use helve_types::{StopReason, Usage};
use serde_json::Value;

use self::calls::Calls;
use self::echo_fields::EchoFields;
use super::wire;
use crate::protocol::Decoder;
use crate::server_error;

pub(super) fn decoder() -> Decoder {
    let mut state = State::default();
    Box::new(move |frame, events| match frame.map(str::trim) {
        Some("[DONE]") => state.handle_done_mark(events),
        None => state.finish(events),
        Some(data) => state.apply(&parse(data)?, events),
    })
}

pub(super) fn decode_complete(body: &str, events: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
    let mut state = State { calls: Calls::for_complete_answer(), ..State::default() };
    state.apply(&parse(body.trim_start_matches('\u{feff}'))?, events)?;
    state.finish(events)
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
    calls: Calls,
    echo_fields: EchoFields,
    finish: Option<StopReason>,
    refused: bool,
    /// Whether there is text or reasoning.
    has_content: bool,
    ended: bool,
}

impl State {
    fn apply(
        &mut self,
        chunk: &wire::Chunk<'_>,
        events: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        check_error(chunk.error.as_ref())?;
        let first = |choice: &&wire::Choice<'_>| choice.index.unwrap_or(0) == 0;
        for choice in chunk.choices.iter().flatten().filter(first) {
            check_error(choice.error.as_ref())?;
            if let Some(delta) = choice.delta.as_ref().or(choice.message.as_ref()) {
                self.apply_delta(delta, events);
            }
            if let Some(reason) = choice.finish_reason.as_deref().filter(|reason| !reason.is_empty()) {
                let reason = parse_stop_reason(reason)?;
                if matches!(reason, StopReason::Stop | StopReason::ToolCalls) {
                    self.calls.finish_all(events);
                }
                self.finish = Some(reason);
            }
            events.extend(choice.usage.as_ref().map(usage_event));
        }
        events.extend(chunk.x_groq.as_ref().and_then(|extension| extension.usage.as_ref()).map(usage_event));
        events.extend(chunk.usage.as_ref().map(usage_event));
        Ok(())
    }

    fn apply_delta(&mut self, delta: &wire::Delta<'_>, events: &mut VecDeque<ModelEvent>) {
        self.echo_fields.apply(delta);
        let (reasoning_part, text) = split_content(delta.content.as_ref());
        let named = delta.reasoning_content.as_deref().or(delta.reasoning.as_deref());
        let reasoning = match named {
            Some(text) => Cow::Borrowed(text),
            None => echo_fields::readable_text(delta.reasoning_details.iter().flatten()).into(),
        };
        for piece in [reasoning, reasoning_part] {
            if !piece.is_empty() {
                self.has_content = true;
                events.push_back(ModelEvent::Reasoning(piece.into_owned()));
            }
        }
        let refusal = delta.refusal.as_deref().unwrap_or_default();
        self.refused |= !refusal.is_empty();
        for piece in [text, refusal.into()] {
            if !piece.is_empty() {
                self.has_content = true;
                events.push_back(ModelEvent::Text(piece.into_owned()));
            }
        }
        for piece in delta.tool_calls.iter().flatten() {
            self.calls.apply(piece, events);
        }
    }

    /// Handles the end mark of the server. If the server gave no reason, the answer is what arrived, and incomplete calls
    /// mean that it was cut. An empty stream is no answer.
    fn handle_done_mark(&mut self, events: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        if !self.ended && self.finish.is_none() {
            self.calls.emit_nameless(events);
            self.finish = match (self.calls.has_calls(), self.has_content) {
                (true, _) if self.calls.has_incomplete() => Some(StopReason::Length),
                (true, _) => Some(StopReason::ToolCalls),
                (false, true) => Some(StopReason::Stop),
                (false, false) => None,
            };
        }
        self.finish(events)
    }

    fn finish(&mut self, events: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        if self.ended {
            return Ok(());
        }
        let Some(reason) = self.finish else {
            let message = "the model's answer broke off: the stream ended before the answer did";
            return Err(ModelError::new(ModelErrorKind::Broken, message));
        };
        self.ended = true;
        self.calls.emit_nameless(events);
        let reason = match reason {
            // Some servers do not report that the length limit was reached inside a call.
            StopReason::Stop | StopReason::ToolCalls if self.calls.is_cut() => StopReason::Length,
            StopReason::Stop if self.refused && !self.calls.has_calls() => StopReason::ContentFilter,
            reason => reason,
        };
        events.extend(self.echo_fields.echo().map(ModelEvent::Echo));
        events.push_back(ModelEvent::Finished(reason));
        Ok(())
    }
}

/// The reasoning and the text of a message's content.
fn split_content<'a>(content: Option<&'a wire::Content<'_>>) -> (Cow<'a, str>, Cow<'a, str>) {
    let parts = match content {
        None => return Default::default(),
        Some(wire::Content::Text(text)) => return (Cow::Borrowed(""), Cow::Borrowed(text)),
        Some(wire::Content::Parts(parts)) => parts,
    };
    let (mut reasoning, mut text) = (String::new(), String::new());
    for part in parts {
        match &part.thinking {
            Some(wire::Thinking::Text(piece)) => reasoning.push_str(piece),
            Some(wire::Thinking::Parts(pieces)) => {
                reasoning.extend(pieces.iter().filter_map(|piece| piece.text.as_deref()));
            }
            None => {}
        }
        text.extend(part.text.as_deref().or(part.refusal.as_deref()));
    }
    (reasoning.into(), text.into())
}

/// Fails if the chunk has an error. Some servers send an empty one with every chunk.
fn check_error(error: Option<&Value>) -> Result<(), ModelError> {
    match error {
        None | Some(Value::Null | Value::Bool(false)) => Ok(()),
        Some(Value::String(text)) if text.is_empty() => Ok(()),
        Some(error) => Err(server_error::from_stream(error)),
    }
}

/// The reason why the model stopped; some reasons are errors.
fn parse_stop_reason(word: &str) -> Result<StopReason, ModelError> {
    let failed = |kind| {
        Err(ModelError::new(
            kind,
            format!("the model's answer broke off: the server gave the reason `{word}`"),
        ))
    };
    match word {
        "stop" | "end_turn" | "eos" | "eos_token" | "stop_sequence" => Ok(StopReason::Stop),
        "tool_calls" | "tool_call" | "tool_use" | "function_call" => Ok(StopReason::ToolCalls),
        "length" | "max_tokens" | "model_length" | "model_context_window_exceeded" => Ok(StopReason::Length),
        "content_filter" | "sensitive" | "refusal" => Ok(StopReason::ContentFilter),
        "insufficient_system_resource" => failed(ModelErrorKind::Unavailable),
        "error" | "network_error" | "abort" => failed(ModelErrorKind::Broken),
        _ => Ok(StopReason::Other),
    }
}

fn usage_event(usage: &wire::Usage) -> ModelEvent {
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
