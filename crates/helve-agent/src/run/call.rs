//! One call of a run, from the request to its end.

use helve_tool::{Grant, Outcome, SentBefore, Unknown, outcome_of_answer};
use helve_types::{
    Answer, ApprovalKind, Effect, Fact, Failure, FailureKind, Notice, OnUnknown, OutcomeAnswer, Question,
    RunState, Timestamp, ToolCall, Trail, canonical_json,
};
use serde::{Deserialize, Serialize};

use super::CallAction;
use super::loops::{CallResult, LoopDetector};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Call {
    pub(crate) step: u32,
    pub(crate) call: ToolCall,
    pub(crate) data: CallData,
}

/// What is known of a call in each of its states.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum CallData {
    Requested,
    Asked(Box<Question>),
    Answered {
        question: Box<Question>,
        answer: Answer,
    },
    Running {
        effect: Effect,
        attempt: u32,
        first_at: Timestamp,
        at: Timestamp,
        /// What was really sent, where a hook or a person changed it.
        arguments: Option<String>,
        /// A person's consent, which also covers the next attempt.
        consent: Option<Box<Consent>>,
    },
    /// A client is to run it.
    Delegated {
        at: Timestamp,
        assignment: Box<ClientAssignment>,
    },
    /// A client runs it.
    Claimed {
        at: Timestamp,
        assignment: Box<ClientAssignment>,
        client: String,
        by: String,
    },
    /// Another agent works on it.
    Subagent(Box<SubagentCall>),
    /// Cut off in flight.
    Unknown {
        unknown: Box<Unknown>,
        /// What was really sent, where a hook or a person changed it.
        arguments: Option<String>,
    },
    AskedOutcome(Box<Question>),
    /// A person wants it done again, as a new call: just what the question showed.
    Repeated(Box<Question>),
    /// A person ordered it in place of one that was cut off, and agreed to it by that.
    Ordered(Box<Consent>),
    Ended,
}

/// What another agent was given, and what was decided about it before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SubagentCall {
    pub(crate) at: Timestamp,
    pub(crate) arguments: String,
    pub(crate) trail: Trail,
}

/// What a client is given, and what was decided about it before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ClientAssignment {
    pub(crate) arguments: String,
    pub(crate) trail: Trail,
}

/// A person's consent to one exact call, as the log tells it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Consent {
    binding: String,
    /// The arguments that were asked about, as hooks had left them.
    asked: String,
    /// They are not those that the model wrote.
    changed: bool,
    edited: Option<String>,
}

impl Consent {
    fn to_grant(&self) -> Grant {
        Grant { binding: self.binding.clone(), changed: self.changed, edited: self.edited.clone() }
    }
}

/// The consent in an answer to a question.
fn read_consent(call: &ToolCall, question: &Question, answer: &Answer) -> Option<Box<Consent>> {
    let Answer::Approve { arguments, .. } = answer else { return None };
    let asked = &question.call()?.arguments;
    let written = serde_json::from_str(&call.arguments).map(|written| canonical_json(&written));
    Some(Box::new(Consent {
        binding: question.binding.clone(),
        asked: asked.clone(),
        changed: written.is_ok_and(|written| written != *asked),
        edited: arguments.clone(),
    }))
}

/// The consent in having the call of a question run again, if the question showed what would be sent.
fn read_consent_to_repeat(question: &Question) -> Option<Box<Consent>> {
    let (binding, asked) = (question.binding.clone(), question.call()?.arguments.clone());
    (!binding.is_empty()).then(|| Box::new(Consent { binding, asked, changed: false, edited: None }))
}

impl Call {
    /// Puts the call that a person ordered in the place of this one.
    pub(super) fn replace_with(&mut self, mut new: Self) {
        if let CallData::Repeated(question) = &self.data
            && let Some(consent) = read_consent_to_repeat(question)
        {
            new.data = CallData::Ordered(consent);
        }
        *self = new;
    }

