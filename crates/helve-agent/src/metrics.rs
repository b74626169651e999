//! Counts of what runs and budgets did: plain numbers that a monitor may read at any time.

use std::sync::atomic::{AtomicU64, Ordering};

use helve_types::RunState;

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
    /// Resumed: after a stop, or when a question was answered.
    pub resumed: u64,
    pub completed: u64,
    pub failed: u64,
    pub cancelled: u64,
}

impl RunCounters {
    pub fn count_started(&self) {
        add(&self.started, 1);
    }

    pub fn count_resumed(&self) {
        add(&self.resumed, 1);
    }

    pub fn count_ended(&self, state: RunState) {
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
    pub fn count_asked(&self) {
        add(&self.asked, 1);
    }

    pub fn count_stopped(&self) {
        add(&self.stopped, 1);
    }

    pub fn count_refused(&self) {
        add(&self.refused, 1);
    }

    pub fn read(&self) -> BudgetMetrics {
        BudgetMetrics { asked: get(&self.asked), stopped: get(&self.stopped), refused: get(&self.refused) }
    }
}

fn add(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Ordering::Relaxed);
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}
