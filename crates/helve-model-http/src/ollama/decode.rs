//! From lines to events.

use std::collections::VecDeque;

use helve_model::{ModelError, ModelErrorKind, ModelEvent};
use helve_types::{StopReason, Usage};

use super::wire;
use crate::complaint;
use crate::protocol::Decoder;

pub(super) fn decoder() -> Decoder {
    let mut state = State::default();
    Box::new(move |line, events| match line {
        Some(line) => state.take(&parse(line)?, events),
        None => state.end(),
    })
}

pub(super) fn whole(body: &str, events: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
    let mut state = State::default();
    state.take(&parse(body)?, events)?;
    state.end()
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
    /// Whether anything came of what the model wrote: thoughts or words.
    spoke: bool,
    done: bool,
}

impl State {
    fn take(&mut self, chunk: &wire::Chunk<'_>, events: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        if let Some(error) = &chunk.error {
            return Err(complaint::in_answer(error));
        }
        if let Some(said) = &chunk.message {
            self.hear(said, events);
        }
        if chunk.done && !self.done {
            self.done = true;
            self.finish(chunk, events)?;
        }
        Ok(())
    }

    fn hear(&mut self, said: &wire::Said<'_>, events: &mut VecDeque<ModelEvent>) {
        if let Some(text) = said.thinking.as_deref().filter(|text| !text.is_empty()) {
            self.spoke = true;
            events.push_back(ModelEvent::Reasoning(text.into()));
        }
        if let Some(text) = said.content.as_deref().filter(|text| !text.is_empty()) {
            self.spoke |= !text.trim().is_empty();
            events.push_back(ModelEvent::Text(text.into()));
        }
        for call in said.tool_calls.iter().flatten() {
            let index = self.calls;
            self.calls += 1;
            let id = call.id.as_deref().filter(|id| !id.is_empty()).map(str::to_owned);
            // Without a name it is a call all the same: the model is told which tools there are.
            let tool = call.function.name.as_deref().unwrap_or_default().to_owned();
            events.push_back(ModelEvent::CallStarted { index, id, tool });
            let text = arguments(&call.function);
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
            // Old servers give no reason.
            Some("stop") | None if self.calls > 0 => StopReason::ToolCalls,
            Some("stop") | None if !self.spoke && written > 0 => return Err(swallowed(written)),
            Some("stop") | None => StopReason::Stop,
            Some("length") => StopReason::Length,
            Some(_) => StopReason::Other,
        };
        events.push_back(ModelEvent::Finished(reason));
        Ok(())
    }

    fn end(&self) -> Result<(), ModelError> {
        if self.done {
            return Ok(());
        }
        let message = "the model's answer broke off: the stream ended before the answer did";
        Err(ModelError::new(ModelErrorKind::Broken, message))
    }
}

/// The model wrote something, and nothing of it came: a call that Ollama did not understand and left out. Not
/// `NoTools`, which would move the model to prompt mode for good because of one slip; `Broken`, since the message
/// is lost but another try may well be understood, and what asks then knows that this was no answer.
fn swallowed(tokens: u64) -> ModelError {
    let what = format!(
        "the model wrote {tokens} tokens of which Ollama passed on nothing: probably a call to an unknown tool \
         or with wrong arguments; `tools = \"prompt\"` shows what it writes"
    );
    ModelError::new(ModelErrorKind::Broken, what)
}

/// As they were written; a string is taken for JSON text, as other protocols send it.
fn arguments(function: &wire::SaidFunction<'_>) -> String {
    let raw = function.arguments.map(|raw| raw.get()).unwrap_or_default();
    let text: Option<String> = raw.starts_with('"').then(|| serde_json::from_str(raw).ok()).flatten();
    text.unwrap_or_else(|| if raw == "null" { String::new() } else { raw.to_owned() })
}

#[cfg(test)]
mod tests;