    pub(super) fn apply(&mut self, at: Timestamp, fact: &Fact) {
        self.data = match (fact, std::mem::replace(&mut self.data, CallData::Ended)) {
            (Fact::ToolStarted { effect, attempt, arguments, .. }, before) => {
                let (consent, first_at, recorded) = match before {
                    CallData::Answered { question, answer } => {
                        (read_consent(&self.call, &question, &answer), at, None)
                    }
                    CallData::Ordered(consent) => (Some(consent), at, None),
                    CallData::Running { consent, first_at, arguments, .. } => (consent, first_at, arguments),
                    _ => (None, at, None),
                };
                // A call that is sent again says its arguments only if they changed since the last time.
                let arguments = arguments.clone().or(recorded);
                CallData::Running { effect: *effect, attempt: *attempt, first_at, at, arguments, consent }
            }
            (Fact::ToolDelegated { arguments, trail, .. }, _) => {
                let arguments = arguments.as_ref().unwrap_or(&self.call.arguments).clone();
                CallData::Delegated {
                    at,
                    assignment: Box::new(ClientAssignment { arguments, trail: trail.clone() }),
                }
            }
            (Fact::SubagentStarted(started), _) => {
                let (arguments, trail) = (started.arguments.clone(), started.trail.clone());
                CallData::Subagent(Box::new(SubagentCall { at, arguments, trail }))
            }
            (Fact::ToolClaimed { client, by, .. }, CallData::Delegated { assignment, .. }) => {
                CallData::Claimed { at, assignment, client: client.clone(), by: by.clone() }
            }
            (Fact::ToolUnknown { sent_at, because, request, checked, then, .. }, before) => {
                let arguments = match before {
                    CallData::Running { arguments, .. } => arguments,
                    CallData::Claimed { assignment, .. } => Some(assignment.arguments),
                    _ => None,
                };
                let unknown = Unknown {
                    sent_at: *sent_at,
                    because: because.clone(),
                    request: request.clone(),
                    checked: checked.clone(),
                    then: *then,
                };
                CallData::Unknown { unknown: Box::new(unknown), arguments }
            }
            (Fact::ApprovalAsked(question), before) => match question.kind() {
                ApprovalKind::Permission | ApprovalKind::User => CallData::Asked(Box::new(question.clone())),
                ApprovalKind::Outcome => CallData::AskedOutcome(Box::new(question.clone())),
                ApprovalKind::Budget => before,
            },
            (Fact::ApprovalAnswered { answer, .. }, CallData::Asked(question)) => {
                CallData::Answered { question, answer: answer.clone() }
            }
            (
                Fact::ApprovalAnswered {
                    answer: Answer::Outcome { answer: OutcomeAnswer::RunAgain }, ..
                },
                CallData::AskedOutcome(question),
            ) => CallData::Repeated(question),
            (Fact::ApprovalAnswered { .. }, _)
            | (Fact::ToolFinished { .. } | Fact::ToolFailed { .. } | Fact::ToolRefused { .. }, _) => {
                CallData::Ended
            }
            (_, data) => data,
        };
    }

    /// Whether this is a person's no to repeating the call, which ends the run's calls.
    pub(super) fn is_no_to_repetition(&self, fact: &Fact) -> bool {
        let Fact::ApprovalAnswered { answer, .. } = fact else { return false };
        self.open_question().is_some_and(Question::repeats)
            && matches!(answer, Answer::Reject { .. } | Answer::Expire)
    }

    /// Reports to the loop detector what came of the call and what a person said about it.
    pub(super) fn report_to_loop_detector(&self, fact: &Fact, loops: &mut LoopDetector) {
        let called = (&*self.call.name, &*self.call.arguments);
        let result = match fact {
            Fact::ToolFinished { output, .. } => CallResult::from_output(&output.text),
            Fact::ToolFailed { failure, .. } | Fact::ToolRefused { failure, .. } => {
                CallResult::from_failure(failure)
            }
            Fact::ToolUnknown { .. } => CallResult::Unknown,
            Fact::ApprovalAnswered { answer, .. } => {
                let repeats = self.open_question().is_some_and(Question::repeats);
                match answer {
                    Answer::Approve { always: Some(always), .. } if repeats => {
                        loops.exempt_from_loop_check(&self.call, always)
                    }
                    Answer::Outcome { .. } => loops.resolve_unknown(called.0, called.1),
                    _ => {}
                }
                return;
            }
            _ => return,
        };
        loops.record_result(self.step, called, result);
    }

    /// Whether this is a person's no to making the call.
    pub(super) fn is_rejection_by_person(&self, fact: &Fact) -> bool {
        matches!(
            (&self.data, fact),
            (CallData::Asked(_), Fact::ApprovalAnswered { answer: Answer::Reject { .. }, .. })
        )
    }

