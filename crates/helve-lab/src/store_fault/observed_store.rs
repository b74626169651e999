//! Crash points around the store: after a batch is queued, after it is durable, after it is published.

use std::sync::Arc;

use helve_store::{Append, OnCommit, Store, StoreFuture, Urgency};
use helve_types::FailPoints;

use super::StoreFault;

/// Changes nothing but when the process may die.
pub(crate) struct ObservedStore {
    pub(crate) failpoints: FailPoints,
}

impl StoreFault for ObservedStore {
    fn append(
        &self,
        inner: &Arc<dyn Store>,
        mut batch: Append,
        urgency: Urgency,
    ) -> StoreFuture<'static, ()> {
        let failpoints = self.failpoints.clone();
        let publish = batch.writer.on_commit.take();
        let watched: OnCommit = Box::new(move |events| {
            failpoints.reach("store.committed");
            if let Some(publish) = publish {
                publish(events);
            }
            failpoints.reach("store.published");
        });
        batch.writer.on_commit = Some(watched);
        let receipt = inner.append(batch, urgency);
        self.failpoints.reach("store.queued");
        receipt
    }
}
