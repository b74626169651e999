//! Counts of what runs and models did: plain numbers that whoever watches may read at any time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use helve_model::ModelErrorKind;
use helve_tool::{Distribution, Histogram};
use helve_types::{RunState, Spent};

/// The runs of this process since it started.
#[derive(Debug, Default)]
pub struct RunCounters {
    started: AtomicU64,
    resumed: AtomicU64,
    completed: AtomicU64,
    failed: AtomicU64,
    cancelled: AtomicU64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunMetrics {
    pub started: u64,
    /// Taken up again: after a stop, or when somebody answered.
    pub resumed: u64,
    pub completed: u64,
    pub failed: u64,
    pub cancelled: u64,
}

impl RunCounters {
    pub(crate) fn started(&self) {
        add(&self.started, 1);
    }

    pub(crate) fn resumed(&self) {
        add(&self.resumed, 1);
    }

    pub(crate) fn ended(&self, state: RunState) {
        match state {
            RunState::Completed => add(&self.completed, 1),
            RunState::Failed => add(&self.failed, 1),
            RunState::Cancelled => add(&self.cancelled, 1),
            RunState::Running
            | RunState::WaitingApproval
            | RunState::WaitingClient
            | RunState::NeedsAttention => {}
        }
    }

    pub fn read(&self) -> RunMetrics {
        RunMetrics {
            started: get(&self.started),
            resumed: get(&self.resumed),
            completed: get(&self.completed),
            failed: get(&self.failed),
            cancelled: get(&self.cancelled),
        }
    }
}

/// How often budgets have had a say since the process started.
#[derive(Debug, Default)]
pub struct BudgetCounters {
    asked: AtomicU64,
    stopped: AtomicU64,
    refused: AtomicU64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetMetrics {
    /// A person was asked whether a run may go on.
    pub asked: u64,
    /// A run was ended.
    pub stopped: u64,
    /// A run was not begun.
    pub refused: u64,
}

impl BudgetCounters {
    pub(crate) fn asked(&self) {
        add(&self.asked, 1);
    }

    pub(crate) fn stopped(&self) {
        add(&self.stopped, 1);
    }

    pub(crate) fn refused(&self) {
        add(&self.refused, 1);
    }

    pub fn read(&self) -> BudgetMetrics {
        BudgetMetrics { asked: get(&self.asked), stopped: get(&self.stopped), refused: get(&self.refused) }
    }
}

/// How one request to a model ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
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
    pub(crate) fn asked(&self, how: Asked, took: Duration) {
        let place = match how {
            Asked::Answered => 0,
            Asked::Stopped => 1,
            Asked::Failed(ModelErrorKind::Unavailable) => 2,
            Asked::Failed(ModelErrorKind::Broken) => 3,
            Asked::Failed(ModelErrorKind::NoTools) => 4,
            Asked::Failed(ModelErrorKind::TooLong) => 5,
            Asked::Failed(ModelErrorKind::Key) => 6,
            Asked::Failed(ModelErrorKind::Refused) => 7,
        };
        add(&self.outcomes[place], 1);
        if how == Asked::Answered {
            self.whole.record(took);
        }
    }

    pub(crate) fn first_token(&self, after: Duration) {
        self.first_token.record(after);
    }

    pub(crate) fn spent(&self, spent: &Spent) {
        add(&self.input_tokens, spent.usage.input_tokens);
        add(&self.output_tokens, spent.usage.output_tokens);
        add(&self.cached_tokens, spent.usage.cached_tokens);
        add(&self.reasoning_tokens, spent.usage.reasoning_tokens);
        add(&self.cost_nanos, spent.cost_nanos.unwrap_or(0));
    }

    pub fn read(&self) -> ModelMetrics {
        let mut requests = OUTCOMES.map(|outcome| (outcome, 0));
        for (request, counter) in requests.iter_mut().zip(&self.outcomes) {
            request.1 = get(counter);
        }
        ModelMetrics {
            requests,
            input_tokens: get(&self.input_tokens),
            output_tokens: get(&self.output_tokens),
            cached_tokens: get(&self.cached_tokens),
            reasoning_tokens: get(&self.reasoning_tokens),
            cost_nanos: get(&self.cost_nanos),
            first_token: self.first_token.read(),
            whole: self.whole.read(),
        }
    }
}

/// What vendors report is not to be trusted with an overflow: the sum wraps, as counters may.
fn add(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Ordering::Relaxed);
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}
