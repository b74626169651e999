//! How many second tries a model gets: one for every five questions, and a few so that a quiet server may try again.
//!
//! Without this, a server that is down under load is asked three times as often as one that is up.

use std::time::Duration;

use tokio::time::Instant;

/// In thousandths of a second try.
const TRY: u64 = 1_000;
const FOR_EACH_QUESTION: u64 = TRY / 5;
/// What can be saved up, and what there is at first: a good hour must not pay for a storm.
const SAVED_MAX: u64 = 10 * TRY;
/// What comes by itself: ten second tries a minute.
const FOR_EACH_MINUTE: u64 = 10 * TRY;

#[derive(Debug, Clone)]
pub struct Budget {
    saved: u64,
    /// Up to when the passing of time is in `saved`.
    counted_to: Option<Instant>,
}

impl Default for Budget {
    fn default() -> Self {
        Self { saved: SAVED_MAX, counted_to: None }
    }
}

impl Budget {
    /// A question that is no second try.
    pub fn earn_for_question(&mut self, now: Instant) {
        self.add_credit(now, FOR_EACH_QUESTION);
    }

    pub fn allows_retry(&mut self, now: Instant) -> bool {
        self.add_credit(now, 0);
        self.saved >= TRY
    }

    pub fn spend_retry(&mut self) {
        self.saved = self.saved.saturating_sub(TRY);
    }

    fn add_credit(&mut self, now: Instant, more: u64) {
        let since = *self.counted_to.get_or_insert(now);
        let passed = u64::try_from(now.saturating_duration_since(since).as_millis()).unwrap_or(u64::MAX);
        let by_time = passed.saturating_mul(FOR_EACH_MINUTE) / 60_000;
        // What is less than a thousandth stays on the clock.
        let counted = Duration::from_millis(by_time.saturating_mul(60_000) / FOR_EACH_MINUTE);
        self.saved = self.saved.saturating_add(by_time).saturating_add(more).min(SAVED_MAX);
        self.counted_to = Some(if self.saved == SAVED_MAX { now } else { since + counted });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spend_if_any(budget: &mut Budget, now: Instant) -> bool {
        let has = budget.allows_retry(now);
        if has {
            budget.spend_retry();
        }
        has
    }

    #[test]
    fn a_quiet_server_may_try_again_and_a_storm_may_not() {
        let start = Instant::now();
        let mut budget = Budget::default();
        let granted = (0..1_000)
            .filter(|_| {
                budget.earn_for_question(start);
                spend_if_any(&mut budget, start)
            })
            .count();
        // Ten were saved; after them one for every five.
        assert!((200..=210).contains(&granted), "{granted}");
        assert!(!spend_if_any(&mut budget, start));
    }

    #[test]
    fn what_is_used_up_comes_back_with_time() {
        let start = Instant::now();
        let mut budget = Budget::default();
        let at = |ms| start + Duration::from_millis(ms);
        assert_eq!((0..20).filter(|_| spend_if_any(&mut budget, start)).count(), 10);
        assert!(!spend_if_any(&mut budget, at(5_999)));
        assert!(spend_if_any(&mut budget, at(6_000)));
        assert!(!spend_if_any(&mut budget, at(6_000)));
        // No more than could be saved at first.
        assert_eq!((0..20).filter(|_| spend_if_any(&mut budget, at(3_600_000))).count(), 10);
    }

    proptest! {
        #[test]
        fn second_tries_never_exceed_a_fifth_of_the_questions_and_the_minimum(
            history in proptest::collection::vec((any::<bool>(), 0u64..2_000), 0..400)
        ) {
            let start = Instant::now();
            let (mut now, mut questions, mut granted) = (start, 0u64, 0u64);
            let mut budget = Budget::default();
            for (question, wait) in history {
                now += Duration::from_millis(wait);
                if question {
                    questions += 1;
                    budget.earn_for_question(now);
                } else {
                    granted += u64::from(spend_if_any(&mut budget, now));
                }
                let by_time = u64::try_from((now - start).as_millis()).unwrap() * FOR_EACH_MINUTE / 60_000;
                prop_assert!(granted * TRY <= SAVED_MAX + questions * FOR_EACH_QUESTION + by_time);
            }
        }

        #[test]
        fn looking_often_loses_no_time(looks in proptest::collection::vec(1u64..50, 1..200)) {
            let start = Instant::now();
            let (mut often, mut once) = (Budget::default(), Budget::default());
            for budget in [&mut often, &mut once] {
                while budget.allows_retry(start) {
                    budget.spend_retry();
                }
            }
            let mut now = start;
            for wait in looks {
                now += Duration::from_millis(wait);
                often.allows_retry(now);
            }
            once.allows_retry(now);
            prop_assert_eq!(often.saved, once.saved);
        }
    }
}
