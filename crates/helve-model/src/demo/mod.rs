//! A model for users without keys. It follows a few rules and says so in its introduction.
//!
//! `prompted` converts a conversation of prompt mode into one with native calls, `intent` finds what a message asks for,
//! `script` chooses the text and the calls of the reply; all three are pure. This file streams the reply word by word, as
//! a language model would, to show reasoning, calls, parallel calls, browser tools and approvals.

mod intent;
mod prompted;
mod script;

use std::time::Duration;

use futures_util::stream;
use helve_types::{Mode, ModelParams, StopReason, Usage};

use self::prompted::{CallFormat, read_request};
use self::script::{ReplyPart, plan_reply};
use crate::{Model, ModelEvent, ModelRequest, ModelStream, ToolMode};

/// The delay before each word.
const WORD_DELAY: Duration = Duration::from_millis(20);

pub struct DemoModel {
    params: ModelParams,
    word_delay: Duration,
}

impl DemoModel {
    pub fn new() -> Self {
        Self { params: ModelParams::default(), word_delay: WORD_DELAY }
    }

    /// Sends the whole reply without delays, for tests.
    pub fn without_delay() -> Self {
        Self { word_delay: Duration::ZERO, ..Self::new() }
    }
}

impl Default for DemoModel {
    fn default() -> Self {
        Self::new()
    }
}

impl Model for DemoModel {
    fn name(&self) -> &str {
        "demo"
    }

    fn tool_mode(&self) -> ToolMode {
        ToolMode::Fixed(Mode::Native)
    }

    fn params(&self) -> &ModelParams {
        &self.params
    }

    fn ask(&self, request: &ModelRequest<'_>) -> ModelStream {
        let conversation = read_request(request);
        let parts = match conversation.format {
            Some(format) => write_calls_as_text(plan_reply(&conversation), format),
            None => plan_reply(&conversation),
        };
        let events = build_events(parts, request);
        let word_delay = self.word_delay;
        Box::pin(stream::unfold((events.into_iter(), true), move |(mut events, first)| async move {
            let event = events.next()?;
            // The first word has no delay, so that the reply begins at once.
            if !first
                && !word_delay.is_zero()
                && matches!(event, ModelEvent::Text(_) | ModelEvent::Reasoning(_))
            {
                tokio::time::sleep(word_delay).await;
            }
            Some((Ok(event), (events, false)))
        }))
    }
}

/// Writes the calls into the text. A reply with calls keeps no other text, as the prompt demands.
fn write_calls_as_text(parts: Vec<ReplyPart>, format: CallFormat) -> Vec<ReplyPart> {
    let (mut others, mut calls) = (vec![], vec![]);
    for part in parts {
        match part {
            ReplyPart::Call { tool, arguments } => calls.push((tool, arguments)),
            other => others.push(other),
        }
    }
    if !calls.is_empty() {
        others.retain(|part| !matches!(part, ReplyPart::Say(_)));
        others.push(ReplyPart::Say(format.write(&calls)));
    }
    others
}

fn build_events(parts: Vec<ReplyPart>, request: &ModelRequest<'_>) -> Vec<ModelEvent> {
    let mut events = vec![];
    let mut calls = 0;
    for part in parts {
        match part {
            ReplyPart::Think(text) => events.extend(split_words(&text).map(ModelEvent::Reasoning)),
            ReplyPart::Say(text) => events.extend(split_words(&text).map(ModelEvent::Text)),
            ReplyPart::Call { tool, arguments } => {
                let index = calls;
                calls += 1;
                events.push(ModelEvent::CallStarted { index, id: Some(format!("call_{calls}")), tool });
                let text = arguments.to_string();
                events.extend(split_words(&text).map(|text| ModelEvent::CallArguments { index, text }));
            }
        }
    }
    let words = |text: &str| text.split_whitespace().count() as u64;
    let usage = Usage {
        input_tokens: request.turns.iter().map(|turn| words(&format!("{turn:?}"))).sum(),
        output_tokens: events.len() as u64,
        ..Usage::default()
    };
    events.push(ModelEvent::Usage(usage));
    events.push(ModelEvent::Finished(if calls > 0 { StopReason::ToolCalls } else { StopReason::Stop }));
    events
}

/// Splits a text after each word, and Chinese text after every second character.
fn split_words(text: &str) -> impl Iterator<Item = String> + use<> {
    let mut pieces: Vec<String> = vec![];
    let mut piece = String::new();
    for c in text.chars() {
        piece.push(c);
        let wide = piece.chars().filter(|c| *c as u32 >= 0x2e80).count();
        if c.is_whitespace() || wide >= 2 {
            pieces.push(std::mem::take(&mut piece));
        }
    }
    if !piece.is_empty() {
        pieces.push(piece);
    }
    pieces.into_iter()
}

#[cfg(test)]
mod tests;
