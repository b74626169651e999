//! `<think:6124c78e>…</think:6124c78e>`: Hunyuan 3 and 4, whose tags may carry the checkpoint's suffix.

use crate::Dialect;
use crate::body::{Scope, Turn};
use crate::channels::{ChannelGrammar, Part, Route};
use crate::dialect::{Grammar, Mark, Opener, Then};

static HEAD: ChannelGrammar =
    ChannelGrammar { signs: &[(">", Part::Message(""))], route: |_, _, _| Route::to(Turn::Reasoning(SCOPE)) };

static FOOT: ChannelGrammar =
    ChannelGrammar { signs: &[(">", Part::Message(""))], route: |_, _, _| Route::to(Turn::Over) };

const SCOPE: &Scope =
    &Scope { opens: &["<think:", "<tool_calls:", "<tool_call:"], closes: &["</think:", "</think>"] };

pub(crate) const OPEN: Opener =
    Opener { mark: Mark::Tag("<think:"), then: Then::Anything, grammar: Grammar::Channel(&HEAD) };

pub(crate) const CLOSE: Opener =
    Opener { mark: Mark::Tag("</think:"), then: Then::Anything, grammar: Grammar::Channel(&FOOT) };

pub(crate) static DIALECT: Dialect = Dialect { name: "think_hy", openers: &[OPEN, CLOSE], ..Dialect::PLAIN };

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::check;

    #[test]
    fn cases() {
        check(
            &DIALECT,
            &[
                ("<think:opensource>a</think:opensource>b", "think a | say b"),
                ("<think>a</think>b", "think a | say b"),
                ("<think:a1><think:a1>a</think:a1>b", "think a | say b"),
            ],
        );
    }
}
