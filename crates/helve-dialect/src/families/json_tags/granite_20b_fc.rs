//! `<function_call> {"name": …, "arguments": …}`, repeated: Granite 20B function calling.
//!
//! Odd here: no closing tag at all.

use super::JsonGrammar;
use crate::Dialect;
use crate::dialect::{Grammar, Lookahead, Mark, Opener};

static GRAMMAR: JsonGrammar = JsonGrammar::PLAIN;

pub(crate) static DIALECT: Dialect = Dialect {
    name: "granite_20b_fc",
    models: "Granite 20B function calling",
    sample: r#"<function_call> {"name": "get_weather", "arguments": {"city": "¤"}}"#,
    openers: &[Opener {
        mark: Mark::Tag("<function_call>"),
        then: Lookahead::Json,
        grammar: Grammar::Json(&GRAMMAR),
    }],
    strays: &["</function_call>"],
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
            &[(
                r#"<function_call> {"name": "time", "arguments": {}} <function_call> {"name": "search", "arguments": {"query": "x"}}"#,
                r#"call time {} | call search {"query": "x"}"#,
            )],
        );
    }
}
