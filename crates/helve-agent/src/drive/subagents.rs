//! Attending to the runs of subagents: they are opened, their questions are shown here, and their answers become results.
//!
//! Each open one is looked at once by every driver, and again when it says that something has happened. What is found is
//! held against the log, so that it makes no difference how often it is looked at, or what a crash came between.

use helve_store::{RunRecord, Scope, StoreError};
use helve_tool::SubagentReport;
use helve_types::{
    CallId, Fact, Failure, FailureKind, MessageId, Notice, RunId, RunState, SubagentEnded, SubagentStarted,
    ToolCall, Used, subagent_tool_name,
};

use super::{DriveError, Driver};
use crate::driven::{SubagentResult, background_notice, background_output, own_words};
use crate::run::{CallData, SubagentRun};
use crate::subagents::{OpenSubagentError, SubagentTask};

impl Driver {
    /// Looks at the next subagent that was not looked at since it changed. Returns whether there was one.
    pub(super) async fn attend_subagent(&mut self) -> Result<bool, DriveError> {
        let is_new = |run: &&SubagentRun| !self.attended.contains(&run.started.call);
        let Some(known) = self.driven.run.subagents().open().find(is_new).cloned() else { return Ok(false) };
        // What happens while it is looked at comes as another command.
        self.attended.insert(known.started.call.clone());
        self.look_at(&known).await?;
        self.driven.apply_written_facts();
        Ok(true)
    }

    /// Something has happened in a subagent's run.
    pub(super) fn note_subagent_change(&mut self, run: RunId) {
        let changed = self.driven.run.subagents().open().filter(|open| open.started.run == run);
        for open in changed {
            self.attended.remove(&open.started.call);
        }
    }

