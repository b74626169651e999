//! The runs of this process: starts them, passes on what people say, takes them up again after a stop.

mod admit;
mod answer;
mod budget;
mod call;
pub(crate) mod client;
pub(crate) mod leases;
mod order;
mod probe;
mod recover;
mod seat;
mod start;
mod trials;

use std::sync::Arc;
use std::time::Duration;

use helve_dialect::Profile;
use helve_guard::{Admission, AdmissionSettings, AdmissionStatus};
use helve_model::fleet::Models;
use helve_store::{Disk, Recorded, RunJournal, Scope, Store, StoreError};
use helve_tool::{Catalogue, Hooks, Registry, Rule};
use helve_types::{ApprovalId, Fact, MessageId, RunId, RunInput, RunState, Seal, World};
use tokio::sync::{OnceCell, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{Instrument, error_span};

pub use self::budget::BudgetReport;
pub(crate) use self::call::call_span;
pub use self::call::{CallOptions, Called};
pub use self::client::{ClientClaim, Delivered};
use self::leases::Leases;
pub use self::order::Order;
pub use self::probe::ProbeError;
use self::recover::Recovery;
use self::seat::{Seat, Seats};
pub use self::start::{StartError, StartInput, StartRequest, Started};
pub(crate) use self::trials::Trial;
use crate::agents::{Agent, AgentSettings};
use crate::budget::Budgets;
use crate::command::{Command, CommandError};
use crate::compact::CompactionSettings;
use crate::drive::Rests;
use crate::drive::{DriveError, Driver, Left};
use crate::feed::{Feed, Feeds};
use crate::follow::Follower;
use crate::metrics::{BudgetCounters, BudgetMetrics, RunCounters, RunMetrics};
use crate::run::{CALLS_PER_STEP_MAX, SAID_BYTES_MAX};

/// How a runtime works.
#[derive(Clone)]
pub struct RuntimeSettings {
    pub agents: Vec<AgentSettings>,
    /// The operator's rules, which hold for every agent.
    pub rules: Vec<Rule>,
    /// What the operator wants asked around calls and questions.
    pub hooks: Arc<Hooks>,
    /// The operator's own prompt profiles.
    pub profiles: Vec<Arc<Profile>>,
    /// How tools are described to models that cannot call them natively.
    pub default_profile: String,
    /// What is done about conversations that become too long for their model.
    pub compaction: CompactionSettings,
    /// How much one user may keep before the next run is refused.
    pub share: ShareSettings,
    /// How many runs are at work at a time, in all and of each user, and how many more may wait to begin.
    pub runs: AdmissionSettings,
    /// Whether there is room for more.
    pub disk: Arc<Disk>,
    /// Calls of one run that are under way at a time; the others wait.
    pub parallel_calls_max: usize,
    /// More calls of one message than this are refused.
    pub calls_per_message_max: u32,
    /// How long a step may take to get its answer, with all that is tried for it.
    pub step_time_max: Duration,
    /// What runs may use up.
    pub budgets: Budgets,
    /// Who wants to know of questions to people.
    pub on_asked: Option<OnAsked>,
    /// Whether command lines are at work beside this process, so that a call of theirs is not taken for one that was
    /// left behind.
    pub commands_at_work: Arc<dyn Fn() -> bool + Send + Sync>,
    /// The server before this one was stopped and did not crash, so no run that was at work may be why.
    pub stopped_cleanly: bool,
}

/// Called with every question that is on record, from wherever it was put there: it must not wait.
pub type OnAsked = Arc<dyn Fn(ApprovalId) + Send + Sync>;

/// What one user may keep. A run is refused before it begins and never afterwards, so runs that are at work may go over it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShareSettings {
    /// Runs that wait for a person or a client.
    pub waiting_runs_max: u64,
    /// Bytes of conversations, logs, outputs and files.
    pub bytes_max: u64,
}

impl Default for ShareSettings {
    fn default() -> Self {
        Self { waiting_runs_max: 500, bytes_max: 8 << 30 }
    }
}

impl Default for RuntimeSettings {
    fn default() -> Self {
        Self {
            agents: vec![AgentSettings::default()],
            rules: vec![],
            hooks: Arc::default(),
            profiles: vec![],
            default_profile: "json_strict".into(),
            compaction: CompactionSettings::default(),
            share: ShareSettings::default(),
            runs: AdmissionSettings { all: 200, each: 20, queue_max: 1_000, wait: Duration::from_secs(10) },
            disk: Arc::default(),
            parallel_calls_max: 4,
            calls_per_message_max: CALLS_PER_STEP_MAX,
            step_time_max: Duration::from_secs(600),
            budgets: Budgets::default(),
            on_asked: None,
            commands_at_work: Arc::new(|| false),
            stopped_cleanly: false,
        }
    }
}

