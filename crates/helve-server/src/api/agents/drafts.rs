//! Drafts of agents: what an agent is to become, tried by its makers before others have it.

use axum::Json as Answer;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use helve_runtime::{AgentChange, AgentDraftRow, AgentError, ListedAgent, agent_differences, read_agent};
use helve_types::AgentDefinition;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::view::AgentView;
use super::{IF_MATCH, VERSION, agent_response, example_definition, expected_version};
use crate::access::{Principal, Right};
use crate::api::import::ChangedField;
use crate::app::App;
use crate::input::{AgentJson, Json, Path};
use crate::problem::Problem;
use crate::routes::{Operation, Routes};

const DRAFT_VERSION: &str = "The version of the draft, for `If-Match`.";

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .add_route(
            Operation::get("/api/agents/{agent}/draft", Right::Admin, "Look at the draft of an agent")
                .gives::<DraftView>()
                .with_answer_header("ETag", DRAFT_VERSION),
            get_draft,
        )
        .add_route(
            Operation::put(
                "/api/agents/{agent}/draft",
                Right::Admin,
                "Say what an agent is to become; runs with `X-Agent-Draft: true` try it, others do not see it",
            )
            .with_header("If-Match", IF_MATCH)
            .with_example(example_definition())
            .gives::<DraftView>()
            .with_answer_header("ETag", DRAFT_VERSION),
            replace_draft,
        )
        .add_route(
            Operation::patch(
                "/api/agents/{agent}/draft",
                Right::Admin,
                "Change some of the draft of an agent (a JSON merge patch); begins one with what the agent is",
            )
            .with_header("If-Match", IF_MATCH)
            .with_example(json!({"system_prompt": "You tell people the weather, in one sentence."}))
            .gives::<DraftView>()
            .with_answer_header("ETag", DRAFT_VERSION),
            change_draft,
        )
        .add_route(
            Operation::delete("/api/agents/{agent}/draft", Right::Admin, "Discard the draft of an agent")
                .with_status(204),
            discard_draft,
        )
        .add_route(
            Operation::post(
                "/api/agents/{agent}/draft/publish",
                Right::Admin,
                "Make an agent what its draft says, as its next version; the draft ends",
            )
            .with_header("If-Match", IF_MATCH)
            .gives::<AgentView>()
            .with_answer_header("ETag", VERSION),
            publish_draft,
        )
}

/// What an agent is to become.
#[derive(Debug, Serialize, JsonSchema)]
struct DraftView {
    /// Of the draft; the agent's is another.
    version: u32,
    hash: String,
    updated_at: i64,
    definition: AgentDefinition,
    /// What would change for the agent.
    changes: Vec<ChangedField>,
}

fn draft_response(agent: &ListedAgent) -> Result<Response, Problem> {
    let missing = || AgentError::MissingDraft(agent.name().to_owned());
    let draft: &AgentDraftRow = agent.draft.as_ref().ok_or_else(missing)?;
    let was = agent.row.as_ref().map(|row| row.definition.clone());
    let now = AgentDefinition { enabled: agent.is_enabled(), ..draft.definition.clone() };
    let changes = was.map(|was| agent_differences(&was, &now)).unwrap_or_default();
    let view = DraftView {
        version: draft.version,
        hash: draft.hash.clone(),
        updated_at: draft.updated_at.0,
        definition: draft.definition.clone(),
        changes: changes.into_iter().map(ChangedField::from).collect(),
    };
    let mut response = Answer(view).into_response();
    if let Ok(tag) = HeaderValue::try_from(format!("\"{}\"", draft.version)) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    Ok(response)
}

async fn get_draft(State(app): State<App>, Path(address): Path<String>) -> Result<Response, Problem> {
    draft_response(&app.runtime.agents().get(&address).ok_or_else(|| Problem::not_found("agent"))?)
}

async fn replace_draft(
    State(app): State<App>,
    principal: Principal,
    Path(address): Path<String>,
    headers: HeaderMap,
    AgentJson(written): AgentJson,
) -> Result<Response, Problem> {
    let definition: AgentDefinition = read_agent(written).map_err(AgentError::from)?;
    save(&app, &principal, &address, &headers, AgentChange::Whole(Box::new(definition))).await
}

async fn change_draft(
    State(app): State<App>,
    principal: Principal,
    Path(address): Path<String>,
    headers: HeaderMap,
    body: Json<Value>,
) -> Result<Response, Problem> {
    let patch = super::patch_body(body)?;
    save(&app, &principal, &address, &headers, AgentChange::Patch(patch)).await
}

async fn save(
    app: &App,
    principal: &Principal,
    address: &str,
    headers: &HeaderMap,
    change: AgentChange,
) -> Result<Response, Problem> {
    let by = &principal.user.0;
    let agent = app.runtime.save_agent_draft(address, change, expected_version(headers)?, by).await?;
    draft_response(&agent)
}

async fn discard_draft(
    State(app): State<App>,
    principal: Principal,
    Path(address): Path<String>,
) -> Result<StatusCode, Problem> {
    app.runtime.agents().discard_draft(&address, &principal.user.0).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn publish_draft(
    State(app): State<App>,
    principal: Principal,
    Path(address): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let (by, expected) = (&principal.user.0, expected_version(&headers)?);
    let agent = app.runtime.publish_agent_draft(&address, expected, by).await?;
    Ok(agent_response(&app, &agent, true))
}
