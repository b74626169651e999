//! How a model has fared lately, in this process: what it may be asked again, how long it takes, and whether it is
//! better left alone for a while.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::budget::Budget;

/// So many of the last answers say how long one usually takes.
const ANSWERS_MAX: usize = 31;
/// How long a model that was given up is asked last; doubled each time, until it answers.
const REST_FIRST: Duration = Duration::from_secs(15);
const REST_MAX: Duration = Duration::from_secs(300);

#[derive(Debug, Clone, Default)]
pub(crate) struct Health {
    pub(crate) budget: Budget,
    /// How long the latest complete answers took.
    took: VecDeque<Duration>,
    rests_until: Option<Instant>,
    given_up_in_row: u32,
}

impl Health {
    pub(crate) fn answered(&mut self, took: Duration) {
        if self.took.len() == ANSWERS_MAX {
            self.took.pop_front();
        }
        self.took.push_back(took);
        self.rests_until = None;
        self.given_up_in_row = 0;
    }

    /// Its server asked for a pause.
    pub(crate) fn asked_for_pause(&mut self, now: Instant, pause: Duration) {
        self.rest(now + pause.min(REST_MAX));
    }

    /// A step went on without it, or failed. Several that fail at the same time count as one.
    pub(crate) fn given_up(&mut self, now: Instant) {
        if !self.rests(now) {
            self.given_up_in_row = self.given_up_in_row.saturating_add(1);
        }
        let doubled = REST_FIRST * 2u32.saturating_pow(self.given_up_in_row.saturating_sub(1).min(8));
        self.rest(now + doubled.min(REST_MAX));
    }

    /// Whether it is better asked last.
    pub(crate) fn rests(&self, now: Instant) -> bool {
        self.rests_until.is_some_and(|until| now < until)
    }

    /// How long a complete answer usually takes: the median of the latest.
    pub(crate) fn usual(&self) -> Option<Duration> {
        let mut sorted: Vec<Duration> = self.took.iter().copied().collect();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied()
    }

    fn rest(&mut self, until: Instant) {
        self.rests_until = Some(self.rests_until.map_or(until, |already| already.max(until)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn what_is_usual_follows_the_latest_answers() {
        let mut health = Health::default();
        assert_eq!(health.usual(), None);
        for seconds in [3, 1, 200] {
            health.answered(s(seconds));
        }
        assert_eq!(health.usual(), Some(s(3)));
        for _ in 0..ANSWERS_MAX {
            health.answered(s(7));
        }
        assert_eq!((health.usual(), health.took.len()), (Some(s(7)), ANSWERS_MAX));
    }

    #[test]
    fn a_model_that_was_given_up_rests_longer_each_time_until_it_answers() {
        let mut now = Instant::now();
        let mut health = Health::default();
        for expected in [15, 30, 60, 120, 240, 300, 300] {
            health.given_up(now);
            // Another run that noticed the same.
            health.given_up(now);
            assert!(health.rests(now + s(expected - 1)), "{expected}");
            now += s(expected);
            assert!(!health.rests(now), "{expected}");
        }
        health.given_up(now);
        health.answered(s(1));
        assert!(!health.rests(now));
        health.given_up(now);
        assert!(!health.rests(now + s(15)));
    }

    #[test]
    fn a_pause_that_was_asked_for_is_kept_within_reason() {
        let now = Instant::now();
        let mut health = Health::default();
        health.asked_for_pause(now, s(20));
        health.asked_for_pause(now, s(5));
        assert!(health.rests(now + s(19)) && !health.rests(now + s(20)));
        health.asked_for_pause(now, s(86_400));
        assert!(health.rests(now + s(299)) && !health.rests(now + s(300)));
    }
}
