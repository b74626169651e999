//! Taking runs up again: after a stop, after an answer, after a failure of the journal.
//!
//! There is one way to go on with a run that has no driver, and it is the same after a crash as after a week of
//! waiting: claim it, read its log, fold it, ask the machine what is next.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use helve_agent::{
    Agent, BY_TIME, CallAction, Command, CommandError, DirectCall, Driver, DriverParts, Run, RunTools, Step,
    StepHold, ending_facts,
};
use helve_guard::AdmissionPermit;
use helve_store::{ApprovalFilter, Claimed, NewFacts, RunJournal, RunRecord, Scope, StoreError};
use helve_tool::Registered;
use helve_types::{Answer, Fact, RunId, RunInput, RunState, Timestamp, Trail};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::{Semaphore, oneshot};

use crate::client::sweep_client_calls;
use crate::resume_locks::{CRASHES_MAX, ResumeLock, ResumeLocks};
use crate::slots::DriverSlot;
use crate::{CallOrigin, Runtime, Shared};

/// Runs that are resumed at the same time.
const AT_ONCE: usize = 8;
/// They are spread a little, so that a server that starts does not fall upon its models.
const SPREAD: Duration = Duration::from_millis(100);
const SWEEP: Duration = Duration::from_secs(30);
/// How long the watch rests after a failure. What is due stays due, and would be looked at again at once.
const REST: Duration = Duration::from_secs(1);

/// Why a run is resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResumeReason {
    /// There is a command for it.
    Command,
    /// It was running when its driver ended, and may be why.
    Interrupted,
    /// It was running when the server was stopped in good order.
    Stopped,
    /// A person wants it to go on, whatever it did before.
    Requested,
}

/// What a run needs that is resumed by recovery: its turn, and whether it goes on beside others or alone.
#[derive(Default)]
pub(super) struct ResumePermits {
    pass: Option<AdmissionPermit>,
    resume_lock: Option<ResumeLock>,
}

/// What is recorded when a run is resumed.
struct ResumePlan {
    facts: NewFacts,
    /// Why it does not go on, if it does not.
    problem: Option<&'static str>,
}

/// What is logged about a run that is left alone.
const LEFT_ALONE: &str = "the server ended three times while the run was in the same step, and it needs attention: look at \
                          its last calls, then resume it with `helve runs resume` or stop it with `helve runs cancel`";

/// The runs that are to be resumed, each when its turn comes.
pub(crate) struct Recovery {
    coming: Mutex<HashSet<RunId>>,
    resume_locks: ResumeLocks,
    /// Runs have been looked for since the server started.
    begun: AtomicBool,
    /// The same for those of subagents.
    pub(crate) subagents_begun: AtomicBool,
    slots: Semaphore,
}

impl Default for Recovery {
    fn default() -> Self {
        Self {
            coming: Mutex::default(),
            resume_locks: ResumeLocks::default(),
            begun: AtomicBool::new(false),
            subagents_begun: AtomicBool::new(false),
            slots: Semaphore::new(AT_ONCE),
        }
    }
}

impl Recovery {
    /// Whether this run is not being resumed yet; from now on it is.
    fn try_begin_recovery(&self, run: RunId) -> bool {
        self.coming.lock().unwrap_or_else(PoisonError::into_inner).insert(run)
    }

    fn end_recovery(&self, run: RunId) {
        self.coming.lock().unwrap_or_else(PoisonError::into_inner).remove(&run);
    }
}

