//! Runs: opened, appended to, claimed, read.
//!
//! The only part of a store with hard semantics, and the only one that the fault lab changes.

use helve_types::{ConversationId, RunId, Timestamp, UserId};

use crate::{Append, Claimed, IdempotencyKey, NewRun, Opened, Recorded, Scope, StoreFuture, Urgency};

/// What was done, in order; everything else about runs is derived from it.
///
/// An implementer promises: what a future resolved with `Ok` survives a crash of the process and of the machine; each
/// method is one transaction, kept whole or not at all; appends of one run are written in the order of the calls; and
/// facts become visible to `on_commit` and to readers only after they are durable.
pub trait Log: Send + Sync + 'static {
    /// Records a run with its first event and the user's message, and returns the history before it.
    fn open_run(&self, new: NewRun) -> StoreFuture<'_, Opened>;

    /// The run that a request with this key has started, if the key still holds.
    fn find_run_of_key(
        &self,
        user: UserId,
        key: IdempotencyKey,
        now: Timestamp,
    ) -> StoreFuture<'_, Option<RunId>>;

    /// Appends facts and derives the rows from them.
    ///
    /// The batch is queued when this is called, not when the future is polled, so a caller may let `Soon`
    /// batches ride with its next `Now` batch. A lost batch makes all later ones of the run fail.
    fn append(&self, batch: Append, urgency: Urgency) -> StoreFuture<'static, ()>;

    /// Takes a run over: its former owner can no longer append.
    fn claim_run(&self, run: RunId, owner: String, counts_as_resume: bool) -> StoreFuture<'_, Claimed>;

    /// Events with a sequence number above `after`, in order.
    fn events(&self, run: RunId, after: u64, limit: usize) -> StoreFuture<'_, Vec<Recorded>>;

    /// The events after `after`, in order, up to the one with which they have `bytes_max` bytes or more. Fewer bytes
    /// mean that the log ends there.
    fn log_page(&self, run: RunId, after: u64, bytes_max: usize) -> StoreFuture<'_, Vec<Recorded>>;

    /// Notes that the run that a subagent works for knows what became of it.
    fn mark_subagent_reported(&self, run: RunId) -> StoreFuture<'_, ()>;

    fn rename_conversation(
        &self,
        scope: Scope,
        conversation: ConversationId,
        title: String,
    ) -> StoreFuture<'_, ()>;

    /// Forgets a conversation with its messages, runs, those of their subagents, and events; refused while a run is not
    /// over.
    fn delete_conversation(&self, scope: Scope, conversation: ConversationId) -> StoreFuture<'_, ()>;
}
