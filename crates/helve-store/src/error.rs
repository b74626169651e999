//! What can go wrong while remembering, by what the caller does next.

use helve_types::RunId;

#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum StoreError {
    /// Not there, or not visible in this scope; callers are not told which.
    #[error("no such {0}")]
    NotFound(&'static str),

    /// The conversation has a run that is not over.
    #[error("the conversation is busy with run {0}")]
    Busy(RunId),

    /// The idempotency key was used before, for another request.
    #[error("the idempotency key was already used for a different request")]
    KeyReused,

    /// Another process owns the run now, or an earlier append was lost: stop; the log counts.
    #[error("run {0} is no longer ours to write")]
    Fenced(RunId),

    /// The approval was settled before.
    #[error("the question was already answered")]
    AlreadyAnswered,

    /// It is not what it was when the change was made: look again.
    #[error("it was changed meanwhile and is at version {0} now")]
    Changed(u32),

    /// What only one can have is another's already.
    #[error("this {0} belongs to another user")]
    Taken(&'static str),

    /// There is no room for another one.
    #[error("there is no room for another {0}")]
    Full(&'static str),

    /// The medium failed; nothing of the request was kept.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
}
