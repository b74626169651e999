//! How a fact changes the ledger row of its call: a pure table, so that all stores derive the same rows.

use helve_types::{Answer, Effect, Fact, Failure, FailureKind, Trail};

use crate::CallState;

#[derive(Debug, Clone, PartialEq)]
pub enum CallChange<'a> {
    Plan { step: u32, tool: &'a str, arguments: &'a str, provider_id: Option<&'a str> },
    Start { tool: &'a str, version: &'a str, effect: Effect, attempt: u32, arguments: Option<&'a str> },
    Move(CallState),
    Settle { state: CallState, trail: &'a Trail },
}

/// What the fact does to its call, if it does anything.
pub fn call_change(fact: &Fact) -> Option<CallChange<'_>> {
    Some(match fact {
        Fact::ToolRequested { step, provider_id, tool, arguments, .. } => {
            CallChange::Plan { step: *step, tool, arguments, provider_id: provider_id.as_deref() }
        }
        Fact::ToolStarted { tool, version, effect, attempt, arguments, .. } => CallChange::Start {
            tool,
            version,
            effect: *effect,
            attempt: *attempt,
            arguments: arguments.as_deref(),
        },
        Fact::ToolDelegated { .. } => CallChange::Move(CallState::Delegated),
        Fact::ToolFinished { trail, .. } => CallChange::Settle { state: CallState::Succeeded, trail },
        Fact::ToolFailed { trail, .. } => CallChange::Settle { state: CallState::Failed, trail },
        Fact::ToolRefused { failure, trail, .. } => CallChange::Settle { state: refused(failure), trail },
        Fact::ToolUnknown { .. } => CallChange::Move(CallState::Unknown),
        Fact::ApprovalAsked(question) => match question.kind {
            helve_types::ApprovalKind::Permission => CallChange::Move(CallState::Asked),
            helve_types::ApprovalKind::Outcome => return None,
        },
        Fact::ApprovalAnswered { answer: Answer::Approve { .. }, .. } => {
            CallChange::Move(CallState::Approved)
        }
        // What the other answers lead to is recorded by the fact that settles the call.
        Fact::ApprovalAnswered { .. } => return None,
        Fact::ToolLate { .. }
        | Fact::RunStarted(_)
        | Fact::StepRestarted { .. }
        | Fact::ReasoningFinished { .. }
        | Fact::TextFinished { .. }
        | Fact::StepFinished { .. }
        | Fact::RunWaiting { .. }
        | Fact::RunResumed { .. }
        | Fact::RunFinished { .. }
        | Fact::RunFailed { .. }
        | Fact::RunCancelled(_) => return None,
    })
}

fn refused(failure: &Failure) -> CallState {
    match failure.kind {
        FailureKind::Denied => CallState::Denied,
        FailureKind::Unanswered => CallState::Expired,
        _ => CallState::Failed,
    }
}
