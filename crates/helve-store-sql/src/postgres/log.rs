//! The log.

pub(super) mod derived;
pub(super) mod journal;
pub(super) mod setups;

use helve_store::{
    Append, Claimed, IdempotencyKey, Log, NewRun, Opened, Recorded, RunWriter, Scope, StoreFuture, Urgency,
};
use helve_types::{ConversationId, RunId, Timestamp, UserId};

use self::journal::{Batch, ClaimedRow};
use super::PostgresStore;
use super::views::{conversations, runs};

impl Log for PostgresStore {
    fn open_run(&self, new: NewRun) -> StoreFuture<'_, Opened> {
        let conversation = new.place.conversation();
        let written = self.write_now(new, |db, new| Box::pin(journal::open_run(db, new)));
        Box::pin(async move {
            written.await?.with_history(|before| self.load_history(conversation, before)).await
        })
    }

    fn find_run_of_key(
        &self,
        user: UserId,
        key: IdempotencyKey,
        now: Timestamp,
    ) -> StoreFuture<'_, Option<RunId>> {
        self.read((user, key, now), |db, (user, key, now)| Box::pin(journal::run_of_key(db, user, key, *now)))
    }

    fn append(&self, batch: Append, urgency: Urgency) -> StoreFuture<'static, ()> {
        let Append { events, state, message, full_outputs, files, writer, .. } = batch;
        let RunWriter { run, epoch, on_commit } = writer;
        let kept = events.clone();
        // `Sync`, which what publishes need not be.
        let on_commit = std::sync::Mutex::new(on_commit);
        self.write(
            urgency,
            None,
            Batch { run, epoch, events, state, message, full_outputs, files },
            |db, batch| Box::pin(journal::append(db, batch)),
            move |()| {
                let publish = on_commit.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
                if let Some(publish) = publish {
                    publish(&kept);
                }
            },
        )
    }

    fn claim_run(&self, run: RunId, owner: String, counts_as_resume: bool) -> StoreFuture<'_, Claimed> {
        let written = self.write_now((run, owner, counts_as_resume), |db, (run, owner, counts)| {
            Box::pin(journal::claim(db, *run, owner, *counts))
        });
        Box::pin(async move {
            let ClaimedRow { epoch, before } = written.await?;
            // No other process writes to it from now on.
            let (record, events) =
                self.read(run, |db, run| Box::pin(runs::run_with_events(db, *run))).await?;
            let history = self.load_history(record.conversation, before).await?;
            Ok(Claimed { epoch, record, history, events })
        })
    }

    fn events(&self, run: RunId, after: u64, limit: usize) -> StoreFuture<'_, Vec<Recorded>> {
        self.read((run, after, limit), |db, (run, after, limit)| {
            Box::pin(runs::events(db, *run, *after, *limit))
        })
    }

    fn log_page(&self, run: RunId, after: u64, bytes_max: usize) -> StoreFuture<'_, Vec<Recorded>> {
        self.read((run, after, bytes_max), |db, (run, after, bytes_max)| {
            Box::pin(runs::log_page(db, *run, *after, *bytes_max))
        })
    }

    fn mark_subagent_reported(&self, run: RunId) -> StoreFuture<'_, ()> {
        self.write_now(run, |db, run| Box::pin(journal::mark_reported(db, *run)))
    }

    fn rename_conversation(
        &self,
        scope: Scope,
        conversation: ConversationId,
        title: String,
    ) -> StoreFuture<'_, ()> {
        self.write_now((scope, conversation, title), |db, (scope, conversation, title)| {
            Box::pin(conversations::rename(db, scope, *conversation, title))
        })
    }

    fn delete_conversation(&self, scope: Scope, conversation: ConversationId) -> StoreFuture<'_, ()> {
        self.write_now((scope, conversation), |db, (scope, conversation)| {
            Box::pin(conversations::delete(db, scope, *conversation))
        })
    }
}
