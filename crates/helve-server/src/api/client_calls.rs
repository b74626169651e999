//! Calls that clients run: claim one, then send its result.

use axum::extract::State;
use axum::http::StatusCode;
use helve_runtime::ClientResult;
use helve_types::{CallId, Failure, FailureKind, RunId, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::access::{Principal, Right};
use crate::app::App;
use crate::input::{Json, Path};
use crate::problem::Problem;
use crate::routes::{Operation, Routes};

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .add_route(
            Operation::post(
                "/api/runs/{run}/calls/{call}/claim",
                Right::Chat,
                "Take a call of a client's tool, and keep it",
            )
            .for_user()
            .with_example(json!({"client": "window-1"}))
            .gives::<ClaimView>(),
            claim_call,
        )
        .add_route(
            Operation::post(
                "/api/runs/{run}/calls/{call}/result",
                Right::Chat,
                "Send the result of a client's tool",
            )
            .for_user()
            .with_example(json!({"result_token": "6ec137c097e7", "result": {"clipboard": "hello"}}))
            .with_status(202),
            deliver_result,
        )
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ClaimBody {
    /// The name of the client, which it chooses and keeps: a window, a process. One of them gets the call.
    client: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ClaimView {
    /// Goes back with the result, which counts only with it.
    result_token: String,
    /// A client that sends nothing for this long loses the call. Claiming it again renews the lease.
    lease_ms: u64,
    tool: String,
    /// What is to be run, as JSON text.
    arguments: String,
}

pub(crate) async fn claim_call(
    State(app): State<App>,
    principal: Principal,
    Path(names): Path<(String, String)>,
    body: Json<ClaimBody>,
) -> Result<axum::Json<ClaimView>, Problem> {
    let (run, call) = parse_ids(&names)?;
    let scope = principal.scope();
    let claim = app.runtime.claim_call(scope, run, call, body.value.client, principal.user).await?;
    Ok(axum::Json(ClaimView {
        result_token: claim.result_token,
        lease_ms: u64::try_from(claim.lease.as_millis()).unwrap_or(u64::MAX),
        tool: claim.tool,
        arguments: claim.arguments,
    }))
}

/// What came of a call that the client has claimed.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ResultBody {
    /// The one that came with the claim.
    #[serde(default)]
    result_token: String,
    /// Any value; text goes to the model as it is.
    #[serde(default)]
    result: Option<Value>,
    /// Why there is none.
    #[serde(default)]
    error: Option<String>,
}

pub(crate) async fn deliver_result(
    State(app): State<App>,
    principal: Principal,
    Path(names): Path<(String, String)>,
    body: Json<ResultBody>,
) -> Result<StatusCode, Problem> {
    let (run, call) = parse_ids(&names)?;
    let ResultBody { result_token, result, error } = body.value;
    let result = match error {
        Some(error) => Err(Failure::new(FailureKind::Failed, error)),
        None => {
            let value = result.unwrap_or_default();
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            Ok(ToolOutput::text(text).with_data(value))
        }
    };
    let scope = principal.scope();
    let delivered = ClientResult { call, result_token, by: principal.user, result };
    app.runtime.deliver_client_result(scope, run, delivered).await?;
    Ok(StatusCode::ACCEPTED)
}

fn parse_ids((run, call): &(String, String)) -> Result<(RunId, CallId), Problem> {
    let run = run.parse().map_err(|_| Problem::not_found("run"))?;
    let call = call.parse().map_err(|_| Problem::not_found("call"))?;
    Ok((run, call))
}
