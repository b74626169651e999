//! Anthropic Messages: `POST /v1/messages`, named server-sent events, `message_stop`.
//!
//! What is odd: an answer is a list of blocks, and a block of thinking carries a signature; it has to come back
//! unchanged and in its place, which is what the echo is for. Results are the first thing in the next message of
//! the user, all of them, and a history with calls is refused unless tools are declared. A bound on the answer is
//! mandatory. What was read from or written to the cache is not part of `input_tokens`; where the cache may begin
//! is for us to mark. Arguments come as pieces of text, and none at all means `{}`, unless the answer was cut.

mod decode;
mod encode;
mod wire;

use crate::protocol::{Catalogue, Framing, KeyHeader, Protocol};

pub(crate) const PROTOCOL: Protocol = Protocol {
    name: "anthropic",
    path: "/v1/messages",
    path_whole: "/v1/messages",
    framing: Framing::Events,
    key: KeyHeader::Named("x-api-key"),
    headers: &[("anthropic-version", "2023-06-01")],
    catalogue: Catalogue { path: "/v1/models", list: "data", name: "id", complete: false },
    encode: encode::encode,
    declare: encode::declare,
    decoder: decode::decoder,
    whole: decode::whole,
};
