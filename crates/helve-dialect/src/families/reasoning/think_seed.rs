//! `<seed:think>…</seed:think>`: Seed-OSS.
//!
//! Odd here: notes on the budget stand inside, in tags of their own.

use crate::Dialect;
use crate::dialect::Reasoning;

pub(crate) const MARKS: &[Reasoning] = &[Reasoning { open: "<seed:think>", close: "</seed:think>" }];

pub(crate) const SILENT: &[&str] = &["<seed:eos>", "<seed:cot_budget_reflect>", "</seed:cot_budget_reflect>"];

pub(crate) static DIALECT: Dialect = Dialect {
    name: "think_seed",
    models: "Seed-OSS",
    sample: "<seed:think>¤</seed:think>",
    reasoning: MARKS,
    silent: SILENT,
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
                "<seed:think>a<seed:cot_budget_reflect>b</seed:cot_budget_reflect>c</seed:think>d<seed:eos>",
                "think abc | say d",
            )],
        );
    }
}
