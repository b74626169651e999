//! `Call: f(a=1); g()`: NexusRaven, Gorilla.
//!
//! Odd here: a plain word is the mark, so it is not looked for unasked.

use super::PythonGrammar;
use crate::Dialect;
use crate::dialect::{Grammar, Lookahead, Mark, Opener};

static GRAMMAR: PythonGrammar = PythonGrammar::PLAIN;

pub(crate) static DIALECT: Dialect = Dialect {
    name: "raven",
    models: "NexusRaven, Gorilla",
    sample: r#"Call: get_weather(city="¤")<bot_end>"#,
    openers: &[
        Opener { mark: Mark::Tag("Call:"), then: Lookahead::Function, grammar: Grammar::Python(&GRAMMAR) },
        Opener { mark: Mark::Start, then: Lookahead::Function, grammar: Grammar::Python(&GRAMMAR) },
    ],
    silent: &["<bot_end>"],
    ends_output: &["Thought:"],
    found: false,
    ..Dialect::PLAIN
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::check_given;

    #[test]
    fn cases() {
        check_given(
            &DIALECT,
            &[
                (
                    "Call: search(query='x'); time()<bot_end>\nThought: The",
                    r#"call search {"query": "x"} | call time {}"#,
                ),
                ("Call: search(query='x'); ti", r#"call search {"query": "x"} | say ; ti"#),
                ("Call: search(query='x'); so", r#"call search {"query": "x"} | say ; so"#),
            ],
        );
    }
}
