//! Calls that are tasks for another agent: whether one is begun, and with which share of the budget.

use helve_types::{Failure, FailureKind, Granted, Notice, RunId, SubagentStarted, Trail};

use crate::CallContext;
use crate::outcome::{Outcome, Stop};
use crate::permit::Permit;

/// What a call asks of another agent.
#[derive(Debug, Clone, PartialEq)]
pub enum SubagentRequest {
    Begin {
        agent: String,
        task: String,
        background: bool,
        /// The share of what is left of the budget.
        budget_share: f64,
    },
    /// The result of a run that was begun in the background.
    Join { agent: String, run: RunId },
}

/// What a run lets the next call of a subagent do.
#[derive(Debug, Clone, PartialEq)]
pub struct SubagentTerms {
    /// The id of the run that is opened.
    pub run: RunId,
    /// What is left of the run's budget; or why no other run can be begun.
    pub left: Result<Granted, Failure>,
    /// The run's own agent and those above it.
    pub agents: Vec<String>,
    /// Whether somebody can be told of a result later.
    pub can_wake: bool,
}

/// The call's outcome before another agent works on it.
pub(crate) fn begin_subagent(
    permit: &Permit,
    asked: Result<SubagentRequest, String>,
    cx: &CallContext,
) -> Stop {
    if cx.cancel.is_cancelled() {
        return Stop::cancelled();
    }
    match asked.map_err(bad_request).and_then(|request| started(permit, request, cx)) {
        Ok(started) => Outcome::Subagent(Box::new(started)).into(),
        Err(failure) => failure.into(),
    }
}

fn started(permit: &Permit, request: SubagentRequest, cx: &CallContext) -> Result<SubagentStarted, Failure> {
    let Some(terms) = &cx.subagent else {
        return Err(Failure::new(
            FailureKind::Denied,
            "other agents can be asked only by the model of a run",
        ));
    };
    let call = SubagentStarted {
        call: cx.call.clone(),
        run: terms.run,
        agent: String::new(),
        arguments: permit.arguments.canonical.clone(),
        task: String::new(),
        background: false,
        budget: Granted::default(),
        trail: Trail::default(),
    };
    match request {
        SubagentRequest::Join { agent, run } => Ok(SubagentStarted { run, agent, ..call }),
        SubagentRequest::Begin { agent, task, background, budget_share } => {
            if terms.agents.contains(&agent) {
                let told = format!(
                    "the agent `{agent}` is already at work on this task above you, so it is not asked again; do it yourself"
                );
                let notice = Notice::subagent_in_circle(&agent);
                return Err(Failure::new(FailureKind::Repeating, told).with_notice(notice));
            }
            if background && !terms.can_wake {
                let told = "this run belongs to no conversation, so there is nobody to tell of the result later; call \
                            it again without `background`";
                let notice = Notice::subagent_not_in_background();
                return Err(Failure::new(FailureKind::Denied, told).with_notice(notice));
            }
            let budget = grant_share(terms.left.clone()?, budget_share)?;
            Ok(SubagentStarted { agent, task, background, budget, ..call })
        }
    }
}

/// The share of what is left; at least one of what is limited at all.
fn grant_share(left: Granted, share: f64) -> Result<Granted, Failure> {
    let amounts = [left.cost_nanos, left.tokens, left.calls, left.active_ms];
    if amounts.contains(&Some(0)) {
        let told = "nothing is left of the budget for another agent; answer with what you have";
        let notice = Notice::subagent_without_budget();
        return Err(Failure::new(FailureKind::Limited, told).with_notice(notice));
    }
    // In millionths: no amount is so large that it would not fit, and no float decides about money.
    let millionths = (share.clamp(0.0, 1.0) * 1e6).round();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is from 0 to a million")]
    let millionths = millionths as u128;
    let part = |amount: u64| {
        let part = u128::from(amount) * millionths / 1_000_000;
        u64::try_from(part).unwrap_or(amount).max(1)
    };
    Ok(Granted {
        cost_nanos: left.cost_nanos.map(part),
        tokens: left.tokens.map(part),
        calls: left.calls.map(part),
        active_ms: left.active_ms.map(part),
    })
}

fn bad_request(problem: String) -> Failure {
    Failure::new(FailureKind::BadArguments, problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subagent_gets_its_share_of_what_is_left_and_never_more() {
        let left = Granted { cost_nanos: Some(9), tokens: Some(1), calls: None, active_ms: Some(u64::MAX) };
        let half =
            Granted { cost_nanos: Some(4), tokens: Some(1), calls: None, active_ms: Some(u64::MAX / 2) };
        assert_eq!(grant_share(left, 0.5), Ok(half));
        assert_eq!(grant_share(left, 1.0), Ok(left));
        assert_eq!(grant_share(left, 7.0), Ok(left));
        let spent = grant_share(Granted { calls: Some(0), ..left }, 0.5);
        assert_eq!(spent.map_err(|failure| failure.kind), Err(FailureKind::Limited));
    }
}