impl Runtime {
    /// Resumes every run that was running when its driver ended, and returns how many there are. Each is resumed when
    /// its turn comes.
    pub async fn resume_interrupted_runs(&self) -> Result<usize, StoreError> {
        let shared = &self.shared;
        let running = shared.env().store.running_runs().await?;
        let at_work_elsewhere =
            |record: &RunRecord| is_from_command_line(record) && (shared.env().settings.commands_at_work)();
        let mut left_behind: Vec<RunRecord> = running
            .into_iter()
            .filter(|record| !at_work_elsewhere(record) && !shared.slots.is_taken(record.run))
            .filter(|record| shared.recovery.try_begin_recovery(record.run))
            .collect();
        let is_first = !shared.recovery.begun.swap(true, Ordering::Relaxed);
        let reason = if is_first && shared.env().settings.stopped_cleanly {
            ResumeReason::Stopped
        } else {
            ResumeReason::Interrupted
        };
        // Those that can go on together do not wait for those that go on alone.
        left_behind.sort_by_key(|record| record.resumes);
        let count = left_behind.len();
        for record in left_behind {
            let shared = shared.clone();
            self.shared.context.tasks.spawn(async move {
                shared.resume_in_turn(&record, reason).await;
                shared.recovery.end_recovery(record.run);
            });
        }
        Ok(count)
    }

    /// Resumes a run that was left alone, or that was running and has no driver. How often it ended the server before
    /// is forgotten, and a run that is being driven stays as it is.
    pub async fn resume_run(&self, scope: Scope, run: RunId) -> Result<(), CommandError> {
        let store = &self.shared.env().store;
        let record = store.run(scope.clone(), run).await?;
        let waits = match record.state {
            state if state.is_final() => return Err(CommandError::Over),
            RunState::WaitingApproval | RunState::WaitingClient | RunState::WaitingSubagent => true,
            _ => !store.approvals(scope.clone(), ApprovalFilter::PendingOf(run)).await?.is_empty(),
        };
        if waits {
            return Err(CommandError::Waits);
        }
        let Some((slot, commands)) = self.shared.slots.take_slot(run) else { return Ok(()) };
        if self
            .shared
            .claim_and_drive(slot, commands, ResumePermits::default(), ResumeReason::Requested)
            .await
        {
            return Ok(());
        }
        let over = store.run(scope, run).await?.state.is_final();
        Err(if over { CommandError::Over } else { CommandError::Busy })
    }

    /// Looks at once, and then from time to time, for questions that expired, for clients that went silent and
    /// for runs without a driver.
    pub async fn sweep_until_shutdown(&self) {
        loop {
            let rest = match self.sweep_once().await {
                Ok(()) => Duration::ZERO,
                Err(error) => {
                    tracing::warn!(%error, "sweep of waiting runs failed; it is repeated");
                    REST
                }
            };
            let due = async {
                tokio::time::sleep(rest).await;
                tokio::select! {
                    () = tokio::time::sleep(SWEEP) => {}
                    () = self.shared.context.leases.wait_for_expiry() => {}
                }
            };
            tokio::select! {
                () = due => {}
                () = self.shared.context.shutdown.closing.cancelled() => return,
            }
        }
    }

    /// One round of the watch. Each part is done even if another fails.
    pub async fn sweep_once(&self) -> Result<(), StoreError> {
        let expired = self.expire_approvals().await;
        let notified = self.notify_approvers().await;
        let silent = sweep_client_calls(&self.shared).await;
        let left_behind = self.resume_interrupted_runs().await;
        let subagents = self.sweep_subagents().await;
        expired.and(notified).and(silent).and(left_behind.map(drop)).and(subagents)
    }

    /// Tells runs whose approvers are to be reminded, or for which others are to be asked.
    async fn notify_approvers(&self) -> Result<(), StoreError> {
        let env = self.shared.env();
        for held in env.store.approvals_to_notify(env.world.now()).await? {
            let approval = held.id();
            self.shared.send_to_driver_or_resume(held.run, Command::NotifyApprovers { approval });
        }
        Ok(())
    }

    async fn expire_approvals(&self) -> Result<(), StoreError> {
        for held in self.shared.env().store.expired_approvals(self.shared.env().world.now()).await? {
            let (reply, _answer) = oneshot::channel();
            let approval = held.id();
            let by = BY_TIME.to_owned();
            self.shared.send_to_driver_or_resume(
                held.run,
                Command::Answer { approval, answer: Answer::Expire, by, reply },
            );
        }
        Ok(())
    }
}

