//! `<minimax:tool_call>⏎<invoke name="f">⏎<parameter name="k">V</parameter>⏎</invoke>⏎</minimax:tool_call>`: MiniMax M2.
//!
//! Odd here: values are verbatim, quotes around names are optional, several invocations share one block.

use super::{Element, TagGrammar, Untyped};
use crate::Dialect;
use crate::dialect::{Grammar, Mark, Opener, Then};

static GRAMMAR: TagGrammar = TagGrammar {
    elements: &[
        ("minimax:tool_call", Element::Wrapper),
        ("invoke", Element::Call),
        ("parameter", Element::Parameter),
        ("param", Element::Parameter),
    ],
    untyped: Untyped::Text,
    ..TagGrammar::PLAIN
};

pub(crate) static DIALECT: Dialect = Dialect {
    name: "minimax_m2",
    openers: &[Opener {
        mark: Mark::Tag("<minimax:tool_call>"),
        then: Then::Words(&["<invoke"]),
        grammar: Grammar::Tags(&GRAMMAR),
    }],
    silent: &["[e~["],
    strays: &["</parameter>", "</invoke>", "</minimax:tool_call>"],
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
                (
                    "Hm.<minimax:tool_call>\n<invoke name=\"search\">\n<parameter name=\"query\"><parameter>\nx\n</parameter>\n</parameter>\n<parameter name='limit'>3</parameter>\n</invoke>\n<invoke name=time>\n</invoke>\n</minimax:tool_call>",
                    "say Hm. | call search {\"query\": \"<parameter>\\nx\\n</parameter>\\n\", \"limit\": 3} | call time {}",
                ),
                ("<minimax:tool_call><invoke name=\"time\"></invoke>", "call time {}"),
                (
                    "<minimax:tool_call>\n<invoke>\n<parameter name=\"a\">b</parameter>\n</invoke>\n</minimax:tool_call>",
                    "say <minimax:tool_call>\n<invoke>\n<parameter name=\"a\">b</parameter>\n</invoke>\n</minimax:tool_call>",
                ),
            ],
        );
    }
}
