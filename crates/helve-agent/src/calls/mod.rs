//! Seeing to calls: several at once, each on its own, while people may still speak.

mod client;
mod early;

use std::collections::HashSet;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use helve_tool::{CallContext, Early, Fault, SubagentTerms};
use helve_types::{CallId, Fact};
use tracing::{Instrument, Span, error_span};

pub(crate) use self::client::record_claim;
use self::early::{BegunRead, UsableRead};
use crate::drive::DriveError;
use crate::driven::DrivenRun;
use crate::run::{CallAction, CallData};

/// Names are what models and callers write: no longer than this in a log.
const NAME_CHARS_MAX: usize = 64;

/// What every line about a call names.
pub fn call_span(call: &CallId, tool: &str) -> Span {
    let tool: String = tool.chars().take(NAME_CHARS_MAX).collect();
    error_span!("call", %call, tool)
}

/// A call whose action finished, and its result.
type SeenTo = BoxFuture<'static, (CallId, Result<(), Fault>)>;

/// The calls of a run that are in flight.
#[derive(Default)]
pub(crate) struct Calls {
    in_flight: FuturesUnordered<SeenTo>,
    in_flight_calls: HashSet<CallId>,
    /// Calls that were begun before their message was complete, and that nothing has used yet.
    early_reads: Vec<BegunRead>,
    /// What the next call of a subagent may do.
    subagent_terms: Option<SubagentTerms>,
}

