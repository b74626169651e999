//! The log.

use helve_types::{ConversationId, RunId, Timestamp, UserId};

use super::MemoryStore;
use crate::{Append, Claimed, IdempotencyKey, Log, NewRun, Opened, Recorded, Scope, StoreFuture, Urgency};

impl Log for MemoryStore {
    fn open_run(&self, new: NewRun) -> StoreFuture<'_, Opened> {
        self.write_delayed();
        self.with_tables(|all| all.open_run(new))
    }

    fn find_run_of_key(
        &self,
        user: UserId,
        key: IdempotencyKey,
        now: Timestamp,
    ) -> StoreFuture<'_, Option<RunId>> {
        self.with_tables(|all| all.run_of_key(&user, &key, now))
    }

    fn append(&self, batch: Append, urgency: Urgency) -> StoreFuture<'static, ()> {
        match urgency {
            Urgency::Soon if self.delayed.is_delaying() => return self.delayed.push(batch),
            Urgency::Soon => {}
            Urgency::Now => self.write_delayed(),
        }
        Box::pin(std::future::ready(self.write(batch)))
    }

    fn claim_run(&self, run: RunId, _: String, counts_as_resume: bool) -> StoreFuture<'_, Claimed> {
        self.with_tables(|all| all.claim(run, counts_as_resume))
    }

    fn events(&self, run: RunId, after: u64, limit: usize) -> StoreFuture<'_, Vec<Recorded>> {
        self.with_tables(|all| {
            let log = all.runs.get(&run).map_or(&[][..], |shelf| &shelf.log);
            Ok(log.iter().filter(|recorded| recorded.event.seq > after).take(limit).cloned().collect())
        })
    }

    fn log_page(&self, run: RunId, after: u64, bytes_max: usize) -> StoreFuture<'_, Vec<Recorded>> {
        self.with_tables(|all| {
            let log = all.runs.get(&run).map_or(&[][..], |shelf| &shelf.log);
            let mut bytes = 0;
            let page = log.iter().filter(|recorded| recorded.event.seq > after).take_while(|recorded| {
                let fits = bytes < bytes_max;
                bytes += recorded.json.len();
                fits
            });
            Ok(page.cloned().collect())
        })
    }

    fn mark_subagent_reported(&self, run: RunId) -> StoreFuture<'_, ()> {
        self.with_tables(|all| {
            if let Some(shelf) = all.runs.get_mut(&run) {
                shelf.is_unreported = false;
            }
            Ok(())
        })
    }

    fn rename_conversation(
        &self,
        scope: Scope,
        conversation: ConversationId,
        title: String,
    ) -> StoreFuture<'_, ()> {
        self.with_tables(|all| {
            all.conversation(&scope, conversation)?;
            if let Some(shelf) = all.conversations.get_mut(&conversation) {
                shelf.row.title = title;
            }
            Ok(())
        })
    }

    fn delete_conversation(&self, scope: Scope, conversation: ConversationId) -> StoreFuture<'_, ()> {
        self.with_tables(|all| all.delete_conversation(&scope, conversation))
    }
}
