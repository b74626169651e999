//! OpenAI chat completions: `POST /chat/completions`, server-sent events, `[DONE]`.
//!
//! What is odd: half the world speaks this protocol and nobody to the letter. Calls come in pieces that share
//! an `index`, but some servers leave it out, reuse 0 with a new `id`, send whole calls at once, or arguments
//! as an object. Usage comes in a last chunk without choices, or on the last choice. `[DONE]` may be missing,
//! and `finish_reason` may say `stop` although calls came. Reasoning is called `reasoning_content` or
//! `reasoning`. All of it is read; what is written is what the documentation says.

mod decode;
mod encode;
mod wire;

use crate::protocol::{Catalogue, Framing, KeyHeader, Protocol};

pub(crate) const PROTOCOL: Protocol = Protocol {
    name: "openai_chat",
    path: "/chat/completions",
    path_whole: "/chat/completions",
    framing: Framing::Events,
    key: KeyHeader::Bearer,
    headers: &[],
    catalogue: Catalogue { path: "/models", list: "data", name: "id", complete: false },
    encode: encode::encode,
    declare: encode::declare,
    decoder: decode::decoder,
    whole: decode::whole,
};
