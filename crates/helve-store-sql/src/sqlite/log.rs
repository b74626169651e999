//! The log.

pub(crate) mod derived;
pub(crate) mod journal;
pub(crate) mod setups;

use helve_store::{
    Append, Claimed, IdempotencyKey, Log, NewRun, Opened, Recorded, Scope, StoreFuture, Urgency,
};
use helve_types::{ConversationId, RunId, Timestamp, UserId};

use self::journal::ClaimedRow;
use super::SqliteStore;
use super::views::{conversations, runs};

impl Log for SqliteStore {
    fn open_run(&self, new: NewRun) -> StoreFuture<'_, Opened> {
        let conversation = new.place.conversation();
        let written = self.write_now(move |connection| journal::open_run(connection, &new));
        Box::pin(
            async move { written.await?.with_history(|before| self.history(conversation, before)).await },
        )
    }

    fn find_run_of_key(
        &self,
        user: UserId,
        key: IdempotencyKey,
        now: Timestamp,
    ) -> StoreFuture<'_, Option<RunId>> {
        self.read(move |connection| journal::run_of_key(connection, &user, &key, now))
    }

    fn append(&self, mut batch: Append, urgency: Urgency) -> StoreFuture<'static, ()> {
        let on_commit = batch.writer.on_commit.take();
        let events = batch.events.clone();
        self.write(
            urgency,
            move |connection| journal::append(connection, &batch),
            move |()| {
                if let Some(publish) = on_commit {
                    publish(&events);
                }
            },
        )
    }

    fn claim_run(&self, run: RunId, owner: String, counts_as_resume: bool) -> StoreFuture<'_, Claimed> {
        let written =
            self.write_now(move |connection| journal::claim(connection, run, &owner, counts_as_resume));
        Box::pin(async move {
            let ClaimedRow { epoch, before } = written.await?;
            // No other owner can write to it from now on.
            let (record, events) = self
                .read(move |connection| {
                    let record = runs::run(connection, &Scope::Everyone, run)?;
                    Ok((record, runs::events(connection, run, 0, usize::MAX)?))
                })
                .await?;
            let history = self.history(record.conversation, before).await?;
            Ok(Claimed { epoch, record, history, events })
        })
    }

    fn events(&self, run: RunId, after: u64, limit: usize) -> StoreFuture<'_, Vec<Recorded>> {
        self.read(move |connection| runs::events(connection, run, after, limit))
    }

    fn log_page(&self, run: RunId, after: u64, bytes_max: usize) -> StoreFuture<'_, Vec<Recorded>> {
        self.read(move |connection| runs::log_page(connection, run, after, bytes_max))
    }

    fn mark_subagent_reported(&self, run: RunId) -> StoreFuture<'_, ()> {
        self.write_now(move |connection| journal::mark_reported(connection, run))
    }

    fn rename_conversation(
        &self,
        scope: Scope,
        conversation: ConversationId,
        title: String,
    ) -> StoreFuture<'_, ()> {
        self.write_now(move |connection| conversations::rename(connection, &scope, conversation, &title))
    }

    fn delete_conversation(&self, scope: Scope, conversation: ConversationId) -> StoreFuture<'_, ()> {
        self.write_now(move |connection| conversations::delete(connection, &scope, conversation))
    }
}
