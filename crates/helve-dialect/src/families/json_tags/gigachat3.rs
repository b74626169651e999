//! `<|message_sep|>⏎⏎function call<|role_sep|>⏎{"name": …, "arguments": {…}}`, from 3.1 on `<|function_call|>{…}`: GigaChat 3.
//!
//! Odd here: a call is a message of its own role. Its arguments must be there, and be an object.

use super::JsonGrammar;
use crate::Dialect;
use crate::dialect::{Grammar, Lookahead, Mark, Opener};

static TOKEN: JsonGrammar = JsonGrammar { strict: true, ..JsonGrammar::PLAIN };

static ROLE: JsonGrammar = JsonGrammar { led: true, strict: true, ..JsonGrammar::PLAIN };

pub(crate) static DIALECT: Dialect = Dialect {
    name: "gigachat3",
    models: "GigaChat 3",
    sample: r#"<|function_call|>{"name": "get_weather", "arguments": {"city": "¤"}}"#,
    openers: &[
        Opener {
            mark: Mark::Tag("<|function_call|>"),
            then: Lookahead::Json,
            grammar: Grammar::Json(&TOKEN),
        },
        Opener {
            mark: Mark::Tag("<|message_sep|>"),
            then: Lookahead::Words(&["functioncall<|role_sep|>{"]),
            grammar: Grammar::Json(&ROLE),
        },
    ],
    strays: &["<|role_sep|>"],
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
                    "Ok.<|message_sep|>\n\nfunction call<|role_sep|>\n{\"name\": \"search\", \"arguments\": {\"query\": \"x\"}}</s>",
                    r#"say Ok. | call search {"query": "x"}"#,
                ),
                (r#"<|function_call|>{"name": "time", "arguments": {}}"#, "call time {}"),
                (r#"<|function_call|>{"name": "time"}"#, "broken time"),
            ],
        );
    }
}
