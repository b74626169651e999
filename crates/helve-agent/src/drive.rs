//! Drives a run: asks the model, runs the calls, handles commands.
//!
//! The machine decides (`run.next_step`), the driver acts, and whatever happens becomes a fact before it counts.
//! One driver owns a run at a time; it ends when the run is over, or when the run waits for a person or a client,
//! and another resumes the run from its log. `driven` is the run, `step` asks the model, `calls` runs calls.

mod commands;
mod hooks;
mod subagents;
mod turn;

use std::collections::HashSet;
use std::sync::Arc;

use helve_guard::AdmissionPermit;
use helve_store::{NewFacts, RunJournal, StoreError};
use helve_tool::Fault;
use helve_types::{CallId, ConversationId, Fact, Message, RunInput, RunState, Timestamp, UserId};
use tokio::sync::mpsc;
use tracing::{Instrument, error_span};

use crate::agents::RunTools;
use crate::budget::BudgetCheck;
use crate::calls::Calls;
use crate::command::Command;
use crate::context::DriverContext;
use crate::driven::{Allowed, DrivenRun, RunOrigin, StopRequest};
pub use crate::driven::{DirectCall, StepHold};
use crate::run::{CallAction, Run, Step};
use crate::step::{ModelStep, UnrecordedCost};

const ACCESS_WITHDRAWN: &str =
    "the user may not use this agent any more: a group was lost, or the user was disabled";

/// Why a driver leaves its run.
#[derive(Debug, PartialEq)]
pub enum DriveOutcome {
    Over,
    /// The run waits for a person or a client.
    Waiting,
}

/// Why a driver cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    #[error(transparent)]
    Store(#[from] StoreError),

    /// The log says where to go on.
    #[error("the server goes down")]
    Halted,
}

impl From<Fault> for DriveError {
    fn from(fault: Fault) -> Self {
        let Fault::Journal(error) = fault;
        Self::Store(error)
    }
}

/// Drives one run.
pub struct Driver {
    pub(crate) driven: DrivenRun,
    pub(crate) calls: Calls,
    commands: mpsc::UnboundedReceiver<Box<Command>>,
    /// Its turn to work, if it has one.
    pass: Option<AdmissionPermit>,
    pub(crate) memory: StepMemory,
    /// Calls whose subagents were looked at since they last changed.
    attended: HashSet<CallId>,
}

/// What is known of the latest steps and is not on record.
#[derive(Default)]
pub(crate) struct StepMemory {
    /// Spent on the step that is being asked for.
    pub(crate) cost: UnrecordedCost,
    /// A question of so many tokens could not be made shorter.
    pub(crate) not_shortened_at: Option<u64>,
    /// The last step whose `after_step` hooks were asked.
    closed_step: u32,
}

/// What a driver is made of.
pub struct DriverParts {
    pub run: Run,
    pub user: UserId,
    pub conversation: Option<ConversationId>,
    pub history: Vec<Message>,
    pub journal: RunJournal,
    pub tools: Arc<RunTools>,
    pub commands: mpsc::UnboundedReceiver<Box<Command>>,
    pub pass: Option<AdmissionPermit>,
    pub hold: Option<StepHold>,
    /// Where the run is one call without a model.
    pub direct: DirectCall,
}

impl Driver {
    pub fn new(shared: &Arc<DriverContext>, parts: DriverParts) -> Self {
        let DriverParts { run, user, conversation, history, journal, tools, commands, pass, hold, direct } =
            parts;
        let driven = DrivenRun {
            shared: shared.clone(),
            feed: shared.env.feed_of_run(run.id()),
            run: run.apply_history(&history).set_calls_max(shared.env.settings.calls_per_message_max),
            journal,
            origin: RunOrigin { user, conversation, history },
            tools,
            stop: StopRequest::default(),
            hold,
            direct,
        };
        Self {
            driven,
            calls: Calls::default(),
            commands,
            pass,
            memory: StepMemory::default(),
            attended: HashSet::new(),
        }
    }

    /// What others want of the run and was not looked at yet.
    pub fn commands(&self) -> &mpsc::UnboundedReceiver<Box<Command>> {
        &self.commands
    }

    /// Does what the machine says, until the run is over or nothing can go on.
    pub async fn drive_until_waiting_or_over(&mut self) -> Result<DriveOutcome, DriveError> {
        loop {
            self.driven.apply_written_facts();
            // Queued commands are handled before a new step begins.
            while let Ok(command) = self.commands.try_recv() {
                Box::pin(self.handle_command(command)).await?;
            }
            if let Some(by) = self.driven.stop.by.clone() {
                self.calls.wait_for_calls_in_flight(&mut self.driven).await?;
                let cancelled = self.driven.run.cancellation_facts(&by);
                return Box::pin(self.end_run(cancelled, RunState::Cancelled)).await;
            }
            if Box::pin(self.attend_subagent()).await? {
                continue;
            }
            if self.needs_turn() {
                self.wait_for_turn().await?;
                continue;
            }
            if let Some(left) = self.carry_out_step(self.driven.run.next_step()).await? {
                return Ok(left);
            }
        }
    }

