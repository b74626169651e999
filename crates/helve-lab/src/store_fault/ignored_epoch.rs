//! The bug "any owner may write": every batch is written under the newest claim.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use helve_store::{Append, Claimed, Store, StoreFuture, Urgency};
use helve_types::RunId;

use super::StoreFault;

#[derive(Default)]
pub(crate) struct IgnoredEpoch {
    newest: Mutex<HashMap<RunId, u64>>,
}

impl StoreFault for IgnoredEpoch {
    fn append(
        &self,
        inner: &Arc<dyn Store>,
        mut batch: Append,
        urgency: Urgency,
    ) -> StoreFuture<'static, ()> {
        let newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(epoch) = newest.get(&batch.writer.run) {
            batch.writer.epoch = *epoch;
        }
        inner.append(batch, urgency)
    }

    fn claimed(&self, _: &Arc<dyn Store>, claimed: &mut Claimed) {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        newest.insert(claimed.record.run, claimed.epoch);
    }
}
