//! Seeing to calls: several at once, each on its own, while people may still speak.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use helve_tool::{CallContext, Early, Fault, Grant, Progress};
use helve_types::{CallId, Fact, PartId, Taint};

use tracing::{Instrument, Span, error_span};

use super::early::UsableRead;
use super::{DriveError, Driver};
use crate::run::{Errand, PRE_SEARCH_STEP};

/// Names are what models and callers write: no longer than this in a log.
const NAME_CHARS_MAX: usize = 64;

/// What every line about a call names.
pub fn call_span(call: &CallId, tool: &str) -> Span {
    let tool: String = tool.chars().take(NAME_CHARS_MAX).collect();
    error_span!("call", %call, tool)
}

/// A call that was seen to, and how that went.
pub(crate) type SeenTo = BoxFuture<'static, (CallId, Result<(), Fault>)>;

impl Driver {
    /// Begins whatever is not begun yet, as far as the bound on parallel calls allows.
    pub(super) fn begin(&mut self, errands: Vec<Errand>) {
        for errand in errands {
            let call = errand.call().clone();
            let full = self.in_flight.len() >= self.shared.env.settings.parallel_calls_max;
            if full || self.in_flight_calls.contains(&call) {
                continue;
            }
            let name = self.run.call(&call).map_or("", |held| held.call.name.as_str());
            let span = call_span(&call, name);
            let seen_to = match self.take_early_read(&call) {
                Some(read) => self.see_to_read(errand, read),
                None => self.see_to(errand, Early::No),
            }
            .instrument(span);
            self.in_flight_calls.insert(call);
            self.in_flight.push(Box::pin(seen_to));
        }
    }

    /// The same for a call that was begun before its message was complete.
    fn see_to_read(&self, errand: Errand, read: UsableRead) -> SeenTo {
        let seen_to = self.see_to(errand, read.early.clone());
        let journal = self.journal.clone();
        Box::pin(async move {
            let (id, result) = seen_to.await;
            let discarded = read.discard_if_unused(&journal).await;
            (id, result.and(discarded))
        })
    }

    fn see_to(&self, errand: Errand, early: Early) -> SeenTo {
        let id = errand.call().clone();
        let pipeline = self.pipeline.clone();
        match errand {
            Errand::Execute { call, attempts_before, grant, before } => {
                let cx = CallContext { early, ..self.context(&id, attempts_before, grant) };
                Box::pin(async move {
                    let seen_to = match before {
                        Some(before) => pipeline.resend(&call, before, &cx).await,
                        None => pipeline.execute(&call, &cx).await,
                    };
                    (id, seen_to.map(drop))
                })
            }
            Errand::Settle { call, outcome } => {
                let cx = self.context(&id, 0, None);
                Box::pin(async move { (id, pipeline.settle(&call, outcome, &cx).await.map(drop)) })
            }
            Errand::Lose { call, sent_at, because } => {
                let cx = self.context(&id, 0, None);
                Box::pin(async move { (id, pipeline.lose(&call, sent_at, because, &cx).await.map(drop)) })
            }
            Errand::AskOutcome { call, unknown } => {
                let cx = self.context(&id, 0, None);
                Box::pin(async move { (id, pipeline.ask_outcome(&call, *unknown, &cx).await.map(drop)) })
            }
            Errand::AskRepeated { call, because } => {
                let cx = self.context(&id, 0, None);
                Box::pin(async move { (id, pipeline.ask(&call, because, &cx).await.map(drop)) })
            }
            Errand::Repeat { call, replaces } => {
                let journal = self.journal.clone();
                let again = Fact::ToolRequested {
                    step: self.run.call(&replaces).map_or(0, |held| held.step),
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

    pub(super) fn context(&self, call: &CallId, attempts_before: u32, grant: Option<Grant>) -> CallContext {
        let (feed, part, journal) = (self.feed.clone(), PartId::from(call), self.journal.clone());
        let held = self.run.call(call);
        let tool = held.map(|held| held.call.name.clone()).unwrap_or_default();
        // The words of a person, and no model that could have been talked into it has seen them.
        let taint = match held {
            Some(held) if held.step == PRE_SEARCH_STEP => Taint::default(),
            _ => self.run.taint(),
        };
        CallContext {
            run: self.run.id(),
            conversation: self.conversation,
            message: Some(self.run.message().id),
            call: call.clone(),
            user: self.user.clone(),
            agent: self.run.setup().agent.clone(),
            request_id: self.run.setup().request_id.clone(),
            language: self.run.language(),
            attempts_before,
            grant,
            taint: Arc::new(taint),
            skip: helve_tool::SkippedGuards::default(),
            early: Early::No,
            toolbox: self.kit.toolbox.clone(),
            journal: self.journal.clone(),
            cancel: self.cancel.clone(),
            progress: Progress::new(move |piece| feed.progress(&part, &tool, piece, journal.pending_seq())),
            world: self.shared.env.world.clone(),
        }
    }

    /// Waits until a call has been seen to, or somebody speaks.
    pub(super) async fn await_something(&mut self) -> Result<(), DriveError> {
        tokio::select! {
            Some((call, result)) = self.in_flight.next() => {
                self.in_flight_calls.remove(&call);
                result?;
            }
            Some(command) = self.commands.recv() => self.obey(command).await?,
            () = self.shared.shutdown.halt.cancelled() => return Err(DriveError::Halted),
            else => {}
        }
        Ok(())
    }

    /// After a cancellation: every call that was begun comes to its recorded end.
    pub(super) async fn finish_in_flight(&mut self) -> Result<(), DriveError> {
        while let Some((call, result)) = self.in_flight.next().await {
            self.in_flight_calls.remove(&call);
            result?;
        }
        self.absorb();
        Ok(())
    }
}
