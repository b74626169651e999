//! Agents: those of the configuration, and making, changing, switching and deleting those that are rows.
//!
//! A row's version is its `ETag`; a change that names the version it was made for (`If-Match`) never overwrites another
//! one.

mod drafts;
mod links;
mod transfer;
mod versions;
mod view;

use axum::Json as Answer;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use helve_runtime::{AgentChange, AgentError, ListedAgent, read_agent};
use helve_types::AgentDefinition;
use serde_json::{Value, json};

use self::view::{AgentList, AgentView};
use crate::access::{Principal, Right};
use crate::app::App;
use crate::input::{AgentJson, Json, Path};
use crate::problem::Problem;
use crate::routes::{Operation, Routes};

const VERSION: &str = "The version of the agent, for `If-Match`.";
const IF_MATCH: &str =
    "The version that is changed; if the agent is at another one by now, nothing happens (412).";

/// A definition as people write it.
fn example_definition() -> Value {
    json!({
        "name": "weather-clerk",
        "system_prompt": "You tell people the weather. Look it up before you answer.",
        "tools": ["search_web", {"name": "calculator", "enabled": true, "config": {"permission": "allow"}}],
        "max_steps": 10
    })
}

pub(crate) fn routes(routes: Routes) -> Routes {
    drafts::routes(versions::routes(transfer::routes(links::routes(routes))))
        .add_route(
            Operation::get("/api/agents", Right::Chat, "List agents").gives::<AgentList>(),
            list_agents,
        )
        .add_route(
            Operation::post("/api/agents", Right::Admin, "Make an agent")
                .with_example(example_definition())
                .gives::<AgentView>()
                .with_status(201)
                .with_answer_header("Location", "Where the agent is.")
                .with_answer_header("ETag", VERSION),
            make_agent,
        )
        .add_route(
            Operation::get("/api/agents/{agent}", Right::Chat, "Look at an agent, by its name or id")
                .gives::<AgentView>()
                .with_answer_header("ETag", VERSION),
            get_agent,
        )
        .add_route(
            Operation::put("/api/agents/{agent}", Right::Admin, "Give an agent another definition")
                .with_header("If-Match", IF_MATCH)
                .with_example(example_definition())
                .gives::<AgentView>()
                .with_answer_header("ETag", VERSION),
            replace_agent,
        )
        .add_route(
            Operation::patch(
                "/api/agents/{agent}",
                Right::Admin,
                "Change some of an agent's definition (a JSON merge patch), or switch it on or off",
            )
            .with_header("If-Match", IF_MATCH)
            .with_example(json!({"enabled": false}))
            .gives::<AgentView>()
            .with_answer_header("ETag", VERSION),
            change_agent,
        )
        .add_route(
            Operation::delete(
                "/api/agents/{agent}",
                Right::Admin,
                "Delete an agent; its runs go on, and its versions stay readable",
            )
            .with_header("If-Match", IF_MATCH)
            .with_status(204),
            delete_agent,
        )
}

async fn list_agents(State(app): State<App>, principal: Principal) -> Answer<AgentList> {
    let agents = app.runtime.agents().list();
    let agents = agents.iter().filter(|agent| may_see(&principal, agent));
    let agents = agents.map(|agent| AgentView::of(&app, agent, principal.is_admin())).collect();
    Answer(AgentList::new(agents))
}

async fn get_agent(
    State(app): State<App>,
    principal: Principal,
    Path(address): Path<String>,
) -> Result<Response, Problem> {
    Ok(agent_response(&app, &find_agent(&app, &principal, &address)?, principal.is_admin()))
}

/// The agent with this name or id, if the caller may see it.
fn find_agent(app: &App, principal: &Principal, address: &str) -> Result<ListedAgent, Problem> {
    let agent = app.runtime.agents().get(address).filter(|agent| may_see(principal, agent));
    agent.ok_or_else(|| Problem::not_found("agent"))
}

/// Those who make agents see all of them, others those that they may use.
fn may_see(principal: &Principal, agent: &ListedAgent) -> bool {
    principal.is_admin() || agent.agent.as_ref().is_some_and(|agent| agent.admits(&principal.user))
}

