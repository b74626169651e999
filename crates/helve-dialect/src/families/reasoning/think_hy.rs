//! `<think:6124c78e>…</think:6124c78e>`: Hunyuan 3 and 4, whose tags may carry the checkpoint's suffix.

use crate::Dialect;
use crate::body::{ChannelScope, ChannelTurn};
use crate::dialect::{Grammar, Lookahead, Mark, Opener};
use crate::families::channels::{ChannelGrammar, HeadRoute, HeadSign};

static HEAD: ChannelGrammar = ChannelGrammar {
    signs: &[(">", HeadSign::Message(""))],
    route: |_, _, _| HeadRoute::to_turn(ChannelTurn::Reasoning(SCOPE)),
};

static FOOT: ChannelGrammar = ChannelGrammar {
    signs: &[(">", HeadSign::Message(""))],
    route: |_, _, _| HeadRoute::to_turn(ChannelTurn::Over),
};

const SCOPE: &ChannelScope =
    &ChannelScope { opens: &["<think:", "<tool_calls:", "<tool_call:"], closes: &["</think:", "</think>"] };

pub(crate) const OPEN: Opener =
    Opener { mark: Mark::Tag("<think:"), then: Lookahead::Anything, grammar: Grammar::Channel(&HEAD) };

pub(crate) const CLOSE: Opener =
    Opener { mark: Mark::Tag("</think:"), then: Lookahead::Anything, grammar: Grammar::Channel(&FOOT) };

pub(crate) static DIALECT: Dialect = Dialect {
    name: "think_hy",
    models: "Hunyuan 3 and 4",
    sample: "<think:6124c78e>¤</think:6124c78e>",
    openers: &[OPEN, CLOSE],
    ..Dialect::PLAIN
};

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
