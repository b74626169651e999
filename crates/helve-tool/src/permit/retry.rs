//! What may follow an attempt: a pure table over how it ended and what repeating it would do.

use std::time::Duration;

use helve_guard::Verdict;
use helve_types::{Effect, Failure, FailureKind, Notice, Timestamp, ToolOutput};

use super::to_ms;
use crate::{Failures, ToolError};

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum AttemptEnd {
    Output(Box<ToolOutput>),
    Error(ToolError),
    TimedOut(Duration),
    Cancelled,
}

impl From<Result<ToolOutput, ToolError>> for AttemptEnd {
    fn from(result: Result<ToolOutput, ToolError>) -> Self {
        match result {
            Ok(output) => Self::Output(Box::new(output)),
            Err(error) => Self::Error(error),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum NextAttempt {
    Done(Box<ToolOutput>),
    /// The tool is well and says no, or the run was stopped.
    Declined(Failure),
    /// The tool is not well, and nothing has happened.
    Down(Failure),
    /// Never sent again by itself.
    Unknown(String),
    /// Send it again after a pause.
    Again {
        pause: RetryDelay,
        /// Why it may have happened all the same, if it may.
        doubt: Option<String>,
    },
}

/// How long to wait before the next attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RetryDelay {
    /// The other side asked for it: never shorter.
    Told(Duration),
    /// Not requested by the server: shortened by chance, so that many callers do not come back together.
    Own(Duration),
}

const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// What changes something is sent at most so often in all, however often the server was stopped in between, …
const SENT_MAX: u32 = 5;
/// … and no later than this after the first time: the other side may have forgotten the key.
const SENT_WITHIN_MS: u64 = 24 * 60 * 60 * 1_000;

/// How often a call was sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct AttemptCounts {
    /// Before the server stopped.
    pub(super) before: u32,
    /// Since then.
    pub(super) now: u32,
    /// The most, since then.
    pub(super) max: u32,
    /// What is left of the call's time: a pause that the other side asks for and that is longer is not waited for.
    pub(super) left: Duration,
}

impl AttemptCounts {
    fn has_attempts_left(self, effect: Effect) -> bool {
        let sent = self.before.saturating_add(self.now);
        self.now < self.max && (effect == Effect::Read || sent < SENT_MAX)
    }
}

/// Why a call that was in flight when the server stopped is not sent again, although its effect would allow it.
pub(crate) fn why_not_sent_again(sent_before: u32, first_at: Timestamp, now: Timestamp) -> Option<String> {
    if sent_before >= SENT_MAX {
        return Some(format!("it was sent {sent_before} times and is not sent again"));
    }
    let is_old = now.since_ms(first_at) > SENT_WITHIN_MS;
    is_old.then(|| "it was first sent more than 24 hours ago and is not sent again".into())
}

impl AttemptEnd {
    /// The end without what a person is told of it, and that.
    fn split_notice(self) -> (Self, Option<Notice>) {
        match self {
            Self::Error(error) => {
                let (error, notice) = error.split_notice();
                (Self::Error(error), Some(notice))
            }
            Self::TimedOut(limit) => (self, Some(Notice::tool_timed_out(to_ms(limit)))),
            Self::Cancelled => (self, Some(Notice::stopped_while_running())),
            Self::Output(_) => (self, None),
        }
    }
}

pub(super) fn next_attempt(ended: AttemptEnd, effect: Effect, tries: AttemptCounts) -> NextAttempt {
    let (ended, notice) = ended.split_notice();
    let failure = |kind, message: String| Failure::new(kind, message).with_notice(notice.clone());
    let again = |told: Option<Duration>| {
        let own = FIRST_PAUSE * 2u32.saturating_pow(tries.now.saturating_sub(1).min(5));
        let pause = told.map_or(RetryDelay::Own(own), RetryDelay::Told);
        (tries.has_attempts_left(effect) && told.is_none_or(|told| told <= tries.left)).then_some(pause)
    };
    let unsent = |pause| NextAttempt::Again { pause, doubt: None };
    // May it be sent again although it may have happened?
    let repeatable = effect != Effect::NonIdempotent;
    let ambiguous = |because: String, kind: FailureKind| {
        let retried = if repeatable { again(None) } else { None };
        match (retried, effect) {
            (Some(pause), Effect::Read) => NextAttempt::Again { pause, doubt: None },
            (Some(pause), _) => NextAttempt::Again { pause, doubt: Some(because) },
            (None, Effect::Read) => NextAttempt::Down(failure(kind, because)),
            (None, _) => NextAttempt::Unknown(because),
        }
    };
    match ended {
        AttemptEnd::Output(output) => NextAttempt::Done(output),
        AttemptEnd::Error(ToolError::Declined(message)) => {
            NextAttempt::Declined(failure(FailureKind::Failed, message))
        }
        AttemptEnd::Error(ToolError::Ailing(message)) => {
            NextAttempt::Down(failure(FailureKind::Failed, message))
        }
        AttemptEnd::Error(ToolError::NotSent(message)) => {
            let failed = || NextAttempt::Down(failure(FailureKind::Failed, message));
            again(None).map_or_else(failed, unsent)
        }
        AttemptEnd::Error(ToolError::Busy { message, retry_after }) => {
            let failed = || {
                let advice = retry_after.map(pause_advice).unwrap_or_default();
                let mut failure = failure(FailureKind::Failed, message + &advice);
                failure.retry_after_ms = retry_after.map(to_ms);
                NextAttempt::Down(failure)
            };
            again(retry_after).map_or_else(failed, unsent)
        }
        AttemptEnd::Error(ToolError::Lost(message)) => ambiguous(message, FailureKind::Failed),
        AttemptEnd::Error(ToolError::Explained { error, .. }) => {
            next_attempt(AttemptEnd::Error(*error), effect, tries)
        }
        AttemptEnd::TimedOut(limit) => {
            let seconds = limit.as_secs_f64();
            ambiguous(format!("the tool did not answer within {seconds} s"), FailureKind::TimedOut)
        }
        AttemptEnd::Cancelled => match effect {
            Effect::Read => {
                NextAttempt::Declined(failure(FailureKind::Cancelled, "the run was stopped".into()))
            }
            Effect::Idempotent | Effect::NonIdempotent => {
                NextAttempt::Unknown("the run was stopped while the call was in flight".into())
            }
        },
    }
}

/// What a model is told about a pause that is not waited for.
fn pause_advice(pause: Duration) -> String {
    let seconds = pause.as_millis().div_ceil(1_000);
    format!("; it asks for no call within {seconds} s")
}

/// What the end of an attempt says about the health of the other side.
pub(super) fn judge_health(ended: &AttemptEnd, failures: Failures) -> Verdict {
    let judged = |is_failure: bool| if is_failure { Verdict::Failed } else { Verdict::Ignored };
    match ended {
        // An upstream that refuses is healthy.
        AttemptEnd::Output(_) | AttemptEnd::Error(ToolError::Declined(_)) => Verdict::Succeeded,
        AttemptEnd::Error(ToolError::Ailing(_)) => Verdict::Failed,
        AttemptEnd::Error(ToolError::NotSent(_)) => judged(failures.not_sent),
        AttemptEnd::Error(ToolError::Lost(_)) => judged(failures.lost),
        AttemptEnd::Error(ToolError::Explained { error, .. }) => {
            judge_health(&AttemptEnd::Error((**error).clone()), failures)
        }
        AttemptEnd::TimedOut(_) => judged(failures.timeout),
        AttemptEnd::Error(ToolError::Busy { retry_after, .. }) => {
            retry_after.map_or(Verdict::Ignored, Verdict::Throttled)
        }
        AttemptEnd::Cancelled => Verdict::Ignored,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: Effect = Effect::Read;
    const IDEMPOTENT: Effect = Effect::Idempotent;
    const NON_IDEMPOTENT: Effect = Effect::NonIdempotent;

    fn word(ended: &AttemptEnd, effect: Effect, now: u32) -> &'static str {
        word_of(ended, effect, AttemptCounts { before: 0, now, max: 2, left: Duration::from_secs(60) })
    }

    fn word_of(ended: &AttemptEnd, effect: Effect, tries: AttemptCounts) -> &'static str {
        match next_attempt(ended.clone(), effect, tries) {
            NextAttempt::Done(_) => "done",
            NextAttempt::Declined(_) => "declined",
            NextAttempt::Down(_) => "down",
            NextAttempt::Unknown(_) => "unknown",
            NextAttempt::Again { doubt: None, .. } => "again",
            NextAttempt::Again { doubt: Some(_), .. } => "again, in doubt",
        }
    }

