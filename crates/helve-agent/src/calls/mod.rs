//! Seeing to calls: several at once, each on its own, while people may still speak.

mod client;
mod early;

use std::collections::HashSet;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use helve_tool::{CallContext, Early, Fault};
use helve_types::{CallId, Fact};
use tracing::{Instrument, Span, error_span};

pub(crate) use self::client::claim;
use self::early::{BegunRead, UsableRead};
use crate::drive::DriveError;
use crate::driven::DrivenRun;
use crate::run::{Errand, Phase};

/// Names are what models and callers write: no longer than this in a log.
const NAME_CHARS_MAX: usize = 64;

/// What every line about a call names.
pub fn call_span(call: &CallId, tool: &str) -> Span {
    let tool: String = tool.chars().take(NAME_CHARS_MAX).collect();
    error_span!("call", %call, tool)
}

/// A call that was seen to, and how that went.
type SeenTo = BoxFuture<'static, (CallId, Result<(), Fault>)>;

/// The calls of a run that are being seen to.
#[derive(Default)]
pub(crate) struct Calls {
    in_flight: FuturesUnordered<SeenTo>,
    in_flight_calls: HashSet<CallId>,
    /// Calls that were begun before their message was complete, and that nothing has used yet.
    early_reads: Vec<BegunRead>,
}

impl Calls {
    pub(crate) fn is_idle(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// Whether any of these would be sent anew.
    pub(crate) fn has_new(&self, errands: &[Errand]) -> bool {
        errands.iter().any(|errand| self.is_new(errand))
    }

    fn is_new(&self, errand: &Errand) -> bool {
        errand.is_new() && !self.in_flight_calls.contains(errand.call())
    }

    /// Those for which so many calls that may still be sent are enough; none is no limit.
    pub(crate) fn affordable(
        &self,
        driven: &DrivenRun,
        errands: Vec<Errand>,
        left: Option<u64>,
    ) -> Vec<Errand> {
        // Those that are on their way and not on record yet are counted here.
        let is_unsent = |call| {
            let phase = driven.run.call(call).map(|held| &held.phase);
            matches!(phase, Some(Phase::Planned | Phase::Answered { .. }))
        };
        let on_their_way = self.in_flight_calls.iter().filter(|call| is_unsent(call)).count() as u64;
        let mut left = left.map_or(u64::MAX, |left| left.saturating_sub(on_their_way));
        let mut affordable = vec![];
        for errand in errands {
            if self.is_new(&errand) {
                if left == 0 {
                    continue;
                }
                left -= 1;
            }
            affordable.push(errand);
        }
        affordable
    }

    /// Begins whatever is not begun yet, as far as the bound on parallel calls allows.
    pub(crate) fn begin(&mut self, driven: &DrivenRun, errands: Vec<Errand>) {
        for errand in errands {
            let call = errand.call().clone();
            let full = self.in_flight.len() >= driven.shared.env.settings.parallel_calls_max;
            if full || self.in_flight_calls.contains(&call) {
                continue;
            }
            let name = driven.run.call(&call).map_or("", |held| held.call.name.as_str());
            let span = call_span(&call, name);
            let seen_to = match self.take_early_read(&call) {
                Some(read) => see_to_read(driven, errand, read),
                None => see_to(driven, errand, Early::No),
            }
            .instrument(span);
            self.in_flight_calls.insert(call);
            self.in_flight.push(Box::pin(seen_to));
        }
    }

    /// The next call that was seen to; none if none is in flight.
    pub(crate) async fn next(&mut self) -> Option<Result<(), Fault>> {
        let (call, result) = self.in_flight.next().await?;
        self.in_flight_calls.remove(&call);
        Some(result)
    }

    /// After a cancellation: every call that was begun comes to its recorded end.
    pub(crate) async fn finish_in_flight(&mut self, driven: &mut DrivenRun) -> Result<(), DriveError> {
        while let Some(result) = self.next().await {
            result?;
        }
        driven.apply_written();
        Ok(())
    }
}

/// The same for a call that was begun before its message was complete.
fn see_to_read(driven: &DrivenRun, errand: Errand, read: UsableRead) -> SeenTo {
    let seen_to = see_to(driven, errand, read.early.clone());
    let journal = driven.journal.clone();
    Box::pin(async move {
        let (id, result) = seen_to.await;
        let discarded = read.discard_if_unused(&journal).await;
        (id, result.and(discarded))
    })
}

fn see_to(driven: &DrivenRun, errand: Errand, early: Early) -> SeenTo {
    let id = errand.call().clone();
    let pipeline = driven.tools.pipeline.clone();
    match errand {
        Errand::Execute { call, attempts_before, grant, before } => {
            let cx = CallContext { early, ..driven.call_context(&id, attempts_before, grant) };
            Box::pin(async move {
                let seen_to = match before {
                    Some(before) => pipeline.resend(&call, before, &cx).await,
                    None => pipeline.execute(&call, &cx).await,
                };
                (id, seen_to.map(drop))
            })
        }
        Errand::Settle { call, outcome } => {
            let cx = driven.call_context(&id, 0, None);
            Box::pin(async move { (id, pipeline.settle(&call, outcome, &cx).await.map(drop)) })
        }
        Errand::Lose { call, sent_at, because } => {
            let cx = driven.call_context(&id, 0, None);
            Box::pin(async move { (id, pipeline.lose(&call, sent_at, because, &cx).await.map(drop)) })
        }
        Errand::AskOutcome { call, unknown } => {
            let cx = driven.call_context(&id, 0, None);
            Box::pin(async move { (id, pipeline.ask_outcome(&call, *unknown, &cx).await.map(drop)) })
        }
        Errand::AskRepeated { call, because } => {
            let cx = driven.call_context(&id, 0, None);
            Box::pin(async move { (id, pipeline.ask(&call, because, &cx).await.map(drop)) })
        }
        Errand::Repeat { call, replaces } => {
            let journal = driven.journal.clone();
            let again = Fact::ToolRequested {
                step: driven.run.call(&replaces).map_or(0, |held| held.step),
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
