//! The runs of subagents: opened for a call, stopped with the run that made it, and their ends told to it.
//!
//! Whatever is told here may be told twice or lost in a crash: the driver that is told looks at the subagent's log, and the
//! sweep finds runs whose end is not known where it should be.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use helve_agent::{
    Command, CommandError, Follower, OpenSubagentError, SubagentHost, SubagentTask, background_notice,
    show_progress,
};
use helve_store::{IdempotencyKey, RunRecord, Scope, StoreError};
use helve_types::{MessageId, ParentCall, RunId, RunState, subagent_tool_name};
use tokio::sync::oneshot;
use tracing::Instrument;

use crate::{Runtime, Shared, StartError, StartInput, StartRequest};

/// How long the same call finds its run by its key; after that by its id.
const KEY_MS: i64 = 7 * 24 * 60 * 60 * 1_000;

/// Opens and stops the runs of subagents in this process.
pub(crate) struct Subagents {
    /// What this belongs to.
    shared: Weak<Shared>,
}

impl Subagents {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        Self { shared: Arc::downgrade(shared) }
    }

    fn runtime(&self) -> Option<Runtime> {
        Some(Runtime { shared: self.shared.upgrade()? })
    }
}

impl SubagentHost for Subagents {
    fn open_subagent(&self, task: SubagentTask) -> BoxFuture<'_, Result<(), OpenSubagentError>> {
        async move {
            let runtime = self.runtime().ok_or(OpenSubagentError::Closing)?;
            runtime.open_subagent(task).await
        }
        .boxed()
    }

    fn stop_subagent(&self, run: RunId, by: String) {
        let Some(runtime) = self.runtime() else { return };
        let (reply, _) = oneshot::channel();
        runtime.shared.send_to_driver_or_resume(run, Command::Cancel { by, reply });
    }

    fn notify_parent(&self, parent: RunId, run: RunId) -> BoxFuture<'_, ()> {
        async move {
            if let Some(runtime) = self.runtime()
                && let Err(error) = runtime.notify_parent(parent, run).await
            {
                tracing::warn!(%run, %error, "run not told about its subagent; the next sweep tells it");
            }
        }
        .boxed()
    }

    fn report_to_conversation(&self, ended: RunId) {
        let Some(runtime) = self.runtime() else { return };
        let tasks = runtime.shared.context.tasks.clone();
        let reported = async move {
            if let Err(error) = runtime.report_unheard(ended).await {
                tracing::warn!(run = %ended, %error, "end of a background run not told; the next sweep tells it");
            }
        };
        tasks.spawn(reported.in_current_span());
    }
}

impl Runtime {
    /// Opens the run of a subagent, unless the call has opened it before. It waits for its turn like any run that is on
    /// record, and the run that it works for has given its own turn back.
    async fn open_subagent(&self, task: SubagentTask) -> Result<(), OpenSubagentError> {
        if self.is_closing() {
            return Err(OpenSubagentError::Closing);
        }
        let SubagentTask { run, user, agent, task, parent, request_id } = task;
        let key = call_key(&parent, self.world().now().plus_ms(KEY_MS));
        let input = StartInput::Task { run, text: task, parent: Box::new(parent) };
        let request =
            StartRequest { agent: Some(agent), request_id, key: Some(key), ..StartRequest::new(user, input) };
        let opened = match self.plan_run(request).await {
            Ok(plan) => self.open_run(plan, None).await,
            Err(error) => Err(error),
        };
        match opened {
            Ok(_) => {
                let record = self.store().run(Scope::Everyone, run).await?;
                self.shared.show_progress_to_parent(&record);
                Ok(())
            }
            Err(StartError::Closing) => Err(OpenSubagentError::Closing),
            Err(StartError::Store(error)) => Err(error.into()),
            Err(refused) => Err(OpenSubagentError::Refused(refused.to_string())),
        }
    }

    /// Tells a run that something has happened in that of its subagent.
    async fn notify_parent(&self, parent: RunId, run: RunId) -> Result<(), StoreError> {
        let store = self.store();
        if !store.run(Scope::Everyone, parent).await?.state.is_final() {
            self.shared.send_to_driver_or_resume(parent, Command::SubagentChanged { run });
            return Ok(());
        }
        let record = store.run(Scope::Everyone, run).await?;
        if record.state.is_final() { self.report_subagent(&record).await } else { Ok(()) }
    }

    /// Tells the conversation of a run that is over what ended unheard.
    async fn report_unheard(&self, ended: RunId) -> Result<(), StoreError> {
        for record in self.store().unreported_subagents().await? {
            let is_below = record.setup.parent.as_ref().is_some_and(|parent| parent.run == ended);
            if is_below && record.state.is_final() {
                self.report_subagent(&record).await?;
            }
        }
        Ok(())
    }

