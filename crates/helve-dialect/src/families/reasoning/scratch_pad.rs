//! `<scratch_pad>…</scratch_pad>`: Hermes, where it is asked to plan.
//!
//! Odd here: a plan, which stands beside calls as well.

use crate::Dialect;
use crate::dialect::Reasoning;

pub(crate) const MARKS: &[Reasoning] = &[Reasoning { open: "<scratch_pad>", close: "</scratch_pad>" }];

pub(crate) static DIALECT: Dialect = Dialect {
    name: "scratch_pad",
    models: "Hermes, where it is asked to plan",
    sample: "<scratch_pad>¤</scratch_pad>",
    reasoning: MARKS,
    ..Dialect::PLAIN
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::check;

    #[test]
    fn cases() {
        check(&DIALECT, &[("<scratch_pad>a</scratch_pad>b", "think a | say b")]);
    }
}
