//! Conversations of which no summary could be had lately: none is asked for again at every turn.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use helve_types::ConversationId;
use tokio::time::Instant;

const FIRST: Duration = Duration::from_secs(60);
const LONGEST: Duration = Duration::from_secs(3_600);
/// Those beyond are forgotten: then a summary is asked for once too often.
const KEPT_MAX: usize = 1_024;

#[derive(Debug, Default)]
pub(crate) struct SummaryPauses(Mutex<HashMap<ConversationId, Pause>>);

#[derive(Debug, Clone, Copy)]
struct Pause {
    until: Instant,
    pause: Duration,
}

impl SummaryPauses {
    pub(super) fn has_passed(&self, of: Option<ConversationId>, now: Instant) -> bool {
        let pauses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        of.and_then(|of| pauses.get(&of)).is_none_or(|held| held.until <= now)
    }

    /// No summary came; the next is asked for after a pause, twice as long each time.
    pub(super) fn record_failure(&self, of: Option<ConversationId>, now: Instant) {
        let Some(of) = of else { return };
        let mut pauses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let pause = pauses.get(&of).map_or(FIRST, |held| (held.pause * 2).min(LONGEST));
        if pauses.len() >= KEPT_MAX && !pauses.contains_key(&of) {
            pauses.retain(|_, held| held.until > now);
            if pauses.len() >= KEPT_MAX {
                pauses.clear();
            }
        }
        pauses.insert(of, Pause { until: now + pause, pause });
    }

    pub(super) fn record_success(&self, of: Option<ConversationId>) {
        if let Some(of) = of {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&of);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_doubles_until_a_summary_comes_and_what_is_kept_is_bounded() {
        let (pauses, now) = (SummaryPauses::default(), Instant::now());
        let id = |n: u128| Some(ConversationId(uuid::Uuid::from_u128(n)));
        assert!(pauses.has_passed(id(1), now) && pauses.has_passed(None, now));
        pauses.record_failure(id(1), now);
        assert!(!pauses.has_passed(id(1), now + FIRST / 2) && pauses.has_passed(id(1), now + FIRST));
        pauses.record_failure(id(1), now);
        assert!(!pauses.has_passed(id(1), now + FIRST) && pauses.has_passed(id(1), now + FIRST * 2));
        pauses.record_success(id(1));
        assert!(pauses.has_passed(id(1), now));
        for n in 0..5_000 {
            pauses.record_failure(id(n), now);
            assert!(pauses.0.lock().unwrap().len() <= KEPT_MAX);
        }
    }
}
