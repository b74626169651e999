//! Taking runs up again: after a stop, after an answer, after a failure of the journal.
//!
//! There is one way to go on with a run that has no driver, and it is the same after a crash as after a week of
//! waiting: claim it, read its log, fold it, ask the machine what is next.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::{self, FuturesUnordered};
use helve_store::{Claimed, Entry, RunJournal, StoreError};
use helve_tool::Registered;
use helve_types::{Answer, Fact, RunId, RunState};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::{Active, Runtime, Shared};
use crate::agents::Kit;
use crate::command::{Command, CommandError};
use crate::drive::Driver;
use crate::run::{Run, Step};

/// Runs that are taken up at the same time.
const AT_ONCE: usize = 8;
/// A run that ends the server so often in one step is left alone.
const RESUMES_MAX: u32 = 3;
const SWEEP: Duration = Duration::from_secs(30);

/// Why a run is taken up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Because {
    /// Somebody wants something of it.
    Command,
    /// It was running when its driver ended.
    Interrupted,
}

impl Runtime {
    /// Takes up every run that was running when the server stopped, and returns how many there were.
    pub async fn recover(&self) -> Result<usize, StoreError> {
        let unfinished = self.shared.store.unfinished_runs().await?;
        let interrupted: Vec<RunId> = unfinished
            .iter()
            .filter(|record| record.state == RunState::Running && self.shared.is_idle(record))
            .map(|record| record.run)
            .collect();
        let count = interrupted.len();
        stream::iter(interrupted)
            .for_each_concurrent(AT_ONCE, |run| {
                let shared = self.shared.clone();
                async move {
                    let (commands, receiver) = mpsc::unbounded_channel();
                    shared.active().insert(run, Active { commands });
                    shared.resume(run, receiver, Because::Interrupted).await;
                }
            })
            .await;
        Ok(count)
    }

    /// Looks from time to time for questions that nobody answered and for runs that nobody drives.
    pub async fn keep_watch(&self) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(SWEEP) => {}
                () = self.shared.closing.cancelled() => return,
            }
            if let Err(error) = self.sweep().await {
                tracing::warn!(%error, "the watch over waiting runs failed; it goes on");
            }
        }
    }

    /// One round of the watch.
    pub async fn sweep(&self) -> Result<(), StoreError> {
        for held in self.shared.store.expired_approvals(self.shared.world.now()).await? {
            let (reply, _answer) = oneshot::channel();
            let approval = held.id();
            let by = "time".to_owned();
            self.shared.send(held.run, Command::Answer { approval, answer: Answer::Expire, by, reply });
        }
        self.recover().await.map(drop)
    }
}

impl Shared {
    pub(super) fn spawn_resumed(
        self: &Arc<Self>,
        run: RunId,
        commands: mpsc::UnboundedReceiver<Command>,
        because: Because,
    ) {
        let shared = self.clone();
        self.tasks.spawn(async move { shared.resume(run, commands, because).await });
    }

    /// Claims the run and puts a driver on it. It is already among the active ones.
    async fn resume(
        self: &Arc<Self>,
        run: RunId,
        mut commands: mpsc::UnboundedReceiver<Command>,
        because: Because,
    ) {
        let counts = because == Because::Interrupted;
        let claimed = match self.store.claim(run, self.owner.clone(), counts).await {
            Ok(claimed) => claimed,
            Err(error) => {
                self.active().remove(&run);
                while let Ok(command) = commands.try_recv() {
                    command.reply(Err(CommandError::Store(error.clone())));
                }
                return;
            }
        };
        self.world.fate.at("run.claimed");
        let Some(driver) = self.driver(claimed, commands, because).await else {
            self.active().remove(&run);
            return;
        };
        self.spawn(driver);
    }

    /// A driver for the run as its log tells it, or none if it must not go on.
    async fn driver(
        self: &Arc<Self>,
        claimed: Claimed,
        mut commands: mpsc::UnboundedReceiver<Command>,
        because: Because,
    ) -> Option<Driver> {
        let Claimed { epoch, record, history, events } = claimed;
        let log = events.iter().map(|recorded| (recorded.event.at, &recorded.event.fact));
        let machine = Run::replay(record.run, record.setup.clone(), log)?;
        if record.state.is_final() || machine.is_over() {
            while let Ok(command) = commands.try_recv() {
                command.reply(Err(CommandError::Over));
            }
            return None;
        }
        let feed = self.feeds.of(record.run);
        let publishing = feed.clone();
        let journal = RunJournal::new(
            self.store.clone(),
            self.world.clone(),
            record.run,
            epoch,
            record.last_seq,
            Arc::new(move |events| publishing.publish(events)),
        );
        if because == Because::Interrupted {
            let entry = resumed(&machine, record.resumes);
            let left_alone = entry.state.is_some();
            if let Err(error) = journal.commit(entry).await {
                tracing::error!(run = %record.run, %error, "the run cannot be taken up");
                return None;
            }
            if left_alone {
                tracing::error!(run = %record.run, "the run has ended the server too often; it is left alone");
                return None;
            }
        }
        let agent = self.agents.iter().find(|agent| agent.settings.name == record.setup.agent);
        let agent = agent.or(self.agents.first())?;
        Some(Driver {
            shared: self.clone(),
            kit: Arc::new(self.pinned_kit(&record.setup)),
            pipeline: agent.pipeline.clone(),
            model: self.models.get(&record.setup.model).cloned(),
            run: machine,
            user: record.user,
            conversation: record.conversation,
            history,
            journal,
            feed,
            commands,
            cancel: CancellationToken::new(),
            cancelled_by: None,
            in_flight: FuturesUnordered::new(),
            in_flight_calls: HashSet::new(),
        })
    }

    /// The tools that the run was started with, as far as they still exist.
    fn pinned_kit(&self, setup: &helve_types::RunSetup) -> Kit {
        let servers = setup.tools.iter().filter_map(|pinned| self.registry.get(&pinned.name));
        let clients = setup.client_tools.iter().filter_map(|spec| Registered::of_client(spec.clone()).ok());
        Kit::new(servers.chain(clients.map(Arc::new)))
    }
}

/// What is put on record when an interrupted run is taken up: that it was, and that a message that was being
/// written is void. A run that was taken up too often waits for a person.
fn resumed(machine: &Run, resumes: u32) -> Entry {
    let mut facts = vec![Fact::RunResumed { resume: resumes }];
    if resumes > RESUMES_MAX {
        facts.push(Fact::RunWaiting { state: RunState::NeedsAttention });
        return Entry { state: Some(RunState::NeedsAttention), ..facts.into() };
    }
    if let Step::AskModel { step, attempt, .. } = machine.next_step() {
        let because = "the server was restarted".into();
        facts.push(Fact::StepRestarted { step, attempt: attempt + 1, because });
    }
    facts.into()
}
