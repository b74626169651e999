//! What clients bring for calls that they have claimed: tokens, and whether a result counts.

use std::time::Duration;

use helve_store::{RunJournal, StoreError};
use helve_types::{CallId, Fact, Failure, RunId, Seal, ToolOutput, UserId};

use crate::command::CommandError;
use crate::run::{Delivery, Run};

/// What the marks are for, so that none fits elsewhere.
const TOKEN: &str = "helve result token 1";
const RESULT: &str = "helve client result 1";

/// What a client gets that has claimed a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientClaim {
    /// Goes back with the result.
    pub result_token: String,
    pub tool: String,
    /// JSON text.
    pub arguments: String,
    /// A client that is silent for this long has lost the call.
    pub lease: Duration,
}

/// What a client brings for a call that it has claimed.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientResult {
    pub call: CallId,
    pub result_token: String,
    /// Who brings it.
    pub by: UserId,
    /// The output, or why there is none.
    pub result: Result<ToolOutput, Failure>,
}

/// Keeps a result that does not count.
pub(crate) async fn record_late_result(
    journal: &RunJournal,
    delivered: &ClientResult,
) -> Result<(), StoreError> {
    let Ok(output) = &delivered.result else { return Ok(()) };
    journal.commit(Fact::ToolLate { call: delivered.call.clone(), output: output.clone() }).await
}

/// The token of the client that claims a call under these names.
pub(crate) fn make_result_token(
    seal: &Seal,
    run: RunId,
    call: &CallId,
    by: &str,
    client: &str,
    given: &str,
) -> String {
    seal.sign(TOKEN, &[&run.to_string(), &call.to_string(), by, given, client])
}

/// The keyed hash of a result: a result that is delivered twice is recognised by it.
pub(crate) fn hash_result(seal: &Seal, result: &Result<ToolOutput, Failure>) -> String {
    match result {
        Ok(output) => {
            let data = output.data.as_ref().map(ToString::to_string).unwrap_or_default();
            seal.sign(RESULT, &["result", &output.text, &data])
        }
        Err(failure) => seal.sign(RESULT, &["error", &failure.message]),
    }
}

/// Whether a client's result counts, according to the log.
pub(crate) fn judge_client_result(run: &Run, seal: &Seal, delivered: &ClientResult) -> Delivery {
    let ClientResult { call, result_token, by, result } = delivered;
    if result_token.is_empty() {
        return Delivery::Refused(CommandError::NoToken);
    }
    let Some(claim) = run.find_claim(call) else {
        return Delivery::Refused(if run.is_unclaimed(call) {
            CommandError::NotClaimed
        } else {
            CommandError::NotWaiting
        });
    };
    let (run_id, call_id) = (run.id().to_string(), call.to_string());
    let words = [&*run_id, &call_id, &by.0, &claim.arguments, &claim.client];
    if !seal.verify(result_token, TOKEN, &words) {
        return Delivery::Refused(CommandError::WrongToken);
    }
    claim.judge_delivery(&hash_result(seal, result))
}
