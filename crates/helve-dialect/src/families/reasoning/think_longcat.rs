//! `<longcat_think>…</longcat_think>`: LongCat.
//!
//! Odd here: nothing but the name.

use crate::Dialect;
use crate::dialect::Reasoning;

pub(crate) const MARKS: &[Reasoning] = &[Reasoning { open: "<longcat_think>", close: "</longcat_think>" }];

pub(crate) static DIALECT: Dialect = Dialect {
    name: "think_longcat",
    models: "LongCat",
    sample: "<longcat_think>¤</longcat_think>",
    reasoning: MARKS,
    ..Dialect::PLAIN
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::check;

    #[test]
    fn cases() {
        check(&DIALECT, &[("<longcat_think>a</longcat_think>b", "think a | say b")]);
    }
}
