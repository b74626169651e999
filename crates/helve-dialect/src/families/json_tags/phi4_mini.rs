//! `functools[{"name": …, "arguments": …}, …]`: Phi-4-mini, FireFunction.
//!
//! Odd here: a word and a bracket instead of a tag, and no closing mark.

use super::JsonGrammar;
use crate::Dialect;
use crate::dialect::{Grammar, Lookahead, Mark, Opener};

static GRAMMAR: JsonGrammar = JsonGrammar::PLAIN;

pub(crate) static DIALECT: Dialect = Dialect {
    name: "phi4_mini",
    models: "Phi-4-mini, FireFunction",
    sample: r#"functools[{"name": "get_weather", "arguments": {"city": "¤"}}]"#,
    openers: &[Opener {
        mark: Mark::Tag("functools"),
        then: Lookahead::Json,
        grammar: Grammar::Json(&GRAMMAR),
    }],
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
                    r#"hello functools[{"name": "search", "arguments": {"query": "]", "limit": 1}}]"#,
                    r#"say hello  | call search {"query": "]", "limit": 1}"#,
                ),
                (
                    r#"functools[{"name": "time", "arguments": {}}] [1] is a ref."#,
                    "call time {} | say [1] is a ref.",
                ),
                (
                    r#"functools[{"name": "time", "arguments": {}},], and {so} on"#,
                    "call time {} | say , and {so} on",
                ),
                (
                    r#"functools[{"name": "time", "arguments": {}}] {so} it is"#,
                    "call time {} | say {so} it is",
                ),
                (r#"functools[{"name": "time", "arguments": {}}], [] ok"#, "call time {} | say , [] ok"),
                (
                    r#"functools[{"name": "time", "arguments": {}}]; [{"name": "time", "arguments": {}}]"#,
                    "call time {} | call time {}",
                ),
                (r#"functools[{"name": "time", "arguments": {}}], ["#, "call time {} | say , ["),
                (r#"functools[{"name": "time", "arguments": {}}];"#, "call time {} | say ;"),
                (r#"functools[{"name": "time", "arguments": {}},"#, "call time {}"),
                ("import functools and functional things", "say import functools and functional things"),
            ],
        );
    }
}
