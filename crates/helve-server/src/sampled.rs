//! Lines of the log that anybody can cause: at most one a second, with how many there were.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const EVERY: Duration = Duration::from_secs(1);

/// Counts what is not worth a line each.
#[derive(Debug, Default)]
pub(crate) struct Sampled(Mutex<Counted>);

#[derive(Debug, Default)]
struct Counted {
    told_at: Option<Instant>,
    untold: u64,
}

impl Sampled {
    /// How many there were since the last line, this one included, if it is time for a line.
    pub(crate) fn count(&self, now: Instant) -> Option<u64> {
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counted.untold += 1;
        if counted.told_at.is_some_and(|at| now.saturating_duration_since(at) < EVERY) {
            return None;
        }
        counted.told_at = Some(now);
        Some(std::mem::take(&mut counted.untold))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_line_a_second_and_none_goes_uncounted() {
        let sampled = Sampled::default();
        let begin = Instant::now();
        let at = |millis| sampled.count(begin + Duration::from_millis(millis));
        assert_eq!(at(0), Some(1));
        assert!((1..1_000).all(|millis| at(millis).is_none()));
        assert_eq!(at(1_000), Some(1_000));
        assert_eq!(at(60_000), Some(1));
    }
}
