//! `<|action_start|><|plugin|>{"name": …, "parameters": …}<|action_end|>`: InternLM 2 and 3.
//!
//! Odd here: two tokens before the call, blanks between them or not; `<|interpreter|>` instead of `<|plugin|>` means code.

use super::JsonGrammar;
use crate::Dialect;
use crate::dialect::{Grammar, Mark, Opener, Then};

static GRAMMAR: JsonGrammar =
    JsonGrammar { lead: Some("<|plugin|>"), close: &["<|action_end|>"], ..JsonGrammar::PLAIN };

pub(crate) static DIALECT: Dialect = Dialect {
    name: "internlm",
    openers: &[Opener {
        mark: Mark::Tag("<|action_start|>"),
        then: Then::Words(&["<|plugin|>{", "<|plugin|>[{"]),
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
                "Let me see.<|action_start|> <|plugin|>\n{\"name\": \"search\", \"parameters\": {\"query\": \"<|action_end|>\"}}<|action_end|>\n",
                r#"say Let me see. | call search {"query": "<|action_end|>"}"#,
            )],
        );
    }
}
