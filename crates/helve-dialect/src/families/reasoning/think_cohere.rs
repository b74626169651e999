//! `<|START_THINKING|>…<|END_THINKING|>`: Command R7B and Command A.
//!
//! Odd here: the answer has marks too.

use crate::Dialect;
use crate::dialect::Reasoning;

pub(crate) const MARKS: &[Reasoning] = &[Reasoning { open: "<|START_THINKING|>", close: "<|END_THINKING|>" }];

/// What stands around the answer.
pub(crate) const ANSWER: &[&str] =
    &["<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>"];

pub(crate) static DIALECT: Dialect = Dialect {
    name: "think_cohere",
    models: "Command R7B, Command A",
    sample: "<|START_THINKING|>¤<|END_THINKING|>",
    reasoning: MARKS,
    silent: ANSWER,
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
                ("<|START_THINKING|>a<|END_THINKING|><|START_RESPONSE|>b<|END_RESPONSE|>", "think a | say b"),
                ("<|START_TEXT|>b<|END_TEXT|>", "say b"),
            ],
        );
    }
}
