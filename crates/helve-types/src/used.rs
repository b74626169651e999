//! What budgets are kept in: money, tokens, calls and time, added up from facts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ApprovalKind, Fact, Spent, Timestamp};

/// What was used up, by a run or by all runs of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Used {
    /// In billionths of the unit of the operator's prices; what has no price counts nothing.
    pub cost_nanos: u64,
    /// Read and written.
    pub tokens: u64,
    /// Calls of tools that were sent, each counted once.
    pub calls: u64,
    /// Time at work: waiting for people does not count.
    pub active_ms: u64,
}

impl Used {
    /// What a fact adds, but for the time that went by before it.
    pub fn from_fact(fact: &Fact) -> Self {
        match fact {
            Fact::StepFinished { .. } | Fact::StepRestarted { .. } | Fact::HistoryCompacted(_) => {
                let Spent { usage, cost_nanos } = Spent::from_fact(fact).unwrap_or_default();
                let tokens = usage.input_tokens.saturating_add(usage.output_tokens);
                Self { cost_nanos: cost_nanos.unwrap_or(0), tokens, ..Self::default() }.clamp()
            }
            Fact::ToolStarted { attempt: 1, .. }
            | Fact::ToolDelegated { .. }
            | Fact::SubagentStarted(_)
            | Fact::ToolDiscarded { .. } => Self { calls: 1, ..Self::default() },
            // A call that asks a person is sent to them.
            Fact::ApprovalAsked(question) if question.kind() == ApprovalKind::User => {
                Self { calls: 1, ..Self::default() }
            }
            _ => Self::default(),
        }
    }

    pub fn plus(self, other: Self) -> Self {
        Self {
            cost_nanos: self.cost_nanos.saturating_add(other.cost_nanos),
            tokens: self.tokens.saturating_add(other.tokens),
            calls: self.calls.saturating_add(other.calls),
            active_ms: self.active_ms.saturating_add(other.active_ms),
        }
        .clamp()
    }

    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// No sum grows beyond what every store and every page can hold exactly.
    fn clamp(self) -> Self {
        Self {
            cost_nanos: self.cost_nanos.min(Spent::MAX),
            tokens: self.tokens.min(Spent::MAX),
            calls: self.calls.min(Spent::MAX),
            active_ms: self.active_ms.min(Spent::MAX),
        }
    }
}

/// Measures the time at work by the times of facts, so that it is the same after a restart.
///
/// The time before a fact counts, unless the run was waiting for somebody, or nobody was at it because the server was
/// down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopwatch {
    last: Timestamp,
    stands: bool,
}

impl Stopwatch {
    pub fn new(at: Timestamp) -> Self {
        Self { last: at, stands: false }
    }

    /// How long was worked until this fact, since the one before.
    pub fn ms_worked_until(&mut self, at: Timestamp, fact: &Fact) -> u64 {
        let worked = if matches!(fact, Fact::RunResumed { .. }) { 0 } else { self.unrecorded_ms(at) };
        self.last = at;
        match fact {
            Fact::RunWaiting { .. } => self.stands = true,
            // These leave the run waiting.
            Fact::MessageQueued { .. }
            | Fact::ApprovalVoted { .. }
            | Fact::ApprovalReminded { .. }
            | Fact::ApprovalEscalated { .. } => {}
            _ => self.stands = false,
        }
        worked
    }

    /// The time at work since the last fact.
    pub fn unrecorded_ms(&self, now: Timestamp) -> u64 {
        if self.stands { 0 } else { now.since_ms(self.last) }
    }
}

impl Timestamp {
    const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

    /// The day it is in, counted from 1970. Days begin at midnight UTC, everywhere and for everybody.
    pub fn day(self) -> i64 {
        self.0.div_euclid(Self::DAY_MS)
    }

    /// When the next day begins.
    pub fn next_day(self) -> Self {
        Self(self.day().saturating_add(1).saturating_mul(Self::DAY_MS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Answer, ApprovalId, MessageId, RunState};

    #[test]
    fn waiting_and_being_down_are_not_work() {
        let message = MessageId(uuid::Uuid::from_u128(1));
        let said = Fact::MessageQueued { message, text: "hi".into(), by: "mei".into() };
        let went_on = Fact::StepRestarted { step: 1, attempt: 2, because: "x".into(), spent: None };
        let mut watch = Stopwatch::new(Timestamp(0));
        let worked: Vec<u64> = [
            (5, Fact::RunWaiting { state: RunState::WaitingApproval }),
            (100, said),
            (200, went_on.clone()),
            (207, went_on),
            (900, Fact::RunResumed { resume: 1 }),
            (901, Fact::RunWaiting { state: RunState::WaitingApproval }),
        ]
        .iter()
        .map(|(at, fact)| watch.ms_worked_until(Timestamp(*at), fact))
        .collect();
        assert_eq!(worked, [5, 0, 0, 7, 0, 1]);
        assert_eq!(watch.unrecorded_ms(Timestamp(5_000)), 0);
    }

    #[test]
    fn votes_reminders_and_escalations_leave_a_run_waiting() {
        let approval = ApprovalId(uuid::Uuid::from_u128(1));
        let mut watch = Stopwatch::new(Timestamp(0));
        let facts = [
            Fact::RunWaiting { state: RunState::WaitingApproval },
            Fact::ApprovalReminded { approval },
            Fact::ApprovalVoted { approval, answer: Answer::approve(), by: "li".into() },
            Fact::ApprovalEscalated { approval },
            Fact::ApprovalAnswered { approval, call: None, answer: Answer::approve(), by: "wang".into() },
        ];
        let worked =
            (1..).zip(&facts).map(|(hour, fact)| watch.ms_worked_until(Timestamp(hour * 3_600), fact));
        assert_eq!(worked.collect::<Vec<_>>(), [3_600, 0, 0, 0, 0]);
    }

    #[test]
    fn a_day_ends_at_midnight_utc() {
        let late = Timestamp(Timestamp::DAY_MS * 20_000 - 1);
        assert_eq!((late.day(), late.next_day()), (19_999, Timestamp(Timestamp::DAY_MS * 20_000)));
        assert_eq!(late.next_day().day(), 20_000);
        assert_eq!(Timestamp(-1).day(), -1);
    }
}
