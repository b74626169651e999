//! What a step takes: the tokens that the vendor reported, at the model's price, and what failed attempts took.

use helve_model::Model;
use helve_model::fleet::Models;
use helve_types::{Fact, Mode, Spent, StopReason, Usage};

/// What was spent on attempts that came to nothing and is not on record yet.
#[derive(Default)]
pub(crate) struct UnrecordedCost(Option<FailedCost>);

struct FailedCost {
    step: u32,
    attempt: u32,
    mode: Mode,
    spent: Spent,
}

impl UnrecordedCost {
    /// Adds what an attempt took that gave no message.
    pub(super) fn add_attempt_cost(&mut self, mode: &Mode, (step, attempt): (u32, u32), spent: Spent) {
        if spent.is_nothing() {
            return;
        }
        let spent = self.take_cost().unwrap_or_default().plus(spent);
        self.0 = Some(FailedCost { step, attempt, mode: mode.clone(), spent });
    }

    pub(super) fn take_cost(&mut self) -> Option<Spent> {
        self.0.take().map(|cost| cost.spent)
    }

    /// The step that no message came of, for the record, if anything was spent on it.
    pub(crate) fn take_fact(&mut self) -> Option<Fact> {
        let FailedCost { step, attempt, mode, spent } = self.0.take()?;
        Some(Fact::StepFinished {
            step,
            attempt,
            reason: StopReason::Failed,
            mode,
            usage: spent.usage,
            cost_nanos: spent.cost_nanos,
            model: None,
            fingerprint: None,
            echo: None,
            params: None,
        })
    }
}

/// What a request to a model took, counted with the model.
pub(super) fn compute_and_count_cost(models: &Models, model: &dyn Model, usage: Usage) -> Spent {
    let options = models.options(model.name());
    let price = options.as_ref().and_then(|options| options.price.as_ref());
    // A vendor that reports nothing leaves the cost unknown, which is not the same as nothing.
    let reported = usage != Usage::default();
    let cost_nanos = price.filter(|_| reported).map(|price| price.cost_nanos(&usage));
    let spent = Spent { usage, cost_nanos };
    if let Some(counters) = models.counters(model.name()) {
        counters.record_spent(&spent);
    }
    spent
}
