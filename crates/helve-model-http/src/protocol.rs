//! A wire protocol as data: paths, framing, headers, and functions that encode and decode.

use std::collections::VecDeque;

use helve_model::{ModelError, ModelEvent, ModelRequest};
use helve_types::ToolSpec;
use serde_json::Value;

use crate::vendors::Quirks;

pub struct Protocol {
    /// The name in the configuration.
    pub name: &'static str,
    /// The path for streamed answers, below the base address; `{model}` is replaced by the vendor's name for the model.
    pub(crate) path: &'static str,
    /// The path for answers that are not streamed.
    pub(crate) complete_path: &'static str,
    pub(crate) framing: Framing,
    pub(crate) key: KeyHeader,
    /// Sent with every request.
    pub(crate) headers: &'static [(&'static str, &'static str)],
    pub(crate) model_list: ModelListRoute,
    pub(crate) encode: fn(&ModelRequest<'_>, &Target<'_>) -> Vec<u8>,
    /// Encodes tools as in a request body.
    pub(crate) declare: fn(&[&ToolSpec]) -> Value,
    pub(crate) decoder: fn() -> Decoder,
    /// Decodes an answer that is not streamed.
    pub(crate) decode_complete: fn(&str, &mut VecDeque<ModelEvent>) -> Result<(), ModelError>,
}

impl Protocol {
    /// The tools as the `tools` member of a request body, for programs that send requests to models themselves.
    pub fn declarations(&self, tools: &[&ToolSpec]) -> Value {
        (self.declare)(tools)
    }
}

/// How the frames of an answer are separated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Server-sent events; a frame is the data of an event.
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

/// The header that carries the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyHeader {
    /// `Authorization: Bearer …`
    Bearer,
    /// The key alone, in a header of this name.
    Named(&'static str),
}

/// The route that lists a server's models, free of charge.
pub(crate) struct ModelListRoute {
    /// Below the base address.
    pub(crate) path: &'static str,
    /// The member of the answer with the list, and the member of an item with the name.
    pub(crate) list: &'static str,
    pub(crate) name: &'static str,
    /// Whether a model that is not listed does not exist. Some vendors also accept names that they do not list.
    pub(crate) complete: bool,
}

/// What a request body depends on besides the request.
pub(crate) struct Target<'a> {
    /// The vendor's name for the model.
    pub(crate) model: &'a str,
    pub(crate) quirks: &'a Quirks,
}

/// Turns a frame into events. `None` is the end of the stream, which is an error if the answer is not complete.
pub(crate) type Decoder =
    Box<dyn FnMut(Option<&str>, &mut VecDeque<ModelEvent>) -> Result<(), ModelError> + Send>;
