//! One call of a run, from planned to settled.

use helve_tool::{Grant, Outcome, SentBefore, Unknown, settled_by};
use helve_types::{
    Answer, ApprovalKind, Effect, Fact, Failure, FailureKind, Notice, OnUnknown, OutcomeAnswer, Question,
    RunState, Timestamp, ToolCall, Trail, canonical_json,
};
use serde::{Deserialize, Serialize};

use super::Errand;
use super::circles::{Came, Circles};

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
        handed: Box<Handed>,
    },
    /// A client runs it.
    Claimed {
        at: Timestamp,
        handed: Box<Handed>,
        client: String,
        by: String,
    },
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
    Settled,
}

/// What a client is given, and what was decided about it before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Handed {
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
    fn grant(&self) -> Grant {
        Grant { binding: self.binding.clone(), changed: self.changed, edited: self.edited.clone() }
    }
}

/// The consent in an answer to a question.
fn consent(call: &ToolCall, question: &Question, answer: &Answer) -> Option<Box<Consent>> {
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
fn ordered(question: &Question) -> Option<Box<Consent>> {
    let (binding, asked) = (question.binding.clone(), question.call()?.arguments.clone());
    (!binding.is_empty()).then(|| Box::new(Consent { binding, asked, changed: false, edited: None }))
}

impl Call {
    /// Puts the call that a person ordered in the place of this one.
    pub(super) fn give_way(&mut self, mut new: Self) {
        if let Phase::Repeated(question) = &self.phase
            && let Some(consent) = ordered(question)
        {
            new.phase = Phase::Ordered(consent);
        }
        *self = new;
    }

    pub(super) fn learn(&mut self, at: Timestamp, fact: &Fact) {
        self.phase = match (fact, std::mem::replace(&mut self.phase, Phase::Settled)) {
            (Fact::ToolStarted { effect, attempt, arguments, .. }, before) => {
                let (consent, first_at) = match before {
                    Phase::Answered { question, answer } => (consent(&self.call, &question, &answer), at),
                    Phase::Ordered(consent) => (Some(consent), at),
                    Phase::Started { consent, first_at, .. } => (consent, first_at),
                    _ => (None, at),
                };
                let arguments = arguments.clone();
                Phase::Started { effect: *effect, attempt: *attempt, first_at, at, arguments, consent }
            }
            (Fact::ToolDelegated { arguments, trail, .. }, _) => {
                let arguments = arguments.as_ref().unwrap_or(&self.call.arguments).clone();
                Phase::Delegated { at, handed: Box::new(Handed { arguments, trail: trail.clone() }) }
            }
            (Fact::ToolClaimed { client, by, .. }, Phase::Delegated { handed, .. }) => {
                Phase::Claimed { at, handed, client: client.clone(), by: by.clone() }
            }
            (Fact::ToolUnknown { sent_at, because, request, checked, then, .. }, before) => {
                let arguments = match before {
                    Phase::Started { arguments, .. } => arguments,
                    Phase::Claimed { handed, .. } => Some(handed.arguments),
                    _ => None,
                };
                let unknown = Unknown {
                    sent_at: *sent_at,
                    because: because.clone(),
                    request: request.clone(),
                    checked: checked.clone(),
                    then: *then,
                };
                Phase::Unknown { unknown: Box::new(unknown), arguments }
            }
            (Fact::ApprovalAsked(question), before) => match question.kind() {
                ApprovalKind::Permission => Phase::Asked(Box::new(question.clone())),
                ApprovalKind::Outcome => Phase::AskedOutcome(Box::new(question.clone())),
                ApprovalKind::Budget => before,
            },
            (Fact::ApprovalAnswered { answer, .. }, Phase::Asked(question)) => {
                Phase::Answered { question, answer: answer.clone() }
            }
            (
                Fact::ApprovalAnswered {
                    answer: Answer::Outcome { answer: OutcomeAnswer::RunAgain }, ..
                },
                Phase::AskedOutcome(question),
            ) => Phase::Repeated(question),
            (Fact::ApprovalAnswered { .. }, _)
            | (Fact::ToolFinished { .. } | Fact::ToolFailed { .. } | Fact::ToolRefused { .. }, _) => {
                Phase::Settled
            }
            (_, phase) => phase,
        };
    }

    /// Tells the guard against circles what came of the call and what a person said about it. Whether that ends the run's
    /// calls: a no to going on in circles does.
    pub(super) fn learn_of_circles(&self, fact: &Fact, circles: &mut Circles) -> bool {
        let called = (&*self.call.name, &*self.call.arguments);
        let came = match fact {
            Fact::ToolFinished { output, .. } => Came::output(&output.text),
            Fact::ToolFailed { failure, .. } | Fact::ToolRefused { failure, .. } => Came::failure(failure),
            Fact::ToolUnknown { .. } => Came::Unknown,
            Fact::ApprovalAnswered { answer, .. } => {
                let repeats = self.question().is_some_and(Question::repeats);
                match answer {
                    Answer::Approve { always: Some(always), .. } if repeats => {
                        circles.excuse(&self.call, always)
                    }
                    Answer::Outcome { .. } => circles.cleared_up(called.0, called.1),
                    _ => {}
                }
                return repeats && matches!(answer, Answer::Reject { .. } | Answer::Expire);
            }
            _ => return false,
        };
        circles.settled(self.step, called, came);
        false
    }

    /// Whether this is a person's no to making the call.
    pub(super) fn is_refused_by(&self, fact: &Fact) -> bool {
        matches!(
            (&self.phase, fact),
            (Phase::Asked(_), Fact::ApprovalAnswered { answer: Answer::Reject { .. }, .. })
        )
    }

    /// What there is to do about the call, if anything.
    pub(super) fn errand(&self) -> Option<Errand> {
        let call = || self.call.clone();
        // Hooks were asked about a call that is on record; what they made of it is what goes on.
        let with = |arguments: &str| ToolCall { arguments: arguments.into(), ..call() };
        let asked_with = |question: &Question| {
            with(question.call().map_or(&self.call.arguments, |asked| &asked.arguments))
        };
        match &self.phase {
            Phase::Planned => {
                Some(Errand::Execute { call: call(), attempts_before: 0, grant: None, before: None })
            }
            Phase::Ordered(consent) => Some(Errand::Execute {
                call: with(&consent.asked),
                attempts_before: 0,
                grant: Some(consent.grant()),
                before: None,
            }),
            Phase::Answered { question, answer } => Some(match settled_by(answer) {
                Some(outcome) => Errand::Settle { call: self.call.id.clone(), outcome },
                None => Errand::Execute {
                    call: asked_with(question),
                    attempts_before: 0,
                    grant: consent(&self.call, question, answer).map(|consent| consent.grant()),
                    before: None,
                },
            }),
            // Only a crash leaves a started call to the machine: the driver sees to those it started.
            Phase::Started { effect: Effect::NonIdempotent, at, arguments, .. } => Some(Errand::Lose {
                call: with(arguments.as_ref().unwrap_or(&self.call.arguments)),
                sent_at: *at,
                because: "the server stopped while the call was in flight".into(),
            }),
            Phase::Started { effect, attempt, first_at, at, arguments, consent } => {
                // Consent is bound to what was asked about; the person's edits come after.
                let asked = consent.as_ref().map(|consent| &consent.asked).or(arguments.as_ref());
                Some(Errand::Execute {
                    call: with(asked.unwrap_or(&self.call.arguments)),
                    attempts_before: *attempt,
                    grant: consent.as_ref().map(|consent| consent.grant()),
                    before: (*effect != Effect::Read).then_some(SentBefore { first_at: *first_at, at: *at }),
                })
            }
            Phase::Unknown { unknown, arguments } => match unknown.then {
                OnUnknown::AskUser => Some(Errand::AskOutcome {
                    call: with(arguments.as_ref().unwrap_or(&self.call.arguments)),
                    unknown: unknown.clone(),
                }),
                OnUnknown::TellModel | OnUnknown::FailRun => None,
            },
            Phase::Repeated(question) => {
                let again = ToolCall { id: self.call.id.again(), ..asked_with(question) };
                Some(Errand::Repeat { call: again, replaces: self.call.id.clone() })
            }
            Phase::Asked(_)
            | Phase::Delegated { .. }
            | Phase::Claimed { .. }
            | Phase::AskedOutcome(_)
            | Phase::Settled => None,
        }
    }

    pub(super) fn too_many(&self, max: u32) -> Errand {
        let told = format!("at most {max} calls can be made in one message; make this one in the next");
        let notice = Notice::too_many_calls_in_step(max.into());
        let outcome = Outcome::Refused(Failure::new(FailureKind::Limited, told).with_notice(notice));
        Errand::Settle { call: self.call.id.clone(), outcome }
    }

    /// Whose turn it is, if it is not ours.
    pub(super) fn waits_for(&self, stateless: bool) -> Option<RunState> {
        match &self.phase {
            Phase::Asked(_) => Some(RunState::WaitingApproval),
            Phase::AskedOutcome(_) => Some(RunState::NeedsAttention),
            // A client that owns the history brings the result with its next request.
            Phase::Delegated { .. } | Phase::Claimed { .. } if !stateless => Some(RunState::WaitingClient),
            _ => None,
        }
    }

    pub(super) fn is_settled(&self) -> bool {
        self.phase == Phase::Settled
    }

    /// Whether the run cannot go on for lack of knowledge.
    pub(super) fn ends_run(&self) -> bool {
        matches!(&self.phase, Phase::Unknown { unknown, .. } if unknown.then == OnUnknown::FailRun)
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
            Phase::Settled | Phase::Unknown { .. } | Phase::AskedOutcome(_) | Phase::Repeated(_) => None,
            Phase::Started { effect: Effect::Idempotent | Effect::NonIdempotent, at, .. }
            | Phase::Claimed { at, .. } => {
                let because = match self.phase {
                    Phase::Claimed { .. } => "the run was stopped while a client had the call",
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
            // Nobody has begun a call that nobody has claimed.
            Phase::Planned
            | Phase::Ordered(_)
            | Phase::Asked(_)
            | Phase::Answered { .. }
            | Phase::Delegated { .. }
            | Phase::Started { effect: Effect::Read, .. } => Some(Fact::ToolRefused {
                call,
                failure: Failure::new(FailureKind::Cancelled, "the run was stopped")
                    .with_notice(Notice::stopped_while_running()),
                trail: Trail::default(),
            }),
        }
    }
}
