//! Listening to people who speak to the model of a run.

use helve_store::Entry;
use helve_types::{Fact, MessageId, RunState};

use super::{DriveError, Driver};
use crate::command::CommandError;
use crate::run::{Enqueue, Step};

impl Driver {
    /// Keeps what a person says; whoever waits for an answer goes on waiting.
    pub(super) async fn queue(
        &mut self,
        message: MessageId,
        text: String,
        by: String,
    ) -> Result<Result<(), CommandError>, DriveError> {
        match self.run.judge_message(message, &text) {
            Enqueue::Known => return Ok(Ok(())),
            Enqueue::No(error) => return Ok(Err(error)),
            Enqueue::Queue => {}
        }
        let queued = Fact::MessageQueued { message, text, by };
        // A run that was left alone is taken up again by whoever speaks to it.
        let mut spoken_to = self.run.clone();
        spoken_to.apply(self.journal.now(), &queued);
        let goes_on = !matches!(spoken_to.next_step(), Step::Wait(_));
        self.shared.env.world.fate.at("message.before_queued");
        self.journal.commit(Entry { state: goes_on.then_some(RunState::Running), ..queued.into() }).await?;
        self.shared.env.world.fate.at("message.after_queued");
        Ok(Ok(()))
    }

    /// Lets the model hear what was said, before it is asked; says whether there was anything.
    pub(super) async fn hear(&mut self, step: u32) -> Result<bool, DriveError> {
        let heard = self.run.take_messages(step);
        let any = !heard.is_empty();
        if any {
            self.journal.record(heard).await?;
        }
        Ok(any)
    }
}
