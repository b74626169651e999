//! What people have allowed for more than one call: to look at, and to take back.

use axum::extract::State;
use axum::http::StatusCode;
use helve_store::{Allowance, AllowanceFilter, AuditEntry, Scope};
use helve_types::{ApprovalId, Timestamp, Within};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::access::{Principal, Right};
use crate::app::App;
use crate::input::{Id, Query, StateQuery};
use crate::problem::Problem;
use crate::routes::{Operation, Routes};

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .add_route(
            Operation::get("/api/allowances", Right::Chat, "List what is allowed without asking")
                .gives::<AllowanceList>(),
            list_allowances,
        )
        .add_route(
            Operation::delete("/api/allowances/{allowance}", Right::Chat, "Take an allowance back")
                .for_user()
                .with_status(204),
            revoke_allowance,
        )
}

/// What a person said once for all calls like one that they were asked about.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AllowanceView {
    /// The approval that it was said in.
    id: String,
    user: String,
    agent: String,
    tool: String,
    /// The hash of the tool's definition; another definition is asked about again.
    version: String,
    within: Within,
    run: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    conversation: Option<String>,
    /// By its path, what an argument must be like; nothing said means any arguments.
    arguments: Map<String, Value>,
    /// Who said it.
    by: String,
    created_at: i64,
    expires_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked_at: Option<i64>,
    state: AllowanceState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AllowanceState {
    InForce,
    /// The tool has changed since, so it covers no more than runs that began before.
    Outdated,
    /// Its time is up, or the run that it was for is over.
    Expired,
    Revoked,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AllowanceList {
    allowances: Vec<AllowanceView>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ListFilter {
    InForce,
    All,
}

async fn list_allowances(
    State(app): State<App>,
    principal: Principal,
    Query(query): Query<StateQuery<ListFilter>>,
) -> Result<axum::Json<AllowanceList>, Problem> {
    let scope = query.scope(&principal)?;
    let now = app.runtime.world().now();
    let filter = match query.state {
        Some(ListFilter::All) => AllowanceFilter::All,
        None | Some(ListFilter::InForce) => AllowanceFilter::InForce(now),
    };
    let held = app.runtime.store().allowances(scope, filter, query.to_page()).await?;
    let mut allowances = Vec::with_capacity(held.len());
    for held in held {
        let is_over = held.within == Within::Run
            && app.runtime.store().run(Scope::Everyone, held.run).await?.state.is_final();
        allowances.push(allowance_view(&app, held, is_over, now));
    }
    Ok(axum::Json(AllowanceList { allowances }))
}

async fn revoke_allowance(
    State(app): State<App>,
    principal: Principal,
    Id(id): Id<ApprovalId>,
) -> Result<StatusCode, Problem> {
    let now = app.runtime.world().now();
    let audit = AuditEntry::new(now, &*principal.user.0, "allowance.revoked", id.to_string());
    app.runtime.store().revoke_allowance(principal.scope(), id, audit).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn allowance_view(app: &App, held: Allowance, is_over: bool, now: Timestamp) -> AllowanceView {
    // A tool that is not registered may be a client's.
    let today = app.runtime.registry().get(&held.tool);
    let state = match held.revoked_at {
        Some(_) => AllowanceState::Revoked,
        None if is_over || !held.is_in_force(now) => AllowanceState::Expired,
        None if today.is_some_and(|tool| tool.version() != held.version) => AllowanceState::Outdated,
        None => AllowanceState::InForce,
    };
    AllowanceView {
        id: held.id.to_string(),
        user: held.user.to_string(),
        agent: held.agent,
        tool: held.tool,
        version: held.version,
        within: held.within,
        run: held.run.to_string(),
        conversation: held.conversation.map(|id| id.to_string()),
        arguments: held.arguments.into_iter().collect(),
        by: held.by,
        created_at: held.created_at.0,
        expires_at: held.expires_at.0,
        revoked_at: held.revoked_at.map(|at| at.0),
        state,
    }
}
