//! Hooks at the ends of a step, and their snapshots on record.

use helve_store::Entry;
use helve_tool::HookQuestion;
use helve_types::{Fact, StepEdge};

use super::{DriveError, Driver};

impl Driver {
    /// Whether the last complete step has `after_step` hooks that are still to be asked.
    pub(super) fn must_close_step(&self) -> bool {
        let agent = &self.run.setup().agent;
        self.run.unclosed_step().is_some_and(|step| step > self.closed_step)
            && self.shared.env.settings.hooks.wait_for_step(StepEdge::After, agent)
    }

    /// Asks the `after_step` hooks about the last complete step.
    pub(super) async fn close_step(&mut self) -> Result<(), DriveError> {
        let Some(step) = self.run.unclosed_step() else { return Ok(()) };
        let model = self.run.setup().model.clone();
        self.snapshot_step(StepEdge::After, step, &model).await?;
        self.closed_step = step;
        Ok(())
    }

    /// Asks the hooks at one end of a step. What they say is one entry of the log, so a run that resumes knows whether
    /// all of them were asked. A person who stops the run does not wait for them.
    pub(super) async fn snapshot_step(
        &mut self,
        edge: StepEdge,
        step: u32,
        model: &str,
    ) -> Result<(), DriveError> {
        let shared = self.shared.clone();
        let agent = self.run.setup().agent.clone();
        if !shared.env.settings.hooks.wait_for_step(edge, &agent) {
            return Ok(());
        }
        let (user, conversation, run) = (self.user.clone(), self.conversation, self.run.id());
        let question = HookQuestion { run, conversation, agent: &agent, user: &user, model, step };
        let mut snapshots = vec![];
        let ask = async {
            snapshots = shared.env.settings.hooks.step_snapshots(edge, &question).await;
        };
        self.unless_stopped(ask).await?;
        let facts: Vec<Fact> = snapshots.into_iter().map(Fact::StepSnapshot).collect();
        if !facts.is_empty() {
            self.journal.record(Entry::from(facts)).await?;
            self.absorb();
        }
        Ok(())
    }
}
