//! `<seed:think>…</seed:think>`: Seed-OSS.

use crate::Dialect;
use crate::dialect::Reasoning;

pub(crate) const MARKS: &[Reasoning] = &[Reasoning { open: "<seed:think>", close: "</seed:think>" }];

pub(crate) static DIALECT: Dialect = Dialect {
    name: "think_seed",
    reasoning: MARKS,
    silent: &["<seed:eos>", "<seed:cot_budget_reflect>", "</seed:cot_budget_reflect>"],
    ..Dialect::PLAIN
};
