//! What to do when a model gives no complete answer: a pure table, and what it knows about each model.
//!
//! `decide_retry` is the table; `health` remembers how a model has fared in this process, `budget` how many second tries it may
//! still get, and `tally` what one step has tried so far. Nothing here asks, waits or writes.

mod budget;
mod health;
mod tally;
#[cfg(test)]
mod tests;

use std::time::Duration;

use helve_types::ModelParams;

use crate::{ModelError, ModelErrorKind};

pub use self::health::Health;
pub use self::tally::Tally;

/// How often a model is asked for one step, unless the parameters say otherwise.
const TRIES_MAX: u32 = 3;

/// How often a model is asked for one step with these parameters.
pub fn tries_max(params: &ModelParams) -> u32 {
    params.retries.map_or(TRIES_MAX, |retries| retries.saturating_add(1))
}
/// How often what readers have seen may be made void: once to ask the same model again, once to ask another.
const RESTARTS_ON_SAME: u32 = 1;
const RESTARTS_MAX: u32 = 2;
const PAUSE_FIRST: Duration = Duration::from_millis(250);
const PAUSE_MAX: Duration = Duration::from_secs(8);
/// A longer pause than this, if the server asks for one, is not waited for.
const ASKED_PAUSE_MAX: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryDecision {
    /// Ask the same model again after a pause. What was shown, if anything, is void.
    Retry(Duration),
    /// Ask it again at once, with the tools described in the prompt.
    RetryInPrompt,
    /// Make the past shorter, and ask the same model again. What was shown, if anything, is void.
    Compact,
    /// Ask the next model. What was shown, if anything, is void.
    Fallback,
    GiveUp,
}

/// An answer that did not come, and everything that matters for what to do about it.
#[derive(Debug, Clone, Copy)]
pub struct FailedAttempt<'a> {
    pub error: &'a ModelError,
    /// Whether readers have seen anything of it.
    pub shown: bool,
    /// How often this model was asked for the step, this time included.
    pub tries: u32,
    /// How often it may be asked for a step.
    pub tries_max: u32,
    /// How often readers of this step have been told that what they saw is void.
    pub restarts: u32,
    /// Whether its calls were native and need not be.
    pub may_prompt: bool,
    /// Whether the past may still be made shorter for this step.
    pub may_compact: bool,
    /// Whether the model's budget has a second try left.
    pub in_budget: bool,
    /// Whether another model is left to ask.
    pub has_fallback: bool,
    /// What is left of the step's time.
    pub time_left: Duration,
    /// How long a complete answer of this model usually takes, if it has given any.
    pub usual: Option<Duration>,
    /// In `0.0..1.0`: where in its range the pause falls.
    pub chance: f64,
}

pub fn decide_retry(failed: &FailedAttempt<'_>) -> RetryDecision {
    let fallback = if failed.has_fallback && (!failed.shown || failed.restarts < RESTARTS_MAX) {
        RetryDecision::Fallback
    } else {
        RetryDecision::GiveUp
    };
    match failed.error.kind {
        ModelErrorKind::NoTools if failed.may_prompt => RetryDecision::RetryInPrompt,
        ModelErrorKind::Unavailable | ModelErrorKind::Broken => {
            pause_before_retry(failed).map_or(fallback, RetryDecision::Retry)
        }
        // Asking again will not help; another model has another key.
        ModelErrorKind::Key => fallback,
        ModelErrorKind::TooLong if failed.may_compact => RetryDecision::Compact,
        // Whatever is wrong is wrong with the question.
        ModelErrorKind::NoTools | ModelErrorKind::TooLong | ModelErrorKind::Refused => RetryDecision::GiveUp,
    }
}

/// The pause after which the same model is asked again, if it is.
fn pause_before_retry(failed: &FailedAttempt<'_>) -> Option<Duration> {
    let may = failed.tries < failed.tries_max
        && (!failed.shown || failed.restarts < RESTARTS_ON_SAME)
        && failed.in_budget;
    let pause = backoff_pause(failed).filter(|_| may)?;
    fits_in_time(failed.time_left.saturating_sub(pause), failed.usual).then_some(pause)
}

/// Whether an answer can be expected in the time that is left.
pub fn fits_in_time(left: Duration, usual: Option<Duration>) -> bool {
    !left.is_zero() && usual.is_none_or(|usual| left >= usual)
}

fn backoff_pause(failed: &FailedAttempt<'_>) -> Option<Duration> {
    match failed.error.retry_after {
        Some(asked) => (asked <= ASKED_PAUSE_MAX).then_some(asked),
        None => {
            let doubled = PAUSE_FIRST * 2u32.saturating_pow(failed.tries.saturating_sub(1).min(8));
            Some(doubled.min(PAUSE_MAX).mul_f64(failed.chance))
        }
    }
}
