//! `<|tool_calls|>[{'name': 'f', 'arguments': {…}}]`: Sarashina.
//!
//! Odd here: Python's quotes and words throughout.

use super::JsonGrammar;
use crate::Dialect;
use crate::dialect::{Grammar, Mark, Opener, Then};

static GRAMMAR: JsonGrammar = JsonGrammar::PLAIN;

pub(crate) static DIALECT: Dialect = Dialect {
    name: "sarashina",
    openers: &[Opener {
        mark: Mark::Tag("<|tool_calls|>"),
        then: Then::Json,
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
            &[(
                "<|tool_calls|>[{'name': 'search', 'arguments': {'query': 'it\\'s'}}]",
                r#"call search {"query": "it's"} (Quotes, Escapes)"#,
            )],
        );
    }
}
