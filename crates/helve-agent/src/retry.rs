//! What to do when a model gives no complete answer: a pure table, and what it knows about each model.
//!
//! `next` decides; `health` remembers how a model has fared in this process, `budget` how many second tries it may
//! still get, and `tally` what one step has tried so far. Nothing here asks, waits or writes.

mod budget;
mod health;
mod tally;
#[cfg(test)]
mod tests;

use std::time::Duration;

use helve_model::{ModelError, ModelErrorKind};
use helve_types::ModelParams;

pub(crate) use self::health::Health;
pub(crate) use self::tally::Tally;

/// How often a model is asked for one step, unless the parameters say otherwise.
const TRIES_MAX: u32 = 3;

/// How often a model is asked for one step with these parameters.
pub(crate) fn tries_max(params: &ModelParams) -> u32 {
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
pub(crate) enum Next {
    /// Ask the same model again after a pause. What was shown, if anything, is void.
    Again(Duration),
    /// Ask it again at once, with the tools described in the prompt.
    InPrompt,
    /// Make the past shorter, and ask the same model again. What was shown, if anything, is void.
    Compact,
    /// Ask the next model. What was shown, if anything, is void.
    Fallback,
    GiveUp,
}

/// An answer that did not come, and everything that matters for what to do about it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setback<'a> {
    pub(crate) error: &'a ModelError,
    /// Whether readers have seen anything of it.
    pub(crate) shown: bool,
    /// How often this model was asked for the step, this time included.
    pub(crate) tries: u32,
    /// How often it may be asked for a step.
    pub(crate) tries_max: u32,
    /// How often readers of this step have been told that what they saw is void.
    pub(crate) restarts: u32,
    /// Whether its calls were native and need not be.
    pub(crate) may_prompt: bool,
    /// Whether the past may still be made shorter for this step.
    pub(crate) may_compact: bool,
    /// Whether the model's budget has a second try left.
    pub(crate) in_budget: bool,
    /// Whether another model is left to ask.
    pub(crate) has_fallback: bool,
    /// What is left of the step's time.
    pub(crate) time_left: Duration,
    /// How long a complete answer of this model usually takes, if it has given any.
    pub(crate) usual: Option<Duration>,
    /// In `0.0..1.0`: where in its range the pause falls.
    pub(crate) chance: f64,
}

pub(crate) fn next(setback: &Setback<'_>) -> Next {
    let fallback = if setback.has_fallback && (!setback.shown || setback.restarts < RESTARTS_MAX) {
        Next::Fallback
    } else {
        Next::GiveUp
    };
    match setback.error.kind {
        ModelErrorKind::NoTools if setback.may_prompt => Next::InPrompt,
        ModelErrorKind::Unavailable | ModelErrorKind::Broken => again(setback).map_or(fallback, Next::Again),
        // Asking again will not help; another model has another key.
        ModelErrorKind::Key => fallback,
        ModelErrorKind::TooLong if setback.may_compact => Next::Compact,
        // Whatever is wrong is wrong with the question.
        ModelErrorKind::NoTools | ModelErrorKind::TooLong | ModelErrorKind::Refused => Next::GiveUp,
    }
}

/// The pause after which the same model is asked again, if it is.
fn again(setback: &Setback<'_>) -> Option<Duration> {
    let may = setback.tries < setback.tries_max
        && (!setback.shown || setback.restarts < RESTARTS_ON_SAME)
        && setback.in_budget;
    let pause = pause(setback).filter(|_| may)?;
    is_time(setback.time_left.saturating_sub(pause), setback.usual).then_some(pause)
}

/// Whether an answer can be expected in the time that is left.
pub(crate) fn is_time(left: Duration, usual: Option<Duration>) -> bool {
    !left.is_zero() && usual.is_none_or(|usual| left >= usual)
}

fn pause(setback: &Setback<'_>) -> Option<Duration> {
    match setback.error.retry_after {
        Some(asked) => (asked <= ASKED_PAUSE_MAX).then_some(asked),
        None => {
            let doubled = PAUSE_FIRST * 2u32.saturating_pow(setback.tries.saturating_sub(1).min(8));
            Some(doubled.min(PAUSE_MAX).mul_f64(setback.chance))
        }
    }
}
