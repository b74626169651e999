//! Hooks around a model step, which may take snapshots.
//!
//! A step does not depend on them: a hook that fails, refuses or takes too long leaves a notice, and the run goes on.

use helve_types::{Notice, SnapshotId, StepEdge, StepSnapshot};

use super::{HookPoint, HookProblem, HookQuestion, HookReply, Hooks, OrderedHook};

impl Hooks {
    /// Whether any hook wants to be asked at this end of a step of this agent's.
    pub fn has_step_hooks(&self, edge: StepEdge, agent: &str) -> bool {
        self.hooks_at(to_hook_point(edge), agent).next().is_some()
    }

    /// Asks the hooks one after the other; those that had nothing to say are left out.
    pub async fn take_snapshots(&self, edge: StepEdge, step: &HookQuestion<'_>) -> Vec<StepSnapshot> {
        let mut snapshots = vec![];
        for placed in self.hooks_at(to_hook_point(edge), step.agent) {
            let (snapshot, notice) = match placed.take_snapshot(edge, step).await {
                Ok(None) => continue,
                Ok(Some(id)) => (Some(id), None),
                Err(notice) => (None, Some(Box::new(notice))),
            };
            let hook = placed.name().to_owned();
            snapshots.push(StepSnapshot { step: step.step, edge, hook, snapshot, notice });
        }
        snapshots
    }
}

impl OrderedHook {
    async fn take_snapshot(
        &self,
        edge: StepEdge,
        step: &HookQuestion<'_>,
    ) -> Result<Option<SnapshotId>, Notice> {
        let work = match edge {
            StepEdge::Before => self.hook.before_step(step),
            StepEdge::After => self.hook.after_step(step),
        };
        let problem = match self.wait_for_answer(work).await {
            Ok(HookReply::Nothing) => return Ok(None),
            Ok(HookReply::Change(snapshot)) => return Ok(Some(snapshot)),
            Ok(HookReply::Refuse(_)) => {
                HookProblem::Failed("it refused, and a step cannot be refused".into())
            }
            Err(problem) => problem,
        };
        tracing::warn!(hook = self.name(), %problem, run = %step.run, step = step.step, "step hook failed");
        Err(match problem {
            HookProblem::TimedOut(limit) => {
                let limit_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
                Notice::step_hook_timed_out(self.name(), limit_ms)
            }
            HookProblem::Failed(_) => Notice::step_hook_failed(self.name()),
        })
    }
}

fn to_hook_point(edge: StepEdge) -> HookPoint {
    match edge {
        StepEdge::Before => HookPoint::BeforeStep,
        StepEdge::After => HookPoint::AfterStep,
    }
}
