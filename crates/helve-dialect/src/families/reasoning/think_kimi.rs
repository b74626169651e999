//! `◁think▷…◁/think▷`: Kimi-VL and Kimi 1.5.
//!
//! Odd here: triangles in place of brackets.

use crate::Dialect;
use crate::dialect::Reasoning;

pub(crate) const MARKS: &[Reasoning] = &[Reasoning { open: "◁think▷", close: "◁/think▷" }];

pub(crate) static DIALECT: Dialect = Dialect {
    name: "think_kimi",
    models: "Kimi-VL, Kimi 1.5",
    sample: "◁think▷¤◁/think▷",
    reasoning: MARKS,
    ..Dialect::PLAIN
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::check;

    #[test]
    fn cases() {
        check(&DIALECT, &[("◁think▷a◁/think▷b", "think a | say b")]);
    }
}
