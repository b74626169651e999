//! Bugs of the kind "acknowledged, and written with the next batch": the batch waits in memory meanwhile.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use helve_store::{Append, Store, StoreFuture, Urgency};
use helve_types::{Fact, RunId};

use super::StoreFault;

pub(crate) struct HeldAppends {
    is_held: fn(&Fact) -> bool,
    batches: Mutex<HashMap<RunId, Vec<Append>>>,
}

impl HeldAppends {
    /// That a call is started is written when it has ended.
    pub(crate) fn hold_intent() -> Self {
        Self::back(|fact| matches!(fact, Fact::ToolStarted { .. }))
    }

    /// What a person says is written when the model hears it.
    pub(crate) fn hold_messages() -> Self {
        Self::back(|fact| matches!(fact, Fact::MessageQueued { .. }))
    }

    fn back(is_held: fn(&Fact) -> bool) -> Self {
        Self { is_held, batches: Mutex::default() }
    }
}

impl StoreFault for HeldAppends {
    fn append(&self, inner: &Arc<dyn Store>, batch: Append, urgency: Urgency) -> StoreFuture<'static, ()> {
        let mut held = self.batches.lock().unwrap_or_else(PoisonError::into_inner);
        if batch.events.iter().any(|recorded| (self.is_held)(&recorded.event.fact)) {
            held.entry(batch.writer.run).or_default().push(batch);
            return Box::pin(std::future::ready(Ok(())));
        }
        for late in held.remove(&batch.writer.run).unwrap_or_default() {
            drop(inner.append(late, Urgency::Soon));
        }
        inner.append(batch, urgency)
    }
}
