//! What a run lets its subagents do, and what it knows of them.

use std::time::Duration;

use helve_store::{RunRecord, StoreError};
use helve_tool::{SubagentReport, SubagentTerms};
use helve_types::{
    Answer, ApprovalId, Asker, Cancelled, Ending, Fact, Failure, FailureKind, Labels, Notice, ParentCall,
    Question, RunId, SubagentAnswered, SubagentAsked, SubagentStarted, Taint, ToolOutput, Trail, Used,
};
use serde_json::json;

use super::DrivenRun;
use crate::drive::DriveError;
use crate::run::{Run, SubagentRun};

/// So often in a row a conversation goes on because work in the background has ended, without a word of a person.
const WAKES_MAX: u32 = 10;

/// The end of a subagent's run, as the run that it works for is told.
pub(crate) struct SubagentResult {
    pub(crate) report: SubagentReport,
    /// With all runs below it.
    pub(crate) used: Used,
}

impl DrivenRun {
    /// Who asks people, where this run is a subagent's.
    pub(crate) fn asker(&self) -> Option<Box<Asker>> {
        let setup = self.run.setup();
        let parent = setup.parent.as_ref()?;
        Some(Box::new(Asker {
            agent: setup.agent.clone(),
            run: self.run.id(),
            parent: parent.run,
            conversation: parent.conversation,
        }))
    }

    /// The run above all others of the tree.
    fn root(&self) -> RunId {
        self.run.setup().parent.as_ref().map_or(self.run.id(), |parent| parent.root)
    }

    /// What the next call of a subagent may do.
    pub(crate) async fn subagent_terms(&self) -> Result<SubagentTerms, DriveError> {
        let setup = self.run.setup();
        let above = setup.parent.as_ref().map(|parent| parent.agents.clone()).unwrap_or_default();
        Ok(SubagentTerms {
            run: self.shared.env.world.run_id(),
            left: self.check_subagent_limits().await?.map(|()| self.run_account().left()),
            agents: above.into_iter().chain([setup.agent.clone()]).collect(),
            // Only a conversation goes on after its run.
            can_wake: self.origin.conversation.is_some() && setup.parent.is_none() && setup.woken < WAKES_MAX,
        })
    }

    /// Whether there may be one run more.
    async fn check_subagent_limits(&self) -> Result<Result<(), Failure>, DriveError> {
        let limits = self.shared.env.settings.subagents;
        let number = |max: usize| u64::try_from(max).unwrap_or(u64::MAX);
        let refused = |told: String, notice: Notice| {
            Ok(Err(Failure::new(
                FailureKind::Limited,
                told + "; do it yourself, or answer with what you have",
            )
            .with_notice(notice)))
        };
        let depth = self.run.setup().parent.as_ref().map_or(0, |parent| parent.depth());
        if depth >= limits.depth_max {
            let max = limits.depth_max;
            let told = format!("agents may ask agents {max} levels deep at most");
            return refused(told, Notice::subagent_too_deep(number(max)));
        }
        let max = limits.per_run_max;
        if self.run.subagents().count() >= max {
            let told = format!("one run may ask other agents {max} times at most");
            return refused(told, Notice::subagents_too_many(number(max)));
        }
        let max = limits.per_tree_max;
        if self.shared.env.store.subagent_runs(self.root()).await?.len() >= max {
            let told = format!("one task may have {max} runs of other agents at most");
            return refused(told, Notice::subagents_too_many_in_tree(number(max)));
        }
        Ok(Ok(()))
    }

    /// What the run of a subagent is told about where it comes from.
    pub(crate) fn parent_call(&self, started: &SubagentStarted) -> ParentCall {
        let setup = self.run.setup();
        let above = setup.parent.as_ref();
        let agents = above.map(|parent| parent.agents.clone()).unwrap_or_default();
        ParentCall {
            run: self.run.id(),
            call: started.call.clone(),
            root: self.root(),
            conversation: above.map_or(self.origin.conversation, |parent| parent.conversation),
            agents: agents.into_iter().chain([setup.agent.clone()]).collect(),
            budget: started.budget,
            taint: self.run.taint_at_request(),
            background: started.background,
        }
    }

