//! `<tool_calls>⏎<tool_call>f<tool_sep>⏎<arg_key>k</arg_key>⏎<arg_value>V</arg_value>⏎</tool_call>⏎</tool_calls>`: Hunyuan 3.
//!
//! Odd here: every tag may carry the checkpoint's suffix, `<tool_calls:6124c78e>`. Version 4 leaves `<tool_sep>` out,
//! and one reader serves both.

use super::{Element, TagGrammar};
use crate::Dialect;
use crate::dialect::{Grammar, Mark, Opener, Then};
use crate::reasoning::think_hy;

static GRAMMAR: TagGrammar = TagGrammar {
    suffixed: true,
    elements: &[
        ("tool_calls", Element::Wrapper),
        ("tool_call", Element::NamedByText),
        ("tool_sep", Element::Skip),
        ("arg_key", Element::Key),
        ("arg_value", Element::Value),
    ],
    ..TagGrammar::PLAIN
};

pub(super) const OPENERS: &[Opener] = &[
    Opener {
        mark: Mark::Tag("<tool_calls>"),
        then: Then::Words(&["<tool_call>", "<tool_call:"]),
        grammar: Grammar::Tags(&GRAMMAR),
    },
    Opener { mark: Mark::Tag("<tool_calls:"), then: Then::Anything, grammar: Grammar::Tags(&GRAMMAR) },
    think_hy::OPEN,
    think_hy::CLOSE,
];

pub(crate) static DIALECT: Dialect = Dialect { name: "hy_v3", openers: OPENERS, ..Dialect::PLAIN };

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
                    "Hm.<tool_calls>\n<tool_call>search<tool_sep>\n<arg_key>query</arg_key>\n<arg_value>x</arg_value>\n</tool_call>\n<tool_call>time<tool_sep>\n</tool_call>\n</tool_calls>",
                    "say Hm. | call search {\"query\": \"x\"} | call time {}",
                ),
                (
                    "<think:a1>hm</think:a1><tool_calls:a1><tool_call:a1>search<tool_sep:a1><arg_key:a1>query</arg_key:a1><arg_value:a1> </tool_call:a1> </arg_value:a1></tool_call:a1></tool_calls:a1>ok",
                    "think hm | call search {\"query\": \" </tool_call:a1> \"} | say ok",
                ),
            ],
        );
    }
}
