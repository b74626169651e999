//! The bug "two decide": a question that was answered is answered once more, the other way round.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use helve_store::{Append, Claimed, Recorded, Store, StoreFuture, Urgency};
use helve_types::{Answer, Fact, RunId};

use super::StoreFault;

#[derive(Default)]
pub(crate) struct AnsweredTwice {
    /// How many events of a run its driver does not know of; what follows is numbered after them.
    more: Mutex<HashMap<RunId, u64>>,
}

impl StoreFault for AnsweredTwice {
    fn append(
        &self,
        inner: &Arc<dyn Store>,
        mut batch: Append,
        urgency: Urgency,
    ) -> StoreFuture<'static, ()> {
        let mut all = self.more.lock().unwrap_or_else(PoisonError::into_inner);
        let more = all.entry(batch.writer.run).or_default();
        let mut events = Vec::with_capacity(batch.events.len() + 1);
        for recorded in batch.events {
            let event = &recorded.event;
            let seq = event.seq + *more;
            events.push(Arc::new(Recorded::new(seq, event.at, event.fact.clone())));
            if let Fact::ApprovalAnswered { approval, call, answer: Answer::Reject { .. }, by } = &event.fact
            {
                *more += 1;
                let (call, answer, by) = (call.clone(), Answer::approve(), by.clone());
                let again = Fact::ApprovalAnswered { approval: *approval, call, answer, by };
                events.push(Arc::new(Recorded::new(seq + 1, event.at, again)));
            }
        }
        batch.events = events;
        inner.append(batch, urgency)
    }

    fn claimed(&self, _: &Arc<dyn Store>, claimed: &mut Claimed) {
        // The new owner knows them.
        self.more.lock().unwrap_or_else(PoisonError::into_inner).remove(&claimed.record.run);
    }
}
