//! One call of a run, from planned to settled.

use helve_tool::{Grant, Outcome, settled_by};
use helve_types::{
    Answer, ApprovalKind, Effect, Fact, Failure, FailureKind, OnUnknown, OutcomeAnswer, Question, RunState,
    Timestamp, ToolCall, Trail,
};
use serde::{Deserialize, Serialize};

use super::Errand;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Call {
    pub(crate) step: u32,
    pub(crate) call: ToolCall,
    pub(crate) phase: Phase,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Phase {
    Planned,
    Asked(Box<Question>),
    Answered {
        question: Box<Question>,
        answer: Answer,
    },
    Started {
        effect: Effect,
        attempt: u32,
        at: Timestamp,
        /// A person's consent, which also covers the next attempt.
        consent: Option<Box<Consent>>,
    },
    /// The client has it.
    Delegated {
        at: Timestamp,
    },
    /// Cut off in flight.
    Unknown {
        because: String,
        then: OnUnknown,
    },
    AskedOutcome(Box<Question>),
    Repeated {
        replaces: helve_types::CallId,
    },
    Settled,
}

/// A person's consent to one exact call, as the log tells it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Consent {
    binding: String,
    edited: Option<String>,
}

impl Consent {
    fn grant(&self) -> Grant {
        Grant { binding: self.binding.clone(), edited: self.edited.clone() }
    }
}

/// The consent in an answer to a question.
fn consent(question: &Question, answer: &Answer) -> Option<Box<Consent>> {
    let Answer::Approve { arguments } = answer else { return None };
    Some(Box::new(Consent { binding: question.binding.clone(), edited: arguments.clone() }))
}

impl Call {
    pub(super) fn learn(&mut self, at: Timestamp, fact: &Fact) {
        self.phase = match (fact, std::mem::replace(&mut self.phase, Phase::Settled)) {
            (Fact::ToolStarted { effect, attempt, .. }, before) => {
                let consent = match before {
                    Phase::Answered { question, answer } => consent(&question, &answer),
                    Phase::Started { consent, .. } => consent,
                    _ => None,
                };
                Phase::Started { effect: *effect, attempt: *attempt, at, consent }
            }
            (Fact::ToolDelegated { .. }, _) => Phase::Delegated { at },
            (Fact::ToolUnknown { because, then, .. }, _) => {
                Phase::Unknown { because: because.clone(), then: *then }
            }
            (Fact::ApprovalAsked(question), _) => match question.kind {
                ApprovalKind::Permission => Phase::Asked(Box::new(question.clone())),
                ApprovalKind::Outcome => Phase::AskedOutcome(Box::new(question.clone())),
            },
            (Fact::ApprovalAnswered { answer, .. }, Phase::Asked(question)) => {
                Phase::Answered { question, answer: answer.clone() }
            }
            (
                Fact::ApprovalAnswered {
                    answer: Answer::Outcome { answer: OutcomeAnswer::RunAgain }, ..
                },
                Phase::AskedOutcome(question),
            ) => Phase::Repeated { replaces: question.call },
            (Fact::ApprovalAnswered { .. }, _)
            | (Fact::ToolFinished { .. } | Fact::ToolFailed { .. } | Fact::ToolRefused { .. }, _) => {
                Phase::Settled
            }
            (_, phase) => phase,
        };
    }

    /// What there is to do about the call, if anything.
    pub(super) fn errand(&self) -> Option<Errand> {
        let call = || self.call.clone();
        let execute = |grant| Errand::Execute { call: call(), attempts_before: 0, grant, sent_at: None };
        match &self.phase {
            Phase::Planned => Some(execute(None)),
            Phase::Answered { question, answer } => Some(match settled_by(answer) {
                Some(outcome) => Errand::Settle { call: self.call.id.clone(), outcome },
                None => execute(consent(question, answer).map(|consent| consent.grant())),
            }),
            // Only a crash leaves a started call to the machine: the driver sees to those it started.
            Phase::Started { effect: Effect::NonIdempotent, at, .. } => Some(Errand::Lose {
                call: call(),
                sent_at: *at,
                because: "the server stopped while the call was in flight".into(),
            }),
            Phase::Started { effect, attempt, at, consent } => Some(Errand::Execute {
                call: call(),
                attempts_before: *attempt,
                grant: consent.as_ref().map(|consent| consent.grant()),
                sent_at: (*effect != Effect::Read).then_some(*at),
            }),
            Phase::Unknown { because, then } => match then {
                OnUnknown::AskUser => Some(Errand::AskOutcome { call: call(), because: because.clone() }),
                OnUnknown::TellModel | OnUnknown::FailRun => None,
            },
            Phase::Repeated { replaces } => {
                let again = ToolCall { id: self.call.id.again(), ..call() };
                Some(Errand::Repeat { call: again, replaces: replaces.clone() })
            }
            Phase::Asked(_) | Phase::Delegated { .. } | Phase::AskedOutcome(_) | Phase::Settled => None,
        }
    }

    pub(super) fn too_many(&self, max: u32) -> Errand {
        let told = format!("at most {max} calls can be made in one message; make this one in the next");
        let outcome = Outcome::Refused(Failure::new(FailureKind::Limited, told));
        Errand::Settle { call: self.call.id.clone(), outcome }
    }

    /// Whose turn it is, if it is not ours.
    pub(super) fn waits_for(&self, stateless: bool) -> Option<RunState> {
        match &self.phase {
            Phase::Asked(_) => Some(RunState::WaitingApproval),
            Phase::AskedOutcome(_) => Some(RunState::NeedsAttention),
            // A client that owns the history brings the result with its next request.
            Phase::Delegated { .. } if !stateless => Some(RunState::WaitingClient),
            _ => None,
        }
    }

    /// Whether the run cannot go on for lack of knowledge.
    pub(super) fn ends_run(&self) -> bool {
        matches!(self.phase, Phase::Unknown { then: OnUnknown::FailRun, .. })
    }

    pub(super) fn question(&self) -> Option<&Question> {
        match &self.phase {
            Phase::Asked(question) | Phase::AskedOutcome(question) => Some(question),
            _ => None,
        }
    }

    /// The outcome of a call that a stopped run leaves behind.
    pub(super) fn abandoned(&self) -> Option<Fact> {
        let call = self.call.id.clone();
        match &self.phase {
            Phase::Settled | Phase::Unknown { .. } | Phase::AskedOutcome(_) | Phase::Repeated { .. } => None,
            Phase::Started { effect: Effect::Idempotent | Effect::NonIdempotent, at, .. }
            | Phase::Delegated { at } => {
                let because = match self.phase {
                    Phase::Delegated { .. } => "the run was stopped while the client had the call",
                    _ => "the run was stopped while the call was in flight",
                };
                let because = because.into();
                let then = OnUnknown::TellModel;
                Some(Fact::ToolUnknown { call, sent_at: *at, because, checked: None, then })
            }
            Phase::Planned
            | Phase::Asked(_)
            | Phase::Answered { .. }
            | Phase::Started { effect: Effect::Read, .. } => Some(Fact::ToolRefused {
                call,
                failure: Failure::new(FailureKind::Cancelled, "the run was stopped"),
                trail: Trail::default(),
            }),
        }
    }
}
