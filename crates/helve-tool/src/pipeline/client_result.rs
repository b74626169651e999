//! The last stages of a call that a client ran: hooks → bound → record, as for any other.
//!
//! What a client brings is a tool's output and nothing more. Whether it may bring it at all is decided before this.

use std::time::Duration;

use helve_types::{Failure, Stage, ToolCall, ToolOutput, Trail};
use serde_json::Value;

use super::record::OutcomeRecord;
use super::run::ToolAnswer;
use super::{Pipeline, bound_answer, labels};
use crate::bound::SideRecords;
use crate::permit::to_ms;
use crate::{CallContext, Fault, Outcome};

/// Why a client has no result is said in fewer bytes than this.
const PROBLEM_BYTES_MAX: usize = 8 << 10;

/// What a client brings for a call that it was given.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientReport {
    /// Its output, or why there is none.
    pub result: Result<ToolOutput, Failure>,
    /// As the client calls itself.
    pub client: String,
    /// How long it had the call.
    pub took: Duration,
    /// By which the same result is known when it comes again.
    pub mark: String,
    /// What was decided before the client had it.
    pub trail: Trail,
}

impl Pipeline {
    /// Records a client's result: hooks check it like any output, and it has the same size limit.
    pub async fn record_client_result(
        &self,
        call: &ToolCall,
        report: ClientReport,
        cx: &CallContext,
    ) -> Result<Outcome, Fault> {
        let ClientReport { result, client, took, mark, mut trail } = report;
        trail.push(Stage::Client { name: client, ms: to_ms(took), brought: mark });
        let (outcome, side) = match result {
            Ok(output) => {
                let (output, side) = self.apply_hooks(output, call, cx, &mut trail).await;
                (Outcome::Finished(output), side)
            }
            Err(failure) => (Outcome::Failed(shorten_message(failure)), SideRecords::default()),
        };
        let outcome = labels::label_client_result(outcome);
        crate::log::log_outcome(&outcome, &trail, took);
        cx.world.failpoint("client.before_result");
        let record = OutcomeRecord::new(outcome, trail, side).resuming_run();
        let outcome = self.record_outcome(&call.id, record, cx).await?;
        cx.world.failpoint("client.after_result");
        Ok(outcome)
    }

    pub(super) async fn apply_hooks(
        &self,
        output: ToolOutput,
        call: &ToolCall,
        cx: &CallContext,
        trail: &mut Trail,
    ) -> (ToolOutput, SideRecords) {
        match cx.toolbox.resolve(&call.name) {
            Ok((tool, _)) => {
                let arguments = serde_json::from_str(&call.arguments).unwrap_or(Value::Null);
                let answered = ToolAnswer { output, by: tool.clone() };
                let output = self.hooks.ask_after(answered, tool, &arguments, cx, trail).await;
                bound_answer(output, tool, cx, trail)
            }
            // A call of a tool that the run does not have was never given to a client.
            Err(_) => {
                crate::bound::bound_output(output, crate::Guards::default().output_bytes_max, &call.id, cx)
            }
        }
    }
}

/// A failure whose words are few enough to be told.
fn shorten_message(failure: Failure) -> Failure {
    let Failure { mut message, .. } = failure;
    if message.len() > PROBLEM_BYTES_MAX {
        message.truncate(message.floor_char_boundary(PROBLEM_BYTES_MAX));
        message.push('…');
    }
    Failure { message, ..failure }
}
