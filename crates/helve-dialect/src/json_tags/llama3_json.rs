//! `<|python_tag|>{"name": …, "parameters": …}`, or the object alone: Llama 3.1 and later.
//!
//! Odd here: calls are joined by `;`. Behind the same tag stand built-in tools, `brave_search.call(query="…")`.

use super::{JsonGrammar, json_bare};
use crate::Dialect;
use crate::dialect::{Grammar, Mark, Opener, Then};
use crate::pythonic::PythonGrammar;

const TAG: Mark = Mark::Tag("<|python_tag|>");

static TAGGED: JsonGrammar = JsonGrammar { close: &["<|eom_id|>", "<|eot_id|>"], ..JsonGrammar::PLAIN };

static BUILT_IN: PythonGrammar =
    PythonGrammar { close: &["<|eom_id|>", "<|eot_id|>"], ..PythonGrammar::PLAIN };

pub(crate) static DIALECT: Dialect = Dialect {
    name: "llama3_json",
    openers: &[
        Opener { mark: TAG, then: Then::Json, grammar: Grammar::Json(&TAGGED) },
        Opener { mark: TAG, then: Then::Function, grammar: Grammar::Python(&BUILT_IN) },
        json_bare::OPENER,
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
                    r#"<|python_tag|>{"name": "search", "parameters": {"query": "a; b"}}; {"name": "time", "parameters": {}}<|eom_id|>"#,
                    r#"call search {"query": "a; b"} | call time {}"#,
                ),
                (r#"{"name": "time", "parameters": {}}<|eot_id|>"#, "call time {}"),
                (
                    r#"<|python_tag|>brave_search.call(query="x")<|eom_id|>"#,
                    r#"call brave_search {"query": "x"}"#,
                ),
                ("A <|python_tag|> token.", "say A <|python_tag|> token."),
            ],
        );
    }
}
