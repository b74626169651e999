//! `<think>…</think>` and the answer in `<answer>` tags: Hunyuan-A13B.
//!
//! Odd here: the tags around the answer are ordinary words, so it is read only when given.

use super::think;
use crate::Dialect;

pub(crate) const ANSWER: &[&str] = &["<answer>", "</answer>"];

pub(crate) static DIALECT: Dialect = Dialect {
    name: "think_hunyuan",
    models: "Hunyuan-A13B",
    sample: "<think>¤</think>",
    reasoning: think::TAGS,
    silent: ANSWER,
    found: false,
    ..Dialect::PLAIN
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::check_given;

    #[test]
    fn cases() {
        check_given(&DIALECT, &[("<think>\na\n</think>\n<answer>\nb\n</answer>", "think a | say b\n")]);
    }
}
