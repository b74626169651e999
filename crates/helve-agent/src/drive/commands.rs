//! What others want of the run, while it works and while it waits.

use super::{DriveError, Driver};
use crate::calls::record_claim;
use crate::command::Command;

impl Driver {
    /// Does what a command asks for, if it can be done.
    pub(crate) async fn handle_command(&mut self, command: Box<Command>) -> Result<(), DriveError> {
        let driven = &mut self.driven;
        driven.apply_written_facts();
        match *command {
            Command::Answer { approval, answer, by, reply } => {
                _ = reply.send(driven.record_answer_or_expiry(approval, answer, by).await?);
            }
            Command::Claim { call, client, by, reply } => {
                _ = reply.send(record_claim(driven, &call, &client, &by).await?);
            }
            Command::Say { message, text, by, reply } => {
                let queued = driven.queue_message(message, text, by).await?;
                _ = reply.send(queued);
            }
            Command::Deliver { delivered, reply } => {
                self.calls.handle_client_result(driven, *delivered, reply).await?
            }
            Command::SubagentChanged { run } => self.note_subagent_change(run),
            Command::Overdue { call } => self.calls.end_overdue_call(driven, &call).await?,
            Command::NotifyApprovers { approval } => driven.record_due_notice(approval).await?,
            Command::Cancel { by, reply } => {
                driven.stop.stop(by);
                _ = reply.send(Ok(()));
            }
        }
        self.driven.apply_written_facts();
        Ok(())
    }

    /// Waits for the next command.
    pub(crate) async fn next_command(&mut self) -> Option<Box<Command>> {
        self.commands.recv().await
    }

    /// Waits, while people may speak; if one of them stops the run, no longer.
    pub(crate) async fn wait_unless_stopped(
        &mut self,
        wait: impl Future<Output = ()>,
    ) -> Result<(), DriveError> {
        let mut wait = std::pin::pin!(wait);
        let halt = self.driven.shared.shutdown.halt.clone();
        loop {
            tokio::select! {
                () = &mut wait => return Ok(()),
                Some(command) = self.commands.recv() => {
                    Box::pin(self.handle_command(command)).await?;
                    if self.driven.is_stopped() {
                        return Ok(());
                    }
                }
                () = halt.cancelled() => return Err(DriveError::Halted),
            }
        }
    }
}
