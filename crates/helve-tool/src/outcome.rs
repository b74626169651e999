//! What can become of a call.

use helve_store::{FullOutput, NewFacts, StoreError};
use helve_types::{
    Answer, ApprovalKind, CallId, Fact, Failure, FailureKind, Labels, Notice, OnUnknown, Question,
    SubagentStarted, Timestamp, ToolOutput, Trail, canonical_json,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::bound::SideRecords;

/// What became of a call, or what it waits for.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    Finished(ToolOutput),
    /// It ran and failed.
    Failed(Failure),
    /// It did not run.
    Refused(Failure),
    /// It was cut off in flight.
    Unknown(Unknown),
    /// A person has to decide.
    Asked(Question),
    /// The client has to run it.
    Delegated {
        tool: String,
        /// As the check, hooks and people left them.
        arguments: String,
    },
    /// Another agent works on it.
    Subagent(Box<SubagentStarted>),
}

impl Outcome {
    pub(crate) fn from_failure(failure: Failure) -> Self {
        if failure.kind.is_refusal() { Self::Refused(failure) } else { Self::Failed(failure) }
    }

    /// The facts that record the outcome.
    pub(crate) fn to_facts(&self, call: &CallId, trail: Trail, side: SideRecords) -> NewFacts {
        let call = call.clone();
        let SideRecords { full_output, files, labels } = side;
        let full_outputs = full_output
            .map(|text| FullOutput { call: call.clone(), text: text.into() })
            .into_iter()
            .collect();
        let fact = match self.clone() {
            Self::Finished(output) => Fact::ToolFinished { call, output, trail },
            Self::Failed(failure) => Fact::ToolFailed { call, failure, trail },
            Self::Refused(failure) => Fact::ToolRefused { call, failure, trail },
            Self::Unknown(Unknown { sent_at, because, request, checked, then }) => {
                Fact::ToolUnknown { call, sent_at, because, request, checked, then, trail, labels }
            }
            Self::Asked(question) => Fact::ApprovalAsked(question),
            Self::Delegated { tool, arguments } => {
                Fact::ToolDelegated { call, tool, arguments: Some(arguments), trail }
            }
            Self::Subagent(started) => Fact::SubagentStarted(SubagentStarted { trail, ..*started }),
        };
        NewFacts { full_outputs, files, ..fact.into() }
    }
}

/// An attempt of which it is unknown whether it took effect, and all that is known of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unknown {
    pub sent_at: Timestamp,
    pub because: String,
    /// What went over the wire, where the tool knows more of that than the arguments say.
    pub request: Option<String>,
    /// What the tool's check tool says about it.
    pub checked: Option<String>,
    /// What the tool's definition wants done about it.
    pub then: OnUnknown,
}

impl Unknown {
    /// Before its check tool has run.
    pub(crate) fn new(sent_at: Timestamp, because: impl Into<String>, then: OnUnknown) -> Self {
        Self { sent_at, because: because.into(), request: None, checked: None, then }
    }

    /// Whatever kept the call from its answer afterwards: it may have happened before.
    pub(crate) fn unless_known(self, outcome: Outcome) -> Outcome {
        let then = match outcome {
            Outcome::Failed(failure) | Outcome::Refused(failure) => format!("then: {}", failure.message),
            // Consent to what may have been done already is no consent.
            Outcome::Asked(_) => "it was not allowed to try it again".into(),
            known => return known,
        };
        Outcome::Unknown(Self { because: format!("{}; {then}", self.because), ..self })
    }
}

