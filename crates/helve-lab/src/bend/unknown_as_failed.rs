//! The bug "a lost call is called a failed one": nobody knows whether it happened, and the log says that it did not.

use std::sync::Arc;

use helve_store::{Append, Recorded, Store, StoreFuture, Urgency};
use helve_types::{Fact, Failure, FailureKind, Trail};

use super::Bend;

pub(crate) struct UnknownAsFailed;

impl Bend for UnknownAsFailed {
    fn append(
        &self,
        inner: &Arc<dyn Store>,
        mut batch: Append,
        urgency: Urgency,
    ) -> StoreFuture<'static, ()> {
        for recorded in &mut batch.events {
            if let Fact::ToolUnknown { call, because, .. } = &recorded.event.fact {
                let failure = Failure::new(FailureKind::Failed, because.clone());
                let failed = Fact::ToolFailed { call: call.clone(), failure, trail: Trail::default() };
                *recorded = Arc::new(Recorded::new(recorded.event.seq, recorded.event.at, failed));
            }
        }
        inner.append(batch, urgency)
    }
}
