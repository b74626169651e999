//! What others may want of a run.

use helve_store::StoreError;
use helve_tool::{DECLINE_CHARS_MAX, FieldProblem, VoteRefusal, reply_notice};
use helve_types::{Answer, ApprovalId, CallId, Language, MessageId, Notice, RunId, UserId};
use tokio::sync::oneshot;

use crate::client_results::{ClientClaim, ClientResult};
use crate::run::{Enqueue, Run, SAID_BYTES_MAX};

#[derive(Debug)]
pub enum Command {
    Answer {
        approval: ApprovalId,
        answer: Answer,
        by: String,
        reply: Reply,
    },
    /// Approvers are to be reminded of a question, or others to be asked, if it is time.
    NotifyApprovers {
        approval: ApprovalId,
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
        delivered: Box<ClientResult>,
        reply: Reply,
    },
    /// A message for the model, for its next step.
    Say {
        message: MessageId,
        text: String,
        by: String,
        reply: Reply,
    },
    /// The client that has the call is silent, or no client claimed it for a long time.
    Overdue {
        call: CallId,
    },
    /// The run of a subagent asks something, was answered, or is over.
    SubagentChanged {
        run: RunId,
    },
    Cancel {
        by: String,
        reply: Reply,
    },
}

pub type Reply = oneshot::Sender<Result<(), CommandError>>;

/// Who lets a question expire.
pub const BY_TIME: &str = "time";

/// Why a run did not do as it was told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    #[error("the question was already answered, or its run is over")]
    NotOpen,

    #[error("this answer does not fit the question")]
    DoesNotFit,

    #[error("its time was up before it was answered; the question can no longer be answered")]
    Expired,

    #[error("the edited arguments cannot be sent, so the question stays open: {0}")]
    BadEdit(String, Option<Box<Notice>>),

    #[error("the reply is not taken, so the question stays open: {}", sentence(.0))]
    BadReply(Vec<FieldProblem>),

    #[error("the reason has more than {DECLINE_CHARS_MAX} characters; say less")]
    DeclineTooLong,

    #[error(transparent)]
    NotCounted(#[from] VoteRefusal),

    #[error("this person has answered just so before, and others must agree, too")]
    VotedBefore,

    #[error("`always` does not fit: {0}")]
    BadAlways(String),

    #[error("the call does not wait for a result")]
    NotWaiting,

    #[error("a client names itself with 1 to 64 visible ASCII characters")]
    BadClient,

    #[error("another client has claimed this call; its result comes from there")]
    ClaimedElsewhere,

    #[error(
        "this call is not claimed; claim it first, run it, and send the `result_token` of the claim with the result"
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

    #[error("the run waits for an answer or a result; answer its questions, or bring its results")]
    Waits,

    #[error("the run cannot take this right now; try again in a moment")]
    Busy,

    #[error(transparent)]
    Store(#[from] StoreError),
}

fn sentence(problems: &[FieldProblem]) -> String {
    reply_notice(problems).sentence(Language::English).unwrap_or_default()
}

impl Command {
    pub fn send_reply(self, result: Result<(), CommandError>) {
        // The caller may be gone.
        match (self, result) {
            (
                Self::Answer { reply, .. }
                | Self::Deliver { reply, .. }
                | Self::Say { reply, .. }
                | Self::Cancel { reply, .. },
                result,
            ) => _ = reply.send(result),
            (Self::Claim { reply, .. }, Err(error)) => _ = reply.send(Err(error)),
            (Self::Claim { .. }, Ok(()))
            | (Self::Overdue { .. } | Self::SubagentChanged { .. } | Self::NotifyApprovers { .. }, _) => {}
        }
    }

    /// What becomes of it when the run is over: a message that was taken before is taken.
    pub(crate) fn reply_after_run_ended(&self, run: &Run) -> Result<(), CommandError> {
        match self {
            Self::Say { message, text, .. } => match run.check_new_message(*message, text) {
                Enqueue::Known => Ok(()),
                Enqueue::Rejected(error) => Err(error),
                Enqueue::Queue => Err(CommandError::Over),
            },
            _ => Err(CommandError::Over),
        }
    }
}