impl Calls {
    pub(crate) fn is_idle(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// Whether any of these would be sent anew.
    pub(crate) fn has_unsent_calls(&self, actions: &[CallAction]) -> bool {
        actions.iter().any(|action| self.is_unsent(action))
    }

    fn is_unsent(&self, action: &CallAction) -> bool {
        action.sends_new_call() && !self.in_flight_calls.contains(action.call_id())
    }

    /// Whether one of these is a task for another agent, and may begin now: one at a time, so that each gets its share of what
    /// the one before it has left.
    pub(crate) fn needs_subagent_terms(&self, driven: &DrivenRun, actions: &[CallAction]) -> bool {
        let is_subagent = |call: &CallId| is_subagent_call(driven, call);
        !self.in_flight_calls.iter().any(is_subagent)
            && actions.iter().any(|action| self.is_unsent(action) && is_subagent(action.call_id()))
    }

    pub(crate) fn set_subagent_terms(&mut self, terms: SubagentTerms) {
        self.subagent_terms = Some(terms);
    }

    /// Those for which so many calls that may still be sent are enough; none is no limit.
    pub(crate) fn limit_new_calls(
        &self,
        driven: &DrivenRun,
        actions: Vec<CallAction>,
        left: Option<u64>,
    ) -> Vec<CallAction> {
        // Those that are on their way and not on record yet are counted here.
        let is_unsent = |call| {
            let data = driven.run.find_call(call).map(|held| &held.data);
            matches!(data, Some(CallData::Requested | CallData::Answered { .. }))
        };
        let on_their_way = self.in_flight_calls.iter().filter(|call| is_unsent(call)).count() as u64;
        let mut left = left.map_or(u64::MAX, |left| left.saturating_sub(on_their_way));
        let mut affordable = vec![];
        for action in actions {
            if self.is_unsent(&action) {
                if left == 0 {
                    continue;
                }
                left -= 1;
            }
            affordable.push(action);
        }
        affordable
    }

    /// Begins whatever is not begun yet, as far as the bound on parallel calls allows.
    pub(crate) fn start_actions_within_limit(&mut self, driven: &DrivenRun, actions: Vec<CallAction>) {
        for action in actions {
            let call = action.call_id().clone();
            let full = self.in_flight.len() >= driven.shared.env.settings.parallel_calls_max;
            if full || self.in_flight_calls.contains(&call) {
                continue;
            }
            let terms = match action.sends_new_call() && is_subagent_call(driven, &call) {
                true if self.subagent_terms.is_none() => continue,
                true => self.subagent_terms.take(),
                false => None,
            };
            let name = driven.run.find_call(&call).map_or("", |held| held.call.name.as_str());
            let span = call_span(&call, name);
            let seen_to = match self.take_early_read(&call) {
                Some(read) => run_action_with_early_read(driven, action, read),
                None => run_action(driven, action, Early::No, terms),
            }
            .instrument(span);
            self.in_flight_calls.insert(call);
            self.in_flight.push(Box::pin(seen_to));
        }
    }

    /// The next finished call; none if none is in flight.
    pub(crate) async fn next_finished(&mut self) -> Option<Result<(), Fault>> {
        let (call, result) = self.in_flight.next().await?;
        self.in_flight_calls.remove(&call);
        Some(result)
    }

    /// After a cancellation: every call that was begun comes to its recorded end.
    pub(crate) async fn wait_for_calls_in_flight(
        &mut self,
        driven: &mut DrivenRun,
    ) -> Result<(), DriveError> {
        while let Some(result) = self.next_finished().await {
            result?;
        }
        driven.apply_written_facts();
        Ok(())
    }
}

/// The same for a call that was begun before its message was complete.
fn run_action_with_early_read(driven: &DrivenRun, action: CallAction, read: UsableRead) -> SeenTo {
    let seen_to = run_action(driven, action, read.early.clone(), None);
    let journal = driven.journal.clone();
    Box::pin(async move {
        let (id, result) = seen_to.await;
        let discarded = read.record_unused_read(&journal).await;
        (id, result.and(discarded))
    })
}

/// Whether the call is a task for another agent.
fn is_subagent_call(driven: &DrivenRun, call: &CallId) -> bool {
    let name = driven.run.find_call(call).map(|held| held.call.name.as_str());
    name.is_some_and(|name| driven.tools.toolbox.is_subagent(name))
}

fn run_action(
    driven: &DrivenRun,
    action: CallAction,
    early: Early,
    subagent: Option<SubagentTerms>,
) -> SeenTo {
    let id = action.call_id().clone();
    let pipeline = driven.tools.pipeline.clone();
    match action {
        CallAction::Execute { call, attempts_before, grant, before } => {
            let cx = CallContext { early, subagent, ..driven.call_context(&id, attempts_before, grant) };
            Box::pin(async move {
                let seen_to = match before {
                    Some(before) => pipeline.resend_call(&call, before, &cx).await,
                    None => pipeline.execute_call(&call, &cx).await,
                };
                (id, seen_to.map(drop))
            })
        }
        CallAction::Settle { call, outcome } => {
            let cx = driven.call_context(&id, 0, None);
            Box::pin(async move { (id, pipeline.settle_call(&call, outcome, &cx).await.map(drop)) })
        }
        CallAction::RecordUnknown { call, sent_at, because } => {
            let cx = driven.call_context(&id, 0, None);
            Box::pin(
                async move { (id, pipeline.record_unknown(&call, sent_at, because, &cx).await.map(drop)) },
            )
        }
        CallAction::AskOutcome { call, unknown } => {
            let cx = driven.call_context(&id, 0, None);
            Box::pin(async move { (id, pipeline.ask_outcome(&call, *unknown, &cx).await.map(drop)) })
        }
        CallAction::AskRepeated { call, because } => {
            let cx = driven.call_context(&id, 0, None);
            Box::pin(async move { (id, pipeline.ask_about_repetition(&call, because, &cx).await.map(drop)) })
        }
        CallAction::Repeat { call, replaces } => {
            let journal = driven.journal.clone();
            let again = Fact::ToolRequested {
                step: driven.run.find_call(&replaces).map_or(0, |held| held.step),
                call: call.id,
                provider_id: call.provider_id,
                tool: call.name,
                arguments: call.arguments,
                part: None,
                replaces: Some(replaces),
                repairs: call.repairs,
            };
            Box::pin(async move { (id, journal.record(again).await.map_err(Fault::from)) })
        }
    }
}