    async fn look_at(&mut self, known: &SubagentRun) -> Result<(), DriveError> {
        let started = &known.started;
        let scope = Scope::User(self.driven.origin.user.clone());
        match self.driven.shared.env.store.run(scope, started.run).await {
            Ok(record) if started.joins_earlier_run() && !self.driven.may_join(started, &record) => {
                self.end_without_run(started, unknown_run(started)).await
            }
            Ok(record) => self.follow_subagent(known, &record).await,
            Err(StoreError::NotFound(_)) if started.joins_earlier_run() => {
                self.end_without_run(started, unknown_run(started)).await
            }
            Err(StoreError::NotFound(_)) => self.open_subagent(started).await,
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the subagent's run, after it is on record that it is to be opened.
    async fn open_subagent(&mut self, started: &SubagentStarted) -> Result<(), DriveError> {
        let env = &self.driven.shared.env;
        let Some(host) = env.subagent_host().cloned() else { return Ok(()) };
        self.driven.journal.flush().await?;
        env.world.failpoint("subagent.before_open");
        let task = SubagentTask {
            run: started.run,
            user: self.driven.origin.user.clone(),
            agent: started.agent.clone(),
            task: started.task.clone(),
            parent: self.driven.parent_call(started),
            request_id: self.driven.run.setup().request_id.clone(),
        };
        match host.open_subagent(task).await {
            Ok(()) => {}
            Err(OpenSubagentError::Closing) => return Err(DriveError::Halted),
            Err(OpenSubagentError::Store(error)) => return Err(error.into()),
            Err(OpenSubagentError::Refused(detail)) => {
                let agent = &started.agent;
                let told = format!("the agent `{agent}` could not be asked: {detail}; go on without it");
                let failure = Failure::new(FailureKind::Unavailable, told)
                    .with_notice(Notice::subagent_not_started(agent, &detail));
                return self.end_without_run(started, failure).await;
            }
        }
        self.driven.shared.env.world.failpoint("subagent.after_open");
        self.answer_background_call(started).await
    }

    /// A call in the background has its result when the run is opened.
    async fn answer_background_call(&mut self, started: &SubagentStarted) -> Result<(), DriveError> {
        if !started.background {
            return Ok(());
        }
        let Some(call) = self.waiting_call(&started.call) else { return Ok(()) };
        let report = SubagentReport {
            result: Ok(background_output(started)),
            labels: own_words(&call.name),
            took: std::time::Duration::ZERO,
            trail: started.trail.clone(),
        };
        self.record_result(&call, report).await
    }

    /// Takes over what a subagent's run asks, and what came of it.
    async fn follow_subagent(&mut self, known: &SubagentRun, record: &RunRecord) -> Result<(), DriveError> {
        let started = &known.started;
        self.answer_background_call(started).await?;
        let is_over = record.state.is_final();
        let mut facts = self.driven.read_subagent_questions(known).await?;
        // Nobody can answer what a run asked that is over.
        facts.retain(|fact| !is_over || !matches!(fact, Fact::SubagentAsked(_)));
        if !facts.is_empty() {
            self.driven.journal.commit(facts).await?;
            self.driven.apply_written_facts();
        }
        if !is_over {
            return Ok(());
        }
        let call = self.waiting_call(&started.call);
        let tool = call.as_ref().map_or_else(|| subagent_tool_name(&started.agent), |call| call.name.clone());
        let result = self.driven.read_subagent_result(record, &tool, started.trail.clone()).await?;
        let SubagentResult { report, used } = result;
        // The end comes last: until it is on record, this is done again after a crash.
        match call {
            Some(call) => self.record_result(&call, report).await?,
            None if started.background => self.tell_of_background_end(started, &tool).await?,
            None => {}
        }
        self.driven.shared.env.world.failpoint("subagent.before_ended");
        self.record_end(started, record.state, used).await?;
        if !started.joins_earlier_run() {
            self.driven.journal.flush().await?;
            self.driven.shared.env.store.mark_subagent_reported(started.run).await?;
        }
        Ok(())
    }

    /// Tells the model that a run in the background is over, unless a call waits for it.
    async fn tell_of_background_end(
        &mut self,
        started: &SubagentStarted,
        tool: &str,
    ) -> Result<(), DriveError> {
        if self.driven.run.subagents().is_joined(started.run) {
            return Ok(());
        }
        let text = background_notice(&started.agent, tool, started.run);
        // The same id each time: it is told once.
        let message = MessageId(started.run.0);
        if let Err(error) = self.driven.queue_message(message, text, started.agent.clone()).await? {
            tracing::info!(run = %self.driven.run.id(), %error, "end of a background run not told to the model");
        }
        Ok(())
    }

    async fn end_without_run(
        &mut self,
        started: &SubagentStarted,
        failure: Failure,
    ) -> Result<(), DriveError> {
        if let Some(call) = self.waiting_call(&started.call) {
            let report = SubagentReport {
                result: Err(failure),
                labels: own_words(&call.name),
                took: std::time::Duration::ZERO,
                trail: started.trail.clone(),
            };
            self.record_result(&call, report).await?;
        }
        self.record_end(started, RunState::Failed, Used::default()).await
    }

    async fn record_end(
        &mut self,
        started: &SubagentStarted,
        state: RunState,
        used: Used,
    ) -> Result<(), DriveError> {
        let ended = SubagentEnded { call: started.call.clone(), run: started.run, state, used };
        Ok(self.driven.journal.record(Fact::SubagentEnded(ended)).await?)
    }

    /// The call, as it was made, if it waits for its subagent.
    fn waiting_call(&self, call: &CallId) -> Option<ToolCall> {
        let held = self.driven.run.find_call(call)?;
        match &held.data {
            CallData::Subagent(made) => {
                Some(ToolCall { arguments: made.arguments.clone(), ..held.call.clone() })
            }
            _ => None,
        }
    }

    async fn record_result(&mut self, call: &ToolCall, report: SubagentReport) -> Result<(), DriveError> {
        let cx = self.driven.call_context(&call.id, 0, None);
        let pipeline = self.driven.tools.pipeline.clone();
        pipeline.record_subagent_result(call, report, &cx).await?;
        self.driven.apply_written_facts();
        Ok(())
    }

    /// What becomes of subagents that are at work when the run ends: they end with one that was stopped or failed, and go
    /// on in the background of one that has answered.
    pub(super) fn leave_subagents(&self, state: RunState) {
        let open = self.driven.run.subagents().open_own_runs();
        let Some(host) = self.driven.shared.env.subagent_host().filter(|_| !open.is_empty()) else { return };
        if state == RunState::Completed {
            host.report_to_conversation(self.driven.run.id());
            return;
        }
        let by =
            self.driven.stop.by.clone().unwrap_or_else(|| "the end of the run that it worked for".into());
        for run in open {
            host.stop_subagent(run, by.clone());
        }
    }
}

fn unknown_run(started: &SubagentStarted) -> Failure {
    let SubagentStarted { run, agent, .. } = started;
    let told = format!(
        "there is no run {run} of the agent `{agent}` in the background of this conversation; give the id that you were \
         told, or a new `task`"
    );
    Failure::new(FailureKind::BadArguments, told).with_notice(Notice::subagent_run_unknown(&run.to_string()))
}
