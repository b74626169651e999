//! `<|action_start|><|plugin|>{"name": …, "parameters": …}<|action_end|>`: InternLM 2 and 3.
//!
//! Odd here: two tokens before the call, blanks between them or not; `<|interpreter|>` instead of `<|plugin|>` means code.

use super::JsonGrammar;
use crate::Dialect;
use crate::body::Turn;
use crate::channels::{ChannelGrammar, Part, Route};
use crate::dialect::{Grammar, Mark, Opener, Then};

static GRAMMAR: JsonGrammar = JsonGrammar { close: &["<|action_end|>"], ..JsonGrammar::PLAIN };

static ACTION: ChannelGrammar = ChannelGrammar {
    signs: &[("<|plugin|>", Part::Message(""))],
    route: |_, _, _| Route::to(Turn::Call(Grammar::Json(&GRAMMAR))),
};

pub(crate) static DIALECT: Dialect = Dialect {
    name: "internlm",
    openers: &[Opener {
        mark: Mark::Tag("<|action_start|>"),
        then: Then::Words(&["<|plugin|>"]),
        grammar: Grammar::Channel(&ACTION),
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
                "Let me see.<|action_start|> <|plugin|>\n{\"name\": \"search\", \"parameters\": {\"query\": \"<|action_end|>\"}}<|action_end|>\n",
                r#"say Let me see. | call search {"query": "<|action_end|>"}"#,
            )],
        );
    }
}
