//! What agents were: their versions, what is between two of them, and the way back.

use axum::Json as Answer;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use helve_runtime::{ComparedVersion, VersionPair, agent_differences};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::view::{AgentView, VersionList, VersionView};
use super::{IF_MATCH, VERSION, agent_response, expected_version};
use crate::access::{Principal, Right};
use crate::api::import::ChangedField;
use crate::app::App;
use crate::input::{Json, Path, Query};
use crate::problem::Problem;
use crate::routes::{Operation, Routes};

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .add(
            Operation::get("/api/agents/{agent}/versions", Right::Admin, "Everything that an agent ever was")
                .gives::<VersionList>(),
            list_agent_versions,
        )
        .add(
            Operation::get(
                "/api/agents/{agent}/versions/{version}",
                Right::Admin,
                "Look at an agent as it was at a version",
            )
            .gives::<VersionView>(),
            get_agent_version,
        )
        .add(
            Operation::get(
                "/api/agents/{agent}/diff",
                Right::Admin,
                "What is different between two versions of an agent, or its draft",
            )
            .gives::<DiffView>(),
            compare_agent_versions,
        )
        .add(
            Operation::post(
                "/api/agents/{agent}/rollback",
                Right::Admin,
                "Make an agent again what it was at a version, as its next version",
            )
            .header("If-Match", IF_MATCH)
            .example(json!({"version": 1}))
            .gives::<AgentView>()
            .answer_header("ETag", VERSION),
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
) -> Result<Answer<VersionList>, Problem> {
    let versions = app.runtime.agents().versions(&address).await?;
    Ok(Answer(VersionList { versions: versions.into_iter().map(VersionView::from).collect() }))
}

async fn get_agent_version(
    State(app): State<App>,
    Path((address, version)): Path<(String, u32)>,
) -> Result<Answer<VersionView>, Problem> {
    Ok(Answer(app.runtime.agents().version(&address, version).await?.into()))
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
