//! The store as the lab wants it: observed at its commits, or with a seeded bug.
//!
//! `FaultyStore` passes everything on to the real store but the three ways in which a run is written, which a `StoreFault` may
//! change. The product is never switched into a bug; the bug is put around it.

mod answered_twice;
mod early_shown;
mod fact_rewrite;
mod fold_rewrite;
mod held_appends;
mod ignored_epoch;
mod loose_key;
mod observed_store;
mod skipped_barrier;
mod stale_writer;
mod unchanged;
mod write_behind;

use std::pin::Pin;
use std::sync::Arc;

use helve_store::{
    Append, Claimed, IdempotencyKey, Log, NewRun, Opened, Recorded, Scope, Store, StoreFuture, Urgency,
};
use helve_types::{ConversationId, RunId, Timestamp, UserId};

pub(crate) use self::answered_twice::AnsweredTwice;
pub(crate) use self::early_shown::EarlyShown;
pub(crate) use self::fact_rewrite::{
    FactRewrite, attempts_run_together, claim_left_out, consent_as_refusal, late_as_outcome, start_left_out,
    unknown_as_failed,
};
pub(crate) use self::fold_rewrite::{consent_unbound, usage_forgotten};
pub(crate) use self::held_appends::HeldAppends;
pub(crate) use self::ignored_epoch::IgnoredEpoch;
pub(crate) use self::loose_key::LooseKey;
pub(crate) use self::observed_store::ObservedStore;
pub(crate) use self::skipped_barrier::SkippedBarrier;
pub(crate) use self::stale_writer::{SIGN, StaleWriter};
pub(crate) use self::write_behind::{EarlyReply, WriteBehind};

/// What differs from the real store.
pub(crate) trait StoreFault: Send + Sync + 'static {
    fn append(&self, inner: &Arc<dyn Store>, batch: Append, urgency: Urgency) -> StoreFuture<'static, ()> {
        inner.append(batch, urgency)
    }

    fn open_run<'a>(&'a self, inner: &'a Arc<dyn Store>, new: NewRun) -> StoreFuture<'a, Opened> {
        inner.open_run(new)
    }

    /// Before a run is claimed.
    fn before_claim(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(std::future::ready(()))
    }

    /// When a run was claimed, and before its new owner hears of it.
    fn claimed(&self, _: &Arc<dyn Store>, _: &mut Claimed) {}
}

pub(crate) struct FaultyStore<B> {
    inner: Arc<dyn Store>,
    fault: B,
}

impl<B: StoreFault> FaultyStore<B> {
    pub(crate) fn wrap(inner: Arc<dyn Store>, fault: B) -> Arc<dyn Store> {
        Arc::new(Self { inner, fault })
    }
}

impl<B: StoreFault> Log for FaultyStore<B> {
    fn open_run(&self, new: NewRun) -> StoreFuture<'_, Opened> {
        self.fault.open_run(&self.inner, new)
    }

    fn append(&self, batch: Append, urgency: Urgency) -> StoreFuture<'static, ()> {
        self.fault.append(&self.inner, batch, urgency)
    }

    fn claim_run(&self, run: RunId, owner: String, counts_as_resume: bool) -> StoreFuture<'_, Claimed> {
        Box::pin(async move {
            self.fault.before_claim().await;
            let mut claimed = self.inner.claim_run(run, owner, counts_as_resume).await?;
            self.fault.claimed(&self.inner, &mut claimed);
            Ok(claimed)
        })
    }

    fn find_run_of_key(
        &self,
        user: UserId,
        key: IdempotencyKey,
        now: Timestamp,
    ) -> StoreFuture<'_, Option<RunId>> {
        self.inner.find_run_of_key(user, key, now)
    }

    fn events(&self, run: RunId, after: u64, limit: usize) -> StoreFuture<'_, Vec<Recorded>> {
        self.inner.events(run, after, limit)
    }

    fn log_page(&self, run: RunId, after: u64, bytes_max: usize) -> StoreFuture<'_, Vec<Recorded>> {
        self.inner.log_page(run, after, bytes_max)
    }

    fn mark_subagent_reported(&self, run: RunId) -> StoreFuture<'_, ()> {
        self.inner.mark_subagent_reported(run)
    }

    fn rename_conversation(
        &self,
        scope: Scope,
        conversation: ConversationId,
        title: String,
    ) -> StoreFuture<'_, ()> {
        self.inner.rename_conversation(scope, conversation, title)
    }

    fn delete_conversation(&self, scope: Scope, conversation: ConversationId) -> StoreFuture<'_, ()> {
        self.inner.delete_conversation(scope, conversation)
    }
}
