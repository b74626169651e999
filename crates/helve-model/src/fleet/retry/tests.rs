//! The decision as a table.

use crate::ModelErrorKind::{self, Broken, Key, NoTools, Refused, TooLong, Unavailable};

use super::*;

const MINUTE: Duration = Duration::from_secs(60);

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn error(kind: ModelErrorKind) -> ModelError {
    ModelError::new(kind, "x")
}

fn busy(seconds: u64) -> ModelError {
    ModelError { retry_after: Some(Duration::from_secs(seconds)), ..error(Unavailable) }
}

/// The first failure of a model that stands alone, before anything was shown, with the longest pause.
fn first(error: &ModelError) -> FailedAttempt<'_> {
    FailedAttempt {
        error,
        shown: false,
        tries: 1,
        tries_max: super::TRIES_MAX,
        restarts: 0,
        may_prompt: false,
        may_compact: false,
        in_budget: true,
        has_fallback: false,
        time_left: 10 * MINUTE,
        usual: None,
        chance: 1.0,
    }
}

#[test]
fn what_was_not_shown_is_asked_for_three_times() {
    for kind in [Unavailable, Broken] {
        let error = error(kind);
        let after =
            |tries, has_fallback| decide_retry(&FailedAttempt { tries, has_fallback, ..first(&error) });
        assert_eq!(after(1, false), RetryDecision::Retry(ms(250)), "{kind:?}");
        assert_eq!(after(2, true), RetryDecision::Retry(ms(500)), "{kind:?}");
        assert_eq!(after(3, false), RetryDecision::GiveUp, "{kind:?}");
        assert_eq!(after(3, true), RetryDecision::Fallback, "{kind:?}");
    }
}

#[test]
fn what_was_shown_is_begun_anew_once_by_the_same_model_and_once_by_another() {
    let error = error(Broken);
    let after = |tries, restarts, has_fallback| {
        decide_retry(&FailedAttempt { shown: true, tries, restarts, has_fallback, ..first(&error) })
    };
    assert_eq!(after(1, 0, true), RetryDecision::Retry(ms(250)));
    assert_eq!(after(2, 1, true), RetryDecision::Fallback);
    assert_eq!(after(2, 1, false), RetryDecision::GiveUp);
    // A fallback that also breaks off is the end, whoever else there is.
    assert_eq!(after(1, 2, true), RetryDecision::GiveUp);
    // All tries are used up.
    assert_eq!(after(3, 0, true), RetryDecision::Fallback);
}

#[test]
fn what_asking_again_cannot_mend_is_not_asked_again() {
    for (kind, alone, with_another) in [
        (Key, RetryDecision::GiveUp, RetryDecision::Fallback),
        (Refused, RetryDecision::GiveUp, RetryDecision::GiveUp),
        (TooLong, RetryDecision::GiveUp, RetryDecision::GiveUp),
        (NoTools, RetryDecision::GiveUp, RetryDecision::GiveUp),
    ] {
        let error = error(kind);
        assert_eq!(decide_retry(&first(&error)), alone, "{kind:?}");
        assert_eq!(
            decide_retry(&FailedAttempt { has_fallback: true, ..first(&error) }),
            with_another,
            "{kind:?}"
        );
    }
}

#[test]
fn a_model_without_tools_moves_to_the_prompt_unless_it_is_set_to_native_calls() {
    let error = error(NoTools);
    assert_eq!(
        decide_retry(&FailedAttempt { may_prompt: true, tries: 3, ..first(&error) }),
        RetryDecision::RetryInPrompt
    );
    assert_eq!(decide_retry(&first(&error)), RetryDecision::GiveUp);
}

#[test]
fn a_pause_is_somewhere_between_nothing_and_twice_the_last_bound() {
    let error = error(Unavailable);
    let pause = |tries, chance| backoff_pause(&FailedAttempt { tries, chance, ..first(&error) });
    assert_eq!(pause(1, 0.0), Some(ms(0)));
    assert_eq!(pause(1, 0.5), Some(ms(125)));
    assert_eq!(pause(2, 0.5), Some(ms(250)));
    assert_eq!(pause(6, 1.0), Some(ms(8_000)));
    assert_eq!(pause(u32::MAX, 1.0), Some(ms(8_000)));
}

#[test]
fn a_server_that_asks_for_a_pause_gets_all_of_it_within_reason() {
    let asked = |seconds, has_fallback| {
        decide_retry(&FailedAttempt { chance: 0.0, has_fallback, ..first(&busy(seconds)) })
    };
    assert_eq!(asked(5, true), RetryDecision::Retry(ms(5_000)));
    assert_eq!(asked(30, true), RetryDecision::Retry(ms(30_000)));
    assert_eq!(asked(31, true), RetryDecision::Fallback);
    assert_eq!(asked(31, false), RetryDecision::GiveUp);
}

#[test]
fn without_a_budget_nothing_is_asked_twice() {
    let error = error(Unavailable);
    let broke = FailedAttempt { in_budget: false, ..first(&error) };
    assert_eq!(decide_retry(&broke), RetryDecision::GiveUp);
    assert_eq!(decide_retry(&FailedAttempt { has_fallback: true, ..broke }), RetryDecision::Fallback);
    assert_eq!(
        decide_retry(&FailedAttempt { has_fallback: true, shown: true, ..broke }),
        RetryDecision::Fallback
    );
}

#[test]
fn nothing_is_begun_that_cannot_be_expected_to_end_in_time() {
    let error = error(Unavailable);
    let with = |time_left, usual| decide_retry(&FailedAttempt { time_left, usual, ..first(&error) });
    assert_eq!(with(MINUTE, Some(ms(59_750))), RetryDecision::Retry(ms(250)));
    assert_eq!(with(MINUTE, Some(ms(59_751))), RetryDecision::GiveUp);
    assert_eq!(with(ms(251), None), RetryDecision::Retry(ms(250)));
    assert_eq!(with(ms(250), None), RetryDecision::GiveUp);
    let patient = busy(20);
    assert_eq!(
        decide_retry(&FailedAttempt { time_left: ms(15_000), ..first(&patient) }),
        RetryDecision::GiveUp
    );
}

#[test]
fn a_question_that_is_too_long_is_made_shorter_once_and_then_given_up() {
    let error = error(TooLong);
    let after =
        |may_compact| decide_retry(&FailedAttempt { may_compact, has_fallback: true, ..first(&error) });
    assert_eq!(after(true), RetryDecision::Compact);
    assert_eq!(after(false), RetryDecision::GiveUp);
}
