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
pub(crate) struct Rests(Mutex<HashMap<ConversationId, Rest>>);

#[derive(Debug, Clone, Copy)]
struct Rest {
    until: Instant,
    pause: Duration,
}

impl Rests {
    pub(super) fn is_over(&self, of: Option<ConversationId>, now: Instant) -> bool {
        let rests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        of.and_then(|of| rests.get(&of)).is_none_or(|rest| rest.until <= now)
    }

    /// No summary came; the next is asked for after a pause, twice as long each time.
    pub(super) fn failed(&self, of: Option<ConversationId>, now: Instant) {
        let Some(of) = of else { return };
        let mut rests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let pause = rests.get(&of).map_or(FIRST, |rest| (rest.pause * 2).min(LONGEST));
        if rests.len() >= KEPT_MAX && !rests.contains_key(&of) {
            rests.retain(|_, rest| rest.until > now);
            if rests.len() >= KEPT_MAX {
                rests.clear();
            }
        }
        rests.insert(of, Rest { until: now + pause, pause });
    }

    pub(super) fn succeeded(&self, of: Option<ConversationId>) {
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
        let (rests, now) = (Rests::default(), Instant::now());
        let id = |n: u128| Some(ConversationId(uuid::Uuid::from_u128(n)));
        assert!(rests.is_over(id(1), now) && rests.is_over(None, now));
        rests.failed(id(1), now);
        assert!(!rests.is_over(id(1), now + FIRST / 2) && rests.is_over(id(1), now + FIRST));
        rests.failed(id(1), now);
        assert!(!rests.is_over(id(1), now + FIRST) && rests.is_over(id(1), now + FIRST * 2));
        rests.succeeded(id(1));
        assert!(rests.is_over(id(1), now));
        for n in 0..5_000 {
            rests.failed(id(n), now);
            assert!(rests.0.lock().unwrap().len() <= KEPT_MAX);
        }
    }
}
