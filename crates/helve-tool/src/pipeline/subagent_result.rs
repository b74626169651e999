//! The last stages of a call that another agent worked on: hooks → bound → record, as for any other.

use std::time::Duration;

use helve_types::{Failure, FailureKind, Labels, ToolCall, ToolOutput, Trail};

use super::record::OutcomeRecord;
use super::{Pipeline, SideRecords};
use crate::{CallContext, Fault, Outcome};

/// What came of a subagent's run.
#[derive(Debug, Clone, PartialEq)]
pub struct SubagentReport {
    /// Its answer, or why there is none.
    pub result: Result<ToolOutput, Failure>,
    /// What it has read: its answer may hold all of it.
    pub labels: Labels,
    /// How long it took.
    pub took: Duration,
    /// What was decided before it was begun.
    pub trail: Trail,
}

impl Pipeline {
    /// Records a subagent's answer: hooks check it like any output, and it has the same size limit.
    pub async fn record_subagent_result(
        &self,
        call: &ToolCall,
        report: SubagentReport,
        cx: &CallContext,
    ) -> Result<Outcome, Fault> {
        let SubagentReport { result, labels, took, mut trail } = report;
        let (outcome, side) = match result {
            Ok(output) => {
                let (output, side) = self.apply_hooks(output, call, cx, &mut trail).await;
                (Outcome::Finished(ToolOutput { labels: Some(labels), ..output }), side)
            }
            Err(failure) => {
                // Only a failure of the run itself quotes words that are not Helve's own.
                let quoted = (failure.kind == FailureKind::Failed).then(|| Box::new(labels));
                (Outcome::Failed(Failure { labels: quoted, ..failure }), SideRecords::default())
            }
        };
        crate::log::log_outcome(&outcome, &trail, took);
        cx.world.failpoint("subagent.before_result");
        let record = OutcomeRecord::new(outcome, trail, side).resuming_run();
        let outcome = self.record_outcome(&call.id, record, cx).await?;
        cx.world.failpoint("subagent.after_result");
        Ok(outcome)
    }
}
