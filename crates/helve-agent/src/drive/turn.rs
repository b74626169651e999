//! Waiting for the turn to work.
//!
//! A run that begins has its turn already. One that was resumed handles commands at once, and asks for a turn when there is
//! work to do. It gives the turn back when it waits for a person or a client, since a driver that leaves drops it.

use super::{DriveError, Driver};
use crate::run::Step;

impl Driver {
    /// Waits until it is this run's turn, or until there is nothing to wait for any more.
    pub(super) async fn wait_for_turn(&mut self) -> Result<(), DriveError> {
        let (turns, user) = (self.driven.shared.admission.clone(), self.driven.origin.user.0.clone());
        let mut turn = std::pin::pin!(turns.enter_unbounded(&user));
        let closing = self.driven.shared.shutdown.closing.clone();
        while self.has_work() {
            tokio::select! {
                pass = turn.as_mut() => {
                    self.pass = Some(pass);
                    break;
                }
                Some(command) = self.commands.recv() => Box::pin(self.handle_command(command)).await?,
                // What has not begun is the next server's.
                () = closing.cancelled() => return Err(DriveError::Halted),
            }
        }
        Ok(())
    }

    fn has_work(&self) -> bool {
        let works = matches!(self.driven.run.next_step(), Step::AskModel { .. } | Step::CallTools(_));
        works && !self.driven.is_stopped()
    }

    /// Whether there is work that only a run whose turn it is may do.
    pub(super) fn needs_turn(&self) -> bool {
        self.pass.is_none() && self.has_work()
    }
}
