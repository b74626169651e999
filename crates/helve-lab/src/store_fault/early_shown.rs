//! The bug "shown before it is durable": what is recorded is published at once, and written some milliseconds later.

use std::sync::Arc;

use helve_store::{Append, Store, StoreFuture, Urgency};

use super::StoreFault;

pub(crate) struct EarlyShown;

impl StoreFault for EarlyShown {
    fn append(
        &self,
        inner: &Arc<dyn Store>,
        mut batch: Append,
        urgency: Urgency,
    ) -> StoreFuture<'static, ()> {
        if urgency == Urgency::Soon
            && let Some(publish) = batch.writer.on_commit.take()
        {
            publish(&batch.events);
        }
        inner.append(batch, urgency)
    }
}