impl Shared {
    /// Waits for the turn of an interrupted run and puts a driver on it. Until then it has no slot, so that a
    /// command that comes meanwhile resumes it at once.
    async fn resume_in_turn(self: &Arc<Self>, record: &RunRecord, reason: ResumeReason) {
        let RunRecord { run, user, resumes, .. } = record;
        let crashes = resumes.saturating_add(u32::from(reason == ResumeReason::Interrupted));
        let turn = async {
            // Before its turn, which others can use while it waits to be alone.
            let resume_lock = self.recovery.resume_locks.lock_for_resume(crashes).await;
            let pass = self.context.admission.enter_unbounded(&user.0).await;
            let slot = self.recovery.slots.acquire().await;
            tokio::time::sleep(SPREAD.mul_f64(self.env().world.random_fraction())).await;
            (resume_lock, pass, slot)
        };
        let (resume_lock, pass, _slot) = tokio::select! {
            turn = turn => turn,
            () = self.context.shutdown.closing.cancelled() => return,
        };
        let Some((slot, commands)) = self.slots.take_slot(*run) else { return };
        // It may have gone on and come to a stop in between.
        let reason = match self.env().store.run(Scope::Everyone, *run).await {
            Ok(record) if record.state != RunState::Running => ResumeReason::Command,
            _ => reason,
        };
        self.claim_and_drive(
            slot,
            commands,
            ResumePermits { pass: Some(pass), resume_lock: Some(resume_lock) },
            reason,
        )
        .await;
    }

    /// Claims the run and puts a driver on it, if it can go on. Returns whether a driver took it.
    pub(super) async fn claim_and_drive(
        self: &Arc<Self>,
        slot: DriverSlot,
        commands: UnboundedReceiver<Box<Command>>,
        permits: ResumePermits,
        reason: ResumeReason,
    ) -> bool {
        let counts_as_crash = reason == ResumeReason::Interrupted;
        let claimed =
            match self.env().store.claim_run(slot.run_id(), self.owner.clone(), counts_as_crash).await {
                Ok(claimed) => claimed,
                Err(error) => {
                    self.reject_commands(commands, &error);
                    return false;
                }
            };
        self.env().world.failpoint("run.claimed");
        let is_direct_call = claimed.record.setup.input == RunInput::Call;
        let Some(driver) = self.build_driver(claimed, commands, permits, reason).await else { return false };
        if !is_direct_call {
            self.env().run_counters.count_resumed();
        }
        self.spawn_driver(slot, driver);
        true
    }

    /// Answers the commands for a run that could not be claimed.
    fn reject_commands(&self, mut commands: UnboundedReceiver<Box<Command>>, error: &StoreError) {
        while let Ok(command) = commands.try_recv() {
            if let Command::Overdue { call } = &*command {
                self.context.leases.end_lease(call);
            }
            command.send_reply(Err(CommandError::Store(error.clone())));
        }
    }

