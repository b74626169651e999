//! The bug "the effect before the intent": that a call is started is written when it has ended.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use helve_store::{Append, Store, StoreFuture, Urgency};
use helve_types::{Fact, RunId};

use super::Bend;

#[derive(Default)]
pub(crate) struct LateIntent {
    held: Mutex<HashMap<RunId, Vec<Append>>>,
}

impl Bend for LateIntent {
    fn append(&self, inner: &Arc<dyn Store>, batch: Append, urgency: Urgency) -> StoreFuture<'static, ()> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let is_intent = |fact: &Fact| matches!(fact, Fact::ToolStarted { .. });
        if batch.events.iter().any(|recorded| is_intent(&recorded.event.fact)) {
            held.entry(batch.run).or_default().push(batch);
            return Box::pin(std::future::ready(Ok(())));
        }
        for late in held.remove(&batch.run).unwrap_or_default() {
            drop(inner.append(late, Urgency::Soon));
        }
        inner.append(batch, urgency)
    }
}
