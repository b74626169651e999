//! Gives a run its hands: asks the model, sees to the calls, listens to people.
//!
//! The machine decides (`run.next_step`), the driver acts, and whatever happens becomes a fact before it counts.
//! One driver owns a run at a time; it ends when the run is over, or when nothing can go on until somebody acts,
//! and another takes the run up from its log.

mod answer;
mod budget;
mod calls;
mod client;
mod early;
mod model;
mod room;
mod speech;
mod spending;
mod step_hooks;
mod turn;

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::stream::FuturesUnordered;
use helve_guard::AdmissionPermit;
use helve_store::{Entry, RunJournal, StoreError, resets_crash_count};
use helve_tool::{Fault, Pipeline, Progress, SkippedGuards};
use helve_types::{CallId, ConversationId, Ending, Fact, Message, RunInput, RunState, Timestamp, UserId};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, error_span};

use self::budget::Allowed;
use self::calls::SeenTo;
pub use self::calls::call_span;
use self::early::BegunRead;
pub(crate) use self::room::Rests;
use self::spending::Lost;
use crate::agents::Kit;
use crate::budget::Before;
use crate::command::Command;
use crate::context::DriverContext;
use crate::feed::Feed;
use crate::run::{Run, Step, pre_search_requested};

/// Why a driver leaves its run.
#[derive(Debug, PartialEq)]
pub enum Left {
    Over,
    /// Somebody has to act first.
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

/// Held by a run that was interrupted until the step in which it was is done.
pub type StepHold = Box<dyn Send>;

/// What the caller of a direct call wants of it.
#[derive(Debug, Clone, Default)]
pub struct DirectCall {
    /// Guards that are left out.
    pub skip: SkippedGuards,
    /// Where its output goes while it runs, besides the feed.
    pub progress: Progress,
}

/// Drives one run.
pub struct Driver {
    pub(crate) shared: Arc<DriverContext>,
    pub(crate) run: Run,
    pub(crate) user: UserId,
    pub(crate) conversation: Option<ConversationId>,
    /// The conversation before the run.
    pub(crate) history: Vec<Message>,
    pub(crate) journal: RunJournal,
    pub(crate) feed: Arc<Feed>,
    pub(crate) kit: Arc<Kit>,
    pub(crate) pipeline: Arc<Pipeline>,
    pub(crate) commands: mpsc::UnboundedReceiver<Command>,
    /// Its turn to work, if it has one.
    pub(crate) pass: Option<AdmissionPermit>,
    /// Held until the step in which it was interrupted is done.
    pub(crate) trial: Option<StepHold>,
    pub(crate) direct: DirectCall,
    /// Stops the model and the tools.
    pub(crate) cancel: CancellationToken,
    /// Who stopped the run.
    pub(crate) cancelled_by: Option<String>,
    pub(crate) in_flight: FuturesUnordered<SeenTo>,
    pub(crate) in_flight_calls: HashSet<CallId>,
    /// Calls that were begun before their message was complete, and that nothing has used yet.
    pub(crate) early_reads: Vec<BegunRead>,
    /// Spent on the step that is being asked for, and not on record yet.
    pub(crate) lost: Option<Lost>,
    /// A question of so many tokens could not be made shorter.
    pub(crate) no_room_at: Option<u64>,
    /// The last step whose `after_step` hooks were asked.
    pub(crate) closed_step: u32,
}

/// What a driver is made of.
pub struct DriverParts {
    pub run: Run,
    pub user: UserId,
    pub conversation: Option<ConversationId>,
    pub history: Vec<Message>,
    pub journal: RunJournal,
    pub kit: Arc<Kit>,
    pub pipeline: Arc<Pipeline>,
    pub commands: mpsc::UnboundedReceiver<Command>,
    pub pass: Option<AdmissionPermit>,
    pub trial: Option<StepHold>,
    /// Where the run is one call without a model.
    pub direct: DirectCall,
}

impl Driver {
    pub fn new(shared: &Arc<DriverContext>, parts: DriverParts) -> Self {
        let DriverParts {
            run,
            user,
            conversation,
            history,
            journal,
            kit,
            pipeline,
            commands,
            pass,
            trial,
            direct,
        } = parts;
        Self {
            shared: shared.clone(),
            feed: shared.env.feed(run.id()),
            run: run.after(&history).making(shared.env.settings.calls_per_message_max),
            user,
            conversation,
            history,
            journal,
            kit,
            pipeline,
            commands,
            pass,
            trial,
            direct,
            cancel: CancellationToken::new(),
            cancelled_by: None,
            in_flight: FuturesUnordered::new(),
            in_flight_calls: HashSet::new(),
            early_reads: vec![],
            lost: None,
            no_room_at: None,
            closed_step: 0,
        }
    }

    /// What others want of the run and was not looked at yet.
    pub fn commands(&self) -> &mpsc::UnboundedReceiver<Command> {
        &self.commands
    }