/// The outcome that a person's answer makes by itself; none where the call has yet to run.
pub fn outcome_of_answer(question: ApprovalKind, answer: &Answer) -> Option<Outcome> {
    match answer {
        Answer::Reply { value } => Some(Outcome::Finished(reply_output(value))),
        Answer::Decline { reason } => {
            let told = if reason.is_empty() { String::new() } else { format!(" and says: {reason}") };
            let message = format!(
                "the user would rather not answer this question{told}. Do not ask it again, go on without the answer"
            );
            Some(Outcome::Refused(Failure::new(FailureKind::Denied, message).with_notice(match &**reason {
                "" => Notice::declined_by_person(),
                reason => Notice::declined_with_reason(reason),
            })))
        }
        Answer::Expire if question == ApprovalKind::User => {
            let message = "the user was asked and did not answer in time; go on without the answer";
            let notice = Notice::question_unanswered();
            Some(Outcome::Refused(Failure::new(FailureKind::Unanswered, message).with_notice(notice)))
        }
        Answer::Approve { .. } | Answer::Outcome { .. } => None,
        Answer::Reject { reason } => {
            let told = if reason.is_empty() { "no reason was given" } else { reason };
            Some(Outcome::Refused(Failure::new(
                FailureKind::Denied,
                format!("the user did not allow this call: {told}; do not repeat it, go on without it"),
            )
            .with_notice(match &**reason {
                "" => Notice::rejected_by_person(),
                reason => Notice::rejected_with_reason(reason),
            })))
        }
        Answer::Respond { text } => {
            let output = ToolOutput::text(text).with_headline("answered by a person", Notice::answered_by_person());
            Some(Outcome::Finished(ToolOutput { labels: Some(Labels::for_person()), ..output }))
        }
        Answer::Expire => Some(Outcome::Refused(Failure::new(
            FailureKind::Unanswered,
            "a person was asked to allow this call and did not answer in time; it was not refused, but it did \
             not run either",
        )
        .with_notice(Notice::approval_unanswered()))),
    }
}

/// A reply as the model reads it: a text as it is, anything else as JSON.
fn reply_output(value: &Value) -> ToolOutput {
    let text = value.as_str().map_or_else(|| canonical_json(value), str::to_owned);
    let output = ToolOutput::text(text)
        .with_headline("answered by a person", Notice::answered_by_person())
        .with_data(value.clone());
    ToolOutput { labels: Some(Labels::for_person()), ..output }
}

/// What stops the run: nothing may be done that cannot be put on record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("the journal failed: {0}")]
    Journal(#[from] StoreError),
}

/// Why a call does not go on to the next stage.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Stop {
    Outcome(Box<Outcome>),
    /// The tool is held back or failing, and nothing has happened: something else may stand in for it.
    Down {
        failure: Failure,
        because: String,
    },
    Fault(Fault),
}

/// What a model does about a tool that does not work.
pub const ADVICE: &str = ". Answer without it and say so, or try again later";

impl Stop {
    pub(crate) fn unavailable(failure: Failure) -> Self {
        Self::Down { because: failure.message.clone(), failure }
    }

    /// A person has stopped the run, and nothing has left.
    pub(crate) fn cancelled() -> Self {
        Failure::new(FailureKind::Cancelled, "the run was stopped before the call was sent")
            .with_notice(Notice::stopped_before_sent())
            .into()
    }

    pub(crate) fn with_earlier_attempt(self, doubt: Option<Unknown>) -> Self {
        match (self, doubt) {
            (Self::Outcome(outcome), Some(doubt)) => doubt.unless_known(*outcome).into(),
            (Self::Down { failure, .. }, Some(doubt)) => {
                doubt.unless_known(Outcome::from_failure(failure)).into()
            }
            (stop, _) => stop,
        }
    }

    /// What becomes of the call.
    pub(crate) fn into_outcome(self) -> Result<Outcome, Fault> {
        match self {
            Self::Outcome(outcome) => Ok(*outcome),
            Self::Down { failure, because } => {
                // A guard that refuses a call says how to go on; a tool that failed says only what happened.
                let advice = if failure.message == because { ADVICE } else { "" };
                let message = failure.message + advice;
                Ok(Outcome::from_failure(Failure { message, ..failure }))
            }
            Self::Fault(fault) => Err(fault),
        }
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Outcome::from_failure(failure).into()
    }
}

impl From<Outcome> for Stop {
    fn from(outcome: Outcome) -> Self {
        Self::Outcome(Box::new(outcome))
    }
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Fault(Fault::Journal(error))
    }
}