    /// Looks for subagents whose runs ended, or ask something, without those knowing that they work for. All of them are
    /// looked at when the server starts, since what was told before may be lost.
    pub(crate) async fn sweep_subagents(&self) -> Result<(), StoreError> {
        let is_first = !self.shared.recovery.subagents_begun.swap(true, Ordering::Relaxed);
        for record in self.store().unreported_subagents().await? {
            let Some(parent) = &record.setup.parent else { continue };
            match self.store().run(Scope::Everyone, parent.run).await {
                Ok(above) if !above.state.is_final() => {
                    // One that is at work, or will be resumed, looks by itself.
                    if (is_first || record.state.is_final()) && above.state != RunState::Running {
                        let changed = Command::SubagentChanged { run: record.run };
                        self.shared.send_to_driver_or_resume(parent.run, changed);
                    }
                }
                Ok(_) if record.state.is_final() => self.report_subagent(&record).await?,
                Ok(above) if above.state == RunState::Completed && parent.background => {}
                Ok(_) | Err(StoreError::NotFound(_)) => self.stop_left_behind(record.run).await,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Stops a run whose task is gone.
    async fn stop_left_behind(&self, run: RunId) {
        let by = "the end of the run that it worked for".to_owned();
        match self.cancel_run(Scope::Everyone, run, by).await {
            Ok(_) | Err(CommandError::Over) => {}
            Err(error) => tracing::warn!(%run, %error, "subagent not stopped; the next sweep stops it"),
        }
    }

    /// Tells the conversation that work in the background has ended, if there is one to tell.
    async fn report_subagent(&self, record: &RunRecord) -> Result<(), StoreError> {
        let Some(parent) = record.setup.parent.as_deref() else { return Ok(()) };
        let told = match self.store().run(Scope::Everyone, parent.run).await {
            Ok(above) if parent.background && above.state == RunState::Completed => {
                self.wake_conversation(record, &above).await?
            }
            Ok(_) | Err(StoreError::NotFound(_)) => true,
            Err(error) => return Err(error),
        };
        match told {
            true => self.store().mark_subagent_reported(record.run).await,
            false => Ok(()),
        }
    }

    /// Begins the next turn of a conversation with a word that work in the background has ended, or says it to the run that
    /// is at work there. Returns whether that is done, or cannot be.
    async fn wake_conversation(&self, record: &RunRecord, above: &RunRecord) -> Result<bool, StoreError> {
        let Some(conversation) = above.conversation else { return Ok(true) };
        let agent = &record.setup.agent;
        let text = background_notice(agent, &subagent_tool_name(agent), record.run);
        let setup = &above.setup;
        let key = record.run.to_string();
        let input = StartInput::Message { conversation: Some(conversation), text: text.clone() };
        let request = StartRequest {
            agent: Some(setup.agent.clone()),
            model: setup.model_is_chosen.then(|| setup.model.clone()),
            variant: setup.variant.clone().filter(|_| setup.model_is_chosen),
            mode: setup.mode.clone(),
            woken: setup.woken.saturating_add(1),
            key: Some(IdempotencyKey {
                route: "subagent ended".into(),
                fingerprint: key.clone(),
                key,
                expires_at: self.world().now().plus_ms(KEY_MS),
            }),
            ..StartRequest::new(record.user.clone(), input)
        };
        let run = record.run;
        match self.start_run(request).await {
            Ok(_) => Ok(true),
            Err(StartError::Store(StoreError::Busy(active))) => {
                let message = Some(MessageId(run.0));
                let scope = Scope::User(record.user.clone());
                match self.send_message(scope, active, message, text, agent.clone()).await {
                    Ok(_) => Ok(true),
                    Err(error) => {
                        tracing::info!(%run, %error, "end of a background run not told yet");
                        Ok(false)
                    }
                }
            }
            Err(StartError::Store(StoreError::NotFound(_))) => Ok(true),
            Err(error) if may_pass(&error) => {
                tracing::info!(%run, %error, "end of a background run not told yet");
                Ok(false)
            }
            Err(error) => {
                tracing::warn!(%run, %error, "end of a background run cannot be told");
                Ok(true)
            }
        }
    }
}

impl Shared {
    /// Shows what the run of a subagent writes with the call that waits for it.
    pub(crate) fn show_progress_to_parent(&self, record: &RunRecord) {
        let Some(parent) = record.setup.parent.as_deref().filter(|parent| !parent.background) else { return };
        let env = self.env();
        let follower =
            Follower::new(env.store.clone(), env.feed_of_run(record.run), record.run, record.last_seq);
        let tool = subagent_tool_name(&record.setup.agent);
        tokio::spawn(show_progress(follower, env.feed_of_run(parent.run), parent.call.clone(), tool));
    }
}

/// Whether what keeps a run from being started may be gone later.
fn may_pass(error: &StartError) -> bool {
    matches!(
        error,
        StartError::ShareTaken { .. }
            | StartError::Full { .. }
            | StartError::StorageFull
            | StartError::TooManyWaiting { .. }
            | StartError::UserStorageFull { .. }
            | StartError::BudgetSpent { .. }
            | StartError::Closing
            | StartError::Store(_)
    )
}

/// The same call finds the run that it has opened before.
fn call_key(parent: &ParentCall, expires_at: helve_types::Timestamp) -> IdempotencyKey {
    let key = parent.call.to_string();
    IdempotencyKey { route: "subagent".into(), fingerprint: key.clone(), key, expires_at }
}
