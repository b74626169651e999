//! `<|message_sep|>⏎⏎function call<|role_sep|>⏎{"name": …, "arguments": {…}}`, from 3.1 on `<|function_call|>{…}`: GigaChat 3.
//!
//! Odd here: a call is a message of its own role. Its arguments must be there, and be an object.

use super::JsonGrammar;
use crate::Dialect;
use crate::body::Turn;
use crate::channels::{ChannelGrammar, Part, Route};
use crate::dialect::{Grammar, Mark, Opener, Then};

static GRAMMAR: JsonGrammar = JsonGrammar { strict: true, ..JsonGrammar::PLAIN };

static ROLE: ChannelGrammar = ChannelGrammar {
    signs: &[("<|role_sep|>", Part::Message(""))],
    route: |head, _, _| {
        Route::to(match head.trim() {
            "function call" => Turn::Call(Grammar::Json(&GRAMMAR)),
            _ => Turn::Over,
        })
    },
};

pub(crate) static DIALECT: Dialect = Dialect {
    name: "gigachat3",
    openers: &[
        Opener { mark: Mark::Tag("<|function_call|>"), then: Then::Json, grammar: Grammar::Json(&GRAMMAR) },
        Opener {
            mark: Mark::Tag("<|message_sep|>"),
            then: Then::Words(&["functioncall<|role_sep|>"]),
            grammar: Grammar::Channel(&ROLE),
        },
    ],
    silent: &["</s>", "<|message_sep|>"],
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
