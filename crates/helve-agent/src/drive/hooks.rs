//! Hooks at the ends of a step, and their snapshots on record.

use helve_store::NewFacts;
use helve_tool::HookQuestion;
use helve_types::{Fact, StepEdge};

use super::{DriveError, Driver};

impl Driver {
    /// Whether the last complete step has `after_step` hooks that are still to be asked.
    pub(super) fn must_ask_after_step_hooks(&self) -> bool {
        let agent = &self.driven.run.setup().agent;
        self.driven.run.unclosed_step().is_some_and(|step| step > self.memory.closed_step)
            && self.driven.shared.env.settings.hooks.has_step_hooks(StepEdge::After, agent)
    }

    /// Asks the `after_step` hooks about the last complete step.
    pub(super) async fn ask_after_step_hooks(&mut self) -> Result<(), DriveError> {
        let Some(step) = self.driven.run.unclosed_step() else { return Ok(()) };
        let model = self.driven.run.setup().model.clone();
        self.run_snapshot_hooks(StepEdge::After, step, &model).await?;
        self.memory.closed_step = step;
        Ok(())
    }

    /// Asks the hooks at one end of a step. What they say is one entry of the log, so a run that resumes knows whether
    /// all of them were asked. A person who stops the run does not wait for them.
    pub(crate) async fn run_snapshot_hooks(
        &mut self,
        edge: StepEdge,
        step: u32,
        model: &str,
    ) -> Result<(), DriveError> {
        let shared = self.driven.shared.clone();
        let agent = self.driven.run.setup().agent.clone();
        if !shared.env.settings.hooks.has_step_hooks(edge, &agent) {
            return Ok(());
        }
        let (user, conversation, run) =
            (self.driven.origin.user.clone(), self.driven.origin.conversation, self.driven.run.id());
        let question = HookQuestion { run, conversation, agent: &agent, user: &user, model, step };
        let mut snapshots = vec![];
        let ask = async {
            snapshots = shared.env.settings.hooks.take_snapshots(edge, &question).await;
        };
        self.wait_unless_stopped(ask).await?;
        let facts: Vec<Fact> = snapshots.into_iter().map(Fact::StepSnapshot).collect();
        if !facts.is_empty() {
            self.driven.journal.record(NewFacts::from(facts)).await?;
            self.driven.apply_written_facts();
        }
        Ok(())
    }
}