async fn make_agent(
    State(app): State<App>,
    principal: Principal,
    AgentJson(written): AgentJson,
) -> Result<Response, Problem> {
    let definition = read_agent(written).map_err(AgentError::from)?;
    let agent = app.runtime.create_agent(definition, &principal.user.0).await?;
    let mut response = (StatusCode::CREATED, agent_response(&app, &agent, true)).into_response();
    let id = agent.row.as_ref().map(|row| row.id.to_string()).unwrap_or_default();
    // Names may have letters that no header takes.
    let place = if agent.name().is_ascii() { agent.name().to_owned() } else { id };
    if let Ok(location) = HeaderValue::try_from(format!("/api/agents/{place}")) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    Ok(response)
}

async fn replace_agent(
    State(app): State<App>,
    principal: Principal,
    Path(address): Path<String>,
    headers: HeaderMap,
    AgentJson(written): AgentJson,
) -> Result<Response, Problem> {
    let definition: AgentDefinition = read_agent(written).map_err(AgentError::from)?;
    let change = AgentChange::Whole(Box::new(definition));
    update(&app, &principal, &address, &headers, change).await
}

async fn change_agent(
    State(app): State<App>,
    principal: Principal,
    Path(address): Path<String>,
    headers: HeaderMap,
    body: Json<Value>,
) -> Result<Response, Problem> {
    let patch = patch_body(body)?;
    update(&app, &principal, &address, &headers, AgentChange::Patch(patch)).await
}

/// A merge patch, which is an object.
fn patch_body(body: Json<Value>) -> Result<Value, Problem> {
    match body.value.is_object() {
        true => Ok(body.value),
        false => {
            Err(Problem::bad_request("bad_body", "the body must be a JSON object: what is to be changed"))
        }
    }
}

async fn update(
    app: &App,
    principal: &Principal,
    address: &str,
    headers: &HeaderMap,
    change: AgentChange,
) -> Result<Response, Problem> {
    let by = &principal.user.0;
    let agent = app.runtime.update_agent(address, change, expected_version(headers)?, by).await?;
    Ok(agent_response(app, &agent, true))
}

async fn delete_agent(
    State(app): State<App>,
    principal: Principal,
    Path(address): Path<String>,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    app.runtime.delete_agent(&address, expected_version(&headers)?, &principal.user.0).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn agent_response(app: &App, agent: &ListedAgent, is_admin: bool) -> Response {
    with_etag(agent, Answer(AgentView::of(app, agent, is_admin)))
}

fn with_etag(agent: &ListedAgent, answer: impl IntoResponse) -> Response {
    let mut response = answer.into_response();
    if let Some(row) = &agent.row
        && let Ok(tag) = HeaderValue::try_from(format!("\"{}\"", row.version))
    {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

/// The version that a request wants to change; any if it does not say.
fn expected_version(headers: &HeaderMap) -> Result<Option<u32>, Problem> {
    crate::input::expected_version(headers, "agent")
}

impl From<AgentError> for Problem {
    fn from(error: AgentError) -> Self {
        let detail = error.to_string();
        match error {
            AgentError::Definition(wrong) => {
                let problem =
                    Self::bad_request("bad_definition", detail).with_param("problem", wrong.notice());
                problem.with_field("field", wrong.field)
            }
            AgentError::Exists(_) => Self::new(StatusCode::CONFLICT, "agent_exists", detail),
            AgentError::IdTaken { .. } => Self::new(StatusCode::CONFLICT, "agent_id_taken", detail),
            AgentError::Missing(_) => Self::not_found("agent"),
            AgentError::MissingDraft(_) => Self::not_found("draft of this agent"),
            AgentError::MissingVersion { .. } => Self::not_found("version of this agent"),
            AgentError::Configured(_) => Self::new(StatusCode::CONFLICT, "agent_configured", detail),
            AgentError::MissingTool { .. } => Self::not_found("tool of this agent"),
            AgentError::ToolExists { .. } => Self::new(StatusCode::CONFLICT, "agent_tool_exists", detail),
            AgentError::Changed(version) => {
                Self::new(StatusCode::PRECONDITION_FAILED, "agent_changed", detail)
                    .with_field("version", version)
            }
            AgentError::Store(error) => error.into(),
        }
    }
}
