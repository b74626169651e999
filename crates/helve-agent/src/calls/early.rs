//! Calls that only read, begun while the model still writes the message that asks for them.
//!
//! The tool's side is `helve_tool::EarlyRead`. Here it is decided whether the run lets a call begin early, and what becomes of
//! it when the message is complete: the call takes its answer (`mod.rs`), or the answer is discarded, on record.

use std::sync::Arc;

use helve_store::RunJournal;
use helve_tool::{CallContext, Early, EarlyRead, Fault};
use helve_types::{CallId, Fact, PartId, ToolCall};
use tracing::Instrument;

use super::{Calls, call_span};
use crate::drive::DriveError;
use crate::driven::DrivenRun;
use crate::run::ModelMessage;
use crate::step::WrittenCall;

/// A call that was begun before its message was complete.
pub(crate) struct BegunRead {
    call: CallId,
    /// Where the message shows the call.
    part: PartId,
    step: u32,
    attempt: u32,
    read: EarlyRead,
}

impl Calls {
    /// Begins a call of the message that is being written in this attempt, if it only reads and the run lets it.
    pub(crate) async fn start_early_read_if_allowed(
        &mut self,
        driven: &DrivenRun,
        (step, attempt): (u32, u32),
        written: WrittenCall,
    ) -> Result<(), DriveError> {
        let WrittenCall { index, part, provider_id, tool, arguments, repairs } = written;
        let id = CallId::new(driven.run.id(), step, index);
        let call = ToolCall { id: id.clone(), provider_id, name: tool, arguments, repairs };
        let begun = self.early_reads.len();
        let may_begin =
            begun < driven.shared.env.settings.parallel_calls_max && driven.run.may_read_early(step, &call);
        if !may_begin || !driven.budgets_allow_early_read(begun as u64).await? {
            return Ok(());
        }
        let cx =
            CallContext { taint: Arc::new(driven.run.current_taint()), ..driven.call_context(&id, 0, None) };
        let read = driven.tools.pipeline.read_early(&call, &cx).instrument(call_span(&id, &call.name)).await;
        self.early_reads.extend(read.map(|read| BegunRead { call: id, part, step, attempt, read }));
        Ok(())
    }

    /// Discards what the complete message does not ask for.
    pub(crate) async fn discard_unrequested_reads(
        &mut self,
        driven: &mut DrivenRun,
        message: &ModelMessage,
    ) -> Result<(), DriveError> {
        let is_requested = |begun: &BegunRead| {
            let call = usize::try_from(begun.call.index).ok().and_then(|index| message.calls.get(index));
            call.is_some_and(|call| call.flaw.is_none() && call.part.as_ref() == Some(&begun.part))
        };
        let discarded = self.discard_reads_where(|begun| !is_requested(begun));
        record_discarded_reads(driven, discarded).await
    }

    pub(crate) fn has_early_reads(&self) -> bool {
        !self.early_reads.is_empty()
    }

    /// Discards whatever was begun early and not used.
    pub(crate) async fn discard_early_reads(&mut self, driven: &mut DrivenRun) -> Result<(), DriveError> {
        let discarded = self.discard_reads_where(|_| true);
        record_discarded_reads(driven, discarded).await
    }

    /// Stops these early reads. What is to be recorded about them.
    pub(crate) fn discard_reads_where(&mut self, is_discarded: impl Fn(&BegunRead) -> bool) -> Vec<Fact> {
        let discarded = self.early_reads.extract_if(.., |begun| is_discarded(begun));
        discarded.filter_map(|begun| begun.read.discard(begun.step, begun.attempt)).collect()
    }

    /// The early read of a call whose message is complete.
    pub(super) fn take_early_read(&mut self, call: &CallId) -> Option<UsableRead> {
        let at = self.early_reads.iter().position(|begun| begun.call == *call)?;
        let BegunRead { step, attempt, read, .. } = self.early_reads.swap_remove(at);
        Some(UsableRead { step, attempt, early: read.into() })
    }
}

async fn record_discarded_reads(driven: &mut DrivenRun, discarded: Vec<Fact>) -> Result<(), DriveError> {
    if !discarded.is_empty() {
        driven.journal.record(discarded).await?;
        driven.apply_written_facts();
    }
    Ok(())
}

/// An early read for its call to take.
pub(super) struct UsableRead {
    step: u32,
    attempt: u32,
    pub(super) early: Early,
}

impl UsableRead {
    /// Puts on record that the call was settled without it, if it was.
    pub(super) async fn record_unused_read(self, journal: &RunJournal) -> Result<(), Fault> {
        let unused = self.early.take_unused();
        if let Some(discarded) = unused.and_then(|read| read.discard(self.step, self.attempt)) {
            journal.record(discarded).await?;
        }
        Ok(())
    }
}
