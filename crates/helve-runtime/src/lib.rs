//! The runs of one process: starts them, passes on what people say, takes them up again after a stop.
//!
//! `start` opens a run, `admit` lets it begin, `slots` gives it one driver at a time, `recover` takes it up again. What a
//! driver does is in `helve-agent`; this crate knows which runs have one.

mod admit;
mod agents;
mod answer;
mod budget;
mod call;
mod client;
mod origin;
mod probe;
mod recover;
mod resume_locks;
mod slots;
mod start;
mod subagents;

use std::sync::Arc;
use std::time::Duration;

pub use helve_agent::{
    ALL_SKILLS, Account, AdmissionSettings, AgentCatalogue, AgentChange, AgentDraftRow, AgentError,
    AgentImport, AgentImportError, AgentRow, AgentSettings, BudgetCounters, BudgetMetrics, BudgetOwner,
    Budgets, ChooseError, ClientClaim, ClientResult, CommandError, CompactionSettings, ComparedSkill,
    ComparedVersion, Follower, Frame, Limits, ListedAgent, ListedSkill, Model, ModelCounters, ModelMetrics,
    ModelOptions, Models, OnAsked, Origin, PerMillion, Price, PriceSource, ProbeError, Reader, Run,
    RunCounters, RunMetrics, RuntimeSettings, ShareSettings, SkillCatalogue, SkillCatalogueError,
    SkillFolder, SkillRow, SkillVersionPair, Step, SubagentLimits, Tools, VersionPair, agent_differences,
    check_budget, read_agent, transcript,
};
use helve_agent::{Command, DriveError, DriveOutcome, Driver, DriverContext, Environment, SAID_BYTES_MAX};
pub use helve_guard::AdmissionStatus;
pub use helve_rows::{BatchOutcome, OfferOutcome};
use helve_store::{Disk, PeopleDirectory, Scope, Store, StoreError};
use helve_tool::{Catalogue, Registry};
use helve_types::{CallId, MessageId, ModelProfile, RunId, RunInput, RunState, ToolSpec, UserId, World};
use tokio::sync::oneshot;
use tracing::{Instrument, error_span};

pub use self::answer::ApproverStanding;
pub use self::budget::BudgetReport;
pub use self::call::{CallOptions, ToolCallOutcome};
use self::client::is_valid_client_name;
pub use self::origin::CallOrigin;
use self::recover::Recovery;
use self::slots::{DriverSlot, DriverSlots};
pub use self::start::{StartError, StartInput, StartRequest, StartedRun};
use self::subagents::Subagents;

/// The runs of this process. Clones share them.
#[derive(Clone)]
pub struct Runtime {
    shared: Arc<Shared>,
}

