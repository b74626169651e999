//! Batches that were recorded and are written with the next commit, as on the slowest disk.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::{Append, StoreError, StoreFuture};

type Receipt = oneshot::Sender<Result<(), StoreError>>;

#[derive(Default)]
pub(super) struct Delayed {
    /// `None` while nothing is delayed.
    batches: Mutex<Option<Vec<(Append, Receipt)>>>,
}

impl Delayed {
    pub(super) fn begin_delaying(&self) {
        self.batches().get_or_insert_default();
    }

    pub(super) fn is_delaying(&self) -> bool {
        self.batches().is_some()
    }

    pub(super) fn push(&self, batch: Append) -> StoreFuture<'static, ()> {
        let (written, receipt) = oneshot::channel();
        self.batches().get_or_insert_default().push((batch, written));
        let lost = || Err(StoreError::Unavailable("the store is closed".into()));
        Box::pin(async move { receipt.await.unwrap_or_else(|_| lost()) })
    }

    pub(super) fn take(&self) -> Vec<(Append, Receipt)> {
        self.batches().as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn batches(&self) -> MutexGuard<'_, Option<Vec<(Append, Receipt)>>> {
        self.batches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
