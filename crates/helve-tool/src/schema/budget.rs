//! What a schema, pattern or document from outside may cost: one place for the figures, so that no door is wider than
//! another.
//!
//! Work is counted in units, not in time, so that the same schema is refused on every machine: about a microsecond on
//! the machine that the figures were measured on. A caller that takes several schemas at once spends from one budget.

/// The largest schema, as JSON.
pub const SCHEMA_BYTES_MAX: usize = 64 << 10;
/// Brackets in brackets.
pub const SCHEMA_DEPTH_MAX: usize = 32;
/// Different patterns of one schema.
pub const PATTERNS_MAX: usize = 100;
/// The longest pattern.
pub const PATTERN_BYTES_MAX: usize = 1000;
/// What may be made ready at once, of one request or document: 100 ms.
pub const COMPILE_UNITS_MAX: u64 = 100_000;
/// What one value may be compared with, with all references followed: schemas of the same value are in each other.
pub(super) const EXPANSION_MAX: u64 = 10_000;
/// How long a chain of references and combinations may be that says something about the same value.
pub(super) const CHAIN_MAX: usize = 64;
/// Places in a schema that references lead to.
pub(super) const TARGETS_MAX: usize = 1_000;
/// Steps of checking one value.
pub(super) const CHECK_STEPS_MAX: u64 = 1_000_000;
/// Values in values while one is checked, with every reference and combination between them.
pub(super) const CHECK_DEPTH_MAX: usize = 400;

/// How much work is left for one caller.
#[derive(Debug, Clone)]
pub struct CompileBudget {
    left: u64,
}

/// There was less left than was needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverBudget;

impl Default for CompileBudget {
    fn default() -> Self {
        Self { left: COMPILE_UNITS_MAX }
    }
}

impl CompileBudget {
    pub fn new(units: u64) -> Self {
        Self { left: units }
    }

    /// Takes what is needed; what does not fit takes all, so that a caller cannot try on and on.
    pub fn spend(&mut self, units: u64) -> Result<(), OverBudget> {
        match self.left.checked_sub(units) {
            Some(left) => self.left = left,
            None => {
                self.left = 0;
                return Err(OverBudget);
            }
        }
        Ok(())
    }

    pub fn remaining(&self) -> u64 {
        self.left
    }
}