    #[test]
    fn what_was_sent_before_the_server_stopped_counts_unless_it_only_reads() {
        let lost = AttemptEnd::Error(ToolError::Lost("reset".into()));
        for (before, now, words) in [
            (0, 1, ["again", "again, in doubt"]),
            (3, 1, ["again", "again, in doubt"]),
            (4, 1, ["again", "unknown"]),
            (2, 3, ["again", "unknown"]),
            (u32::MAX, 1, ["again", "unknown"]),
        ] {
            let tries = AttemptCounts { before, now, max: 5, left: Duration::from_secs(60) };
            assert_eq!([READ, IDEMPOTENT].map(|effect| word_of(&lost, effect, tries)), words, "{tries:?}");
        }
    }

    #[test]
    fn only_what_cannot_have_happened_twice_is_sent_again() {
        let busy = |seconds| {
            AttemptEnd::Error(ToolError::Busy {
                message: "busy".into(),
                retry_after: Some(Duration::from_secs(seconds)),
            })
        };
        // How it ended; then, for the first and for the last try: read, idempotent, non-idempotent.
        let table = [
            (AttemptEnd::Output(Box::default()), ["done", "done", "done"], ["done", "done", "done"]),
            (
                AttemptEnd::Error(ToolError::Declined("no".into())),
                ["declined", "declined", "declined"],
                ["declined", "declined", "declined"],
            ),
            (
                AttemptEnd::Error(ToolError::Ailing("503".into())),
                ["down", "down", "down"],
                ["down", "down", "down"],
            ),
            (
                AttemptEnd::Error(ToolError::NotSent("no route".into())),
                ["again", "again", "again"],
                ["down", "down", "down"],
            ),
            (busy(1), ["again", "again", "again"], ["down", "down", "down"]),
            (busy(60), ["again", "again", "again"], ["down", "down", "down"]),
            (busy(61), ["down", "down", "down"], ["down", "down", "down"]),
            (
                AttemptEnd::Error(ToolError::Lost("reset".into())),
                ["again", "again, in doubt", "unknown"],
                ["down", "unknown", "unknown"],
            ),
            (
                AttemptEnd::TimedOut(Duration::from_secs(1)),
                ["again", "again, in doubt", "unknown"],
                ["down", "unknown", "unknown"],
            ),
            (AttemptEnd::Cancelled, ["declined", "unknown", "unknown"], ["declined", "unknown", "unknown"]),
        ];
        for (ended, first, last) in table {
            for (tries, words) in [(1, first), (2, last)] {
                let effects = [READ, IDEMPOTENT, NON_IDEMPOTENT];
                assert_eq!(effects.map(|effect| word(&ended, effect, tries)), words, "{ended:?} try {tries}");
            }
        }
    }

