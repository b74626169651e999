//! `<tool_calls>⏎<tool_call>f<tool_sep>⏎<arg_key>k</arg_key>⏎<arg_value>V</arg_value>⏎</tool_call>⏎</tool_calls>`: Hunyuan 3.
//!
//! Odd here: every tag may carry the checkpoint's suffix, `<tool_calls:6124c78e>`. Version 4 leaves `<tool_sep>` out,
//! and one reader serves both.

use super::{Element, TagGrammar};
use crate::Dialect;
use crate::dialect::{Grammar, Lookahead, Mark, Opener};
use crate::families::reasoning::think_hy;

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
        then: Lookahead::Words(&["<tool_call>", "<tool_call:"]),
        grammar: Grammar::Tags(&GRAMMAR),
    },
    Opener { mark: Mark::Tag("<tool_calls:"), then: Lookahead::Anything, grammar: Grammar::Tags(&GRAMMAR) },
    // The wrapper may be missing.
    Opener {
        mark: Mark::Tag("<tool_call:"),
        then: Lookahead::Name(&[">"]),
        grammar: Grammar::Tags(&GRAMMAR),
    },
    Opener {
        mark: Mark::Tag("<tool_call>"),
        then: Lookahead::Name(&["<tool_sep>", "<arg_key>", "</tool_call>"]),
        grammar: Grammar::Tags(&GRAMMAR),
    },
    stray_opener("</arg_key:"),
    stray_opener("</arg_value:"),
    stray_opener("</tool_call:"),
    stray_opener("</tool_calls:"),
    think_hy::OPEN,
    think_hy::CLOSE,
];

/// A closing tag with a suffix that closes nothing.
const fn stray_opener(mark: &'static str) -> Opener {
    Opener { mark: Mark::Tag(mark), then: Lookahead::Anything, grammar: Grammar::Tags(&GRAMMAR) }
}

pub(super) const STRAYS: &[&str] = &[
    "<tool_call>",
    "<tool_sep>",
    "<arg_key>",
    "</arg_key>",
    "<arg_value>",
    "</arg_value>",
    "</tool_call>",
    "</tool_calls>",
];

pub(crate) static DIALECT: Dialect = Dialect {
    name: "hy_v3",
    models: "Hunyuan 3",
    sample: "<tool_calls:a><tool_call:a>get_weather<tool_sep:a><arg_key:a>city</arg_key:a><arg_value:a>¤</arg_value:a></tool_call:a></tool_calls:a>",
    openers: OPENERS,
    strays: STRAYS,
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
                    "Hm.<tool_calls>\n<tool_call>search<tool_sep>\n<arg_key>query</arg_key>\n<arg_value>x</arg_value>\n</tool_call>\n<tool_call>time<tool_sep>\n</tool_call>\n</tool_calls>",
                    "say Hm. | call search {\"query\": \"x\"} | call time {}",
                ),
                (
                    "<think:a1>hm</think:a1><tool_calls:a1><tool_call:a1>search<tool_sep:a1><arg_key:a1>query</arg_key:a1><arg_value:a1> </tool_call:a1> </arg_value:a1></tool_call:a1></tool_calls:a1>ok",
                    "think hm | call search {\"query\": \" </tool_call:a1> \"} | say ok",
                ),
                // Without its suffix, a tag inside a value is data.
                (
                    "<tool_calls:a1><tool_call:a1>search<tool_sep:a1><arg_key:a1>query</arg_key:a1><arg_value:a1></arg_value></tool_call><tool_calls></arg_value:a1></tool_call:a1></tool_calls:a1>",
                    "call search {\"query\": \"</arg_value></tool_call><tool_calls>\"}",
                ),
                (
                    "<tool_calls:a1><tool_call:a1>search<arg_key:a1>query</arg_key:a1><arg_value:a1><tool_call>f<arg_key>a</arg_key><arg_value>x</arg_value></tool_call></tool_calls></arg_value:a1></tool_call:a1></tool_calls:a1>",
                    "call search {\"query\": \"<tool_call>f<arg_key>a</arg_key><arg_value>x</arg_value></tool_call></tool_calls>\"}",
                ),
                // Closing tags that forgot it close nevertheless, where all that should follow does.
                (
                    "<tool_calls:a1><tool_call:a1>search<arg_key:a1>query</arg_key:a1><arg_value:a1>x</arg_value></tool_call></tool_calls>after",
                    "call search {\"query\": \"x\"} | say after",
                ),
                (
                    "<tool_calls:a1><tool_call:a1>search<arg_key:a1>query</arg_key><arg_value:a1>x</arg_value>\n<arg_key:a1>limit</arg_key><arg_value:a1>2</arg_value> </tool_call>\n<tool_call:a1>search<arg_key>query</arg_key><arg_value:a1>y</arg_value></tool_call:a1></tool_calls:a1>after",
                    "call search {\"query\": \"x\", \"limit\": 2} | call search {\"query\": \"y\"} | say after",
                ),
                (
                    "<tool_calls:a1><tool_call:a1>search<arg_key:a1>query</arg_key:a1><arg_value:a1>x</arg_value></tool_call>",
                    "call search {\"query\": \"x\"}",
                ),
                (
                    "<tool_calls:a1><tool_call:a1>search<arg_key:a1>query</arg_key:a1><arg_value:a1>x</arg_value> is a tag, </arg_value></tool_call> too</arg_value:a1></tool_call:a1></tool_calls:a1>",
                    "call search {\"query\": \"x</arg_value> is a tag, </arg_value></tool_call> too\"}",
                ),
                (
                    "Hm. <tool_call:a1>search<tool_sep:a1>\n<arg_key:a1>query</arg_key:a1>\n<arg_value:a1>x</arg_value:a1>\n</tool_call:a1>\n<tool_call:a1>time</tool_call:a1> ok</tool_call:a1>",
                    "say Hm.  | call search {\"query\": \"x\"} | call time {} | say  ok",
                ),
                (
                    "<tool_call>search<tool_sep>\n<arg_key>query</arg_key>\n<arg_value>x</arg_value>\n</tool_call>",
                    "call search {\"query\": \"x\"}",
                ),
                (
                    "The </tool_call:a1> tag, and <tool_call:a1> is one.",
                    "say The </tool_call:a1> tag, and <tool_call:a1> is one.",
                ),
                (
                    "<tool_call>search<tool_sep>{\"query\": \"a\"}<arg_key>limit</arg_key><arg_value>1</arg_value></tool_call>",
                    "broken search",
                ),
                // What follows the name on another line is no part of it.
                (
                    "<tool_calls><tool_call>search\nnow<tool_sep><arg_key>query</arg_key><arg_value>x</arg_value></tool_call></tool_calls>",
                    "call search {\"query\": \"x\"} | say \nnow",
                ),
                (
                    "<tool_calls><tool_call>search\n{\"query\": \"x\"}</tool_call></tool_calls>",
                    "broken search",
                ),
                ("The </arg_value:a1", "say The </arg_value:a1"),
                (
                    "<think:a1>x <tool_calls:a1><tool_call:a1>time</tool_call:a1></tool_calls:a1> y</think:a1>z",
                    "think x <tool_calls:a1><tool_call:a1>time</tool_call:a1></tool_calls:a1> y | say z",
                ),
                (
                    "<think:a1>x <tool_calls:a1><tool_call:a1>time</tool_call:a1></tool_calls:a1>",
                    "think x  | call time {}",
                ),
            ],
        );
    }
}
