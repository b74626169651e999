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
        add_count(&self.started, 1);
    }

    pub fn count_resumed(&self) {
        add_count(&self.resumed, 1);
    }

    pub fn count_ended(&self, state: RunState) {
        match state {
            RunState::Completed => add_count(&self.completed, 1),
            RunState::Failed => add_count(&self.failed, 1),
            RunState::Cancelled => add_count(&self.cancelled, 1),
            RunState::Running
            | RunState::WaitingApproval
            | RunState::WaitingClient
            | RunState::WaitingSubagent
            | RunState::NeedsAttention => {}
        }
    }

    pub fn snapshot(&self) -> RunMetrics {
        RunMetrics {
            started: read_count(&self.started),
            resumed: read_count(&self.resumed),
            completed: read_count(&self.completed),
            failed: read_count(&self.failed),
            cancelled: read_count(&self.cancelled),
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
        add_count(&self.asked, 1);
    }

    pub fn count_stopped(&self) {
        add_count(&self.stopped, 1);
    }

    pub fn count_refused(&self) {
        add_count(&self.refused, 1);
    }

    pub fn snapshot(&self) -> BudgetMetrics {
        BudgetMetrics {
            asked: read_count(&self.asked),
            stopped: read_count(&self.stopped),
            refused: read_count(&self.refused),
        }
    }
}

fn add_count(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Ordering::Relaxed);
}

fn read_count(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}
