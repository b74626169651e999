//! What to do when a model gives no complete answer: a pure table.

use std::time::Duration;

use helve_model::{ModelError, ModelErrorKind, ToolMode};
use helve_types::Mode;

/// How often a model is asked for one step while nothing of it was shown.
const TRIES_MAX: u32 = 3;
/// How often a message that readers have seen the beginning of is begun anew.
const RESTARTS_MAX: u32 = 1;
const PAUSE_FIRST: Duration = Duration::from_millis(250);
const PAUSE_MAX: Duration = Duration::from_secs(8);
/// A longer pause than this, if the server asks for one, is not waited for.
const ASKED_PAUSE_MAX: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Next {
    /// Ask again; readers saw nothing.
    Again(Duration),
    /// Ask again, and tell readers that what they saw is void.
    Restart(Duration),
    /// Ask again with the tools described in the prompt.
    InPrompt,
    GiveUp,
}

/// What has been tried so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tried {
    pub(crate) tries: u32,
    pub(crate) restarts: u32,
}

pub(crate) fn next(error: &ModelError, shown: bool, tried: Tried, asked: &ToolMode, used: &Mode) -> Next {
    match error.kind {
        ModelErrorKind::NoTools if *asked == ToolMode::Auto && *used == Mode::Native => Next::InPrompt,
        ModelErrorKind::Unavailable | ModelErrorKind::Broken if !shown && tried.tries < TRIES_MAX => {
            pause(error, tried).map_or(Next::GiveUp, Next::Again)
        }
        ModelErrorKind::Unavailable | ModelErrorKind::Broken if shown && tried.restarts < RESTARTS_MAX => {
            pause(error, tried).map_or(Next::GiveUp, Next::Restart)
        }
        _ => Next::GiveUp,
    }
}

fn pause(error: &ModelError, tried: Tried) -> Option<Duration> {
    match error.retry_after {
        Some(asked) if asked > ASKED_PAUSE_MAX => None,
        Some(asked) => Some(asked),
        None => {
            Some((PAUSE_FIRST * 2u32.saturating_pow(tried.tries.saturating_sub(1).min(8))).min(PAUSE_MAX))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: ModelErrorKind, shown: bool, tries: u32, restarts: u32, expected: Next) {
        let error = ModelError::new(kind, "x");
        let next = next(&error, shown, Tried { tries, restarts }, &ToolMode::Auto, &Mode::Native);
        assert_eq!(next, expected, "{kind:?} shown {shown} tries {tries} restarts {restarts}");
    }

    #[test]
    fn what_was_not_shown_is_asked_for_again_and_what_was_is_begun_anew_once() {
        use ModelErrorKind::{Broken, Key, NoTools, Refused, TooLong, Unavailable};
        let ms = Duration::from_millis;
        check(Unavailable, false, 1, 0, Next::Again(ms(250)));
        check(Unavailable, false, 2, 0, Next::Again(ms(500)));
        check(Unavailable, false, 3, 0, Next::GiveUp);
        check(Broken, false, 1, 0, Next::Again(ms(250)));
        check(Broken, true, 1, 0, Next::Restart(ms(250)));
        check(Broken, true, 2, 1, Next::GiveUp);
        check(NoTools, false, 1, 0, Next::InPrompt);
        for kind in [Key, Refused, TooLong] {
            check(kind, false, 1, 0, Next::GiveUp);
        }
    }

    #[test]
    fn a_server_that_asks_for_a_pause_gets_it_within_reason() {
        let asked = |seconds| {
            let retry_after = Some(Duration::from_secs(seconds));
            let error = ModelError { retry_after, ..ModelError::new(ModelErrorKind::Unavailable, "busy") };
            next(&error, false, Tried { tries: 1, restarts: 0 }, &ToolMode::Auto, &Mode::Native)
        };
        assert_eq!(asked(5), Next::Again(Duration::from_secs(5)));
        assert_eq!(asked(600), Next::GiveUp);
    }

    #[test]
    fn a_model_that_is_set_to_native_calls_is_not_moved() {
        let error = ModelError::new(ModelErrorKind::NoTools, "x");
        let set = ToolMode::Fixed(Mode::Native);
        assert_eq!(next(&error, false, Tried::default(), &set, &Mode::Native), Next::GiveUp);
    }
}
