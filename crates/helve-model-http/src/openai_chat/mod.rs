//! OpenAI chat completions: `POST /chat/completions`, server-sent events, `[DONE]`.
//!
//! Peculiarities: many servers speak this protocol, and most deviate from it. The pieces of a call share an `index`, but some
//! servers omit it, reuse 0 with a new `id`, send complete calls, or arguments as an object. Usage is in a last chunk
//! without choices, or in the last choice. `[DONE]` may be missing, and `finish_reason` may be `stop` although there are
//! calls. Reasoning is called `reasoning_content` or `reasoning`. The decoder accepts all of this; the encoder follows the
//! documentation.

mod decode;
mod encode;
mod wire;

use crate::protocol::{Framing, KeyHeader, ModelListRoute, Protocol};

pub(crate) const PROTOCOL: Protocol = Protocol {
    name: "openai_chat",
    path: "/chat/completions",
    complete_path: "/chat/completions",
    framing: Framing::Events,
    key: KeyHeader::Bearer,
    headers: &[],
    model_list: ModelListRoute { path: "/models", list: "data", name: "id", complete: false },
    encode: encode::encode,
    declare: encode::declare_tools,
    decoder: decode::decoder,
    decode_complete: decode::decode_complete,
};