    pub async fn drive(&mut self) -> Result<Left, DriveError> {
        loop {
            self.absorb();
            // What somebody has already said is heard before anything else is begun.
            while let Ok(command) = self.commands.try_recv() {
                self.obey(command).await?;
            }
            if let Some(by) = self.cancelled_by.clone() {
                self.finish_in_flight().await?;
                return self.end(self.run.cancelled(&by), RunState::Cancelled).await;
            }
            if self.lacks_turn() {
                self.await_turn().await?;
                continue;
            }
            match self.run.next_step() {
                Step::AskModel { .. } | Step::Finish(_) | Step::Fail { .. } if self.must_close_step() => {
                    self.close_step().await?;
                }
                Step::AskModel { .. } if self.afford(Before::Asking).await? == Allowed::LookAgain => {}
                Step::AskModel { step, .. } if self.hear(step).await? => {}
                Step::AskModel { step, attempt, tools } => {
                    self.ask_model(step, attempt, tools).instrument(error_span!("step", step)).await?;
                }
                // From here on it is a call like any other.
                Step::PreSearch(search) => self.journal.record(pre_search_requested(search)).await?,
                Step::CallTools(actions) => self.begin_within_budget(actions).await?,
                Step::Wait(_) if !self.in_flight.is_empty() => self.await_something().await?,
                Step::Wait(_) if !self.early_reads.is_empty() => self.discard_early_reads().await?,
                // Somebody spoke in vain.
                Step::Wait(state) if self.run.waits_on_record(state) => {
                    self.journal.flush().await?;
                    return Ok(Left::Waiting);
                }
                Step::Wait(state) => {
                    self.journal
                        .commit(Entry { state: Some(state), ..Fact::RunWaiting { state }.into() })
                        .await?;
                    return Ok(Left::Waiting);
                }
                Step::Finish(ending) => return self.finish(ending).await,
                Step::Fail { code, message } => {
                    let facts = self.run.failed(code, message);
                    return self.end(facts, RunState::Failed).await;
                }
                Step::Over => return Ok(Left::Over),
            }
        }
    }

    /// Takes in what was written, so that the machine knows what the log says.
    fn absorb(&mut self) {
        for recorded in self.journal.take_written() {
            self.run.apply(recorded.event.at, &recorded.event.fact);
            if resets_crash_count(&recorded.event.fact) {
                self.trial = None;
            }
        }
    }

    async fn finish(&mut self, ending: Ending) -> Result<Left, DriveError> {
        self.end(vec![Fact::RunFinished { ending }], RunState::Completed).await
    }

    /// Writes the last facts together with the finished message.
    async fn end(&mut self, facts: Vec<Fact>, state: RunState) -> Result<Left, DriveError> {
        let fate = self.shared.env.world.fate.clone();
        let discarded = self.take_discarded(|_| true);
        let facts = discarded.into_iter().chain(self.lost_step()).chain(facts).collect();
        let entry = ending(&self.run, facts, state, self.journal.now());
        fate.at("run.before_end");
        self.journal.commit(entry).await?;
        if self.run.setup().input != RunInput::Call {
            self.shared.env.run_counters.ended(state);
        }
        self.shared.leases.end_all(self.run.id());
        fate.at("run.after_end");
        self.answer_late().await;
        Ok(Left::Over)
    }

    /// Tells whoever spoke to a run that is over that it is.
    pub async fn answer_late(&mut self) {
        while let Ok(command) = self.commands.try_recv() {
            self.absorb();
            self.shared.answer_over(&self.run, &self.journal, command).await;
        }
    }

    /// Does what somebody asks for, if it can be done.
    async fn obey(&mut self, command: Command) -> Result<(), DriveError> {
        self.absorb();
        match command {
            Command::Answer { approval, answer, by, reply } => {
                _ = reply.send(self.answer(approval, answer, by).await?);
            }
            Command::Claim { call, client, by, reply } => {
                _ = reply.send(self.claim(&call, &client, &by).await?);
            }
            Command::Say { message, text, by, reply } => {
                let said = self.queue(message, text, by).await?;
                _ = reply.send(said);
            }
            Command::Deliver { delivered, reply } => self.deliver(*delivered, reply).await?,
            Command::Overdue { call } => self.overdue(&call).await?,
            Command::Cancel { by, reply } => {
                self.cancelled_by.get_or_insert(by);
                self.cancel.cancel();
                _ = reply.send(Ok(()));
            }
        }
        self.absorb();
        Ok(())
    }
}

/// The last facts of a run together with its message, which is the fold of its log, times included.
pub fn ending(run: &Run, facts: Vec<Fact>, state: RunState, now: Timestamp) -> Entry {
    let mut message = run.message().clone();
    facts.iter().for_each(|fact| message.learn(now, fact));
    Entry { facts, at: Some(now), state: Some(state), message: Some(message), ..Entry::default() }
}
