//! What a wire protocol is to the mock: where it is asked, and functions to read a question and to write an answer.
//!
//! Each protocol is one file of the same shape. What goes wrong on the way is not its business: see `answer`.

use bytes::Bytes;
use serde_json::Value;

use super::model_request::ModelRequest;
use super::scripted_text::ScriptedText;
use super::{anthropic_messages, gemini, ollama, openai_chat};

pub struct Protocol {
    /// As Helve's configuration calls it.
    pub name: &'static str,
    /// What a model's `base_url` ends with.
    pub base: &'static str,
    /// Where a question goes, below the base, for a model called `mock`.
    pub path: &'static str,
    pub(super) framing: Framing,
    /// Where it says which models it has, and how.
    pub(super) catalogue: (&'static str, &'static str),
    /// Whether a path is this protocol's.
    pub(super) route: fn(&str) -> Option<Route>,
    pub(super) read: fn(&[u8]) -> Result<ModelRequest, serde_json::Error>,
    /// The answer in pieces.
    pub(super) frames: fn(&ScriptedText) -> Frames,
    /// The answer in one piece.
    pub(super) whole: fn(&ScriptedText) -> Value,
    /// How the server reports an error, with a status or in the middle of a stream.
    pub(super) error: fn(u16, &str) -> Value,
    /// What it says, with status 400, to a question of so many tokens where only so many fit.
    pub(super) too_long: fn(usize, usize) -> Value,
}

pub const PROTOCOLS: &[&Protocol] =
    &[&openai_chat::PROTOCOL, &ollama::PROTOCOL, &anthropic_messages::PROTOCOL, &gemini::PROTOCOL];

/// What the address alone says about a question.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) model: Option<String>,
    /// Whether pieces are wanted, where the body does not say so.
    pub(super) stream: Option<bool>,
}

/// A streamed answer, event by event.
#[derive(Debug)]
pub(super) struct Frames {
    /// What comes before anything is said.
    pub(super) begin: Option<Bytes>,
    /// What is said: a word, a piece of reasoning or of a call each.
    pub(super) tokens: Vec<Bytes>,
    /// Why the model stopped, and what it cost.
    pub(super) finish: Vec<Bytes>,
    /// The protocol's word for the end, if it has one.
    pub(super) done: Option<Bytes>,
}

/// How events are told apart on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// Server-sent events.
    Events,
    /// The same, each with the name of its type.
    NamedEvents,
    /// A line each.
    Lines,
}

impl Framing {
    pub(super) fn content_type(self) -> &'static str {
        if self == Self::Lines { "application/x-ndjson" } else { "text/event-stream" }
    }

    pub(super) fn frame(self, body: &Value) -> Bytes {
        match (self, body["type"].as_str()) {
            (Self::Lines, _) => Bytes::from(format!("{body}\n")),
            (Self::NamedEvents, Some(name)) => Bytes::from(format!("event: {name}\ndata: {body}\n\n")),
            _ => Bytes::from(format!("data: {body}\n\n")),
        }
    }
}

pub(super) fn joined(frames: impl IntoIterator<Item = Bytes>) -> Bytes {
    let mut frames = frames.into_iter();
    let first = frames.next().unwrap_or_default();
    let Some(second) = frames.next() else { return first };
    let mut all = [first, second].concat();
    frames.for_each(|frame| all.extend_from_slice(&frame));
    all.into()
}
