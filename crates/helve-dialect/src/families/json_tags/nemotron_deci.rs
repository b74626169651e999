//! `<TOOLCALL>[{"name": …, "arguments": …}, …]</TOOLCALL>`: Llama-Nemotron, Nemotron Nano v2.
//!
//! Odd here: nothing but the tag; an empty list means that no tool is needed.

use super::JsonGrammar;
use crate::Dialect;
use crate::dialect::{Grammar, Lookahead, Mark, Opener};

static GRAMMAR: JsonGrammar = JsonGrammar { close: &["</TOOLCALL>"], ..JsonGrammar::PLAIN };

pub(crate) static DIALECT: Dialect = Dialect {
    name: "nemotron_deci",
    models: "Llama-Nemotron, Nemotron Nano v2",
    sample: r#"<TOOLCALL>[{"name": "get_weather", "arguments": {"city": "¤"}}]</TOOLCALL>"#,
    openers: &[Opener {
        mark: Mark::Tag("<TOOLCALL>"),
        then: Lookahead::Json,
        grammar: Grammar::Json(&GRAMMAR),
    }],
    strays: &["</TOOLCALL>"],
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
                r#"<TOOLCALL>[{"name": "search", "arguments": {"query": "]"}}]</TOOLCALL>"#,
                r#"call search {"query": "]"}"#,
            )],
        );
    }
}
