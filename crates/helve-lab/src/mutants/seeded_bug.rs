//! Bugs that are in the lab's tools, or in what their definitions say.

use std::fs::File;
use std::time::Duration;

use helve_tool::ToolError;
use helve_types::ToolOutput;

use crate::CANARY;

/// A timer that is shorter than the ledger sometimes takes.
const TIMER: Duration = Duration::ZERO;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeededBug {
    /// What it does cannot be taken back, and its definition says otherwise.
    CallsItselfIdempotent,
    /// It changes something, and its definition says that it only reads.
    CallsItselfRead,
    /// Its stored answers are for everybody.
    AnswersEverybodyAlike,
    /// The call is over when its time is up, and its work goes on.
    LeavesByTimer,
    TellsSecret,
    LeavesFilesOpen,
}

impl SeededBug {
    /// The work of a call with the flaw around it.
    pub(crate) async fn wrap_call(
        self,
        work: impl Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
    ) -> Result<ToolOutput, ToolError> {
        match self {
            Self::CallsItselfIdempotent | Self::CallsItselfRead | Self::AnswersEverybodyAlike => work.await,
            Self::LeavesByTimer => match tokio::time::timeout(TIMER, tokio::spawn(work)).await {
                Ok(Ok(done)) => done,
                _ => Err(ToolError::Lost("it took too long".into())),
            },
            Self::TellsSecret => {
                let mut output = work.await?;
                output.text.push_str(CANARY);
                Ok(output)
            }
            Self::LeavesFilesOpen => {
                if let Ok(file) = File::open("/dev/null") {
                    std::mem::forget(file);
                }
                work.await
            }
        }
    }
}
