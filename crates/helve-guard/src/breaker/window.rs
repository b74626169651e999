//! Calls and failures of the last thirty seconds, in one-second buckets.
//!
//! A bucket leaves as a whole, so the window covers between 29 and 30 seconds.

use std::time::Duration;

use tokio::time::Instant;

const BUCKETS: usize = 30;

/// What the window covers at most.
pub(super) const WINDOW: Duration = Duration::from_secs(BUCKETS as u64);

#[derive(Debug, Clone)]
pub(super) struct Window {
    epoch: Instant,
    /// The second, since `epoch`, that the newest bucket counts.
    second: u64,
    buckets: [Counts; BUCKETS],
    total: Counts,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) calls: u32,
    pub(super) failures: u32,
}

impl Window {
    pub(super) fn new(now: Instant) -> Self {
        Self { epoch: now, second: 0, buckets: [Counts::default(); BUCKETS], total: Counts::default() }
    }

    pub(super) fn record(&mut self, failures: u32, now: Instant) -> Counts {
        self.advance(now);
        let bucket = &mut self.buckets[self.second as usize % BUCKETS];
        for counts in [bucket, &mut self.total] {
            counts.calls = counts.calls.saturating_add(1);
            counts.failures = counts.failures.saturating_add(failures);
        }
        self.total
    }

    pub(super) fn total(&mut self, now: Instant) -> Counts {
        self.advance(now);
        self.total
    }

    fn advance(&mut self, now: Instant) {
        let second = now.saturating_duration_since(self.epoch).as_secs();
        // After a full turn every bucket has left once; more turns change nothing.
        for passed in (self.second + 1..=second).take(BUCKETS) {
            let left = std::mem::take(&mut self.buckets[passed as usize % BUCKETS]);
            self.total.calls -= left.calls;
            self.total.failures -= left.failures;
        }
        self.second = self.second.max(second);
    }
}
