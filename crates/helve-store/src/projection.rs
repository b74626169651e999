//! How a fact changes the ledger row of its call: a pure table, so that all stores derive the same rows.

use helve_types::{Answer, ApprovalKind, CallState, Effect, Fact, Failure, SubagentStarted, Trail};

#[derive(Debug, Clone, PartialEq)]
pub enum CallChange<'a> {
    Request {
        step: u32,
        tool: &'a str,
        arguments: &'a str,
        provider_id: Option<&'a str>,
    },
    Start {
        tool: &'a str,
        version: &'a str,
        effect: Effect,
        attempt: u32,
        arguments: Option<&'a str>,
    },
    Move(CallState),
    /// A client is to run it, or has begun to; or another agent works on it.
    HandOver {
        state: CallState,
        arguments: Option<&'a str>,
    },
    /// Its outcome is unknown.
    Unknown {
        because: &'a str,
        trail: &'a Trail,
    },
    End {
        state: CallState,
        trail: &'a Trail,
        result: CallResult<'a>,
    },
}

/// What a settled call came to, in the few words that a list of calls shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallResult<'a> {
    /// The size of the whole output, also where the model got only its beginning.
    Output {
        bytes: u64,
    },
    Failure(&'a Failure),
}

impl CallResult<'_> {
    pub fn output_bytes(&self) -> Option<u64> {
        match self {
            Self::Output { bytes } => Some(*bytes),
            Self::Failure(_) => None,
        }
    }

    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Output { .. } => None,
            Self::Failure(failure) => Some(failure),
        }
    }
}

/// Whether the crashes counted for the run are forgotten: it is past the step they happened in, or a person resumed it.
///
/// A step that had to be repeated does not count as past: its first answer may have been lost with the crash, and its
/// calls, which may be what ends the server, are still to run.
pub fn resets_crash_count(fact: &Fact) -> bool {
    matches!(fact, Fact::StepFinished { attempt: 1, .. } | Fact::RunResumed { resume: 0 })
}

/// What the fact does to its call, if it does anything.
pub fn call_change(fact: &Fact) -> Option<CallChange<'_>> {
    Some(match fact {
        Fact::ToolRequested { step, provider_id, tool, arguments, .. } => {
            CallChange::Request { step: *step, tool, arguments, provider_id: provider_id.as_deref() }
        }
        Fact::ToolStarted { tool, version, effect, attempt, arguments, .. } => CallChange::Start {
            tool,
            version,
            effect: *effect,
            attempt: *attempt,
            arguments: arguments.as_deref(),
        },
        Fact::ToolDelegated { arguments, .. } => {
            CallChange::HandOver { state: CallState::Delegated, arguments: arguments.as_deref() }
        }
        Fact::ToolClaimed { .. } => CallChange::HandOver { state: CallState::Claimed, arguments: None },
        Fact::SubagentStarted(SubagentStarted { arguments, .. }) => {
            CallChange::HandOver { state: CallState::Running, arguments: Some(arguments) }
        }
        Fact::ToolFinished { output, trail, .. } => {
            let bytes = output.whole_bytes.unwrap_or(output.text.len() as u64);
            CallChange::End { state: CallState::Finished, trail, result: CallResult::Output { bytes } }
        }
        Fact::ToolFailed { failure, trail, .. } => {
            CallChange::End { state: CallState::Failed, trail, result: CallResult::Failure(failure) }
        }
        Fact::ToolRefused { failure, trail, .. } => {
            let state = CallState::from_refusal(failure.kind);
            CallChange::End { state, trail, result: CallResult::Failure(failure) }
        }
        Fact::ToolUnknown { because, trail, .. } => CallChange::Unknown { because, trail },
        Fact::ApprovalAsked(question) => match question.kind() {
            ApprovalKind::Permission | ApprovalKind::User => CallChange::Move(CallState::Asked),
            ApprovalKind::Outcome | ApprovalKind::Budget => return None,
        },
        Fact::ApprovalAnswered { answer: Answer::Approve { .. }, .. } => {
            CallChange::Move(CallState::Approved)
        }
        // What the other answers lead to is recorded by the fact that settles the call.
        Fact::ApprovalAnswered { .. } => return None,
        Fact::ToolLate { .. }
        | Fact::ApprovalVoted { .. }
        | Fact::ApprovalReminded { .. }
        | Fact::ApprovalEscalated { .. }
        | Fact::MessageQueued { .. }
        | Fact::MessageTaken { .. }
        | Fact::BudgetSpent { .. }
        | Fact::HistoryCompacted(_)
        | Fact::RunStarted(_)
        | Fact::StepRestarted { .. }
        | Fact::ReasoningFinished { .. }
        | Fact::TextFinished { .. }
        | Fact::TextCutOff { .. }
        | Fact::ToolDiscarded { .. }
        | Fact::SubagentAsked(_)
        | Fact::SubagentAnswered(_)
        | Fact::SubagentEnded(_)
        | Fact::StepFinished { .. }
        | Fact::StepSnapshot(_)
        | Fact::RunWaiting { .. }
        | Fact::RunResumed { .. }
        | Fact::RunFinished { .. }
        | Fact::RunFailed { .. }
        | Fact::RunCancelled(_) => return None,
    })
}

/// The tool that the fact says a call is sent to, if it says that.
pub fn tool_sent_to(fact: &Fact) -> Option<&str> {
    match fact {
        Fact::ToolStarted { tool, instead, .. } => Some(instead.as_deref().unwrap_or(tool)),
        Fact::ToolDiscarded { tool, .. } => Some(tool),
        _ => None,
    }
}
