//! `<|tool_calls|>[{'name': 'f', 'arguments': {…}}]`: Sarashina.
//!
//! Odd here: Python's quotes and words throughout. The mark is usually deleted, so the list stands alone too.

use super::JsonGrammar;
use crate::Dialect;
use crate::dialect::{Grammar, Lookahead, Mark, Opener};

static GRAMMAR: JsonGrammar = JsonGrammar { python: true, ..JsonGrammar::PLAIN };

/// The list alone. Other models that write calls without a mark may write it so.
pub(super) const ALONE: Opener = Opener {
    mark: Mark::Alone,
    then: Lookahead::Words(&["[{'name':'", "[{'arguments':{"]),
    grammar: Grammar::Json(&GRAMMAR),
};

pub(crate) static DIALECT: Dialect = Dialect {
    name: "sarashina",
    models: "Sarashina",
    sample: r#"<|tool_calls|>[{"name": "get_weather", "arguments": {"city": "¤"}}]"#,
    openers: &[
        Opener { mark: Mark::Tag("<|tool_calls|>"), then: Lookahead::Json, grammar: Grammar::Json(&GRAMMAR) },
        ALONE,
    ],
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
                    "<|tool_calls|>[{'name': 'search', 'arguments': {'query': 'it\\'s'}}]",
                    r#"call search {"query": "it's"} (Quotes, Escapes)"#,
                ),
                (
                    "[{'name': 'search', 'arguments': {'query': \"it's\"}}, {'name': 'time', 'arguments': {}}]",
                    r#"call search {"query": "it's"} (Quotes) | call time {} (Quotes)"#,
                ),
                (
                    "So:\n[{'arguments': {'query': 'a'}, 'name': 'search'}]\n",
                    "say So:\n | call search {\"query\": \"a\"} (Quotes)",
                ),
                ("[{'name': 'Bingo', 'age': 30}]", "say [{'name': 'Bingo', 'age': 30}]"),
                (
                    "[{'name': 'time', 'arguments': {}}] is a list.",
                    "say [{'name': 'time', 'arguments': {}}] is a list.",
                ),
                ("[{'name': 'time', 'argu", "say [{'name': 'time', 'argu"),
            ],
        );
    }
}
