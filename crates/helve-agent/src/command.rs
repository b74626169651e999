//! What others may want of a run.

use helve_store::StoreError;
use helve_tool::Outcome;
use helve_types::{Answer, ApprovalId, CallId};
use tokio::sync::oneshot;

#[derive(Debug)]
pub(crate) enum Command {
    Answer {
        approval: ApprovalId,
        answer: Answer,
        by: String,
        reply: Reply,
    },
    /// The client's result of a call that it was given.
    Deliver {
        call: CallId,
        outcome: Outcome,
        reply: Reply,
    },
    Cancel {
        by: String,
        reply: Reply,
    },
}

pub(crate) type Reply = oneshot::Sender<Result<(), CommandError>>;

/// Why a run did not do as it was told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    #[error("the question was already answered, or its run is over")]
    NotOpen,

    #[error("this answer does not fit the question")]
    DoesNotFit,

    #[error("the call does not wait for a result")]
    NotWaiting,

    #[error("the run is over")]
    Over,

    #[error("the run waits for somebody; answer its questions, or bring its results")]
    Waits,

    #[error("the run cannot take this right now; try again in a moment")]
    Busy,

    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Command {
    pub(crate) fn reply(self, result: Result<(), CommandError>) {
        let (Self::Answer { reply, .. } | Self::Deliver { reply, .. } | Self::Cancel { reply, .. }) = self;
        // Whoever asked may have left.
        _ = reply.send(result);
    }
}
