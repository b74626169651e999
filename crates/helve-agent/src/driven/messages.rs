//! What people say to the model of a run while it works.

use helve_store::NewFacts;
use helve_types::{Fact, MessageId, RunState};

use super::DrivenRun;
use crate::command::CommandError;
use crate::drive::DriveError;
use crate::run::{Enqueue, Step};

impl DrivenRun {
    /// Keeps what a person says. A run that waits for an answer goes on waiting.
    pub(crate) async fn queue_message(
        &mut self,
        message: MessageId,
        text: String,
        by: String,
    ) -> Result<Result<(), CommandError>, DriveError> {
        match self.run.check_new_message(message, &text) {
            Enqueue::Known => return Ok(Ok(())),
            Enqueue::Rejected(error) => return Ok(Err(error)),
            Enqueue::Queue => {}
        }
        let queued = Fact::MessageQueued { message, text, by };
        // A message resumes a run that needs attention.
        let mut spoken_to = self.run.clone();
        spoken_to.apply(self.journal.now(), &queued);
        let goes_on = !matches!(spoken_to.next_step(), Step::Wait(_));
        self.shared.env.world.failpoint("message.before_queued");
        self.journal
            .commit(NewFacts { state: goes_on.then_some(RunState::Running), ..queued.into() })
            .await?;
        self.shared.env.world.failpoint("message.after_queued");
        Ok(Ok(()))
    }

    /// Records that the model is shown what was said, before it is asked; says whether there was anything.
    pub(crate) async fn take_pending_messages(&mut self, step: u32) -> Result<bool, DriveError> {
        let shown = self.run.taken_message_facts(step);
        let any = !shown.is_empty();
        if any {
            self.journal.record(shown).await?;
        }
        Ok(any)
    }
}
