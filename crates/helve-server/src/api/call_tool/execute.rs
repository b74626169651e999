//! `POST /api/tools/execute`: calls as another system's clients make them, in its old form and in its new one.
//!
//! `{"tool", …arguments}` is answered with text; `{"toolName", "params", "context"}` with an object that has the value.

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use helve_runtime::{CallOptions, ToolCallOutcome};
use helve_tool::{Outcome, Unknown};
use helve_types::ToolOutput;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{call_origin, call_tool_for_user, only_in_run_problem};
use crate::access::{Principal, Right};
use crate::app::App;
use crate::input::ForeignJson;
use crate::problem::Problem;
use crate::request_id::request_id_of as http_request_id;
use crate::routes::{Operation, Routes};
use crate::start_run::{self, RunHeaders};

pub(super) fn routes(routes: Routes) -> Routes {
    routes.add_route(
        Operation::post("/api/tools/execute", Right::Chat, "Call a tool as clients of another system do")
            .starts_run()
            .for_user()
            .with_example(json!({"toolName": "calculator", "params": {"expression": "3480 * 0.125"}, "context": {"userId": "mei"}}))
            .gives::<ExecuteResult>()
            .gives_bytes("text/plain"),
        execute_tool,
    )
}

/// Old form: `tool`, and the arguments beside it by their names. New form: `toolName`, `params` and `context`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ExecuteBody {
    /// The tool, in the old form.
    tool: Option<String>,
    /// In the old form the arguments, by their names, and `userId`: whose call it is, where the token may act for that
    /// user. In the new form `toolName`, `params` and `context` with `userId`, `requestId`, `conversationId` and
    /// `timestamp`.
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// What the new form gets, and the old one if it asks for JSON; otherwise the old form gets the bare text.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct ExecuteResult {
    success: bool,
    /// The text of the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<String>,
    /// In the new form the value of the result, or its text where it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// In the new form the one that the request brought.
    #[serde(rename = "requestId", skip_serializing_if = "Option::is_none")]
    request_id: Option<Value>,
}

/// A call in either form.
struct ToolCall {
    tool: String,
    arguments: Map<String, Value>,
    user: Option<String>,
    form: Form,
    /// Fields that were not understood.
    ignored: Vec<String>,
}

enum Form {
    Old,
    New { request_id: Option<Value> },
}

pub(crate) async fn execute_tool(
    State(app): State<App>,
    principal: Principal,
    headers: HeaderMap,
    mut body: ForeignJson<ExecuteBody>,
) -> Result<Response, Problem> {
    let (world, route) = (app.runtime.world(), "POST /api/tools/execute");
    let key = start_run::read_idempotency_key(&headers, route, None, &body.bytes, world)?;
    let ToolCall { tool, arguments, user, form, ignored } = read_call(&app, body.value)?;
    body.ignored.0.extend(ignored);
    let tool = app.runtime.catalogue().resolve_name(&tool);
    let principal = principal.acting_as_user(user.as_deref())?;
    let options = CallOptions {
        origin: call_origin(&principal),
        key,
        request_id: http_request_id(&headers),
        ..CallOptions::default()
    };
    let called = call_tool_for_user(&app, principal.user, &tool, arguments, options).await?;
    let names = RunHeaders::from_called(&called);
    let result = output_or_error(called)?;
    let answer = match form {
        Form::New { request_id } => new_json_response(result, request_id),
        Form::Old if wants_json(&headers) => old_json_response(result),
        Form::Old => old_text_response(result),
    };
    Ok(body.ignored.add_header_to(names.add_to(answer)))
}

fn output_or_error(called: ToolCallOutcome) -> Result<Result<ToolOutput, String>, Problem> {
    Ok(match called.outcome {
        Outcome::Finished(output) => Ok(output),
        Outcome::Failed(failure) | Outcome::Refused(failure) => Err(failure.message),
        Outcome::Unknown(Unknown { because, .. }) => {
            Err(format!("it is unknown whether it happened: {because}; check before you repeat it"))
        }
        Outcome::Asked(_) | Outcome::Delegated { .. } | Outcome::Subagent(_) => {
            return Err(only_in_run_problem());
        }
    })
}

