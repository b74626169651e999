//! What something took: tokens, and money where prices are known.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Fact, Usage};

/// The sum over any number of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Spent {
    pub usage: Usage,
    /// In billionths of the unit of the operator's prices: the sum over the steps whose price is known, and none
    /// if there is no such step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_nanos: Option<u64>,
}

impl Spent {
    /// No sum grows beyond this, so that every store and every page can hold it exactly.
    pub const MAX: u64 = (1 << 53) - 1;

    /// What a fact adds to its run and its conversation.
    pub fn from_fact(fact: &Fact) -> Option<Self> {
        match fact {
            Fact::StepFinished { usage, cost_nanos, .. } => {
                Some(Self { usage: *usage, cost_nanos: *cost_nanos }.clamp())
            }
            Fact::HistoryCompacted(compaction) => {
                let summary = compaction.summary.as_ref()?;
                Some(Self { usage: summary.usage, cost_nanos: summary.cost_nanos }.clamp())
            }
            Fact::StepRestarted { spent, .. } => spent.map(Self::clamp),
            _ => None,
        }
    }

    pub fn plus(self, other: Self) -> Self {
        let cost_nanos = match (self.cost_nanos, other.cost_nanos) {
            (Some(one), Some(two)) => Some(one.saturating_add(two)),
            (one, two) => one.or(two),
        };
        Self { usage: self.usage.plus(other.usage), cost_nanos }.clamp()
    }

    /// Whether there is nothing to tell: a vendor that reports no usage says nothing about cost either.
    pub fn is_nothing(&self) -> bool {
        self.usage == Usage::default() && self.cost_nanos.is_none()
    }

    fn clamp(self) -> Self {
        let bound = |count: u64| count.min(Self::MAX);
        let Usage { input_tokens, output_tokens, cached_tokens, cache_write_tokens, reasoning_tokens } =
            self.usage;
        Self {
            usage: Usage {
                input_tokens: bound(input_tokens),
                output_tokens: bound(output_tokens),
                cached_tokens: bound(cached_tokens),
                cache_write_tokens: bound(cache_write_tokens),
                reasoning_tokens: bound(reasoning_tokens),
            },
            cost_nanos: self.cost_nanos.map(bound),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(input_tokens: u64, cost_nanos: Option<u64>) -> Spent {
        Spent { usage: Usage { input_tokens, ..Usage::default() }, cost_nanos }
    }

    #[test]
    fn a_sum_knows_the_costs_that_are_known() {
        assert_eq!(spent(1, None).plus(spent(2, None)), spent(3, None));
        assert_eq!(spent(1, Some(7)).plus(spent(2, None)), spent(3, Some(7)));
        assert_eq!(spent(1, Some(7)).plus(spent(2, Some(5))), spent(3, Some(12)));
    }

    #[test]
    fn absurd_figures_stop_at_a_bound() {
        let absurd = spent(u64::MAX, Some(u64::MAX));
        assert_eq!(absurd.plus(absurd), spent(Spent::MAX, Some(Spent::MAX)));
    }
}
