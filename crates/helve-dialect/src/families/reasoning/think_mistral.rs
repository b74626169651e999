//! `[THINK]…[/THINK]`: Magistral, Ministral 3 and Small 4.
//!
//! Odd here: square brackets, which links have too.

use crate::Dialect;
use crate::dialect::Reasoning;

pub(crate) const MARKS: &[Reasoning] = &[Reasoning { open: "[THINK]", close: "[/THINK]" }];

pub(crate) static DIALECT: Dialect = Dialect {
    name: "think_mistral",
    models: "Magistral, Ministral 3, Small 4",
    sample: "[THINK]¤[/THINK]",
    reasoning: MARKS,
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
            &[("[THINK]a[/THINK]b", "think a | say b"), ("A [THINKER](x).", "say A [THINKER](x).")],
        );
    }
}
