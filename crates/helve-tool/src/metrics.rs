//! Counts of what a tool did, cheap enough to keep always.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use helve_types::{Stage, Trail};
use serde::Serialize;

use crate::Outcome;
use helve_types::{Distribution, Histogram};

#[derive(Debug, Default)]
pub(crate) struct Counters {
    succeeded: AtomicU64,
    failed: AtomicU64,
    refused: AtomicU64,
    unknown: AtomicU64,
    from_cache: AtomicU64,
    shared: AtomicU64,
    from_fallback: AtomicU64,
    slowest_us: AtomicU64,
    latency: Histogram,
}

/// What a tool did since it was registered or its metrics were reset.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ToolMetrics {
    pub calls: u64,
    pub succeeded: u64,
    pub failed: u64,
    pub refused: u64,
    pub unknown: u64,
    /// Answered without running the tool: from the cache, or with the answer of an identical call in flight.
    pub from_cache: u64,
    /// Of these, those that shared a call in flight.
    pub shared: u64,
    /// Answered by what stands in for the tool: neither a success nor a failure.
    pub from_fallback: u64,
    pub cache_hit_rate: f64,
    pub error_rate: f64,
    pub mean_ms: f64,
    pub p50_ms: f64,
    pub p95_ms: f64,
    pub p99_ms: f64,
    pub slowest_ms: f64,
}

impl Counters {
    /// Takes a call that is over into account, with what its trail says about where the answer came from.
    pub(crate) fn count_call(&self, outcome: &Outcome, trail: &Trail, took: Duration) {
        let one = |counter: &AtomicU64| _ = counter.fetch_add(1, Ordering::Relaxed);
        let stood_in = trail.from_fallback();
        match outcome {
            Outcome::Finished(_) if stood_in => one(&self.from_fallback),
            Outcome::Finished(_) => one(&self.succeeded),
            Outcome::Failed(_) => one(&self.failed),
            Outcome::Refused(_) => one(&self.refused),
            Outcome::Unknown { .. } => one(&self.unknown),
            // Not over yet: counted when it is.
            Outcome::Asked(_) | Outcome::Delegated { .. } | Outcome::Subagent(_) => return,
        }
        let found = trail.0.iter().find_map(|stage| match stage {
            Stage::Cache { found } if !stood_in => Some(found.as_str()),
            _ => None,
        });
        match found {
            Some("hit") => one(&self.from_cache),
            Some("shared") => {
                one(&self.from_cache);
                one(&self.shared);
            }
            _ => {}
        }
        self.latency.record(took);
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.slowest_us.fetch_max(us, Ordering::Relaxed);
    }

    pub(crate) fn latency(&self) -> Distribution {
        self.latency.snapshot()
    }

    pub(crate) fn snapshot(&self) -> ToolMetrics {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (succeeded, failed) = (get(&self.succeeded), get(&self.failed));
        let (refused, unknown) = (get(&self.refused), get(&self.unknown));
        let from_fallback = get(&self.from_fallback);
        let calls = succeeded + failed + refused + unknown + from_fallback;
        let share = |part: u64| if calls == 0 { 0.0 } else { part as f64 / calls as f64 };
        let latency = self.latency.snapshot();
        let quantile_ms = |share| latency.quantile_us(share) / 1_000.0;
        ToolMetrics {
            calls,
            succeeded,
            failed,
            refused,
            unknown,
            from_cache: get(&self.from_cache),
            shared: get(&self.shared),
            from_fallback,
            cache_hit_rate: share(get(&self.from_cache)),
            error_rate: share(failed + unknown),
            mean_ms: latency.mean_us() / 1_000.0,
            p50_ms: quantile_ms(0.5),
            p95_ms: quantile_ms(0.95),
            p99_ms: quantile_ms(0.99),
            slowest_ms: get(&self.slowest_us) as f64 / 1_000.0,
        }
    }

    pub(crate) fn reset(&self) {
        for counter in [
            &self.succeeded,
            &self.failed,
            &self.refused,
            &self.unknown,
            &self.from_cache,
            &self.shared,
            &self.from_fallback,
            &self.slowest_us,
        ] {
            counter.store(0, Ordering::Relaxed);
        }
        self.latency.reset();
    }
}

#[cfg(test)]
mod tests {
    use helve_types::{Failure, FailureKind, ToolOutput};

    use super::*;

    #[test]
    fn a_call_is_counted_by_its_outcome_and_by_where_its_answer_came_from() {
        let counters = Counters::default();
        let finished = Outcome::Finished(ToolOutput::text("x"));
        let failed = Outcome::Failed(Failure::new(FailureKind::Failed, "no"));
        let cache = |found: &str| Stage::Cache { found: found.into() };
        let fallback =
            Stage::Fallback { by: "last_good".into(), because: "down".into(), notice: None, age_ms: None };
        let ms = Duration::from_millis(1);
        counters.count_call(&finished, &Trail(vec![cache("miss")]), ms);
        counters.count_call(&finished, &Trail(vec![cache("hit")]), ms);
        counters.count_call(&finished, &Trail(vec![cache("shared")]), ms);
        counters.count_call(&finished, &Trail(vec![cache("miss"), fallback]), 100 * ms);
        counters.count_call(&failed, &Trail::default(), ms);
        counters.count_call(
            &Outcome::Delegated { tool: "t".into(), arguments: "{}".into() },
            &Trail::default(),
            ms,
        );
        let read = counters.snapshot();
        assert_eq!((read.calls, read.succeeded, read.failed), (5, 3, 1));
        assert_eq!((read.from_cache, read.shared, read.from_fallback), (2, 1, 1));
        assert_eq!((read.cache_hit_rate, read.error_rate), (0.4, 0.2));
        assert_eq!((read.p50_ms <= 1.0, read.p99_ms > 50.0, read.slowest_ms), (true, true, 100.0));
        counters.reset();
        assert_eq!(counters.snapshot(), Counters::default().snapshot());
    }
}
