//! The runs of subagents that a run has begun, as its log tells of them.

use helve_types::{CallId, Fact, Question, RunId, SubagentStarted, Used};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Subagents {
    begun: Vec<SubagentRun>,
}

/// A run that works, or has worked, on a call of this one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SubagentRun {
    pub(crate) started: SubagentStarted,
    /// What it used up; none while it is at work.
    pub(crate) used: Option<Used>,
    /// What it asks people.
    pub(crate) questions: Vec<Question>,
}

impl SubagentRun {
    /// Whether this run has begun it, and does not wait for what an earlier one began.
    fn is_own(&self) -> bool {
        !self.started.joins_earlier_run()
    }
}

impl Subagents {
    pub(super) fn apply(&mut self, fact: &Fact) {
        match fact {
            Fact::SubagentStarted(started) => {
                self.begun.push(SubagentRun { started: started.clone(), used: None, questions: vec![] });
            }
            Fact::SubagentAsked(asked) => {
                if let Some(run) = self.find_mut(&asked.call) {
                    run.questions.push((*asked.question).clone());
                }
            }
            Fact::SubagentAnswered(answered) => {
                for run in &mut self.begun {
                    run.questions.retain(|question| question.approval != answered.approval);
                }
            }
            Fact::SubagentEnded(ended) => {
                if let Some(run) = self.find_mut(&ended.call) {
                    run.used = Some(ended.used);
                    run.questions.clear();
                }
            }
            _ => {}
        }
    }

    fn find_mut(&mut self, call: &CallId) -> Option<&mut SubagentRun> {
        self.begun.iter_mut().find(|run| run.started.call == *call)
    }

    pub(crate) fn find(&self, call: &CallId) -> Option<&SubagentRun> {
        self.begun.iter().find(|run| run.started.call == *call)
    }

    /// Those that are not known to be over.
    pub(crate) fn open(&self) -> impl Iterator<Item = &SubagentRun> {
        self.begun.iter().filter(|run| run.used.is_none())
    }

    /// Those that are at work for this run: they end with it.
    pub(crate) fn open_own_runs(&self) -> Vec<RunId> {
        self.open().filter(|run| run.is_own()).map(|run| run.started.run).collect()
    }

    /// How many it has begun.
    pub(crate) fn count(&self) -> usize {
        self.begun.iter().filter(|run| run.is_own()).count()
    }

    /// What those that are over have used up, and what is kept back for those that are at work. What an earlier run began
    /// counted there.
    pub(crate) fn used(&self) -> Used {
        let own = self.begun.iter().filter(|run| run.is_own());
        own.map(|run| run.used.unwrap_or_else(|| run.started.budget.to_used()))
            .fold(Used::default(), Used::plus)
    }

    /// Whether a call waits for this run.
    pub(crate) fn is_joined(&self, run: RunId) -> bool {
        self.open().any(|open| open.started.run == run && open.started.joins_earlier_run())
    }

    /// Whether a person is asked by one that the call waits for.
    pub(super) fn asks_for(&self, call: &CallId) -> bool {
        self.find(call).is_some_and(|run| !run.questions.is_empty())
    }
}
