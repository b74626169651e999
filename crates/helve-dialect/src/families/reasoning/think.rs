//! `<think>…</think>` and its relatives: DeepSeek, Qwen, GLM, Kimi and most others.
//!
//! Odd here: the prompt often holds the opening mark, so the text begins inside; marks come doubled, and closing
//! ones come alone.

use crate::Dialect;
use crate::dialect::Reasoning;

pub(crate) const MARKS: &[Reasoning] = &[
    Reasoning { open: "<think>", close: "</think>" },
    Reasoning { open: "<thinking>", close: "</thinking>" },
    Reasoning { open: "<thought>", close: "</thought>" },
    Reasoning { open: "<reasoning>", close: "</reasoning>" },
];

/// The first of them alone, for models that write no other.
pub(crate) const TAGS: &[Reasoning] = &[MARKS[0]];

pub(crate) static DIALECT: Dialect = Dialect {
    name: "think",
    models: "DeepSeek, Qwen, GLM, Kimi and most others",
    sample: "<think>¤</think>",
    reasoning: MARKS,
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
                ("<think>\nLet me see.\n</think>\n\nYes.\n", "think Let me see. | say Yes.\n"),
                ("<think></think>Yes.", "say Yes."),
                ("<think><think>a</think>b", "think a | say b"),
                ("<think>a</think><think>b</think>c", "think ab | say c"),
                ("Hm.<thinking>a</thinking> b", "say Hm. | think a | say b"),
                ("<thought>a < b</thought>c", "think a < b | say c"),
                ("<reasoning>a </think> b</reasoning>c", "think a </think> b | say c"),
                ("</think>\n\nHello", "say Hello"),
                ("<think>never closed", "think never closed"),
                ("The `<think>` tag.", "say The `<think>` tag."),
                ("```\n<think>\n```", "say ```\n<think>\n```"),
            ],
        );
    }
}