    /// Whether the call may have the answer of a run that was begun before: one of this agent's, in the background of this
    /// run or of an earlier one of the same conversation.
    pub(crate) fn may_join(&self, started: &SubagentStarted, record: &RunRecord) -> bool {
        let Some(parent) = &record.setup.parent else { return false };
        let is_of_conversation =
            parent.conversation.is_some() && parent.conversation == self.origin.conversation;
        let is_meant = record.setup.agent == started.agent && parent.background;
        is_meant && (parent.run == self.run.id() || (is_of_conversation && parent.depth() == 1))
    }

    /// What the log of a subagent's run says about questions that this run does not know of.
    pub(crate) async fn read_subagent_questions(&self, known: &SubagentRun) -> Result<Vec<Fact>, DriveError> {
        let call = &known.started.call;
        let log = self.shared.env.store.events(known.started.run, 0, usize::MAX).await?;
        let mut asked: Vec<Question> = vec![];
        let mut answered: Vec<(ApprovalId, Answer, String)> = vec![];
        for recorded in log {
            match recorded.event.fact {
                Fact::ApprovalAsked(question) => asked.push(question),
                Fact::SubagentAsked(below) => asked.push(*below.question),
                Fact::ApprovalAnswered { approval, answer, by, .. } => answered.push((approval, answer, by)),
                Fact::SubagentAnswered(SubagentAnswered { approval, answer, by, .. }) => {
                    answered.push((approval, answer, by));
                }
                _ => {}
            }
        }
        let is_answered = |question: &Question| answered.iter().any(|(id, ..)| *id == question.approval);
        let is_shown = |approval| known.questions.iter().any(|question| question.approval == approval);
        let settled = answered.iter().filter(|(approval, ..)| is_shown(*approval));
        let settled = settled.map(|(approval, answer, by)| {
            Fact::SubagentAnswered(SubagentAnswered {
                call: call.clone(),
                approval: *approval,
                answer: answer.clone(),
                by: by.clone(),
            })
        });
        let new = asked.iter().filter(|question| !is_answered(question) && !is_shown(question.approval));
        let new = new.map(|question| {
            Fact::SubagentAsked(SubagentAsked { call: call.clone(), question: Box::new(question.clone()) })
        });
        Ok(settled.chain(new).collect())
    }

    /// What came of a subagent's run that is over.
    pub(crate) async fn read_subagent_result(
        &self,
        record: &RunRecord,
        tool: &str,
        trail: Trail,
    ) -> Result<SubagentResult, DriveError> {
        let log = self.shared.env.store.events(record.run, 0, usize::MAX).await?;
        let facts = || log.iter().map(|recorded| (recorded.event.at, &recorded.event.fact));
        let Some(run) = Run::replay(record.run, record.setup.clone(), facts()) else {
            return Err(StoreError::Unavailable(format!("the log of run {} is empty", record.run)).into());
        };
        let end = log.iter().rev().map(|recorded| &recorded.event.fact).find(|fact| fact.is_last());
        let taken = record.ended_at.map_or(0, |ended| ended.since_ms(record.created_at));
        let report = SubagentReport {
            result: describe_result(&run, end),
            labels: labels_of_taint(tool, &run.current_taint()),
            took: Duration::from_millis(taken),
            trail,
        };
        Ok(SubagentResult { report, used: self.sum_up_used(&run).await? })
    }