struct Shared {
    context: Arc<DriverContext>,
    slots: Arc<DriverSlots>,
    recovery: Recovery,
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
        Self::with_catalogue(Arc::new(Catalogue::without_rows(registry, store, world)), models, settings)
    }

    /// A runtime over a catalogue of tools, with its store and in its world.
    pub fn with_catalogue(catalogue: Arc<Catalogue>, models: Models, settings: RuntimeSettings) -> Self {
        let env = Environment::new(catalogue, settings);
        let shared = Shared {
            context: Arc::new(DriverContext::new(env, models)),
            slots: Arc::default(),
            recovery: Recovery::default(),
            owner: format!("process {}", std::process::id()),
        };
        let shared = Arc::new(shared);
        shared.env().set_subagent_host(Arc::new(Subagents::new(&shared)));
        Self { shared }
    }

    pub fn store(&self) -> &Arc<dyn Store> {
        &self.shared.env().store
    }

    pub fn world(&self) -> &World {
        &self.shared.env().world
    }

    pub fn models(&self) -> &Models {
        &self.shared.context.models
    }

    pub fn catalogue(&self) -> &Arc<Catalogue> {
        &self.shared.env().catalogue
    }

    pub fn registry(&self) -> &Arc<Registry> {
        self.shared.env().catalogue.registry()
    }

    /// The agents of the configuration, and those that are rows.
    pub fn agents(&self) -> &AgentCatalogue {
        &self.shared.env().agents
    }

    /// The users and groups, by which it is decided what somebody may use.
    pub fn people(&self) -> &PeopleDirectory {
        &self.shared.env().people
    }

    /// The skills that agents can have.
    pub fn skills(&self) -> &SkillCatalogue {
        &self.shared.env().skills
    }

    /// The prompt profile that is meant where none is named.
    pub fn default_profile(&self) -> &str {
        &self.shared.env().settings.default_profile
    }

    /// How many runs are at work; those that wait for a person or a client are not.
    pub fn active_runs(&self) -> usize {
        self.admission().inside
    }

    /// How many runs have a driver: those that are at work, and those that wait for their turn.
    pub fn driven_runs(&self) -> usize {
        self.shared.slots.count()
    }

    /// How many runs are at work, and how many wait for their turn.
    pub fn admission(&self) -> AdmissionStatus {
        self.shared.context.admission.status()
    }

    /// What is known of the room on the disk.
    pub fn disk(&self) -> &Disk {
        &self.shared.env().settings.disk
    }

    /// What became of the runs of this process.
    pub fn run_metrics(&self) -> RunMetrics {
        self.shared.env().run_counters.snapshot()
    }

    /// How often budgets have had a say.
    pub fn budget_metrics(&self) -> BudgetMetrics {
        self.shared.env().budget_counters.snapshot()
    }

    pub fn is_closing(&self) -> bool {
        self.shared.context.shutdown.closing.is_cancelled()
    }

    /// Everything the run says after event `after`, to its end.
    pub fn follow_run(&self, run: RunId, after: u64) -> Follower {
        let feed = self.shared.env().feeds.feed_of_run(run);
        Follower::new(self.shared.env().store.clone(), feed, run, after)
    }

    /// Sends a message to the model of a run, which reads it at its next step, and returns the message's id once it is
    /// kept. The same id with the same text is one message.
    pub async fn send_message(
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
        let record = self.shared.env().store.run(scope, run).await?;
        if record.setup.input == RunInput::Call {
            return Err(CommandError::NobodyListens);
        }
        let message = message.unwrap_or_else(|| self.shared.env().world.message_id());
        self.send_command(run, |reply| Command::Say { message, text, by, reply }).await?;
        Ok(message)
    }

    /// Stops a run, and says in which state that found it; a run that is over stays as it is.
    pub async fn cancel_run(&self, scope: Scope, run: RunId, by: String) -> Result<RunState, CommandError> {
        let state = self.shared.env().store.run(scope.clone(), run).await?.state;
        if state.is_final() {
            return Ok(state);
        }
        match self.send_command(run, |reply| Command::Cancel { by, reply }).await {
            // It came to its end in the same moment.
            Err(CommandError::Over) => Ok(self.shared.env().store.run(scope, run).await?.state),
            done => done.map(|()| state),
        }
    }

    /// Gives a call to a client. The same client gets the same again, which tells that it is still at it.
    pub async fn claim_call(
        &self,
        scope: Scope,
        run: RunId,
        call: CallId,
        client: String,
        by: UserId,
    ) -> Result<ClientClaim, CommandError> {
        if !is_valid_client_name(&client) {
            return Err(CommandError::BadClient);
        }
        if let Some(given) = self.shared.context.leases.renew_lease(&call, &client, &by.0) {
            return Ok(given);
        }
        self.shared.env().store.run(scope, run).await?;
        self.send_command(run, |reply| Command::Claim { call, client, by, reply }).await
    }

    /// Brings the client's result of a call that it has claimed.
    pub async fn deliver_client_result(
        &self,
        scope: Scope,
        run: RunId,
        delivered: ClientResult,
    ) -> Result<(), CommandError> {
        self.shared.env().store.run(scope, run).await?;
        self.send_command(run, |reply| Command::Deliver { delivered: Box::new(delivered), reply }).await
    }

    /// Asks a model what it can do, keeps the answer, and goes by it from now on.
    pub async fn probe_model(
        &self,
        model: &str,
        progress: &mut (dyn FnMut(&str) + Send),
    ) -> Result<ModelProfile, ProbeError> {
        self.shared.context.probe_model(model, progress).await
    }

    /// Reads what is known of the models from earlier, and from other processes.
    pub async fn load_model_profiles(&self) -> Result<(), StoreError> {
        probe::load_model_profiles(&self.shared).await
    }

    /// Loads from the latest runs which model each user chose last, which becomes their default. A model that came from
    /// an agent does not count as chosen.
    pub async fn load_user_model_choices(&self) -> Result<(), StoreError> {
        probe::load_user_model_choices(&self.shared).await
    }

    /// How a user's budgets stand, and those that all share.
    pub async fn budgets_of_user(&self, user: &UserId) -> Result<BudgetReport, StoreError> {
        budget::load_budget_report(&self.shared, user).await
    }

    /// Whether a user without all rights can order this tool: some agent offers it to them.
    pub fn has_agent_with_tool(&self, user: &UserId, spec: &ToolSpec) -> bool {
        self.shared.env().agents.enabled_agents().iter().any(|agent| agent.may_use(spec, user))
    }

    /// Passes a command to the run's driver; a run without one gets one.
    async fn send_command<T>(
        &self,
        run: RunId,
        command: impl FnOnce(oneshot::Sender<Result<T, CommandError>>) -> Command,
    ) -> Result<T, CommandError> {
        let (reply, answer) = oneshot::channel();
        self.shared.send_to_driver_or_resume(run, command(reply));
        answer.await.unwrap_or(Err(CommandError::Busy))
    }

    /// Stops taking runs, gives the active ones until `deadline`, and leaves the rest to the next start. Readers are
    /// told last, when they have all that is on record.
    pub async fn shut_down(&self, deadline: Duration) {
        self.shared.context.shutdown.closing.cancel();
        self.shared.context.tasks.close();
        if tokio::time::timeout(deadline, self.shared.context.tasks.wait()).await.is_err() {
            tracing::info!(runs = self.driven_runs(), "runs left for recovery");
            self.shared.context.shutdown.halt.cancel();
            self.shared.context.tasks.wait().await;
        }
        self.shared.env().feeds.announce_drain();
    }
}

