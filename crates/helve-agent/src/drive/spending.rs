//! What a step takes: the tokens that the vendor reported, at the model's price, and what failed tries took.

use helve_model::Model;
use helve_types::{Fact, Mode, Spent, StopReason, Usage};

use super::Driver;
use crate::run::ModelMessage;

/// What was spent on a try that came to nothing and is not on record yet.
pub(crate) struct Lost {
    step: u32,
    attempt: u32,
    mode: Mode,
    pub(super) spent: Spent,
}

impl Driver {
    /// The message with its cost and with what was lost on the way to it.
    pub(super) fn priced(&mut self, model: &dyn Model, heard: ModelMessage) -> ModelMessage {
        let lost = self.lost.take().map_or_else(Spent::default, |lost| lost.spent);
        let spent = self.spent(model, heard.usage);
        self.count(model, &spent);
        let Spent { usage, cost_nanos } = lost.plus(spent);
        ModelMessage { usage, cost_nanos, ..heard }
    }

    /// Notes what a try took that gave no message.
    pub(super) fn lose(&mut self, model: &dyn Model, mode: &Mode, step: u32, attempt: u32, usage: Usage) {
        let spent = self.spent(model, usage);
        self.count(model, &spent);
        self.lose_spent(mode, step, attempt, spent);
    }

    /// The same for what is counted already.
    pub(super) fn lose_spent(&mut self, mode: &Mode, step: u32, attempt: u32, spent: Spent) {
        if spent.is_nothing() {
            return;
        }
        let before = self.lost.take().map_or_else(Spent::default, |lost| lost.spent);
        self.lost = Some(Lost { step, attempt, mode: mode.clone(), spent: before.plus(spent) });
    }

    /// The step that no message came of, for the record, if anything was spent on it.
    pub(super) fn lost_step(&mut self) -> Option<Fact> {
        let Lost { step, attempt, mode, spent } = self.lost.take()?;
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

    pub(super) fn count(&self, model: &dyn Model, spent: &Spent) {
        if let Some(counters) = self.shared.models.counters(model.name()) {
            counters.record_spent(spent);
        }
    }

    pub(super) fn spent(&self, model: &dyn Model, usage: Usage) -> Spent {
        let options = self.shared.models.options(model.name());
        let price = options.as_ref().and_then(|options| options.price.as_ref());
        // A vendor that reports nothing leaves the cost unknown, which is not the same as nothing.
        let reported = usage != Usage::default();
        let cost_nanos = price.filter(|_| reported).map(|price| price.cost_nanos(&usage));
        Spent { usage, cost_nanos }
    }
}