fn read_call(app: &App, body: ExecuteBody) -> Result<ToolCall, Problem> {
    match body {
        ExecuteBody { tool: Some(tool), rest: mut arguments } => {
            let name = app.runtime.catalogue().resolve_name(&tool);
            let user = take_named_user(app, &name, &mut arguments)?;
            Ok(ToolCall { tool, arguments, user, form: Form::Old, ignored: vec![] })
        }
        ExecuteBody { tool: None, rest } => read_new_form(rest),
    }
}

fn read_new_form(mut body: Map<String, Value>) -> Result<ToolCall, Problem> {
    let wrong = |field: &str, what: &str| {
        Problem::bad_request("bad_body", format!("`{field}` must be {what}")).with_field("field", field)
    };
    let tool = match body.remove("toolName") {
        Some(Value::String(tool)) => tool,
        Some(_) => return Err(wrong("toolName", "a string")),
        None => {
            let detail = "the body names no tool: send `tool` and its arguments, or `toolName`, `params` and `context`";
            return Err(Problem::bad_request("bad_body", detail));
        }
    };
    let mut object = |field: &str| match body.remove(field) {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(members)) => Ok(members),
        Some(_) => Err(wrong(field, "an object")),
    };
    let (arguments, mut context) = (object("params")?, object("context")?);
    let user = match context.remove("userId") {
        None | Some(Value::Null) => None,
        Some(Value::String(user)) => Some(user),
        Some(_) => return Err(wrong("context.userId", "a string")),
    };
    let request_id = context.remove("requestId");
    let of_context = context.keys().map(|name| format!("context.{name}"));
    let ignored = body.keys().cloned().chain(of_context).take(IGNORED_MAX).collect();
    Ok(ToolCall { tool, arguments, user, form: Form::New { request_id }, ignored })
}

/// So many fields that were not understood are named.
const IGNORED_MAX: usize = 20;

/// The user that the body names, taken out of the arguments unless the tool has such an argument itself.
fn take_named_user(
    app: &App,
    tool: &str,
    arguments: &mut Map<String, Value>,
) -> Result<Option<String>, Problem> {
    let known = app.runtime.registry().get(tool);
    let is_argument =
        known.is_some_and(|tool| tool.spec().parameters.pointer("/properties/userId").is_some());
    match arguments.remove("userId") {
        Some(argument) if is_argument => {
            arguments.insert("userId".into(), argument);
            Ok(None)
        }
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(user)) => Ok(Some(user)),
        Some(_) => {
            Err(Problem::bad_request("bad_body", "`userId` must be a string").with_field("field", "userId"))
        }
    }
}

fn wants_json(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    accept.is_some_and(|accept| accept.contains("application/json"))
}

fn old_json_response(result: Result<ToolOutput, String>) -> Response {
    axum::Json(match result {
        Ok(output) => ExecuteResult { success: true, result: Some(output.text), ..ExecuteResult::default() },
        Err(error) => ExecuteResult { error: Some(error), ..ExecuteResult::default() },
    })
    .into_response()
}

fn new_json_response(result: Result<ToolOutput, String>, request_id: Option<Value>) -> Response {
    axum::Json(match result {
        Ok(ToolOutput { text, data, .. }) => ExecuteResult {
            success: true,
            data: Some(data.unwrap_or_else(|| text.as_str().into())),
            result: Some(text),
            error: None,
            request_id,
        },
        Err(error) => ExecuteResult { error: Some(error), request_id, ..ExecuteResult::default() },
    })
    .into_response()
}

fn old_text_response(result: Result<ToolOutput, String>) -> Response {
    let text = result.map_or_else(|error| format!("Error: {error}"), |output| output.text);
    ([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response()
}
