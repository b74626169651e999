//! What others may want of a run.

use helve_store::StoreError;
use helve_tool::Outcome;
use helve_types::{Answer, ApprovalId, CallId, MessageId};
use tokio::sync::oneshot;

use crate::run::{Run, SAID_BYTES_MAX, Said};

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
    /// A message for the model, to be heard at its next step.
    Say {
        message: MessageId,
        text: String,
        by: String,
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

    #[error("`always` does not fit: {0}")]
    BadAlways(String),

    #[error("the call does not wait for a result")]
    NotWaiting,

    #[error("the run is over")]
    Over,

    #[error("the message is empty")]
    Empty,

    #[error(
        "the message is too long: it has {0} bytes, and {SAID_BYTES_MAX} are the most; say less, or put it in a file"
    )]
    TooLong(usize),

    #[error("the run has more messages to hear than it can take; wait until it has heard some")]
    TooMuchSaid,

    #[error("a message with this id, or this Idempotency-Key, was sent before and had another text")]
    OtherText,

    #[error("this run is one call of a tool; there is no model that could hear a message")]
    NobodyListens,

    #[error("the run cannot take this right now; try again in a moment")]
    Busy,

    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Command {
    pub(crate) fn reply(self, result: Result<(), CommandError>) {
        let (Self::Answer { reply, .. }
        | Self::Deliver { reply, .. }
        | Self::Say { reply, .. }
        | Self::Cancel { reply, .. }) = self;
        // Whoever asked may have left.
        _ = reply.send(result);
    }

    /// What becomes of it when the run is over: a message that was taken before is taken.
    pub(crate) fn late(&self, run: &Run) -> Result<(), CommandError> {
        match self {
            Self::Say { message, text, .. } => match run.on_said(*message, text) {
                Said::Known => Ok(()),
                Said::No(error) => Err(error),
                Said::Queue => Err(CommandError::Over),
            },
            _ => Err(CommandError::Over),
        }
    }
}
