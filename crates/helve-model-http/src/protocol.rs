//! What a wire protocol is: two functions and a path.

use std::collections::VecDeque;

use helve_model::{ModelError, ModelEvent, ModelRequest};

use crate::vendors::Quirks;

pub struct Protocol {
    /// What configuration calls it.
    pub name: &'static str,
    /// Where questions go, below the base address.
    pub path: &'static str,
    pub(crate) encode: fn(&ModelRequest<'_>, &Target<'_>) -> Vec<u8>,
    pub(crate) decoder: fn() -> Decoder,
    /// The decoder for an answer that comes in one piece.
    pub(crate) whole: fn(&str, &mut VecDeque<ModelEvent>) -> Result<(), ModelError>,
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
