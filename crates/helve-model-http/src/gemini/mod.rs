//! Gemini: `POST /v1beta/models/{model}:streamGenerateContent?alt=sse`, or `:generateContent` for a whole answer.
//!
//! What is odd: the model is part of the address, and so is whether the answer streams. A stream ends without a mark
//! of its own. Calls come whole, often without an id, and answers to them are then matched by their order. Parts carry
//! signatures that have to come back on the same part; newer models refuse a call without one, and for calls that
//! others made there is a word that stands for it. `STOP` also ends a message with calls. Schemas are a part of
//! OpenAPI's (see `schema`). Thinking is counted apart from the output.

mod decode;
mod encode;
mod wire;

use crate::protocol::{Catalogue, Framing, KeyHeader, Protocol};

pub(crate) const PROTOCOL: Protocol = Protocol {
    name: "gemini",
    path: "/v1beta/models/{model}:streamGenerateContent?alt=sse",
    path_whole: "/v1beta/models/{model}:generateContent",
    framing: Framing::Events,
    key: KeyHeader::Named("x-goog-api-key"),
    headers: &[],
    catalogue: Catalogue { path: "/v1beta/models", list: "models", name: "name", complete: false },
    encode: encode::encode,
    declare: encode::declare,
    decoder: decode::decoder,
    whole: decode::whole,
};
