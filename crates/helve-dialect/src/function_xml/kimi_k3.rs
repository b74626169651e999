//! The calls of Kimi K3: elements spelt with tokens, whose arguments say their own types.

use super::{Element, Spelling, TagGrammar};

pub(crate) static GRAMMAR: TagGrammar = TagGrammar {
    spelling: Spelling::Tokens,
    elements: &[
        ("tools", Element::Wrapper),
        ("call", Element::Call),
        ("argument", Element::Parameter),
        ("json", Element::Json),
        ("message", Element::Skip),
        ("think", Element::Channel),
        ("response", Element::Channel),
    ],
    ..TagGrammar::PLAIN
};
