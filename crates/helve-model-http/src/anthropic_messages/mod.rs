//! Anthropic Messages: `POST /v1/messages`, named server-sent events, `message_stop`.
//!
//! Peculiarities: an answer is a list of blocks. A block of thinking has a signature and must be sent back unchanged at its
//! position; the echo keeps it. All results must be at the start of the next message of the user, and a history with calls
//! is refused unless tools are declared. A length limit is mandatory. Tokens read from or written to the cache are not
//! part of `input_tokens`; the request marks what may be cached. Arguments are pieces of text; no piece means `{}`, unless
//! the answer was cut.

mod decode;
mod encode;
mod wire;

use crate::protocol::{Framing, KeyHeader, ModelListRoute, Protocol};

pub(crate) const PROTOCOL: Protocol = Protocol {
    name: "anthropic",
    path: "/v1/messages",
    complete_path: "/v1/messages",
    framing: Framing::Events,
    key: KeyHeader::Named("x-api-key"),
    headers: &[("anthropic-version", "2023-06-01")],
    model_list: ModelListRoute { path: "/v1/models", list: "data", name: "id", complete: false },
    encode: encode::encode,
    declare: encode::declare_tools,
    decoder: decode::decoder,
    decode_complete: decode::decode_complete,
};
