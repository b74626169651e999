//! Taking runs up again: after a stop, after an answer, after a failure of the journal.
//!
//! There is one way to go on with a run that has no driver, and it is the same after a crash as after a week of
//! waiting: claim it, read its log, fold it, ask the machine what is next.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use helve_store::{ApprovalFilter, Claimed, Entry, RunRecord, Scope, StoreError};
use helve_tool::Registered;
use helve_types::{Answer, Fact, RunId, RunInput, RunState, Timestamp};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;

use super::seat::Seat;
use super::{Runtime, Shared};
use crate::agents::Kit;
use crate::command::{Command, CommandError};
use crate::drive::{Driver, Parts, ending};
use crate::run::{Run, Step};

/// Runs that are taken up at the same time.
const AT_ONCE: usize = 8;
/// A run that ends the server so often in one step is left alone.
const RESUMES_MAX: u32 = 3;
/// No command line is at one call for longer than this.
const COMMAND_MS_MAX: i64 = 60 * 60 * 1_000;
const SWEEP: Duration = Duration::from_secs(30);

/// Why a run is taken up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Because {
    /// Somebody wants something of it.
    Command,
    /// It was running when its driver ended.
    Interrupted,
    /// A person wants it to go on, whatever it did before.
    Wanted,
}

impl Runtime {
    /// Takes up every run that was running when its driver ended, and returns how many there were.
    pub async fn recover(&self) -> Result<usize, StoreError> {
        let shared = &self.shared;
        let now = shared.world.now();
        let running = shared.store.running_runs().await?;
        let left_behind = running
            .iter()
            .filter(|record| !is_of_a_command(record, now))
            .filter_map(|record| shared.seats.take(record.run));
        let left_behind: Vec<_> = left_behind.collect();
        let count = left_behind.len();
        stream::iter(left_behind)
            .for_each_concurrent(AT_ONCE, |(seat, commands)| {
                let shared = shared.clone();
                async move { _ = shared.resume(seat, commands, Because::Interrupted).await }
            })
            .await;
        Ok(count)
    }

    /// Takes up a run that was left alone, or that was running and has no driver. How often it ended the server before
    /// is forgotten, and a run that is being driven stays as it is.
    pub async fn resume_run(&self, scope: Scope, run: RunId) -> Result<(), CommandError> {
        let store = &self.shared.store;
        let record = store.run(scope.clone(), run).await?;
        let waits = match record.state {
            state if state.is_final() => return Err(CommandError::Over),
            RunState::WaitingApproval | RunState::WaitingClient => true,
            _ => !store.approvals(scope.clone(), ApprovalFilter::PendingOf(run)).await?.is_empty(),
        };
        if waits {
            return Err(CommandError::Waits);
        }
        let Some((seat, commands)) = self.shared.seats.take(run) else { return Ok(()) };
        if self.shared.resume(seat, commands, Because::Wanted).await {
            return Ok(());
        }
        let over = store.run(scope, run).await?.state.is_final();
        Err(if over { CommandError::Over } else { CommandError::Busy })
    }

