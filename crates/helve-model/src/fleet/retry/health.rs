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
pub struct Health {
    pub budget: Budget,
    /// How long the latest complete answers took.
    took: VecDeque<Duration>,
    asked_last_until: Option<Instant>,
    given_up_in_row: u32,
}

impl Health {
    pub fn record_answer(&mut self, took: Duration) {
        if self.took.len() == ANSWERS_MAX {
            self.took.pop_front();
        }
        self.took.push_back(took);
        self.asked_last_until = None;
        self.given_up_in_row = 0;
    }

    /// Its server asked for a pause.
    pub fn record_pause(&mut self, now: Instant, pause: Duration) {
        self.ask_last_until(now + pause.min(REST_MAX));
    }

    /// A step went on without it, or failed. Several that fail at the same time count as one.
    pub fn record_failure(&mut self, now: Instant) {
        if !self.is_asked_last(now) {
            self.given_up_in_row = self.given_up_in_row.saturating_add(1);
        }
        let doubled = REST_FIRST * 2u32.saturating_pow(self.given_up_in_row.saturating_sub(1).min(8));
        self.ask_last_until(now + doubled.min(REST_MAX));
    }

    /// Whether it is better asked last.
    pub fn is_asked_last(&self, now: Instant) -> bool {
        self.asked_last_until.is_some_and(|until| now < until)
    }

    /// How long a complete answer usually takes: the median of the latest.
    pub fn usual_duration(&self) -> Option<Duration> {
        let mut sorted: Vec<Duration> = self.took.iter().copied().collect();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied()
    }

    fn ask_last_until(&mut self, until: Instant) {
        self.asked_last_until = Some(self.asked_last_until.map_or(until, |already| already.max(until)));
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
        assert_eq!(health.usual_duration(), None);
        for seconds in [3, 1, 200] {
            health.record_answer(s(seconds));
        }
        assert_eq!(health.usual_duration(), Some(s(3)));
        for _ in 0..ANSWERS_MAX {
            health.record_answer(s(7));
        }
        assert_eq!((health.usual_duration(), health.took.len()), (Some(s(7)), ANSWERS_MAX));
    }

    #[test]
    fn a_model_that_was_given_up_rests_longer_each_time_until_it_answers() {
        let mut now = Instant::now();
        let mut health = Health::default();
        for expected in [15, 30, 60, 120, 240, 300, 300] {
            health.record_failure(now);
            // Another run that noticed the same.
            health.record_failure(now);
            assert!(health.is_asked_last(now + s(expected - 1)), "{expected}");
            now += s(expected);
            assert!(!health.is_asked_last(now), "{expected}");
        }
        health.record_failure(now);
        health.record_answer(s(1));
        assert!(!health.is_asked_last(now));
        health.record_failure(now);
        assert!(!health.is_asked_last(now + s(15)));
    }

    #[test]
    fn a_pause_that_was_asked_for_is_kept_within_reason() {
        let now = Instant::now();
        let mut health = Health::default();
        health.record_pause(now, s(20));
        health.record_pause(now, s(5));
        assert!(health.is_asked_last(now + s(19)) && !health.is_asked_last(now + s(20)));
        health.record_pause(now, s(86_400));
        assert!(health.is_asked_last(now + s(299)) && !health.is_asked_last(now + s(300)));
    }
}