/// The runs of this process. Clones share them.
#[derive(Clone)]
pub struct Runtime {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) world: World,
    pub(crate) models: Models,
    pub(crate) agents: Vec<Agent>,
    pub(crate) catalogue: Arc<Catalogue>,
    pub(crate) settings: RuntimeSettings,
    pub(crate) run_counters: RunCounters,
    pub(crate) budget_counters: BudgetCounters,
    feeds: Feeds,
    seats: Arc<Seats>,
    /// Whose turn it is to be at work.
    pub(crate) turns: Admission,
    recovery: Recovery,
    pub(crate) rests: Rests,
    pub(crate) leases: Leases,
    /// Made when it is first needed.
    seal: OnceCell<Seal>,
    tasks: TaskTracker,
    /// No new runs are taken.
    pub(crate) closing: CancellationToken,
    /// Everything stops where it is; the log says where to go on.
    pub(crate) halt: CancellationToken,
    /// Who we are, in the claims on runs.
    owner: String,
}

impl Runtime {
    /// A runtime whose tools are those that are registered, and no others.
    pub fn new(
        store: Arc<dyn Store>,
        world: World,
        models: Models,
        registry: Arc<Registry>,
        settings: RuntimeSettings,
    ) -> Self {
        Self::over(Arc::new(Catalogue::fixed(registry, store, world)), models, settings)
    }

