//! What others may want of a run.

use helve_store::StoreError;
use helve_types::{Answer, ApprovalId, CallId, UserId};
use tokio::sync::oneshot;

use crate::runtime::client::{ClientClaim, Delivered};

#[derive(Debug)]
pub(crate) enum Command {
    Answer {
        approval: ApprovalId,
        answer: Answer,
        by: String,
        reply: Reply,
    },
    /// A client wants to run a call.
    Claim {
        call: CallId,
        client: String,
        by: UserId,
        reply: oneshot::Sender<Result<ClientClaim, CommandError>>,
    },
    /// The client's result of a call that it was given.
    Deliver {
        delivered: Box<Delivered>,
        reply: Reply,
    },
    /// The client that has the call is silent, or nobody took it for a long time.
    Overdue {
        call: CallId,
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

    #[error("a client names itself with 1 to 64 visible ASCII characters")]
    BadClient,

    #[error("another client has claimed this call; its result comes from there")]
    ClaimedElsewhere,

    #[error(
        "nobody has claimed this call; claim it first, run it, and send the `result_token` of the claim with the result"
    )]
    NotClaimed,

    #[error(
        "the result has no `result_token`; claim the call first (`POST …/claim`) and send the token that you get with the result"
    )]
    NoToken,

    #[error("this `result_token` was not given to you for this call; send the one that came with your claim")]
    WrongToken,

    #[error("another result was brought for this call before; the first one counts")]
    AlreadyBrought,

    #[error(
        "the client that had the call was silent for too long, so its outcome is unknown and this result does not count"
    )]
    ClaimLost,

    #[error("the run is over")]
    Over,

    #[error("the run cannot take this right now; try again in a moment")]
    Busy,

    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Command {
    pub(crate) fn reply(self, result: Result<(), CommandError>) {
        // Whoever asked may have left.
        match (self, result) {
            (
                Self::Answer { reply, .. } | Self::Deliver { reply, .. } | Self::Cancel { reply, .. },
                result,
            ) => _ = reply.send(result),
            (Self::Claim { reply, .. }, Err(error)) => _ = reply.send(Err(error)),
            (Self::Claim { .. }, Ok(())) | (Self::Overdue { .. }, _) => {}
        }
    }
}
