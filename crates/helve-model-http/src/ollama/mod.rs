//! Ollama: `POST /api/chat`, a JSON object on each line.
//!
//! Peculiarities: a call is complete, with an object as its arguments and mostly without an id, and the answer still ends
//! with `stop`. There is no tool choice. Sampling parameters are in `options`, others beside it. An error inside a stream
//! is a line of its own. Ollama drops a call that it does not understand, such as a call to an unknown tool or with
//! arguments that are not in the schema: the answer is complete and empty. After reasoning such a call cannot be detected.

mod decode;
mod encode;
mod wire;

use crate::protocol::{Framing, KeyHeader, ModelListRoute, Protocol};

pub(crate) const PROTOCOL: Protocol = Protocol {
    name: "ollama",
    path: "/api/chat",
    complete_path: "/api/chat",
    framing: Framing::Lines,
    key: KeyHeader::Bearer,
    headers: &[],
    model_list: ModelListRoute { path: "/api/tags", list: "models", name: "name", complete: true },
    encode: encode::encode,
    declare: encode::declare_tools,
    decoder: decode::decoder,
    decode_complete: decode::decode_complete,
};