    /// What a run has used up with all runs below it, whatever its own log knows of them.
    async fn sum_up_used(&self, run: &Run) -> Result<Used, DriveError> {
        let root = run.setup().parent.as_ref().map_or(run.id(), |parent| parent.root);
        let tree = self.shared.env.store.subagent_runs(root).await?;
        let mut used = run.used_by_own_work();
        let mut above = vec![run.id()];
        while let Some(parent) = above.pop() {
            let below = tree
                .iter()
                .filter(|record| record.setup.parent.as_ref().is_some_and(|call| call.run == parent));
            for record in below {
                let log = self.shared.env.store.events(record.run, 0, usize::MAX).await?;
                let facts = log.iter().map(|recorded| (recorded.event.at, &recorded.event.fact));
                if let Some(run) = Run::replay(record.run, record.setup.clone(), facts) {
                    used = used.plus(run.used_by_own_work());
                }
                above.push(record.run);
            }
        }
        Ok(used)
    }
}

/// The answer of a run, or why there is none.
fn describe_result(run: &Run, end: Option<&Fact>) -> Result<ToolOutput, Failure> {
    let agent = &run.setup().agent;
    match end {
        Some(Fact::RunFinished { ending }) => Ok(answer(run, *ending)),
        Some(Fact::RunCancelled(Cancelled { by })) => {
            let told = format!(
                "the run of the agent `{agent}` was stopped by {by} before it had an answer; what it had done until then \
                 stays done. Go on without its answer, and do not ask it again for the same"
            );
            let notice = Notice::subagent_stopped(agent, by);
            Err(Failure::new(FailureKind::Cancelled, told).with_notice(notice))
        }
        Some(Fact::RunFailed { message, .. }) => {
            let told = format!("the run of the agent `{agent}` failed: {message}. Go on without its answer");
            Err(Failure::new(FailureKind::Failed, told).with_notice(Notice::subagent_failed(agent)))
        }
        _ => {
            let told =
                format!("the run of the agent `{agent}` has no end on record. Go on without its answer");
            Err(Failure::new(FailureKind::Failed, told).with_notice(Notice::subagent_failed(agent)))
        }
    }
}

fn answer(run: &Run, ending: Ending) -> ToolOutput {
    let agent = &run.setup().agent;
    let mut text = run.message().text();
    if text.trim().is_empty() {
        text = format!("The agent `{agent}` ended without an answer.");
    }
    if let Some((_, lack)) = ending.lack() {
        text.push_str(&format!("\n\n(The agent `{agent}` did not come to its end: {lack}.)"));
    }
    ToolOutput::text(text)
        .with_headline(format!("{agent} has answered"), Notice::subagent_answered(agent))
        .with_data(json!({"agent": agent, "run": run.id().to_string()}))
}

/// An answer may hold all that its agent has read.
fn labels_of_taint(tool: &str, taint: &Taint) -> Labels {
    Labels {
        source: tool.to_owned(),
        place: None,
        private: !taint.private.is_empty(),
        untrusted: !taint.untrusted.is_empty(),
    }
}

/// What the model is told about a run that it has begun in the background.
pub(crate) fn background_output(started: &SubagentStarted) -> ToolOutput {
    let SubagentStarted { agent, run, .. } = started;
    let text = format!(
        "The agent `{agent}` works on it in the background, as run {run}. Go on with other things, or end your answer: \
         you are told when it is done. To get its answer then, call this tool with `result_of`: \"{run}\"."
    );
    ToolOutput::text(text)
        .with_headline(format!("{agent} works in the background"), Notice::subagent_in_background(agent))
        .with_data(json!({"agent": agent, "run": run.to_string()}))
}

/// Labels of what Helve itself says about a call.
pub(crate) fn own_words(tool: &str) -> Labels {
    Labels { source: tool.to_owned(), ..Labels::default() }
}

/// What a run or a conversation is told when a run that was begun in the background is over. None of its own words are in
/// it: they come with labels, when the model asks for them.
pub fn background_notice(agent: &str, tool: &str, run: RunId) -> String {
    format!(
        "The agent `{agent}` has ended its work in the background (run {run}). To get its answer, call `{tool}` with \
         `result_of`: \"{run}\"."
    )
}