    /// Builds a driver from the run's log, or none if the run is over or may not continue.
    async fn build_driver(
        self: &Arc<Self>,
        claimed: Claimed,
        mut commands: UnboundedReceiver<Box<Command>>,
        permits: ResumePermits,
        reason: ResumeReason,
    ) -> Option<Driver> {
        let Claimed { epoch, record, history, events } = claimed;
        let log = events.iter().map(|recorded| (recorded.event.at, &recorded.event.fact));
        let run = Run::replay(record.run, record.setup.clone(), log)?;
        let journal =
            self.env().open_journal(record.run, epoch, record.last_seq, record.setup.parent.as_deref());
        if record.state.is_final() || run.is_over() {
            while let Ok(command) = commands.try_recv() {
                self.context.answer_command_of_ended_run(&run, &journal, *command).await;
            }
            return None;
        }
        let agent = match self.env().agents.load_agent_of_run(&record.setup).await {
            Ok(agent) => agent,
            Err(error) => {
                tracing::error!(run = %record.run, %error, "run not resumed: its agent cannot be read");
                return None;
            }
        };
        let plan = self.plan_resume(&run, &record, agent.is_some(), reason, journal.now());
        self.record_resume(plan, &record, &journal).await?;
        let tools = self.load_tools_of_run(&record, &run, agent.as_deref()).await?;
        self.show_progress_to_parent(&record);
        let parts = DriverParts {
            tools,
            run,
            user: record.user,
            conversation: record.conversation,
            history,
            journal,
            commands,
            pass: permits.pass,
            hold: permits.resume_lock.map(|resume_lock| Box::new(resume_lock) as StepHold),
            direct: DirectCall::default(),
        };
        Some(Driver::new(&self.context, parts))
    }

    /// What is to be recorded about a run that is resumed, and whether it goes on.
    fn plan_resume(
        &self,
        run: &Run,
        record: &RunRecord,
        has_agent: bool,
        reason: ResumeReason,
        now: Timestamp,
    ) -> ResumePlan {
        let is_direct_call = record.setup.input == RunInput::Call;
        if !is_direct_call && !has_agent {
            return ResumePlan {
                facts: missing_agent_facts(run, now),
                problem: Some("its agent is gone; it ends here"),
            };
        }
        let facts = match reason {
            ResumeReason::Interrupted if record.resumes >= CRASHES_MAX => {
                return if is_direct_call {
                    let facts = ending_facts(run, run.cut_off_facts(), RunState::Failed, now);
                    ResumePlan { facts, problem: Some("its call ended the server three times") }
                } else {
                    let facts = self.needs_attention_facts(run.clone(), record, now);
                    ResumePlan { facts, problem: Some(LEFT_ALONE) }
                };
            }
            // For readers of the log it is the first try: none is for a person.
            ResumeReason::Interrupted | ResumeReason::Stopped => {
                resumed_and_restarted_facts(run.clone(), record.resumes.max(1), now)
            }
            ResumeReason::Requested => NewFacts {
                state: Some(RunState::Running),
                ..resumed_and_restarted_facts(run.clone(), 0, now)
            },
            // The caller of a direct call is gone with its driver.
            // Its driver ended with what it was showing, and a command came before recovery did. The caller of a direct
            // call is gone with its driver.
            ResumeReason::Command if is_direct_call || record.state == RunState::Running => {
                resumed_and_restarted_facts(run.clone(), record.resumes.max(1), now)
            }
            ResumeReason::Command => NewFacts::default(),
        };
        ResumePlan { facts, problem: None }
    }

    /// Records the plan. None if the run does not go on.
    async fn record_resume(&self, plan: ResumePlan, record: &RunRecord, journal: &RunJournal) -> Option<()> {
        let state = plan.facts.state;
        if !plan.facts.events.is_empty()
            && let Err(error) = journal.commit(plan.facts).await
        {
            tracing::error!(run = %record.run, %error, "run not resumed: its log cannot be written");
            return None;
        }
        if let Some(state) = state
            && record.setup.input != RunInput::Call
        {
            self.env().run_counters.count_ended(state);
        }
        match plan.problem {
            None => Some(()),
            Some(problem) => {
                tracing::error!(run = %record.run, agent = record.setup.agent, problem, "run not resumed");
                None
            }
        }
    }

    /// The tools that the run goes on with.
    async fn load_tools_of_run(
        &self,
        record: &RunRecord,
        run: &Run,
        agent: Option<&Agent>,
    ) -> Option<Arc<RunTools>> {
        if record.setup.input == RunInput::Call {
            let origin = CallOrigin::from_setup(&record.setup);
            return Some(self.tools_for_direct_call(origin, &record.user, &run.requested_call()));
        }
        match self.load_pinned_tools(agent?, record).await {
            Ok(tools) => Some(Arc::new(tools)),
            Err(error) => {
                tracing::error!(run = %record.run, %error, "run not resumed: its tools cannot be read");
                None
            }
        }
    }

