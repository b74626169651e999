//! `<|action_start|><|plugin|>{"name": …, "parameters": …}<|action_end|>`: InternLM 2 and 3.
//!
//! Odd here: two tokens before the call, blanks between them or not; `<|interpreter|>` instead of `<|plugin|>` means
//! that the rest is code, for the interpreter that is declared or else for `python`.

use super::JsonGrammar;
use crate::Dialect;
use crate::dialect::{Grammar, Lookahead, Mark, Opener};
use crate::families::framed::{self, FramedGrammar, FramedSign, HeadMeaning, TextGrammar};

static GRAMMAR: JsonGrammar = JsonGrammar { led: true, close: &["<|action_end|>"], ..JsonGrammar::PLAIN };

static CODE: FramedGrammar = FramedGrammar {
    signs: &[("<|action_start|>", FramedSign::Call), ("<|interpreter|>", FramedSign::Arguments)],
    text: TextGrammar {
        signs: &[("<|action_end|>", FramedSign::Close)],
        code: true,
        closed: true,
        ..TextGrammar::NONE
    },
    read_name: |_, tools| {
        let name = framed::find_interpreter(tools).unwrap_or("python").to_owned();
        HeadMeaning::Tool { name, id: None }
    },
    ..FramedGrammar::PLAIN
};

const MARK: Mark = Mark::Tag("<|action_start|>");

pub(crate) static DIALECT: Dialect = Dialect {
    name: "internlm",
    models: "InternLM 2 and 3",
    sample: "<|action_start|><|plugin|>\n{\"name\": \"get_weather\", \"parameters\": {\"city\": \"¤\"}}<|action_end|>",
    openers: &[
        Opener {
            mark: MARK,
            then: Lookahead::Words(&["<|plugin|>{", "<|plugin|>[{"]),
            grammar: Grammar::Json(&GRAMMAR),
        },
        Opener { mark: MARK, then: Lookahead::Words(&["<|interpreter|>"]), grammar: Grammar::Framed(&CODE) },
    ],
    strays: &["<|plugin|>", "<|interpreter|>", "<|action_end|>"],
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
                    "Let me see.<|action_start|> <|plugin|>\n{\"name\": \"search\", \"parameters\": {\"query\": \"<|action_end|>\"}}<|action_end|>\n",
                    r#"say Let me see. | call search {"query": "<|action_end|>"}"#,
                ),
                (
                    "So.<|action_start|> <|interpreter|>\nprint({'a': 1})\n<|action_end|> Done.",
                    r#"say So. | call python {"code": "print({'a': 1})"} | say  Done."#,
                ),
                ("<|action_start|><|interpreter|>\nx = 1", "cut python"),
            ],
        );
    }
}
