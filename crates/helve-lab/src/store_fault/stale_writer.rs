//! A driver that does not know that it lost its run: it slept, and goes on writing under its old claim.
//!
//! No bug, but a thing that happens where processes are paused. Whenever a run is claimed, its former owner writes one
//! more event, which has the right number and must not be in the log (F1).

use std::sync::Arc;

use helve_store::{Append, Claimed, Recorded, RunWriter, Store, Urgency};
use helve_types::{Fact, Timestamp};

use super::StoreFault;

/// Marks the event that only a stale writer writes.
pub(crate) const SIGN: &str = "written by a driver that has lost the run";

pub(crate) struct StaleWriter;

impl StoreFault for StaleWriter {
    fn claimed(&self, inner: &Arc<dyn Store>, claimed: &mut Claimed) {
        // It is queued when it is called, so it comes before anything of the new owner's.
        drop(inner.append(stale_append(claimed), Urgency::Now));
    }
}

fn stale_append(claimed: &Claimed) -> Append {
    let at = claimed.events.last().map_or(Timestamp(0), |recorded| recorded.event.at);
    let fact = Fact::StepRestarted { step: 1, attempt: 1, because: SIGN.into(), spent: None };
    let event = Arc::new(Recorded::new(claimed.record.last_seq + 1, at, fact));
    let writer = RunWriter { run: claimed.record.run, epoch: claimed.epoch - 1, on_commit: None };
    Append::from(event).for_writer(writer)
}
