//! Ollama: `POST /api/chat`, a JSON object on each line.
//!
//! What is odd: a call comes whole, with an object for its arguments and mostly without an id, and the answer still
//! ends with `stop`. There is no choice of tools. Sampling is in `options`, the rest beside it. An error after the
//! beginning is a line of its own. And a call that Ollama does not understand, to a tool that was not offered or
//! with arguments that are not in its schema, is swallowed: the answer is complete, and empty.
//! Where thoughts came before it nobody can tell.

mod decode;
mod encode;
mod wire;

use crate::protocol::{Catalogue, Framing, KeyHeader, Protocol};

pub(crate) const PROTOCOL: Protocol = Protocol {
    name: "ollama",
    path: "/api/chat",
    path_whole: "/api/chat",
    framing: Framing::Lines,
    key: KeyHeader::Bearer,
    headers: &[],
    catalogue: Catalogue { path: "/api/tags", list: "models", name: "name", complete: true },
    encode: encode::encode,
    declare: encode::declare,
    decoder: decode::decoder,
    whole: decode::whole,
};
