//! Calls that only read, begun while the model still writes the message that asks for them.
//!
//! The tool's side is `helve_tool::EarlyRead`. Here it is decided whether the run lets a call begin early, and what becomes of
//! it when the message is complete: the call takes its answer (`calls.rs`), or the answer is discarded, on record.

use std::sync::Arc;

use helve_store::RunJournal;
use helve_tool::{CallContext, Early, EarlyRead, Fault};
use helve_types::{CallId, Fact, PartId, ToolCall};
use tracing::Instrument;

use super::calls::call_span;
use super::model::Quest;
use super::{DriveError, Driver};
use crate::listen::WrittenCall;
use crate::run::{ModelMessage, Tools};

/// A call that was begun before its message was complete.
pub(crate) struct BegunRead {
    call: CallId,
    /// Where the message shows the call.
    part: PartId,
    step: u32,
    attempt: u32,
    read: EarlyRead,
}

impl Driver {
    /// Begins a call of the message that is being written, if it only reads and the run lets it.
    pub(super) async fn begin_early(
        &mut self,
        asked: &Quest,
        written: WrittenCall,
    ) -> Result<(), DriveError> {
        let WrittenCall { index, part, provider_id, tool, arguments, repairs } = written;
        let id = CallId::new(self.run.id(), asked.step, index);
        let call = ToolCall { id: id.clone(), provider_id, name: tool, arguments, repairs };
        let begun = self.early_reads.len();
        let may_begin = asked.tools == Tools::Offered
            && begun < self.shared.env.settings.parallel_calls_max
            && self.run.may_read_early(asked.step, &call);
        if !may_begin || !self.budgets_allow_early(begun as u64).await? {
            return Ok(());
        }
        let cx = CallContext { taint: Arc::new(self.run.taint_by_now()), ..self.context(&id, 0, None) };
        let read = self.pipeline.read_early(&call, &cx).instrument(call_span(&id, &call.name)).await;
        let (step, attempt) = (asked.step, asked.attempt);
        self.early_reads.extend(read.map(|read| BegunRead { call: id, part, step, attempt, read }));
        Ok(())
    }

    /// Discards what the complete message does not ask for.
    pub(super) async fn discard_unrequested_reads(&mut self, heard: &ModelMessage) -> Result<(), DriveError> {
        let is_requested = |begun: &BegunRead| {
            let call = usize::try_from(begun.call.index).ok().and_then(|index| heard.calls.get(index));
            call.is_some_and(|call| call.flaw.is_none() && call.part.as_ref() == Some(&begun.part))
        };
        let discarded = self.take_discarded(|begun| !is_requested(begun));
        self.record_discarded(discarded).await
    }

    /// Discards whatever was begun early and not used.
    pub(super) async fn discard_early_reads(&mut self) -> Result<(), DriveError> {
        let discarded = self.take_discarded(|_| true);
        self.record_discarded(discarded).await
    }

    /// Stops these early reads. What is to be recorded about them.
    pub(super) fn take_discarded(&mut self, is_discarded: impl Fn(&BegunRead) -> bool) -> Vec<Fact> {
        let discarded = self.early_reads.extract_if(.., |begun| is_discarded(begun));
        discarded.filter_map(|begun| begun.read.discard(begun.step, begun.attempt)).collect()
    }

    async fn record_discarded(&mut self, discarded: Vec<Fact>) -> Result<(), DriveError> {
        if !discarded.is_empty() {
            self.journal.record(discarded).await?;
            self.absorb();
        }
        Ok(())
    }

    /// The early read of a call whose message is complete.
    pub(super) fn take_early_read(&mut self, call: &CallId) -> Option<UsableRead> {
        let at = self.early_reads.iter().position(|begun| begun.call == *call)?;
        let BegunRead { step, attempt, read, .. } = self.early_reads.swap_remove(at);
        Some(UsableRead { step, attempt, early: read.into() })
    }
}

/// An early read for its call to take.
pub(super) struct UsableRead {
    step: u32,
    attempt: u32,
    pub(super) early: Early,
}

impl UsableRead {
    /// Puts on record that the call was settled without it, if it was.
    pub(super) async fn discard_if_unused(self, journal: &RunJournal) -> Result<(), Fault> {
        let unused = self.early.take_unused();
        if let Some(discarded) = unused.and_then(|read| read.discard(self.step, self.attempt)) {
            journal.record(discarded).await?;
        }
        Ok(())
    }
}
