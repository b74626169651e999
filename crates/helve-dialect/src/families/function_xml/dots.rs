//! `<dots_function_call>` around invocations with parameters, or around JSON: dots.
//!
//! Odd here: both bodies occur in one message. Values are trimmed.

use super::{Element, Framing, TagGrammar, claude_xml};
use crate::Dialect;
use crate::dialect::{GivenMarks, Grammar, Lookahead, Mark, Opener};
use crate::families::json_tags::JsonGrammar;

pub(super) static TAGS: TagGrammar = TagGrammar {
    elements: &[
        ("dots_function_call", Element::Wrapper),
        ("invoke", Element::Call),
        ("parameter", Element::Parameter),
        ("param", Element::Parameter),
    ],
    framing: Framing::Trimmed,
    ..TagGrammar::PLAIN
};

static JSON: JsonGrammar = JsonGrammar { close: &["</dots_function_call>"], ..JsonGrammar::PLAIN };

const MARK: Mark = Mark::Tag("<dots_function_call>");

pub(crate) static DIALECT: Dialect = Dialect {
    name: "dots",
    models: "dots",
    sample: "<dots_function_call><invoke name=\"get_weather\"><parameter name=\"city\">¤</parameter></invoke></dots_function_call>",
    openers: &[
        Opener { mark: MARK, then: Lookahead::Json, grammar: Grammar::Json(&JSON) },
        Opener { mark: MARK, then: Lookahead::Words(&["<invoke"]), grammar: Grammar::Tags(&TAGS) },
    ],
    // Behind words between two calls.
    given: GivenMarks {
        openers: &[Opener { mark: claude_xml::MARK, then: claude_xml::BARE, grammar: Grammar::Tags(&TAGS) }],
        ..GivenMarks::NOTHING
    },
    strays: &["</parameter>", "</invoke>", "</dots_function_call>"],
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
                    "ok<dots_function_call><invoke name=search><parameter name='query'> x </parameter></invoke><invoke name=\"time\"></invoke></dots_function_call><dots_function_call>{\"name\": \"time\"}</dots_function_call>",
                    "say ok | call search {\"query\": \"x\"} | call time {} | call time {}",
                ),
                // A call without a name is none, and is told where another follows it.
                (
                    "<dots_function_call><invoke namex=\"search\"><parameter name=\"query\">x</parameter></invoke><invoke name=\"time\"></invoke></dots_function_call>",
                    "broken | call time {}",
                ),
                (
                    "<dots_function_call><invoke name=\"time\"></invoke><invoke namex=\"search\"><parameter name=\"query\">x</parameter></invoke></dots_function_call>",
                    "call time {} | broken",
                ),
            ],
        );
    }
}
