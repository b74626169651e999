//! The tools of an agent, one by one.

use axum::Json as Answer;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use helve_runtime::{AgentChange, ListedAgent};
use helve_types::{AgentTool, AgentToolConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{IF_MATCH, VERSION, expected_version, find_agent, patch_body, with_etag};
use crate::access::{Principal, Right};
use crate::app::App;
use crate::input::{Json, Path};
use crate::problem::Problem;
use crate::routes::{Operation, Routes};

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .add_route(
            Operation::get("/api/agents/{agent}/tools", Right::Chat, "List the tools of an agent")
                .gives::<LinkList>()
                .with_answer_header("ETag", VERSION),
            list_agent_tools,
        )
        .add_route(
            Operation::post("/api/agents/{agent}/tools", Right::Admin, "Give an agent a tool")
                .with_header("If-Match", IF_MATCH)
                .with_example(json!({"name": "calculator", "config": {"permission": "ask"}}))
                .gives::<LinkView>()
                .with_status(201)
                .with_answer_header("ETag", VERSION),
            add_agent_tool,
        )
        .add_route(
            Operation::get("/api/agents/{agent}/tools/{tool}", Right::Chat, "Look at a tool of an agent")
                .gives::<LinkView>()
                .with_answer_header("ETag", VERSION),
            get_agent_tool,
        )
        .add_route(
            Operation::put(
                "/api/agents/{agent}/tools/{tool}",
                Right::Admin,
                "Say what holds for a tool of an agent; adds the tool if the agent does not have it",
            )
            .with_header("If-Match", IF_MATCH)
            .with_example(json!({"enabled": false}))
            .gives::<LinkView>()
            .with_answer_header("ETag", VERSION),
            set_agent_tool,
        )
        .add_route(
            Operation::patch(
                "/api/agents/{agent}/tools/{tool}",
                Right::Admin,
                "Change some of what holds for a tool of an agent (a JSON merge patch)",
            )
            .with_header("If-Match", IF_MATCH)
            .with_example(json!({"config": {"arguments": {"max_results": 3}}}))
            .gives::<LinkView>()
            .with_answer_header("ETag", VERSION),
            change_agent_tool,
        )
        .add_route(
            Operation::delete("/api/agents/{agent}/tools/{tool}", Right::Admin, "Take a tool from an agent")
                .with_header("If-Match", IF_MATCH)
                .with_status(204),
            remove_agent_tool,
        )
}

#[derive(Debug, Serialize, JsonSchema)]
struct LinkList {
    tools: Vec<LinkView>,
}

/// A tool of an agent.
#[derive(Debug, Serialize, JsonSchema)]
struct LinkView {
    /// `*` stands for all tools.
    name: String,
    enabled: bool,
    config: AgentToolConfig,
    /// Whether there is no tool of this name now; the agent has it as soon as there is.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    missing: bool,
    /// Why the agent does not have the tool, which is there: it has changed, and `config` does not fit it any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// A tool that an agent gets, also as a row of `agent_tools` of the system that Helve replaces.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewLinkBody {
    /// The tool's name or id; `tool_id` is the same.
    #[serde(alias = "tool_id")]
    #[schemars(extend("x-aliases" = ["tool_id"]))]
    name: String,
    #[serde(default = "default_true")]
    enabled: bool,
    #[serde(default)]
    config: Option<AgentToolConfig>,
    /// Of the row; a link has no id of its own here.
    #[serde(default, rename = "id")]
    _id: Option<String>,
    /// Of the row; the address says which agent is meant.
    #[serde(default, rename = "agent_id")]
    _agent: Option<String>,
    #[serde(default, rename = "created_at")]
    _created_at: Option<Value>,
    #[serde(default, rename = "updated_at")]
    _updated_at: Option<Value>,
}

/// What holds for a tool of an agent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LinkBody {
    #[serde(default = "default_true")]
    enabled: bool,
    #[serde(default)]
    config: Option<AgentToolConfig>,
}

fn default_true() -> bool {
    true
}

