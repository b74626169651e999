//! `<think>…</think>` and the answer in `<response>` tags: ERNIE 4.5.
//!
//! Odd here: the tags around the answer are ordinary words, so it is read only when given.

use super::think;
use crate::Dialect;

pub(crate) const ANSWER: &[&str] = &["<response>", "</response>"];

pub(crate) static DIALECT: Dialect = Dialect {
    name: "think_ernie",
    models: "ERNIE 4.5",
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
        check_given(
            &DIALECT,
            &[
                ("a</think>\n\n<response>\nb\n</response>", "say ab\n"),
                ("<think>\na\n</think>\n<response>\nb\n</response>", "think a | say b\n"),
            ],
        );
    }
}
