//! What the operator lets single tools have: hosts on this machine, and variables as their secrets.

use axum::Json as Answer;
use axum::extract::State;
use helve_tool::ToolGrantRow;
use helve_types::ToolGrant;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::{Principal, Right};
use crate::app::App;
use crate::input::{Path, Query};
use crate::problem::Problem;
use crate::routes::{Operation, Routes};

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .add_route(
            Operation::get("/api/tools/{tool}/grants", Right::Admin, "What the operator allowed a tool")
                .gives::<GrantList>(),
            list_grants,
        )
        .add_route(
            Operation::delete(
                "/api/tools/{tool}/grants",
                Right::Admin,
                "Take back what a tool was allowed, all of it or what is about one host",
            )
            .gives::<GrantList>(),
            revoke_grants,
        )
}

#[derive(Debug, Deserialize, JsonSchema)]
struct RevokeQuery {
    /// Only what is about this host and port.
    #[serde(default)]
    host: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct GrantList {
    /// What the tool is still allowed.
    grants: Vec<GrantView>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct GrantView {
    #[serde(flatten)]
    grant: ToolGrant,
    /// Who allowed it.
    by: String,
    at: i64,
}

impl GrantList {
    fn from_rows(rows: Vec<ToolGrantRow>) -> Answer<Self> {
        let views = rows.into_iter().map(|row| GrantView { grant: row.grant, by: row.by, at: row.at.0 });
        Answer(Self { grants: views.collect() })
    }
}

async fn list_grants(
    State(app): State<App>,
    Path(address): Path<String>,
) -> Result<Answer<GrantList>, Problem> {
    let catalogue = app.runtime.catalogue();
    let tool = catalogue.get(&catalogue.resolve_name(&address)).ok_or_else(|| Problem::not_found("tool"))?;
    Ok(GrantList::from_rows(catalogue.list_grants(tool.name())))
}

async fn revoke_grants(
    State(app): State<App>,
    principal: Principal,
    Path(address): Path<String>,
    Query(query): Query<RevokeQuery>,
) -> Result<Answer<GrantList>, Problem> {
    let catalogue = app.runtime.catalogue();
    let tool = catalogue.get(&catalogue.resolve_name(&address)).ok_or_else(|| Problem::not_found("tool"))?;
    catalogue.revoke_grants(tool.name(), query.host.as_deref(), &principal.user.0).await?;
    Ok(GrantList::from_rows(catalogue.list_grants(tool.name())))
}