    /// A runtime over a catalogue of tools, with its store and in its world.
    pub fn over(catalogue: Arc<Catalogue>, models: Models, settings: RuntimeSettings) -> Self {
        let (registry, hooks) = (catalogue.registry(), &settings.hooks);
        let agent = |agent: &AgentSettings| Agent::new(agent.clone(), &settings.rules, registry, hooks);
        let mut agents: Vec<Agent> = settings.agents.iter().map(agent).collect();
        // Who is asked without a name is the first.
        agents.sort_by_key(|agent| agent.settings.name != "default");
        let shared = Shared {
            store: catalogue.store().clone(),
            owner: format!("process {}", std::process::id()),
            world: catalogue.world().clone(),
            models,
            agents,
            catalogue,
            turns: Admission::new(settings.runs),
            recovery: Recovery::default(),
            rests: Rests::default(),
            settings,
            run_counters: RunCounters::default(),
            budget_counters: BudgetCounters::default(),
            feeds: Feeds::default(),
            seats: Arc::default(),
            leases: Leases::default(),
            seal: OnceCell::new(),
            tasks: TaskTracker::new(),
            closing: CancellationToken::new(),
            halt: CancellationToken::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    pub fn store(&self) -> &Arc<dyn Store> {
        &self.shared.store
    }

    pub fn world(&self) -> &World {
        &self.shared.world
    }

    pub fn models(&self) -> &Models {
        &self.shared.models
    }

    pub fn catalogue(&self) -> &Arc<Catalogue> {
        &self.shared.catalogue
    }

    pub fn registry(&self) -> &Arc<Registry> {
        self.shared.catalogue.registry()
    }

    pub fn agents(&self) -> impl Iterator<Item = &AgentSettings> {
        self.shared.agents.iter().map(|agent| &agent.settings)
    }

    /// The prompt profile that is meant where none is named.
    pub fn default_profile(&self) -> &str {
        &self.shared.settings.default_profile
    }

    /// How many runs are at work; those that wait for somebody are not.
    pub fn active_runs(&self) -> usize {
        self.admission().inside
    }

    /// How many runs have a driver: those that are at work, and those that wait for their turn.
    pub fn driven_runs(&self) -> usize {
        self.shared.seats.count()
    }

    /// How many runs are at work, and how many wait for their turn.
    pub fn admission(&self) -> AdmissionStatus {
        self.shared.turns.status()
    }

    /// What is known of the room on the disk.
    pub fn disk(&self) -> &Disk {
        &self.shared.settings.disk
    }

    /// What became of the runs of this process.
    pub fn run_metrics(&self) -> RunMetrics {
        self.shared.run_counters.read()
    }

    /// How often budgets have had a say.
    pub fn budget_metrics(&self) -> BudgetMetrics {
        self.shared.budget_counters.read()
    }

    pub fn is_closing(&self) -> bool {
        self.shared.closing.is_cancelled()
    }

    /// Everything the run says after event `after`, to its end.
    pub fn follow(&self, run: RunId, after: u64) -> Follower {
        let feed = self.shared.feeds.of(run);
        Follower::new(self.shared.store.clone(), feed, run, after)
    }

    /// Says something to the model of a run, which hears it at its next step, and returns the message's id once it is
    /// kept. The same id with the same text is one message.
    pub async fn say(
        &self,
        scope: Scope,
        run: RunId,
        message: Option<MessageId>,
        text: String,
        by: String,
    ) -> Result<MessageId, CommandError> {
        if text.trim().is_empty() {
            return Err(CommandError::Empty);
        }
        if text.len() > SAID_BYTES_MAX {
            return Err(CommandError::TooLong(text.len()));
        }
        let record = self.shared.store.run(scope, run).await?;
        if record.setup.input == RunInput::Call {
            return Err(CommandError::NobodyListens);
        }
        let message = message.unwrap_or_else(|| self.shared.world.message_id());
        self.command(run, |reply| Command::Say { message, text, by, reply }).await?;
        Ok(message)
    }

    /// Stops a run, and says in which state that found it; a run that is over stays as it is.
    pub async fn cancel(&self, scope: Scope, run: RunId, by: String) -> Result<RunState, CommandError> {
        let state = self.shared.store.run(scope.clone(), run).await?.state;
        if state.is_final() {
            return Ok(state);
        }
        match self.command(run, |reply| Command::Cancel { by, reply }).await {
            // It came to its end in the same moment.
            Err(CommandError::Over) => Ok(self.shared.store.run(scope, run).await?.state),
            done => done.map(|()| state),
        }
    }

    /// Passes a command to the run's driver; a run without one gets one.
    async fn command<T>(
        &self,
        run: RunId,
        command: impl FnOnce(oneshot::Sender<Result<T, CommandError>>) -> Command,
    ) -> Result<T, CommandError> {
        let (reply, answer) = oneshot::channel();
        self.shared.send(run, command(reply));
        answer.await.unwrap_or(Err(CommandError::Busy))
    }

    /// Stops taking runs, gives the active ones until `deadline`, and leaves the rest to the next start. Readers are
    /// told last, when they have all that is on record.
    pub async fn shut_down(&self, deadline: Duration) {
        self.shared.closing.cancel();
        self.shared.tasks.close();
        if tokio::time::timeout(deadline, self.shared.tasks.wait()).await.is_err() {
            tracing::info!(runs = self.driven_runs(), "runs are left where they are, to be taken up again");
            self.shared.halt.cancel();
            self.shared.tasks.wait().await;
        }
        self.shared.feeds.drain();
    }
}

impl Shared {
    /// To the driver if there is one; otherwise one is made for it, unless the server goes down.
    fn send(self: &Arc<Self>, run: RunId, command: Command) {
        if let Some((seat, mut commands)) = self.seats.send(run, command) {
            if self.closing.is_cancelled() {
                while let Ok(command) = commands.try_recv() {
                    command.reply(Err(CommandError::Busy));
                }
                return;
            }
            let shared = self.clone();
            let resumed = async move {
                _ = shared.resume(seat, commands, recover::Leave::default(), recover::Because::Command).await
            };
            // The lines of its log name the request that set it going again.
            self.tasks.spawn(resumed.in_current_span());
        }
    }

    /// The journal of a run, whose events readers see when they are durable.
    fn journal(&self, run: RunId, epoch: u64, last_seq: u64) -> RunJournal {
        let feed = self.feeds.of(run);
        let on_asked = self.settings.on_asked.clone();
        let publish = Arc::new(move |events: &[Arc<Recorded>]| {
            feed.publish(events);
            let Some(on_asked) = &on_asked else { return };
            for recorded in events {
                if let Fact::ApprovalAsked(question) = &recorded.event.fact {
                    on_asked(question.approval);
                }
            }
        });
        RunJournal::new(self.store.clone(), self.world.clone(), run, epoch, last_seq, publish)
    }

    pub(crate) fn feed(&self, run: RunId) -> Arc<Feed> {
        self.feeds.of(run)
    }

    /// Lets the driver work on its own task until it leaves the run. What it logs is under the request that called
    /// for it, which it outlives.
    fn spawn(self: &Arc<Self>, seat: Seat, mut driver: Driver) {
        let run = seat.run();
        let driving = async move {
            loop {
                match driver.drive().await {
                    Ok(Left::Waiting) if seat.leave(&driver.commands) => break,
                    // Somebody spoke in the last moment.
                    Ok(Left::Waiting) => {}
                    Ok(Left::Over) => {
                        // Nobody who spoke in the last moment is left without an answer.
                        while !seat.leave(&driver.commands) {
                            driver.answer_late().await;
                        }
                        break;
                    }
                    Err(DriveError::Halted) => break,
                    Err(DriveError::Store(StoreError::Fenced(_))) => {
                        tracing::warn!(%run, "another process has taken the run over");
                        break;
                    }
                    Err(DriveError::Store(error)) => {
                        tracing::error!(%run, %error, "the run stops where its log ends");
                        break;
                    }
                }
            }
        };
        self.tasks.spawn(driving.instrument(error_span!("run", %run)));
    }
}
