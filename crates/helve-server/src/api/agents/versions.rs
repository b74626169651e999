//! What agents were: their versions, what is between two of them, and the way back.

use axum::Json as Answer;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use helve_runtime::{ComparedVersion, VersionPair, agent_differences};
use helve_types::AgentDefinition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::view::AgentView;
use super::{IF_MATCH, VERSION, agent_response, expected_version};
use crate::access::{Principal, Right};
use crate::api::import::ChangedField;
use crate::api::versions::{VersionList, VersionView};
use crate::app::App;
use crate::input::{Json, Path, Query};
use crate::problem::Problem;
use crate::routes::{Operation, Routes};

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .add_route(
            Operation::get("/api/agents/{agent}/versions", Right::Admin, "Everything that an agent ever was")
                .gives::<VersionList<AgentDefinition>>(),
            list_agent_versions,
        )
        .add_route(
            Operation::get(
                "/api/agents/{agent}/versions/{version}",
                Right::Admin,
                "Look at an agent as it was at a version",
            )
            .gives::<VersionView<AgentDefinition>>(),
            get_agent_version,
        )
        .add_route(
            Operation::get(
                "/api/agents/{agent}/diff",
                Right::Admin,
                "What is different between two versions of an agent, or its draft",
            )
            .gives::<DiffView>(),
            compare_agent_versions,
        )
        .add_route(
            Operation::post(
                "/api/agents/{agent}/rollback",
                Right::Admin,
                "Make an agent again what it was at a version, as its next version",
            )
            .with_header("If-Match", IF_MATCH)
            .with_example(json!({"version": 1}))
            .gives::<AgentView>()
            .with_answer_header("ETag", VERSION),
            roll_agent_back,
        )
}

#[derive(Debug, Deserialize, JsonSchema)]
struct DiffQuery {
    /// A version's number; the one before `to` if not given.
    #[serde(default)]
    from: Option<u32>,
    /// A version's number, or `draft`; the draft, if there is one, or else the current version, if not given.
    #[serde(default)]
    to: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct DiffView {
    from: u32,
    /// A version's number, or `draft`.
    to: String,
    /// At most 30 fields.
    changes: Vec<ChangedField>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RollbackBody {
    version: u32,
}

async fn list_agent_versions(
    State(app): State<App>,
    Path(address): Path<String>,
) -> Result<Answer<VersionList<AgentDefinition>>, Problem> {
    let versions = app.runtime.agents().list_versions(&address).await?;
    Ok(Answer(VersionList::from_rows(versions)))
}

async fn get_agent_version(
    State(app): State<App>,
    Path((address, version)): Path<(String, u32)>,
) -> Result<Answer<VersionView<AgentDefinition>>, Problem> {
    Ok(Answer(VersionView::from_row(app.runtime.agents().version(&address, version).await?)))
}

async fn compare_agent_versions(
    State(app): State<App>,
    Path(address): Path<String>,
    Query(query): Query<DiffQuery>,
) -> Result<Answer<DiffView>, Problem> {
    let to = query.to.map(|to| to.parse::<ComparedVersion>()).transpose();
    let to = to.map_err(|detail| Problem::bad_request("bad_query", detail).with_field("field", "to"))?;
    let VersionPair { from, to, was, now } = app.runtime.agents().compare(&address, query.from, to).await?;
    let changes = agent_differences(&was, &now).into_iter().map(ChangedField::from).collect();
    Ok(Answer(DiffView { from, to, changes }))
}

async fn roll_agent_back(
    State(app): State<App>,
    principal: Principal,
    Path(address): Path<String>,
    headers: HeaderMap,
    body: Json<RollbackBody>,
) -> Result<Response, Problem> {
    let (by, expected) = (&principal.user.0, expected_version(&headers)?);
    let agent = app.runtime.restore_agent(&address, body.value.version, expected, by).await?;
    Ok(agent_response(&app, &agent, true))
}
