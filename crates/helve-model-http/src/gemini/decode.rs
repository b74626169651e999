//! Decodes frames into events. The state is the parts of the answer in their order.

use std::collections::VecDeque;

use helve_model::{ModelError, ModelErrorKind, ModelEvent};
use helve_types::{StopReason, Usage};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::wire;
use crate::protocol::Decoder;
use crate::server_error;

pub(super) fn decoder() -> Decoder {
    let mut state = State::default();
    Box::new(move |frame, events| match frame {
        // Sent by gateways that translate from OpenAI's protocol.
        Some("[DONE]") => state.handle_done_mark(events),
        Some(data) => state.apply(parse(data)?, events),
        None => state.finish(events),
    })
}

pub(super) fn decode_complete(body: &str, events: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
    let mut state = State::default();
    state.apply(parse(body)?, events)?;
    state.finish(events)
}

fn parse(data: &str) -> Result<wire::Chunk, ModelError> {
    serde_json::from_str(data).map_err(|error| {
        let shown: String = data.chars().take(120).collect();
        ModelError::new(
            ModelErrorKind::Broken,
            format!("the model server sent something that is no generated content ({error}): {shown}"),
        )
    })
}

#[derive(Default)]
struct State {
    /// The number of calls so far.
    calls: u32,
    /// The parts for the echo.
    parts: Vec<Map<String, Value>>,
    /// Whether the vendor requires any part back.
    needs_echo: bool,
    /// Whether there is a call, text or reasoning.
    has_content: bool,
    usage: Option<Usage>,
    finish: Option<StopReason>,
    ended: bool,
}

impl State {
    fn apply(&mut self, chunk: wire::Chunk, events: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        if let Some(error) = &chunk.error {
            return Err(server_error::from_stream(error));
        }
        if let Some(reason) = chunk.prompt_feedback.and_then(|feedback| feedback.block_reason) {
            let message = format!("the vendor blocks this request ({reason}); rephrase it");
            return Err(ModelError::new(ModelErrorKind::Refused, message));
        }
        for candidate in chunk.candidates.into_iter().filter(|candidate| candidate.index == 0) {
            for part in candidate.content.into_iter().flat_map(|content| content.parts) {
                self.apply_part(part, events);
            }
            if let Some(reason) = &candidate.finish_reason {
                self.finish = Some(parse_stop_reason(reason, candidate.finish_message.as_deref())?);
            }
        }
        // Sent with every piece; only changes become events.
        let usage = chunk.usage_metadata.as_ref().map(to_usage).filter(|usage| self.usage != Some(*usage));
        self.usage = usage.or(self.usage);
        events.extend(usage.map(ModelEvent::Usage));
        Ok(())
    }

    fn apply_part(&mut self, part: wire::CandidatePart, events: &mut VecDeque<ModelEvent>) {
        let signature = part.thought_signature.filter(|signature| !signature.is_empty());
        self.needs_echo |= signature.is_some();
        let signature = signature.map(|signature| ("thoughtSignature".to_owned(), Value::String(signature)));
        self.has_content |=
            part.function_call.is_some() || part.text.as_ref().is_some_and(|text| !text.is_empty());
        if let Some(call) = part.function_call {
            let index = self.calls;
            self.calls += 1;
            let id = call.id.filter(|id| !id.is_empty());
            let mut kept = Map::from_iter([("call".to_owned(), json!(index))]);
            kept.extend(id.clone().map(|id| ("id".to_owned(), Value::String(id))));
            self.needs_echo |= id.is_some();
            kept.extend(signature);
            self.parts.push(kept);
            events.push_back(ModelEvent::CallStarted { index, id, tool: call.name.unwrap_or_default() });
            let arguments = call.args.as_deref().map(RawValue::get).filter(|args| *args != "null");
            events.push_back(ModelEvent::CallArguments { index, text: arguments.unwrap_or("{}").to_owned() });
            // They come whole.
            events.push_back(ModelEvent::CallFinished { index });
            return;
        }
        let text = part.text.unwrap_or_default();
        self.keep_text(&text, part.thought, signature);
        if !text.is_empty() {
            events.push_back(if part.thought { ModelEvent::Reasoning(text) } else { ModelEvent::Text(text) });
        }
    }

    /// Keeps parts with a signature unchanged and joins texts without one. Reasoning without a signature is not sent back.
    fn keep_text(&mut self, text: &str, thought: bool, signature: Option<(String, Value)>) {
        if signature.is_none() && (thought || text.is_empty()) {
            return;
        }
        let open = |kept: &&mut Map<String, Value>| {
            kept.contains_key("text")
                && !kept.contains_key("thought")
                && !kept.contains_key("thoughtSignature")
        };
        if signature.is_none()
            && let Some(Value::String(known)) =
                self.parts.last_mut().filter(open).and_then(|kept| kept.get_mut("text"))
        {
            known.push_str(text);
            return;
        }
        let mut kept = Map::from_iter([("text".to_owned(), Value::from(text))]);
        if thought {
            kept.insert("thought".to_owned(), Value::Bool(true));
        }
        kept.extend(signature);
        self.parts.push(kept);
    }

    /// Handles the end mark of gateways: the answer is complete even without a reason, since calls are never split. An
    /// empty stream is no answer.
    fn handle_done_mark(&mut self, events: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        if self.finish.is_none() && self.has_content {
            self.finish = Some(StopReason::Stop);
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
        if self.needs_echo {
            events.push_back(ModelEvent::Echo(json!({"parts": self.parts})));
        }
        let called = self.calls > 0 && reason == StopReason::Stop;
        events.push_back(ModelEvent::Finished(if called { StopReason::ToolCalls } else { reason }));
        Ok(())
    }
}

/// The reason why the answer ended. A malformed call is an error of kind `Broken`, since a retry may give a valid one.
fn parse_stop_reason(word: &str, details: Option<&str>) -> Result<StopReason, ModelError> {
    let details = details.map(|details| format!(": {details}")).unwrap_or_default();
    Ok(match word {
        "STOP" => StopReason::Stop,
        "MAX_TOKENS" => StopReason::Length,
        "SAFETY" | "RECITATION" | "LANGUAGE" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII"
        | "IMAGE_SAFETY" => StopReason::ContentFilter,
        "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" => {
            let message = format!("the model wrote a call that cannot be read ({word}){details}");
            return Err(ModelError::new(ModelErrorKind::Broken, message));
        }
        "TOO_MANY_TOOL_CALLS" | "MISSING_THOUGHT_SIGNATURE" => {
            let message = format!("the model server gave up ({word}){details}");
            return Err(ModelError::new(ModelErrorKind::Refused, message));
        }
        _ => StopReason::Other,
    })
}

fn to_usage(usage: &wire::Usage) -> Usage {
    Usage {
        input_tokens: usage.prompt_token_count.saturating_add(usage.tool_use_prompt_token_count),
        output_tokens: usage.candidates_token_count.saturating_add(usage.thoughts_token_count),
        cached_tokens: usage.cached_content_token_count,
        cache_write_tokens: 0,
        reasoning_tokens: usage.thoughts_token_count,
    }
}

#[cfg(test)]
mod tests;
