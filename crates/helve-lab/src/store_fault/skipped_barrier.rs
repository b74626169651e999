//! The bug "a barrier is left out": the start of a call that may change something is only recorded, and the call is sent
//! at once.

use std::sync::Arc;

use helve_store::{Append, Store, StoreFuture, Urgency};
use helve_types::{Effect, Fact};

use super::StoreFault;

pub(crate) struct SkippedBarrier;

impl StoreFault for SkippedBarrier {
    fn append(&self, inner: &Arc<dyn Store>, batch: Append, urgency: Urgency) -> StoreFuture<'static, ()> {
        let is_send =
            |fact: &Fact| matches!(fact, Fact::ToolStarted { effect, .. } if *effect != Effect::Read);
        if !batch.events.iter().any(|recorded| is_send(&recorded.event.fact)) {
            return inner.append(batch, urgency);
        }
        drop(inner.append(batch, Urgency::Soon));
        Box::pin(std::future::ready(Ok(())))
    }
}
