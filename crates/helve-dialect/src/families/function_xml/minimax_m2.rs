//! `<minimax:tool_call>⏎<invoke name="f">⏎<parameter name="k">V</parameter>⏎</invoke>⏎</minimax:tool_call>`: MiniMax M2.
//!
//! Odd here: values are verbatim, quotes around names are optional, several invocations share one block.

use super::{Element, TagGrammar, Untyped, claude_xml};
use crate::Dialect;
use crate::dialect::{GivenMarks, Grammar, Lookahead, Mark, Opener};

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
    models: "MiniMax M2",
    sample: "<minimax:tool_call>\n<invoke name=\"get_weather\">\n<parameter name=\"city\">¤</parameter>\n</invoke>\n</minimax:tool_call>",
    openers: &[Opener {
        mark: Mark::Tag("<minimax:tool_call>"),
        then: Lookahead::Words(&["<invoke"]),
        grammar: Grammar::Tags(&GRAMMAR),
    }],
    // Behind words between two calls.
    given: GivenMarks {
        openers: &[Opener {
            mark: claude_xml::MARK,
            then: claude_xml::BARE,
            grammar: Grammar::Tags(&GRAMMAR),
        }],
        ..GivenMarks::NOTHING
    },
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
                // Words between two calls part them.
                (
                    "<minimax:tool_call><invoke name=\"time\"></invoke> and <invoke name=\"time\"></invoke></minimax:tool_call>",
                    "call time {} | say  and  | call time {}",
                ),
                (
                    "<minimax:tool_call>\n<invoke>\n<parameter name=\"a\">b</parameter>\n</invoke>\n</minimax:tool_call>",
                    "say <minimax:tool_call>\n<invoke>\n<parameter name=\"a\">b</parameter>\n</invoke>\n</minimax:tool_call>",
                ),
            ],
        );
    }
}