impl Shared {
    fn env(&self) -> &Environment {
        &self.context.env
    }

    /// To the driver if there is one; otherwise one is made for it, unless the server goes down.
    fn send_to_driver_or_resume(self: &Arc<Self>, run: RunId, command: Command) {
        if let Some((slot, mut commands)) = self.slots.send_or_take_slot(run, command) {
            if self.context.shutdown.closing.is_cancelled() {
                while let Ok(command) = commands.try_recv() {
                    command.send_reply(Err(CommandError::Busy));
                }
                return;
            }
            let shared = self.clone();
            let resumed = async move {
                _ = shared
                    .claim_and_drive(
                        slot,
                        commands,
                        recover::ResumePermits::default(),
                        recover::ResumeReason::Command,
                    )
                    .await
            };
            // The lines of its log name the request that set it going again.
            self.context.tasks.spawn(resumed.in_current_span());
        }
    }

    /// Lets the driver work on its own task until it leaves the run. What it logs is under the request that called
    /// for it, which it outlives.
    fn spawn_driver(self: &Arc<Self>, slot: DriverSlot, mut driver: Driver) {
        let run = slot.run_id();
        let driving = async move {
            match Self::drive_run(slot, &mut driver).await {
                Ok(_) | Err(DriveError::Halted) => {}
                Err(DriveError::Store(StoreError::Fenced(_))) => {
                    tracing::warn!(%run, "run taken over by another process");
                }
                Err(DriveError::Store(error)) => {
                    tracing::error!(%run, %error, "run stopped: its log cannot be written");
                }
            }
        };
        self.context.tasks.spawn(driving.instrument(error_span!("run", %run)));
    }

    /// Drives the run until it is over or waits for a person or a client.
    async fn drive_run(slot: DriverSlot, driver: &mut Driver) -> Result<DriveOutcome, DriveError> {
        loop {
            match driver.drive_until_waiting_or_over().await? {
                DriveOutcome::Waiting if slot.release_unless_commanded(driver.commands()) => {
                    return Ok(DriveOutcome::Waiting);
                }
                // A command came in the last moment.
                DriveOutcome::Waiting => {}
                DriveOutcome::Over => {
                    // No command of the last moment is left without an answer.
                    while !slot.release_unless_commanded(driver.commands()) {
                        driver.answer_remaining_commands().await;
                    }
                    return Ok(DriveOutcome::Over);
                }
            }
        }
    }
}
