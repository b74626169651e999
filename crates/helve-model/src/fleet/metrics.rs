//! Counts of one model's requests: plain numbers that a monitor may read at any time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use helve_types::{Distribution, Histogram, Spent};

use crate::ModelErrorKind;

/// How one request to a model ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestOutcome {
    Answered,
    /// A person stopped it.
    Stopped,
    Failed(ModelErrorKind),
}

/// One model's requests since the process started.
#[derive(Debug, Default)]
pub struct ModelCounters {
    outcomes: [AtomicU64; OUTCOMES.len()],
    input_tokens: AtomicU64,
    output_tokens: AtomicU64,
    cached_tokens: AtomicU64,
    reasoning_tokens: AtomicU64,
    cost_nanos: AtomicU64,
    first_token: Histogram,
    whole: Histogram,
}

/// The words for the ends of a request, in the order in which they are counted.
const OUTCOMES: [&str; 8] =
    ["answered", "stopped", "unavailable", "broke_off", "no_tools", "too_long", "key", "refused"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelMetrics {
    /// How many requests ended in which way.
    pub requests: [(&'static str, u64); OUTCOMES.len()],
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cached_tokens: u64,
    pub reasoning_tokens: u64,
    /// Billionths of the unit of the prices, as far as prices are known.
    pub cost_nanos: u64,
    /// From asking to the first piece of the answer.
    pub first_token: Distribution,
    /// From asking to the end of the answer, of those that were answered.
    pub whole: Distribution,
}

impl ModelCounters {
    pub fn record_request(&self, outcome: RequestOutcome, took: Duration) {
        let place = match outcome {
            RequestOutcome::Answered => 0,
            RequestOutcome::Stopped => 1,
            RequestOutcome::Failed(ModelErrorKind::Unavailable) => 2,
            RequestOutcome::Failed(ModelErrorKind::Broken) => 3,
            RequestOutcome::Failed(ModelErrorKind::NoTools) => 4,
            RequestOutcome::Failed(ModelErrorKind::TooLong) => 5,
            RequestOutcome::Failed(ModelErrorKind::Key) => 6,
            RequestOutcome::Failed(ModelErrorKind::Refused) => 7,
        };
        add_count(&self.outcomes[place], 1);
        if outcome == RequestOutcome::Answered {
            self.whole.record(took);
        }
    }

    pub fn record_first_token(&self, after: Duration) {
        self.first_token.record(after);
    }

    pub fn record_spent(&self, spent: &Spent) {
        add_count(&self.input_tokens, spent.usage.input_tokens);
        add_count(&self.output_tokens, spent.usage.output_tokens);
        add_count(&self.cached_tokens, spent.usage.cached_tokens);
        add_count(&self.reasoning_tokens, spent.usage.reasoning_tokens);
        add_count(&self.cost_nanos, spent.cost_nanos.unwrap_or(0));
    }

    pub fn snapshot(&self) -> ModelMetrics {
        let mut requests = OUTCOMES.map(|outcome| (outcome, 0));
        for (request, counter) in requests.iter_mut().zip(&self.outcomes) {
            request.1 = read_count(counter);
        }
        ModelMetrics {
            requests,
            input_tokens: read_count(&self.input_tokens),
            output_tokens: read_count(&self.output_tokens),
            cached_tokens: read_count(&self.cached_tokens),
            reasoning_tokens: read_count(&self.reasoning_tokens),
            cost_nanos: read_count(&self.cost_nanos),
            first_token: self.first_token.snapshot(),
            whole: self.whole.snapshot(),
        }
    }
}

/// What vendors report is not to be trusted with an overflow: the sum wraps, as counters may.
fn add_count(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Ordering::Relaxed);
}

fn read_count(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}
