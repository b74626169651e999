//! How every protocol is tried: recorded frames in, events out, in words.
//!
//! Each protocol has the same scenarios in its `fixtures/`, named alike: `streams-text`, `reasons-then-calls`,
//! `calls-two-tools-at-once`, `cut-by-length`, `reports-overload`, `fails-in-band`, `whole-answer`.

use std::collections::VecDeque;

use helve_model::ModelEvent;

use crate::protocol::Decoder;

/// What a decoder makes of frames, one on each line.
pub(crate) fn read(mut decode: Decoder, frames: &str) -> String {
    let mut events = VecDeque::new();
    let mut failed = None;
    for frame in frames.lines().map(str::trim).filter(|line| !line.is_empty()).map(Some).chain([None]) {
        if let Err(error) = decode(frame, &mut events) {
            failed = Some(error);
            break;
        }
    }
    let mut text = words(&events);
    if let Some(error) = failed {
        text.push_str(&format!("{:?}: {error}\n", error.kind));
    }
    text
}

pub(crate) fn words(events: &VecDeque<ModelEvent>) -> String {
    let mut text = String::new();
    for event in events {
        text.push_str(&match event {
            ModelEvent::Reasoning(piece) => format!("reasoning {piece:?}\n"),
            ModelEvent::Text(piece) => format!("text {piece:?}\n"),
            ModelEvent::CallStarted { index, id, tool } => {
                format!("call {index} {} {tool}\n", id.as_deref().unwrap_or("-"))
            }
            ModelEvent::CallArguments { index, text } => format!("arguments {index} {text}\n"),
            ModelEvent::Usage(usage) => format!(
                "usage {} {} cached {} reasoning {}\n",
                usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.reasoning_tokens
            ),
            ModelEvent::Echo(value) => format!("echo {value}\n"),
            ModelEvent::Finished(reason) => format!("finished {reason:?}\n"),
        });
    }
    text
}
