//! Batches that were recorded and are written with the next one that somebody waits for, as a disk would at its slowest.

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
    pub(super) fn begin(&self) {
        self.batches().get_or_insert_default();
    }

    /// Takes the batch, or gives it back while nothing is delayed.
    pub(super) fn push(&self, batch: Append) -> Result<StoreFuture<'static, ()>, Append> {
        let mut batches = self.batches();
        let Some(batches) = &mut *batches else { return Err(batch) };
        let (written, receipt) = oneshot::channel();
        batches.push((batch, written));
        let lost = || Err(StoreError::Unavailable("the store is closed".into()));
        Ok(Box::pin(async move { receipt.await.unwrap_or_else(|_| lost()) }))
    }

    pub(super) fn take(&self) -> Vec<(Append, Receipt)> {
        self.batches().as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn batches(&self) -> MutexGuard<'_, Option<Vec<(Append, Receipt)>>> {
        self.batches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
