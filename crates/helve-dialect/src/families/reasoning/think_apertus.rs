//! `<|inner_prefix|>…<|inner_suffix|>`: Apertus.
//!
//! Odd here: the marks are tokens.

use crate::Dialect;
use crate::dialect::Reasoning;

pub(crate) const MARKS: &[Reasoning] = &[Reasoning { open: "<|inner_prefix|>", close: "<|inner_suffix|>" }];

pub(crate) static DIALECT: Dialect = Dialect {
    name: "think_apertus",
    models: "Apertus",
    sample: "<|inner_prefix|>¤<|inner_suffix|>",
    reasoning: MARKS,
    ..Dialect::PLAIN
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::check;

    #[test]
    fn cases() {
        check(&DIALECT, &[("<|inner_prefix|>a<|inner_suffix|>b", "think a | say b")]);
    }
}