    #[test]
    fn a_pause_that_was_asked_for_is_kept_whole_and_one_that_is_not_waited_for_is_told() {
        let busy = |seconds: u64| {
            let retry_after = Some(Duration::from_millis(seconds * 1_000 + 1));
            AttemptEnd::Error(ToolError::Busy { message: "busy (429)".into(), retry_after })
        };
        let tries = AttemptCounts { before: 0, now: 1, max: 2, left: Duration::from_secs(20) };
        let told = RetryDelay::Told(Duration::from_millis(19_001));
        assert_eq!(
            next_attempt(busy(19), NON_IDEMPOTENT, tries),
            NextAttempt::Again { pause: told, doubt: None }
        );
        let NextAttempt::Down(failure) = next_attempt(busy(20), NON_IDEMPOTENT, tries) else {
            panic!("it waits")
        };
        assert_eq!(failure.message, "busy (429); it asks for no call within 21 s");
        assert_eq!(failure.retry_after_ms, Some(20_001));
    }

    #[test]
    fn a_no_from_the_other_side_is_a_sign_of_health() {
        let judge = |ended: &AttemptEnd| judge_health(ended, Failures::default());
        assert_eq!(judge(&AttemptEnd::Error(ToolError::Declined("404".into()))), Verdict::Succeeded);
        assert_eq!(judge(&AttemptEnd::Error(ToolError::Lost("reset".into()))), Verdict::Failed);
        assert_eq!(judge(&AttemptEnd::Cancelled), Verdict::Ignored);
    }

    #[test]
    fn what_counts_as_a_failure_is_configured() {
        let slow = AttemptEnd::TimedOut(Duration::from_secs(1));
        let patient = Failures { timeout: false, ..Failures::default() };
        assert_eq!(judge_health(&slow, Failures::default()), Verdict::Failed);
        assert_eq!(judge_health(&slow, patient), Verdict::Ignored);
        assert_eq!(
            judge_health(&AttemptEnd::Error(ToolError::NotSent("no".into())), patient),
            Verdict::Failed
        );
    }
}