impl LinkView {
    fn of(app: &App, tool: &AgentTool) -> Self {
        let AgentTool { name, enabled, config } = tool.clone();
        let registered = app.runtime.registry().get(&name);
        let missing = name != "*" && registered.is_none();
        let wrong = registered.and_then(|tool| tool.check_link(&config).err());
        Self { name, enabled, config, missing, problem: wrong.map(|wrong| wrong.to_string()) }
    }
}

/// The tools of an agent, of which one of the configuration may have all.
fn tools_of(agent: &ListedAgent) -> Vec<AgentTool> {
    match (&agent.row, &agent.agent) {
        (Some(row), _) => row.definition.tools.clone(),
        (None, Some(agent)) => match &agent.settings.tools {
            Some(names) => names.iter().map(AgentTool::new).collect(),
            None => vec![AgentTool::new("*")],
        },
        (None, None) => vec![],
    }
}

fn link_response(app: &App, agent: &ListedAgent, tool: &str) -> Result<Response, Problem> {
    let tools = tools_of(agent);
    let link = tools.iter().find(|link| link.name == tool);
    let link = link.ok_or_else(|| Problem::not_found("tool of this agent"))?;
    Ok(with_etag(agent, Answer(LinkView::of(app, link))))
}

async fn list_agent_tools(
    State(app): State<App>,
    principal: Principal,
    Path(address): Path<String>,
) -> Result<Response, Problem> {
    let agent = find_agent(&app, &principal, &address)?;
    let tools = tools_of(&agent).iter().map(|tool| LinkView::of(&app, tool)).collect();
    Ok(with_etag(&agent, Answer(LinkList { tools })))
}

async fn get_agent_tool(
    State(app): State<App>,
    principal: Principal,
    Path((address, tool)): Path<(String, String)>,
) -> Result<Response, Problem> {
    link_response(
        &app,
        &find_agent(&app, &principal, &address)?,
        &app.runtime.catalogue().resolve_name(&tool),
    )
}

async fn add_agent_tool(
    State(app): State<App>,
    principal: Principal,
    Path(address): Path<String>,
    headers: HeaderMap,
    body: Json<NewLinkBody>,
) -> Result<Response, Problem> {
    let name = app.runtime.catalogue().resolve_name(&body.value.name);
    let NewLinkBody { enabled, config, .. } = body.value;
    let tool = AgentTool { name: name.clone(), enabled, config: config.unwrap_or_default() };
    let (by, expected) = (&principal.user.0, expected_version(&headers)?);
    let agent = app.runtime.update_agent(&address, AgentChange::AddTool(tool), expected, by).await?;
    Ok((StatusCode::CREATED, link_response(&app, &agent, &name)?).into_response())
}

async fn set_agent_tool(
    State(app): State<App>,
    principal: Principal,
    Path((address, tool)): Path<(String, String)>,
    headers: HeaderMap,
    body: Json<LinkBody>,
) -> Result<Response, Problem> {
    let name = app.runtime.catalogue().resolve_name(&tool);
    let LinkBody { enabled, config } = body.value;
    let link = AgentTool { name: name.clone(), enabled, config: config.unwrap_or_default() };
    let (by, expected) = (&principal.user.0, expected_version(&headers)?);
    let agent = app.runtime.update_agent(&address, AgentChange::SetTool(link), expected, by).await?;
    link_response(&app, &agent, &name)
}

async fn change_agent_tool(
    State(app): State<App>,
    principal: Principal,
    Path((address, tool)): Path<(String, String)>,
    headers: HeaderMap,
    body: Json<Value>,
) -> Result<Response, Problem> {
    let name = app.runtime.catalogue().resolve_name(&tool);
    let change = AgentChange::PatchTool { name: name.clone(), patch: patch_body(body)? };
    let (by, expected) = (&principal.user.0, expected_version(&headers)?);
    let agent = app.runtime.update_agent(&address, change, expected, by).await?;
    link_response(&app, &agent, &name)
}

async fn remove_agent_tool(
    State(app): State<App>,
    principal: Principal,
    Path((address, tool)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    let change = AgentChange::RemoveTool(app.runtime.catalogue().resolve_name(&tool));
    let (by, expected) = (&principal.user.0, expected_version(&headers)?);
    app.runtime.update_agent(&address, change, expected, by).await?;
    Ok(StatusCode::NO_CONTENT)
}
