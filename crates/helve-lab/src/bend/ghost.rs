//! A driver that does not know that it lost its run: it slept, and goes on writing under its old claim.
//!
//! No bug, but a thing that happens where processes are paused. Whenever a run is claimed, its former owner writes one
//! more event, which has the right number and must not be in the log (F1).

use std::sync::Arc;

use helve_store::{Append, Claimed, Recorded, Store, StoreFuture, Urgency};
use helve_types::{Fact, RunId, Timestamp};

use super::Bend;

/// What the ghost says, and nobody else.
pub(crate) const SIGN: &str = "said by one who has lost the run";

pub(crate) struct Ghost;

impl Bend for Ghost {
    fn claim<'a>(
        &'a self,
        inner: &'a Arc<dyn Store>,
        run: RunId,
        owner: String,
        counts_as_resume: bool,
    ) -> StoreFuture<'a, Claimed> {
        Box::pin(async move {
            let claimed = inner.claim(run, owner, counts_as_resume).await?;
            // It is queued when it is called, so it comes before anything of the new owner's.
            drop(inner.append(haunting(&claimed), Urgency::Now));
            Ok(claimed)
        })
    }
}

fn haunting(claimed: &Claimed) -> Append {
    let at = claimed.events.last().map_or(Timestamp(0), |recorded| recorded.event.at);
    let fact = Fact::StepRestarted { step: 1, attempt: 1, because: SIGN.into(), spent: None };
    Append {
        run: claimed.record.run,
        epoch: claimed.epoch - 1,
        events: vec![Arc::new(Recorded::new(claimed.record.last_seq + 1, at, fact))],
        state: None,
        message: None,
        wholes: vec![],
        files: vec![],
        on_commit: None,
    }
}
