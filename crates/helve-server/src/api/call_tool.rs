//! Calling a tool without a model: for programs, and for old callers that only have to change an address.
//!
//! Both ways lead through the same pipeline as every call and leave the same record. `docs/guide/moving-in.md` says how
//! to move.

mod execute;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use helve_runtime::{CallOptions, CallOrigin, ToolCallOutcome};
use helve_store::AuditEntry;
use helve_tool::{Outcome, Progress, Unknown};
use helve_types::{Failure, FailureKind, ToolOutput, Trail, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::access::{Principal, Right};
use crate::app::App;
use crate::input::{Json, Path};
use crate::problem::Problem;
use crate::request_id::request_id_of;
use crate::routes::{Operation, Routes};
use crate::start_run::{self, RunHeaders, check_ready};

pub(crate) fn routes(routes: Routes) -> Routes {
    let routes = execute::routes(routes);
    routes.add_route(
        Operation::post("/api/tools/{name}/call", Right::Chat, "Call a tool without a model")
            .starts_run()
            .for_user()
            .with_example(json!({"arguments": {"expression": "3480 * 0.125"}}))
            .gives::<CallView>(),
        call_tool,
    )
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallBody {
    /// What the tool is given; nothing if not said.
    #[serde(default)]
    arguments: Map<String, Value>,
    /// Whose call it is, for those with the right `admin`.
    #[serde(default)]
    user: Option<String>,
    /// Run the tool even if its answer is known. Needs the right `admin`.
    #[serde(default)]
    skip_cache: bool,
    /// Go past the tool's limits. Needs the right `admin`.
    #[serde(default)]
    skip_limit: bool,
}

/// What came of a call. A call that was not allowed, or whose arguments do not fit, is a problem document instead.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CallView {
    run: String,
    call: String,
    /// `finished`, `failed`, `refused` by a guard, or `unknown` if its effect may have happened.
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<ToolOutput>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<Failure>,
    /// Why the outcome is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<String>,
    /// What the tool's check tool says about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    checked: Option<String>,
    /// What each stage decided, in order.
    trail: Trail,
}

pub(crate) async fn call_tool(
    State(app): State<App>,
    principal: Principal,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Json<CallBody>,
) -> Result<Response, Problem> {
    let (world, route) = (app.runtime.world(), "POST /api/tools/{name}/call");
    let key = start_run::read_idempotency_key(&headers, route, Some(&name), &body.bytes, world)?;
    let CallBody { arguments, user, skip_cache, skip_limit } = body.value;
    let user = principal.user_to_act_for(user.as_deref())?;
    let name = app.runtime.catalogue().resolve_name(&name);
    if app.runtime.registry().get(&name).is_none() {
        return Err(Problem::not_found("tool"));
    }
    if skip_cache || skip_limit {
        check_may_skip(&app, &principal, &name, skip_cache, skip_limit).await?;
    }
    let options = CallOptions {
        origin: call_origin(&principal),
        skip_cache,
        skip_limit,
        key,
        request_id: request_id_of(&headers),
    };
    let called = call_tool_for_user(&app, user, &name, arguments, options).await?;
    let names = RunHeaders::from_called(&called);
    Ok(names.add_to(call_view(called).map(axum::Json)))
}

/// Skipping guards needs the right `admin` and leaves a line in the audit.
async fn check_may_skip(
    app: &App,
    principal: &Principal,
    tool: &str,
    skip_cache: bool,
    skip_limit: bool,
) -> Result<(), Problem> {
    if !principal.is_admin() {
        let detail = "`skip_cache` and `skip_limit` need a token with the right `admin`; leave them out";
        return Err(Problem::new(StatusCode::FORBIDDEN, "admin_needed", detail));
    }
    let detail = format!("{tool} skip_cache={skip_cache} skip_limit={skip_limit}");
    let entry = AuditEntry::new(app.runtime.world().now(), &*principal.user.0, "tool.skip_guards", detail);
    tracing::warn!(by = %principal.user, tool, skip_cache, skip_limit, "call skips guards");
    Ok(app.runtime.store().record_audit(entry).await?)
}

fn call_origin(principal: &Principal) -> CallOrigin {
    if principal.is_admin() { CallOrigin::Admin } else { CallOrigin::User }
}

async fn call_tool_for_user(
    app: &App,
    user: UserId,
    name: &str,
    arguments: Map<String, Value>,
    options: CallOptions,
) -> Result<ToolCallOutcome, Problem> {
    check_ready(app)?;
    if options.origin == CallOrigin::User {
        check_tool_offered(app, &user, name)?;
    }
    let arguments = Value::Object(arguments).to_string();
    Ok(app.runtime.call_tool(user, name, &arguments, options, Progress::default()).await?)
}

/// Without the right `admin` only tools that some agent offers to the user can be called.
fn check_tool_offered(app: &App, user: &UserId, name: &str) -> Result<(), Problem> {
    match app.runtime.registry().get(name) {
        Some(tool) if !app.runtime.has_agent_with_tool(user, tool.spec()) => {
            let detail = format!(
                "no agent offers `{name}` to you; use a token with the right `admin`, or have the operator give the \
                 tool to an agent"
            );
            Err(Problem::new(StatusCode::FORBIDDEN, "tool_not_offered", detail))
        }
        // What is not there is found to be so by the call, which knows other ways of writing a name.
        _ => Ok(()),
    }
}

fn call_view(called: ToolCallOutcome) -> Result<CallView, Problem> {
    let ToolCallOutcome { run, call, outcome, trail, .. } = called;
    let view = CallView {
        run: run.to_string(),
        call: call.to_string(),
        outcome: "finished",
        output: None,
        failure: None,
        because: None,
        checked: None,
        trail,
    };
    Ok(match outcome {
        Outcome::Finished(output) => CallView { output: Some(output), ..view },
        Outcome::Failed(failure) => CallView { outcome: "failed", failure: Some(failure), ..view },
        Outcome::Refused(failure) => match problem_of_failure(failure.kind) {
            Some((status, code)) => {
                let notice = json!(failure.user_notice());
                let problem = Problem::new(status, code, failure.message).with_field("notice", notice);
                return Err(problem.with_field("call", view.call).with_field("trail", json!(view.trail)));
            }
            None => CallView { outcome: "refused", failure: Some(failure), ..view },
        },
        Outcome::Unknown(Unknown { because, checked, .. }) => {
            CallView { outcome: "unknown", because: Some(because), checked, ..view }
        }
        Outcome::Asked(_) | Outcome::Delegated { .. } | Outcome::Subagent(_) => {
            return Err(only_in_run_problem());
        }
    })
}

/// Refusals that asking again cannot mend.
fn problem_of_failure(kind: FailureKind) -> Option<(StatusCode, &'static str)> {
    match kind {
        FailureKind::UnknownTool => Some((StatusCode::NOT_FOUND, "not_found")),
        FailureKind::BadArguments => Some((StatusCode::BAD_REQUEST, "bad_arguments")),
        FailureKind::Denied => Some((StatusCode::FORBIDDEN, "call_denied")),
        _ => None,
    }
}

fn only_in_run_problem() -> Problem {
    let detail = "this tool needs a person or a client to act; have it called in a conversation";
    Problem::new(StatusCode::CONFLICT, "needs_a_run", detail)
}
