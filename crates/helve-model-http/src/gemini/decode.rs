//! From frames to events: a small machine that keeps the signed parts of the answer in their order.

use std::collections::VecDeque;

use helve_model::{ModelError, ModelErrorKind, ModelEvent};
use helve_types::{StopReason, Usage};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::wire;
use crate::complaint;
use crate::protocol::Decoder;

pub(super) fn decoder() -> Decoder {
    let mut state = State::default();
    Box::new(move |frame, events| match frame {
        // Said by gateways that speak another protocol behind this one.
        Some("[DONE]") => state.done(events),
        Some(data) => state.take(parse(data)?, events),
        None => state.end(events),
    })
}

pub(super) fn whole(body: &str, events: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
    let mut state = State::default();
    state.take(parse(body)?, events)?;
    state.end(events)
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
    /// Calls are numbered in the order in which they come.
    calls: u32,
    /// What was said, for the echo.
    parts: Vec<Map<String, Value>>,
    /// Whether the vendor wants any of it back.
    wanted: bool,
    /// Whether there is a call, or a word or thought.
    spoke: bool,
    usage: Option<Usage>,
    finish: Option<StopReason>,
    ended: bool,
}

impl State {
    fn take(&mut self, chunk: wire::Chunk, events: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        if let Some(error) = &chunk.error {
            return Err(complaint::in_answer(error));
        }
        if let Some(reason) = chunk.prompt_feedback.and_then(|feedback| feedback.block_reason) {
            let message = format!("the vendor blocks this question ({reason}); put it in other words");
            return Err(ModelError::new(ModelErrorKind::Refused, message));
        }
        for candidate in chunk.candidates.into_iter().filter(|candidate| candidate.index == 0) {
            for part in candidate.content.into_iter().flat_map(|content| content.parts) {
                self.take_part(part, events);
            }
            if let Some(reason) = &candidate.finish_reason {
                self.finish = Some(stop_reason(reason, candidate.finish_message.as_deref())?);
            }
        }
        // Told with every piece; only what is new is passed on.
        let usage = chunk.usage_metadata.as_ref().map(usage).filter(|usage| self.usage != Some(*usage));
        self.usage = usage.or(self.usage);
        events.extend(usage.map(ModelEvent::Usage));
        Ok(())
    }

    fn take_part(&mut self, part: wire::SaidPart, events: &mut VecDeque<ModelEvent>) {
        let signature = part.thought_signature.filter(|signature| !signature.is_empty());
        self.wanted |= signature.is_some();
        let signature = signature.map(|signature| ("thoughtSignature".to_owned(), Value::String(signature)));
        self.spoke |= part.function_call.is_some() || part.text.as_ref().is_some_and(|text| !text.is_empty());
        if let Some(call) = part.function_call {
            let index = self.calls;
            self.calls += 1;
            let id = call.id.filter(|id| !id.is_empty());
            let mut kept = Map::from_iter([("call".to_owned(), json!(index))]);
            kept.extend(id.clone().map(|id| ("id".to_owned(), Value::String(id))));
            self.wanted |= id.is_some();
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

    /// Parts with a signature stay as they are; pieces without one are one text. Thoughts without one are not
    /// wanted back.
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

    /// The stream is complete, and the answer with it, whether or not a reason was given. Calls come whole. A stream of
    /// nothing is no answer.
    fn done(&mut self, events: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        if self.finish.is_none() && self.spoke {
            self.finish = Some(StopReason::Stop);
        }
        self.end(events)
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
        if self.wanted {
            events.push_back(ModelEvent::Echo(json!({"parts": self.parts})));
        }
        let called = self.calls > 0 && reason == StopReason::Stop;
        events.push_back(ModelEvent::Finished(if called { StopReason::ToolCalls } else { reason }));
        Ok(())
    }
}

/// Why the answer ended, or that it is none: a call that the model could not write, asked for again, may be right.
fn stop_reason(word: &str, details: Option<&str>) -> Result<StopReason, ModelError> {
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

fn usage(usage: &wire::Usage) -> Usage {
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