    /// A run that ended the server too often waits for a person. What is unknown about its calls does not wait with it;
    /// those that may be sent again are, when it goes on.
    fn needs_attention_facts(&self, mut machine: Run, record: &RunRecord, now: Timestamp) -> NewFacts {
        let state = RunState::NeedsAttention;
        let resumed = Fact::RunResumed { resume: record.resumes };
        machine.apply(now, &resumed);
        let mut facts = vec![resumed];
        if let Step::CallTools(actions) = machine.next_step() {
            facts.extend(actions.into_iter().filter_map(|action| self.unknown_outcome_fact(action)));
        }
        facts.push(Fact::RunWaiting { state });
        NewFacts { state: Some(state), ..facts.into() }
    }

    /// The fact that the outcome of a cut-off call is unknown, if it is.
    fn unknown_outcome_fact(&self, action: CallAction) -> Option<Fact> {
        let CallAction::RecordUnknown { call, sent_at, because } = action else { return None };
        let tool = self.env().catalogue.registry().get(&call.name);
        Some(Fact::ToolUnknown {
            call: call.id,
            sent_at,
            because,
            request: None,
            checked: None,
            then: tool.map(|tool| tool.spec().on_unknown).unwrap_or_default(),
            trail: Trail::default(),
            labels: None,
        })
    }

    /// The tools that the run was started with: a row as it was then, a tool that comes with Helve as it is now.
    async fn load_pinned_tools(&self, agent: &Agent, record: &RunRecord) -> Result<RunTools, StoreError> {
        let RunRecord { setup, user, .. } = record;
        let mut tools = vec![];
        for pinned in &setup.tools {
            let tool = self.env().catalogue.find_version(&pinned.name, &pinned.version).await?;
            tools.extend(tool.and_then(|tool| agent.link(&tool, false)));
        }
        let is_pinned =
            |tool: &Arc<Registered>| setup.tools.iter().any(|pinned| pinned.name == tool.spec().name);
        tools.extend(self.env().agents.subagent_tools(agent, user).into_iter().filter(is_pinned));
        // Those that cannot be read were not there at the start either.
        tools.extend(
            agent.build_client_tools(&setup.client_tools, user).await.into_iter().filter_map(Result::ok),
        );
        let skills = self.env().skills.load_pinned(&setup.skills).await?;
        Ok(RunTools::new(tools, skills, agent))
    }
}

/// The end of a run whose agent is no longer configured: another agent's rules are not its rules.
fn missing_agent_facts(machine: &Run, now: Timestamp) -> NewFacts {
    let message = format!("the agent `{}` is not configured any more", machine.setup().agent);
    ending_facts(machine, machine.failure_facts("unknown_agent", message), RunState::Failed, now)
}

/// Whether a command line made it, in a process of its own. All others are this server's, or were its predecessor's.
fn is_from_command_line(record: &RunRecord) -> bool {
    record.setup.input == RunInput::Call && CallOrigin::from_setup(&record.setup) == CallOrigin::CommandLine
}

/// What is recorded when an interrupted run is resumed: that it was, and that a message that was being
/// written is void.
fn resumed_and_restarted_facts(mut machine: Run, resumes: u32, now: Timestamp) -> NewFacts {
    let taken_up = Fact::RunResumed { resume: resumes };
    machine.apply(now, &taken_up);
    let mut facts = vec![taken_up];
    if let Step::AskModel { step, attempt, .. } = machine.next_step() {
        let because = "the server was restarted".into();
        // What the vendor counted for it went with the server.
        facts.push(Fact::StepRestarted { step, attempt: attempt + 1, because, spent: None });
    }
    facts.into()
}
