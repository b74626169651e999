//! Crash points around the store: after a batch is queued, after it is durable, after it is published.

use std::sync::Arc;

use helve_store::{Append, OnCommit, Store, StoreFuture, Urgency};
use helve_types::Fate;

use super::StoreFault;

/// Changes nothing but when the process may die.
pub(crate) struct ObservedStore {
    pub(crate) fate: Fate,
}

impl StoreFault for ObservedStore {
    fn append(
        &self,
        inner: &Arc<dyn Store>,
        mut batch: Append,
        urgency: Urgency,
    ) -> StoreFuture<'static, ()> {
        let fate = self.fate.clone();
        let publish = batch.on_commit.take();
        let watched: OnCommit = Box::new(move |events| {
            fate.at("store.committed");
            if let Some(publish) = publish {
                publish(events);
            }
            fate.at("store.published");
        });
        batch.on_commit = Some(watched);
        let receipt = inner.append(batch, urgency);
        self.fate.at("store.queued");
        receipt
    }
}
