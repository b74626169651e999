//! A model for people without keys: a handful of rules, honest about being no more.
//!
//! `prompted` shows a conversation of prompt mode like any other, `wish` reads what a message asks for, `script`
//! decides what to say and which tools to call; all are pure.
//! Here the words are let out one after the other, as a language model would, so that everything around a
//! model can be seen at work: reasoning, calls, parallel calls, a tool in the browser, a question to a person.

mod prompted;
mod script;
mod wish;

use std::time::Duration;

use futures_util::stream;
use helve_types::{Mode, ModelParams, StopReason, Usage};

use self::prompted::{Form, scene};
use self::script::{Beat, script};
use crate::{Model, ModelEvent, ModelRequest, ModelStream, ToolMode};

/// How long a word takes.
const PACE: Duration = Duration::from_millis(20);

pub struct DemoModel {
    params: ModelParams,
    pace: Duration,
}

impl DemoModel {
    pub fn new() -> Self {
        Self { params: ModelParams::default(), pace: PACE }
    }

    /// Says everything at once, for tests.
    pub fn hurried() -> Self {
        Self { pace: Duration::ZERO, ..Self::new() }
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
        let scene = scene(request);
        let beats = match scene.form {
            Some(form) => written(script(&scene), form),
            None => script(&scene),
        };
        let events = events(beats, request);
        let pace = self.pace;
        Box::pin(stream::unfold((events.into_iter(), true), move |(mut events, first)| async move {
            let event = events.next()?;
            // The first word comes at once: nobody likes to wait for a machine to begin.
            if !first && !pace.is_zero() && matches!(event, ModelEvent::Text(_) | ModelEvent::Reasoning(_)) {
                tokio::time::sleep(pace).await;
            }
            Some((Ok(event), (events, false)))
        }))
    }
}

/// The same with its calls as text, and then nothing else: that is what the prompt asks for.
fn written(beats: Vec<Beat>, form: Form) -> Vec<Beat> {
    let (mut others, mut calls) = (vec![], vec![]);
    for beat in beats {
        match beat {
            Beat::Call { tool, arguments } => calls.push((tool, arguments)),
            other => others.push(other),
        }
    }
    if !calls.is_empty() {
        others.retain(|beat| !matches!(beat, Beat::Say(_)));
        others.push(Beat::Say(form.write(&calls)));
    }
    others
}

fn events(beats: Vec<Beat>, request: &ModelRequest<'_>) -> Vec<ModelEvent> {
    let mut events = vec![];
    let mut calls = 0;
    for beat in beats {
        match beat {
            Beat::Think(text) => events.extend(pieces(&text).map(ModelEvent::Reasoning)),
            Beat::Say(text) => events.extend(pieces(&text).map(ModelEvent::Text)),
            Beat::Call { tool, arguments } => {
                let index = calls;
                calls += 1;
                events.push(ModelEvent::CallStarted { index, id: Some(format!("call_{calls}")), tool });
                let text = arguments.to_string();
                events.extend(pieces(&text).map(|text| ModelEvent::CallArguments { index, text }));
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

/// Words with what follows them; Chinese, which has no blanks, in pairs of characters.
fn pieces(text: &str) -> impl Iterator<Item = String> + use<> {
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
