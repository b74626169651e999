//! The one place where an outcome is put on record.

use helve_store::NewFacts;
use helve_types::{CallId, RunState, Stage, Trail};

use super::Pipeline;
use crate::bound::SideRecords;
use crate::{CallContext, Fault, Outcome};

/// An outcome as it is put on record, bounded and labelled.
pub(super) struct OutcomeRecord {
    outcome: Outcome,
    trail: Trail,
    side: SideRecords,
    state: Option<RunState>,
}

impl OutcomeRecord {
    pub(super) fn new(outcome: Outcome, trail: Trail, side: SideRecords) -> Self {
        Self { outcome, trail, side, state: None }
    }

    /// The same where the run may have waited for it, and goes on.
    pub(super) fn resuming_run(self) -> Self {
        Self { state: Some(RunState::Running), ..self }
    }
}

impl Pipeline {
    /// Records an outcome. Only outcomes that are acknowledged wait for the disk: a question to a person and a client's
    /// result. If another outcome is lost in a crash, its call is treated as one that was cut off.
    pub(super) async fn record_outcome(
        &self,
        call: &CallId,
        record: OutcomeRecord,
        cx: &CallContext,
    ) -> Result<Outcome, Fault> {
        let OutcomeRecord { outcome, trail, side, state } = record;
        let is_acknowledged = matches!(outcome, Outcome::Asked(_))
            || trail.0.iter().any(|stage| matches!(stage, Stage::Client { .. }));
        let facts = NewFacts { state, ..outcome.to_facts(call, trail, side) };
        if is_acknowledged {
            cx.journal.commit(facts).await?;
        } else {
            cx.journal.record(facts).await?;
        }
        Ok(outcome)
    }
}
