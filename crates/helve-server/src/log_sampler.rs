//! Limits log lines that any client can cause to one a second, with their count.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const EVERY: Duration = Duration::from_secs(1);

/// Counts events and says when to log them.
#[derive(Debug, Default)]
pub(crate) struct LogSampler(Mutex<SampleCount>);

#[derive(Debug, Default)]
struct SampleCount {
    logged_at: Option<Instant>,
    unlogged: u64,
}

impl LogSampler {
    /// Counts one event. Returns the count since the last log line if the next line is due.
    pub(crate) fn count_and_sample(&self, now: Instant) -> Option<u64> {
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counted.unlogged += 1;
        if counted.logged_at.is_some_and(|at| now.saturating_duration_since(at) < EVERY) {
            return None;
        }
        counted.logged_at = Some(now);
        Some(std::mem::take(&mut counted.unlogged))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_a_second_counts_every_event() {
        let sampled = LogSampler::default();
        let begin = Instant::now();
        let at = |millis| sampled.count_and_sample(begin + Duration::from_millis(millis));
        assert_eq!(at(0), Some(1));
        assert!((1..1_000).all(|millis| at(millis).is_none()));
        assert_eq!(at(1_000), Some(1_000));
        assert_eq!(at(60_000), Some(1));
    }
}