    /// Does one step; says why the driver leaves, if it does. What is not waited for while a model writes is boxed, so
    /// that an open stream holds no room for it.
    async fn carry_out_step(&mut self, step: Step) -> Result<Option<DriveOutcome>, DriveError> {
        match step {
            Step::AskModel { .. } | Step::PreSearch(_) | Step::CallTools(_) if !self.driven.has_access() => {
                self.calls.wait_for_calls_in_flight(&mut self.driven).await?;
                let facts = self.driven.run.failure_facts("access_withdrawn", ACCESS_WITHDRAWN.into());
                return Box::pin(self.end_run(facts, RunState::Failed)).await.map(Some);
            }
            Step::AskModel { .. } | Step::Finish(_) | Step::Fail { .. }
                if self.must_ask_after_step_hooks() =>
            {
                Box::pin(self.ask_after_step_hooks()).await?;
            }
            Step::AskModel { .. }
                if self.driven.enforce_budgets(BudgetCheck::Asking).await? == Allowed::LookAgain => {}
            Step::AskModel { step, .. } if self.driven.take_pending_messages(step).await? => {}
            Step::AskModel { step, attempt, tools } => {
                ModelStep::run_step(self, step, attempt, tools).instrument(error_span!("step", step)).await?;
            }
            // From here on it is a call like any other.
            Step::PreSearch(search) => self.driven.journal.record(Fact::tool_requested(search)).await?,
            Step::CallTools(actions) => Box::pin(self.start_affordable_calls_and_wait(actions)).await?,
            Step::Wait(_) if !self.calls.is_idle() => Box::pin(self.await_call_or_command()).await?,
            Step::Wait(_) if self.calls.has_early_reads() => {
                self.calls.discard_early_reads(&mut self.driven).await?
            }
            // A command changed nothing.
            Step::Wait(state) if self.driven.run.has_recorded_wait(state) => {
                self.driven.journal.flush().await?;
                return Ok(Some(DriveOutcome::Waiting));
            }
            Step::Wait(state) => {
                let waiting = NewFacts { state: Some(state), ..Fact::RunWaiting { state }.into() };
                self.driven.journal.commit(waiting).await?;
                return Ok(Some(DriveOutcome::Waiting));
            }
            Step::Finish(ending) => {
                let finished = vec![Fact::RunFinished { ending }];
                return Box::pin(self.end_run(finished, RunState::Completed)).await.map(Some);
            }
            Step::Fail { code, message } => {
                let facts = self.driven.run.failure_facts(code, message);
                return Box::pin(self.end_run(facts, RunState::Failed)).await.map(Some);
            }
            Step::Over => return Ok(Some(DriveOutcome::Over)),
        }
        Ok(None)
    }

    /// Begins calls as far as the budgets allow, and waits until something happens.
    async fn start_affordable_calls_and_wait(&mut self, actions: Vec<CallAction>) -> Result<(), DriveError> {
        if !self.calls.has_unsent_calls(&actions) {
            self.calls.start_actions_within_limit(&self.driven, actions);
            return self.await_call_or_command().await;
        }
        let Allowed::Calls(left) = self.driven.enforce_budgets(BudgetCheck::Calling).await? else {
            return Ok(());
        };
        let affordable = self.calls.limit_new_calls(&self.driven, actions, left);
        if self.calls.needs_subagent_terms(&self.driven, &affordable) {
            let terms = self.driven.subagent_terms().await?;
            self.calls.set_subagent_terms(terms);
        }
        self.calls.start_actions_within_limit(&self.driven, affordable);
        self.await_call_or_command().await
    }

    /// Waits until a call is done or a command comes.
    async fn await_call_or_command(&mut self) -> Result<(), DriveError> {
        tokio::select! {
            Some(seen_to) = self.calls.next_finished() => seen_to?,
            Some(command) = self.commands.recv() => Box::pin(self.handle_command(command)).await?,
            () = self.driven.shared.shutdown.halt.cancelled() => return Err(DriveError::Halted),
            else => {}
        }
        Ok(())
    }

    /// Writes the last facts together with the finished message.
    pub(crate) async fn end_run(
        &mut self,
        facts: Vec<Fact>,
        state: RunState,
    ) -> Result<DriveOutcome, DriveError> {
        let world = self.driven.shared.env.world.clone();
        let discarded = self.calls.discard_reads_where(|_| true);
        let facts = discarded.into_iter().chain(self.memory.cost.take_fact()).chain(facts).collect();
        let facts = ending_facts(&self.driven.run, facts, state, self.driven.journal.now());
        world.failpoint("run.before_end");
        self.driven.journal.commit(facts).await?;
        if self.driven.run.setup().input != RunInput::Call {
            self.driven.shared.env.run_counters.count_ended(state);
        }
        self.driven.shared.leases.end_leases_of_run(self.driven.run.id());
        self.leave_subagents(state);
        world.failpoint("run.after_end");
        self.answer_remaining_commands().await;
        Ok(DriveOutcome::Over)
    }

    /// Answers commands for a run that is over.
    pub async fn answer_remaining_commands(&mut self) {
        while let Ok(command) = self.commands.try_recv() {
            self.driven.apply_written_facts();
            let DrivenRun { shared, run, journal, .. } = &self.driven;
            shared.answer_command_of_ended_run(run, journal, *command).await;
        }
    }
}

/// The last facts of a run together with its message, which is the fold of its log, times included.
pub fn ending_facts(run: &Run, facts: Vec<Fact>, state: RunState, now: Timestamp) -> NewFacts {
    let mut message = run.message().clone();
    facts.iter().for_each(|fact| message.apply(now, fact));
    NewFacts { at: Some(now), state: Some(state), message: Some(message), ..facts.into() }
}
