//! Gemini: `POST /v1beta/models/{model}:streamGenerateContent?alt=sse`, or `:generateContent` for a complete answer.
//!
//! Peculiarities: the address has the model and says whether the answer is streamed. A stream has no end mark. Calls are
//! complete, often without an id; their results are then matched by order. Parts have signatures that must be sent back on
//! the same part. Newer models refuse a call without one; calls of other models get a placeholder. `STOP` also ends a
//! message with calls. Schemas are a part of OpenAPI's (see `schema`). Thinking is not part of the output tokens.

mod decode;
mod encode;
mod wire;

use crate::protocol::{Framing, KeyHeader, ModelListRoute, Protocol};

pub(crate) const PROTOCOL: Protocol = Protocol {
    name: "gemini",
    path: "/v1beta/models/{model}:streamGenerateContent?alt=sse",
    complete_path: "/v1beta/models/{model}:generateContent",
    framing: Framing::Events,
    key: KeyHeader::Named("x-goog-api-key"),
    headers: &[],
    model_list: ModelListRoute { path: "/v1beta/models", list: "models", name: "name", complete: false },
    encode: encode::encode,
    declare: encode::declare_tools,
    decoder: decode::decoder,
    decode_complete: decode::decode_complete,
};
