//! Calls that were ordered before: what came of one that is ordered again, and the end of one that was cut off.

use std::sync::Arc;

use futures_util::StreamExt;
use helve_agent::{Command, Errand, Follower, Frame, Run, Step, ending};
use helve_store::{Claimed, RunJournal, RunRecord, StoreError};
use helve_tool::{Fault, Outcome, Unknown};
use helve_types::{CallId, Fact, RunId, RunState, Trail};
use tokio::sync::mpsc::UnboundedReceiver;

use super::{Called, Open, leave};
use crate::order::Order;
use crate::slots::DriverSlot;
use crate::{Shared, StartError};

impl Shared {
    /// What came of a call that was made before, once it is over.
    pub(super) async fn called_before(&self, run: RunId) -> Result<Called, StartError> {
        let mut follower = Follower::new(self.env().store.clone(), self.env().feed(run), run, 0);
        let mut came = None;
        while let Some(frame) = follower.next().await {
            let Frame::Event(recorded) = frame? else { continue };
            came = came_of(&recorded.event.fact).or(came);
        }
        let Some((call, outcome, trail)) = came else {
            return Err(if self.context.shutdown.closing.is_cancelled() {
                StartError::Closing
            } else {
                StoreError::Unavailable(format!("the call of run {run} has no outcome on record")).into()
            });
        };
        Ok(Called { run, call, outcome, trail, replayed: true })
    }

    /// Ends a call whose caller went with the process that made it. What was in flight is looked for, and nothing is
    /// sent: nobody waits for it any more.
    pub(crate) async fn end_call(
        self: Arc<Self>,
        slot: DriverSlot,
        claimed: Claimed,
        mut commands: UnboundedReceiver<Command>,
        looks: bool,
    ) {
        let Claimed { epoch, record, events, .. } = claimed;
        let log = events.iter().map(|recorded| (recorded.event.at, &recorded.event.fact));
        let journal = self.env().journal(record.run, epoch, record.last_seq);
        if let Some(machine) = Run::replay(record.run, record.setup.clone(), log)
            && !machine.is_over()
            && let Err(error) = self.cut_off(&record, machine, &journal, looks).await
        {
            tracing::error!(run = %record.run, %error, "a call that was cut off cannot be ended");
            return;
        }
        leave(&slot, &mut commands);
    }

    async fn cut_off(
        &self,
        record: &RunRecord,
        mut machine: Run,
        journal: &RunJournal,
        looks: bool,
    ) -> Result<(), StoreError> {
        if looks && let Step::CallTools(errands) = machine.next_step() {
            for errand in errands {
                let Errand::Lose { call, sent_at, because } = errand else { continue };
                let cut = Open {
                    run: record.run,
                    reply: machine.message().id,
                    user: record.user.clone(),
                    order: Order::of(&record.setup),
                    request_id: record.setup.request_id.clone(),
                    journal: journal.clone(),
                    call,
                };
                let (pipeline, cx) = cut.terms(self, self.context.shutdown.halt.child_token());
                let lost = pipeline.lose(&cut.call, sent_at, because, &cx).await;
                lost.map_err(|Fault::Journal(error)| error)?;
            }
            for recorded in journal.take_written() {
                machine.apply(recorded.event.at, &recorded.event.fact);
            }
        }
        let message = "the process that made the call ended before the call did".into();
        let facts = machine.failed("cut_off", message);
        journal.commit(ending(&machine, facts, RunState::Failed, journal.now())).await
    }
}

/// What a fact says has come of a call.
pub(super) fn came_of(fact: &Fact) -> Option<(CallId, Outcome, Trail)> {
    let (call, outcome, trail) = match fact {
        Fact::ToolFinished { call, output, trail } => (call, Outcome::Finished(output.clone()), trail),
        Fact::ToolFailed { call, failure, trail } => (call, Outcome::Failed(failure.clone()), trail),
        Fact::ToolRefused { call, failure, trail } => (call, Outcome::Refused(failure.clone()), trail),
        Fact::ToolUnknown { call, sent_at, because, request, checked, then, trail, .. } => {
            let unknown = Unknown {
                sent_at: *sent_at,
                because: because.clone(),
                request: request.clone(),
                checked: checked.clone(),
                then: *then,
            };
            (call, Outcome::Unknown(unknown), trail)
        }
        _ => return None,
    };
    Some((call.clone(), outcome, trail.clone()))
}
