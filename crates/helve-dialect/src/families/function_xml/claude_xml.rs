//! `<function_calls>⏎<invoke name="f">⏎<parameter name="k">V</parameter>⏎</invoke>⏎</function_calls>`: models prompted as
//! Claude was.
//!
//! Odd here: the first form, of 2023, named the tool and its parameters by elements. Tags may carry a prefix. Some
//! models escape values, so entities are decoded where a value fits its type only then.

use super::{Element, TagGrammar};
use crate::Dialect;
use crate::dialect::{GivenMarks, Grammar, Lookahead, Mark, Opener};

static GRAMMAR: TagGrammar = TagGrammar {
    namespaces: &["antml:", "atem:"],
    elements: &[
        ("function_calls", Element::Wrapper),
        ("invoke", Element::Call),
        ("parameter", Element::Parameter),
        ("param", Element::Parameter),
        ("tool_name", Element::Name),
        ("parameters", Element::Group),
    ],
    entities: true,
    ..TagGrammar::PLAIN
};

const fn opener(mark: &'static str, then: Lookahead) -> Opener {
    Opener { mark: Mark::Tag(mark), then, grammar: Grammar::Tags(&GRAMMAR) }
}

const INVOKE: Lookahead = Lookahead::Words(&["<invoke", "<antml:invoke", "<atem:invoke"]);
pub(super) const MARK: Mark = Mark::Tag("<invoke name=");
pub(super) const BARE: Lookahead = Lookahead::Name(&["><parameter", "></invoke", "><antml:parameter"]);

const STRAYS: &[&str] =
    &["</parameter>", "</invoke>", "</function_calls>", "</parameter>", "</invoke>", "</function_calls>"];

pub(crate) static DIALECT: Dialect = Dialect {
    name: "claude_xml",
    models: "models prompted as Claude was",
    sample: "<function_calls>\n<invoke name=\"get_weather\">\n<parameter name=\"city\">¤</parameter>\n</invoke>\n</function_calls>",
    openers: &[
        opener("<function_calls>", INVOKE),
        opener("<antml:function_calls>", INVOKE),
        opener("<invoke name=", BARE),
    ],
    // Unasked, this prefix is Muse's.
    given: GivenMarks { openers: &[opener("<atem:function_calls>", INVOKE)], ..GivenMarks::NOTHING },
    strays: STRAYS,
    ..Dialect::PLAIN
};

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cases::{check, check_given};
    use crate::{End, Piece, Reading, Tools};

    #[test]
    fn cases() {
        check(
            &DIALECT,
            &[
                (
                    "<function_calls>\n<invoke name=\"search\">\n<parameter name=\"query\">a &lt; b</parameter>\n<parameter name=\"limit\">3</parameter>\n</invoke>\n</function_calls> ok",
                    "call search {\"query\": \"a &lt; b\", \"limit\": 3} | say  ok",
                ),
                (
                    "<function_calls>\n<invoke>\n<tool_name>search</tool_name>\n<parameters>\n<query>x</query>\n<limit>2</limit>\n</parameters>\n</invoke>\n</function_calls>",
                    "call search {\"query\": \"x\", \"limit\": 2}",
                ),
                (
                    "<antml:function_calls><antml:invoke name=\"f\"><antml:parameter name=\"a\">{&quot;b&quot;: 1}</antml:parameter></antml:invoke></antml:function_calls>",
                    "call f {\"a\": {\"b\": 1}}",
                ),
                (
                    "<function_calls>\n<invoke>\n<b><tool_name>search</tool_name>\n<parameters>\n<query>x</query>\n</parameters>\n</invoke>\n</function_calls>",
                    "broken search",
                ),
                (
                    "<function_calls>\n<invoke name=\"search\">\n<tool_name>time</tool_name>\n</invoke>\n</function_calls>",
                    "broken search",
                ),
                ("<function_calls> opens a block.", "say <function_calls> opens a block."),
            ],
        );
    }

    #[test]
    fn entities_are_decoded_where_only_then_the_value_is_one_of_those_allowed() {
        let schema = json!({"properties": {"unit": {"enum": ["R&D", "A&amp;B", "Ops"]}}});
        let tools = Tools::new([("f".to_owned(), schema)]);
        for (written, expected) in
            [("R&amp;D", "R&D"), ("A&amp;B", "A&amp;B"), ("Ops", "Ops"), ("X&amp;Y", "X&amp;Y")]
        {
            let call = format!(
                "<function_calls><invoke name=\"f\"><parameter name=\"unit\">{written}</parameter></invoke></function_calls>"
            );
            let mut arguments = String::new();
            Reading::for_dialect(&DIALECT, tools.clone()).read(&call, End::Normal, &mut |piece| {
                if let Piece::CallFinished { call, .. } = piece {
                    arguments = call.arguments;
                }
            });
            assert_eq!(arguments, format!("{{\"unit\": \"{expected}\"}}"), "{written}");
        }
    }

    #[test]
    fn with_the_prefix_of_muse() {
        check_given(
            &DIALECT,
            &[(
                "<atem:function_calls>\n<atem:invoke name=\"time\">\n</atem:invoke>\n</atem:function_calls>",
                "call time {}",
            )],
        );
    }
}
