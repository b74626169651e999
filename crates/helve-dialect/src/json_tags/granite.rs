//! `<|tool_call|>[{"name": …, "arguments": …}, …]`: Granite 3.
//!
//! Odd here: a token in 3.0 and a string in 3.1, neither ever closed, or just the array. Its reasoning is marked by
//! plain words.

use super::{JsonGrammar, hermes, json_bare};
use crate::Dialect;
use crate::dialect::{Grammar, Mark, Opener, Then};

static GRAMMAR: JsonGrammar = JsonGrammar::PLAIN;

pub(crate) static DIALECT: Dialect = Dialect {
    name: "granite",
    openers: &[
        Opener { mark: Mark::Tag("<|tool_call|>"), then: Then::Json, grammar: Grammar::Json(&GRAMMAR) },
        hermes::OPENER,
        json_bare::OPENER,
    ],
    silent: &["<|end_of_text|>", "<|endoftext|>"],
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
                (r#"<|tool_call|> [{"name": "time", "arguments": {}}]"#, "call time {}"),
                (r#"[{"name": "time", "arguments": {}}]"#, "call time {}"),
            ],
        );
    }
}