    /// What there is to do about the call, if anything.
    pub(super) fn next_action(&self) -> Option<CallAction> {
        let call = || self.call.clone();
        // Hooks were asked about a call that is on record; what they made of it is what goes on.
        let with = |arguments: &str| ToolCall { arguments: arguments.into(), ..call() };
        let asked_with = |question: &Question| {
            with(question.call().map_or(&self.call.arguments, |asked| &asked.arguments))
        };
        match &self.data {
            CallData::Requested => {
                Some(CallAction::Execute { call: call(), attempts_before: 0, grant: None, before: None })
            }
            CallData::Ordered(consent) => Some(CallAction::Execute {
                call: with(&consent.asked),
                attempts_before: 0,
                grant: Some(consent.to_grant()),
                before: None,
            }),
            CallData::Answered { question, answer } => {
                Some(match outcome_of_answer(question.kind(), answer) {
                    Some(outcome) => CallAction::Settle { call: self.call.id.clone(), outcome },
                    None => CallAction::Execute {
                        call: asked_with(question),
                        attempts_before: 0,
                        grant: read_consent(&self.call, question, answer).map(|consent| consent.to_grant()),
                        before: None,
                    },
                })
            }
            // Only a crash leaves a started call to the machine: the driver finishes those it started.
            CallData::Running { effect: Effect::NonIdempotent, at, arguments, .. } => {
                Some(CallAction::RecordUnknown {
                    call: with(arguments.as_ref().unwrap_or(&self.call.arguments)),
                    sent_at: *at,
                    because: "the server stopped while the call was in flight".into(),
                })
            }
            CallData::Running { effect, attempt, first_at, at, arguments, consent } => {
                // Consent is bound to what was asked about; the person's edits come after.
                let asked = consent.as_ref().map(|consent| &consent.asked).or(arguments.as_ref());
                Some(CallAction::Execute {
                    call: with(asked.unwrap_or(&self.call.arguments)),
                    attempts_before: *attempt,
                    grant: consent.as_ref().map(|consent| consent.to_grant()),
                    before: (*effect != Effect::Read).then_some(SentBefore { first_at: *first_at, at: *at }),
                })
            }
            CallData::Unknown { unknown, arguments } => match unknown.then {
                OnUnknown::AskUser => Some(CallAction::AskOutcome {
                    call: with(arguments.as_ref().unwrap_or(&self.call.arguments)),
                    unknown: unknown.clone(),
                }),
                OnUnknown::TellModel | OnUnknown::FailRun => None,
            },
            CallData::Repeated(question) => {
                let again = ToolCall { id: self.call.id.next_repetition(), ..asked_with(question) };
                Some(CallAction::Repeat { call: again, replaces: self.call.id.clone() })
            }
            CallData::Asked(_)
            | CallData::Delegated { .. }
            | CallData::Claimed { .. }
            | CallData::Subagent(_)
            | CallData::AskedOutcome(_)
            | CallData::Ended => None,
        }
    }

    pub(super) fn refuse_as_too_many(&self, max: u32) -> CallAction {
        let told = format!("at most {max} calls can be made in one message; make this one in the next");
        let notice = Notice::too_many_calls_in_step(max.into());
        let outcome = Outcome::Refused(Failure::new(FailureKind::Limited, told).with_notice(notice));
        CallAction::Settle { call: self.call.id.clone(), outcome }
    }

    /// Whose turn it is, if it is not ours.
    pub(super) fn state_while_waiting(&self, stateless: bool) -> Option<RunState> {
        match &self.data {
            CallData::Asked(_) => Some(RunState::WaitingApproval),
            CallData::AskedOutcome(_) => Some(RunState::NeedsAttention),
            // A client that owns the history brings the result with its next request.
            CallData::Delegated { .. } | CallData::Claimed { .. } if !stateless => {
                Some(RunState::WaitingClient)
            }
            _ => None,
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.data == CallData::Ended
    }

    /// Whether the run cannot go on for lack of knowledge.
    pub(super) fn must_fail_run(&self) -> bool {
        matches!(&self.data, CallData::Unknown { unknown, .. } if unknown.then == OnUnknown::FailRun)
    }

    pub(super) fn open_question(&self) -> Option<&Question> {
        match &self.data {
            CallData::Asked(question) | CallData::AskedOutcome(question) => Some(question),
            _ => None,
        }
    }

    /// The outcome of a call that a stopped run leaves behind.
    pub(super) fn outcome_at_stop(&self) -> Option<Fact> {
        let call = self.call.id.clone();
        match &self.data {
            CallData::Ended
            | CallData::Unknown { .. }
            | CallData::AskedOutcome(_)
            | CallData::Repeated(_) => None,
            CallData::Running { effect: Effect::Idempotent | Effect::NonIdempotent, at, .. }
            | CallData::Claimed { at, .. } => {
                let because = match self.data {
                    CallData::Claimed { .. } => "the run was stopped while a client had the call",
                    _ => "the run was stopped while the call was in flight",
                };
                Some(Fact::ToolUnknown {
                    call,
                    sent_at: *at,
                    because: because.into(),
                    request: None,
                    checked: None,
                    then: OnUnknown::TellModel,
                    trail: Trail::default(),
                    labels: None,
                })
            }
            // Its run is stopped with this one.
            CallData::Subagent(_) => {
                let told =
                    format!("the run was stopped, and with it the run that worked on `{}`", self.call.name);
                let notice = Notice::subagent_stopped_with_run(&self.call.name);
                Some(Fact::ToolFailed {
                    call,
                    failure: Failure::new(FailureKind::Cancelled, told).with_notice(notice),
                    trail: Trail::default(),
                })
            }
            // A call without a claim has not begun.
            CallData::Requested
            | CallData::Ordered(_)
            | CallData::Asked(_)
            | CallData::Answered { .. }
            | CallData::Delegated { .. }
            | CallData::Running { effect: Effect::Read, .. } => Some(Fact::ToolRefused {
                call,
                failure: Failure::new(FailureKind::Cancelled, "the run was stopped")
                    .with_notice(Notice::stopped_while_running()),
                trail: Trail::default(),
            }),
        }
    }
}
