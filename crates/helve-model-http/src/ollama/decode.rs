//! Decodes lines into events.

use std::collections::VecDeque;

use helve_model::{ModelError, ModelErrorKind, ModelEvent};
use helve_types::{StopReason, Usage};

use super::wire;
use crate::protocol::Decoder;
use crate::server_error;

pub(super) fn decoder() -> Decoder {
    let mut state = State::default();
    Box::new(move |line, events| match line {
        Some(line) => state.apply(&parse(line)?, events),
        None => state.finish_stream(),
    })
}

pub(super) fn decode_complete(body: &str, events: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
    let mut state = State::default();
    state.apply(&parse(body)?, events)?;
    state.finish_stream()
}

fn parse(line: &str) -> Result<wire::Chunk<'_>, ModelError> {
    serde_json::from_str(line).map_err(|error| {
        let shown: String = line.chars().take(120).collect();
        let what =
            format!("the model server sent something that is not an answer of Ollama ({error}): {shown}");
        ModelError::new(ModelErrorKind::Broken, what)
    })
}

#[derive(Default)]
struct State {
    calls: u32,
    /// Whether there is reasoning or text.
    has_content: bool,
    done: bool,
}

impl State {
    fn apply(
        &mut self,
        chunk: &wire::Chunk<'_>,
        events: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        if let Some(error) = &chunk.error {
            return Err(server_error::from_stream(error));
        }
        if let Some(message) = &chunk.message {
            self.apply_message(message, events);
        }
        if chunk.done && !self.done {
            self.done = true;
            self.finish(chunk, events)?;
        }
        Ok(())
    }

    fn apply_message(&mut self, message: &wire::ReplyMessage<'_>, events: &mut VecDeque<ModelEvent>) {
        if let Some(text) = message.thinking.as_deref().filter(|text| !text.is_empty()) {
            self.has_content = true;
            events.push_back(ModelEvent::Reasoning(text.into()));
        }
        if let Some(text) = message.content.as_deref().filter(|text| !text.is_empty()) {
            self.has_content |= !text.trim().is_empty();
            events.push_back(ModelEvent::Text(text.into()));
        }
        for call in message.tool_calls.iter().flatten() {
            let index = self.calls;
            self.calls += 1;
            let id = call.id.as_deref().filter(|id| !id.is_empty()).map(str::to_owned);
            // A call without a name is kept: its error tells the model which tools exist.
            let tool = call.function.name.as_deref().unwrap_or_default().to_owned();
            events.push_back(ModelEvent::CallStarted { index, id, tool });
            let text = arguments_text(&call.function);
            if !text.is_empty() {
                events.push_back(ModelEvent::CallArguments { index, text });
            }
            // They come whole.
            events.push_back(ModelEvent::CallFinished { index });
        }
    }

    fn finish(&self, last: &wire::Chunk<'_>, events: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        let written = last.eval_count.unwrap_or(0);
        events.push_back(ModelEvent::Usage(Usage {
            input_tokens: last.prompt_eval_count.unwrap_or(0),
            output_tokens: written,
            ..Usage::default()
        }));
        let reason = match last.done_reason.as_deref() {
            // Old servers send no reason.
            Some("stop") | None if self.calls > 0 => StopReason::ToolCalls,
            Some("stop") | None if !self.has_content && written > 0 => {
                return Err(dropped_call_error(written));
            }
            Some("stop") | None => StopReason::Stop,
            Some("length") => StopReason::Length,
            Some(_) => StopReason::Other,
        };
        events.push_back(ModelEvent::Finished(reason));
        Ok(())
    }

    fn finish_stream(&self) -> Result<(), ModelError> {
        if self.done {
            return Ok(());
        }
        let message = "the model's answer broke off: the stream ended before the answer did";
        Err(ModelError::new(ModelErrorKind::Broken, message))
    }
}

/// The error of an empty answer with output tokens: Ollama dropped a call that it did not understand. The kind is
/// `Broken`, since a retry may succeed; `NoTools` would move the model to prompt mode permanently.
fn dropped_call_error(tokens: u64) -> ModelError {
    let what = format!(
        "the model wrote {tokens} tokens, but Ollama sent none of them: probably a call to an unknown tool or \
         with wrong arguments; `tools = \"prompt\"` shows what the model writes"
    );
    ModelError::new(ModelErrorKind::Broken, what)
}

/// The arguments verbatim; a string is read as JSON text, as in other protocols.
fn arguments_text(function: &wire::ReplyFunction<'_>) -> String {
    let raw = function.arguments.map(|raw| raw.get()).unwrap_or_default();
    let text: Option<String> = raw.starts_with('"').then(|| serde_json::from_str(raw).ok()).flatten();
    text.unwrap_or_else(|| if raw == "null" { String::new() } else { raw.to_owned() })
}

#[cfg(test)]
mod tests;
