//! What a wire protocol is: an address, a way to frame, and functions to write and read.

use std::collections::VecDeque;

use helve_model::{ModelError, ModelEvent, ModelRequest};
use helve_types::ToolSpec;
use serde_json::Value;

use crate::vendors::Quirks;

pub struct Protocol {
    /// What configuration calls it.
    pub name: &'static str,
    /// Where questions go, below the base address; `{model}` stands for what the vendor calls the model.
    pub(crate) path: &'static str,
    /// The same for an answer that is to come in one piece.
    pub(crate) path_whole: &'static str,
    pub(crate) framing: Framing,
    pub(crate) key: KeyHeader,
    /// Sent with every question.
    pub(crate) headers: &'static [(&'static str, &'static str)],
    pub(crate) catalogue: Catalogue,
    pub(crate) encode: fn(&ModelRequest<'_>, &Target<'_>) -> Vec<u8>,
    /// Tools as they stand in a body.
    pub(crate) declare: fn(&[&ToolSpec]) -> Value,
    pub(crate) decoder: fn() -> Decoder,
    /// The decoder for an answer that comes in one piece.
    pub(crate) whole: fn(&str, &mut VecDeque<ModelEvent>) -> Result<(), ModelError>,
}

impl Protocol {
    /// Tools as a body of this protocol has them under `tools`, for programs that ask models themselves.
    pub fn declarations(&self, tools: &[&ToolSpec]) -> Value {
        (self.declare)(tools)
    }
}

/// What separates the frames of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Server-sent events; a frame is the data of one.
    Events,
    /// Line ends; a frame is a line.
    Lines,
}

impl Framing {
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Events => "text/event-stream",
            Self::Lines => "application/x-ndjson",
        }
    }
}

/// How a key is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyHeader {
    /// `Authorization: Bearer …`
    Bearer,
    /// Alone, in a header of this name.
    Named(&'static str),
}

/// Where a server says, for nothing, which models it has.
pub(crate) struct Catalogue {
    /// Below the base address.
    pub(crate) path: &'static str,
    /// The list in the answer, and what a name is called in it.
    pub(crate) list: &'static str,
    pub(crate) name: &'static str,
    /// Whether a model that is not in the list is not there; vendors also answer to names that they do not list.
    pub(crate) complete: bool,
}

/// What a body depends on besides the request.
pub(crate) struct Target<'a> {
    /// What the vendor calls the model.
    pub(crate) model: &'a str,
    pub(crate) quirks: &'a Quirks,
}

/// A frame in, events out. `None` is the end of the stream: last words, or an error if it came too early.
pub(crate) type Decoder =
    Box<dyn FnMut(Option<&str>, &mut VecDeque<ModelEvent>) -> Result<(), ModelError> + Send>;