    /// Looks at once and then from time to time for questions that nobody answered, for clients that went silent and for runs that nobody
    /// drives.
    pub async fn keep_watch(&self) {
        loop {
            if let Err(error) = self.sweep().await {
                tracing::warn!(%error, "the watch over waiting runs failed; it goes on");
            }
            tokio::select! {
                () = tokio::time::sleep(SWEEP) => {}
                () = self.shared.leases.next_over() => {}
                () = self.shared.closing.cancelled() => return,
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
        self.sweep_clients().await?;
        self.recover().await.map(drop)
    }
}

impl Shared {
    /// Claims the run and puts a driver on it, if it can go on.
    pub(super) async fn resume(
        self: &Arc<Self>,
        seat: Seat,
        mut commands: UnboundedReceiver<Command>,
        because: Because,
    ) -> bool {
        let counts = because == Because::Interrupted;
        match self.store.claim(seat.run(), self.owner.clone(), counts).await {
            Ok(claimed) => {
                self.world.fate.at("run.claimed");
                let driver = self.driver(claimed, commands, because).await;
                let goes_on = driver.is_some();
                if let Some(driver) = driver {
                    self.run_counters.resumed();
                    self.spawn(seat, driver);
                }
                goes_on
            }
            Err(error) => {
                while let Ok(command) = commands.try_recv() {
                    if let Command::Overdue { call } = &command {
                        self.leases.end(call);
                    }
                    command.reply(Err(CommandError::Store(error.clone())));
                }
                false
            }
        }
    }

    /// A driver for the run as its log tells it, or none if it must not go on.
    async fn driver(
        self: &Arc<Self>,
        claimed: Claimed,
        mut commands: UnboundedReceiver<Command>,
        because: Because,
    ) -> Option<Driver> {
        let Claimed { epoch, record, history, events } = claimed;
        let log = events.iter().map(|recorded| (recorded.event.at, &recorded.event.fact));
        let machine = Run::replay(record.run, record.setup.clone(), log)?;
        let journal = self.journal(record.run, epoch, record.last_seq);
        if record.state.is_final() || machine.is_over() {
            while let Ok(command) = commands.try_recv() {
                self.answer_over(&machine, &journal, command).await;
            }
            return None;
        }
        let agent = self.agents.iter().find(|agent| agent.settings.name == record.setup.agent);
        let (entry, so) = match (agent, because) {
            (None, _) => (self.without_agent(&machine), Some("its agent is gone; it ends here")),
            (Some(_), Because::Interrupted) if record.resumes > RESUMES_MAX => {
                (left_alone(record.resumes), Some("it has ended the server too often; it is left alone"))
            }
            (Some(_), Because::Interrupted) => (resumed(&machine, record.resumes), None),
            (Some(_), Because::Wanted) => {
                (Entry { state: Some(RunState::Running), ..resumed(&machine, 0) }, None)
            }
            (Some(_), Because::Command) => (Entry::default(), None),
        };
        let ended = entry.state;
        if !entry.facts.is_empty()
            && let Err(error) = journal.commit(entry).await
        {
            tracing::error!(run = %record.run, %error, "the run cannot be taken up");
            return None;
        }
        if let Some(state) = ended {
            self.run_counters.ended(state);
        }
        if let Some(so) = so {
            tracing::error!(run = %record.run, agent = record.setup.agent, "the run is not taken up: {so}");
            return None;
        }
        let kit = match self.pinned_kit(&record.setup).await {
            Ok(kit) => Arc::new(kit),
            Err(error) => {
                tracing::error!(run = %record.run, %error, "the run cannot be taken up: its tools cannot be read");
                return None;
            }
        };
        let parts = Parts {
            kit,
            pipeline: agent?.pipeline.clone(),
            run: machine,
            user: record.user,
            conversation: record.conversation,
            history,
            journal,
            commands,
        };
        Some(Driver::new(self, parts))
    }

    /// The end of a run whose agent is no longer configured: another agent's rules are not its rules.
    fn without_agent(&self, machine: &Run) -> Entry {
        let setup = machine.setup();
        let message = match setup.input {
            RunInput::Call => "the command that made the call ended before the call did".into(),
            _ => format!("the agent `{}` is not configured any more", setup.agent),
        };
        ending(machine, machine.failed("unknown_agent", message), RunState::Failed, self.world.now())
    }

    /// The tools that the run was started with: a row as it was then, a tool that comes with Helve as it is now.
    async fn pinned_kit(&self, setup: &helve_types::RunSetup) -> Result<Kit, StoreError> {
        let mut tools = vec![];
        for pinned in &setup.tools {
            tools.extend(self.catalogue.pinned(&pinned.name, &pinned.version).await?);
        }
        let clients = setup.client_tools.iter().filter_map(|spec| Registered::of_client(spec.clone()).ok());
        tools.extend(clients.map(Arc::new));
        Ok(Kit::new(tools))
    }
}

/// Whether a command line may still be at it, in a process of its own.
fn is_of_a_command(record: &RunRecord, now: Timestamp) -> bool {
    record.setup.input == RunInput::Call && now.0.saturating_sub(record.created_at.0) < COMMAND_MS_MAX
}

/// What is put on record when an interrupted run is taken up: that it was, and that a message that was being
/// written is void.
fn resumed(machine: &Run, resumes: u32) -> Entry {
    let mut facts = vec![Fact::RunResumed { resume: resumes }];
    if let Step::AskModel { step, attempt, .. } = machine.next_step() {
        let because = "the server was restarted".into();
        facts.push(Fact::StepRestarted { step, attempt: attempt + 1, because });
    }
    facts.into()
}

/// A run that was taken up too often waits for a person.
fn left_alone(resumes: u32) -> Entry {
    let state = RunState::NeedsAttention;
    let facts = vec![Fact::RunResumed { resume: resumes }, Fact::RunWaiting { state }];
    Entry { state: Some(state), ..facts.into() }
}
