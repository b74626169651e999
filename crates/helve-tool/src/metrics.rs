//! Counts of what a tool did, cheap enough to keep always.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use helve_types::Trail;
use serde::Serialize;

use crate::Outcome;

#[derive(Debug, Default)]
pub(crate) struct Counters {
    calls: AtomicU64,
    succeeded: AtomicU64,
    failed: AtomicU64,
    refused: AtomicU64,
    unknown: AtomicU64,
    from_cache: AtomicU64,
    from_fallback: AtomicU64,
    total_us: AtomicU64,
    slowest_us: AtomicU64,
}

/// What a tool did since it was registered or its metrics were reset.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ToolMetrics {
    pub calls: u64,
    pub succeeded: u64,
    pub failed: u64,
    pub refused: u64,
    pub unknown: u64,
    pub from_cache: u64,
    /// Answered, but not by the tool itself: neither a success nor a failure of its callers.
    pub from_fallback: u64,
    pub cache_hit_rate: f64,
    pub error_rate: f64,
    pub mean_ms: f64,
    pub slowest_ms: f64,
}

impl Counters {
    /// Takes a call that is over into account, with what its trail says about where the answer came from.
    pub(crate) fn count(&self, outcome: &Outcome, trail: &Trail, took: Duration) {
        let one = |counter: &AtomicU64| _ = counter.fetch_add(1, Ordering::Relaxed);
        match outcome {
            Outcome::Finished(_) if trail.from_fallback() => one(&self.from_fallback),
            Outcome::Finished(_) => one(&self.succeeded),
            Outcome::Failed(_) => one(&self.failed),
            Outcome::Refused(_) => one(&self.refused),
            Outcome::Unknown { .. } => one(&self.unknown),
            // Not over yet: counted when it is.
            Outcome::Asked(_) | Outcome::Delegated { .. } => return,
        }
        one(&self.calls);
        if trail.from_cache() && !trail.from_fallback() {
            one(&self.from_cache);
        }
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.total_us.fetch_add(us, Ordering::Relaxed);
        self.slowest_us.fetch_max(us, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> ToolMetrics {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let calls = get(&self.calls);
        let share = |part: u64| if calls == 0 { 0.0 } else { part as f64 / calls as f64 };
        let (failed, unknown) = (get(&self.failed), get(&self.unknown));
        ToolMetrics {
            calls,
            succeeded: get(&self.succeeded),
            failed,
            refused: get(&self.refused),
            unknown,
            from_cache: get(&self.from_cache),
            from_fallback: get(&self.from_fallback),
            cache_hit_rate: share(get(&self.from_cache)),
            error_rate: share(failed + unknown),
            mean_ms: share(get(&self.total_us)) / 1_000.0,
            slowest_ms: get(&self.slowest_us) as f64 / 1_000.0,
        }
    }

    pub(crate) fn reset(&self) {
        for counter in [
            &self.calls,
            &self.succeeded,
            &self.failed,
            &self.refused,
            &self.unknown,
            &self.from_cache,
            &self.from_fallback,
            &self.total_us,
            &self.slowest_us,
        ] {
            counter.store(0, Ordering::Relaxed);
        }
    }
}
