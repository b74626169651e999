//! `<mm:think>…</mm:think>`: MiniMax M3.
//!
//! Odd here: a closing mark that comes first closes nothing, and is left out.

use crate::Dialect;
use crate::dialect::Reasoning;

pub(crate) const MARKS: &[Reasoning] = &[Reasoning { open: "<mm:think>", close: "</mm:think>" }];

pub(crate) static DIALECT: Dialect = Dialect {
    name: "think_mm",
    models: "MiniMax M3",
    sample: "<mm:think>¤</mm:think>",
    reasoning: MARKS,
    ..Dialect::PLAIN
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::check;

    #[test]
    fn cases() {
        check(&DIALECT, &[("<mm:think>a</mm:think>b", "think a | say b"), ("</mm:think>b", "say b")]);
    }
}
