//! What there is to choose from: tools and agents. Models have a file of their own.

use axum::extract::State;
use helve_types::Effect;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::access::Right;
use crate::app::App;
use crate::routes::{Operation, Routes};

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .add(Operation::get("/api/tools", Right::Chat, "List tools").gives::<ToolList>(), list_tools)
        .add(Operation::get("/api/agents", Right::Chat, "List agents").gives::<AgentList>(), list_agents)
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ToolList {
    tools: Vec<ToolView>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ToolView {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    description: String,
    parameters: Value,
    effect: Effect,
    tags: Vec<String>,
    enabled: bool,
    /// Changes when the definition does.
    version: String,
}

pub(crate) async fn list_tools(State(app): State<App>) -> axum::Json<ToolList> {
    let tools = app.runtime.registry().all();
    let view = |tool: &std::sync::Arc<helve_tool::Registered>| {
        let spec = tool.spec();
        ToolView {
            name: spec.name.clone(),
            title: spec.title.clone(),
            description: spec.description.clone(),
            parameters: spec.parameters.clone(),
            effect: spec.effect,
            tags: spec.tags.clone(),
            enabled: tool.is_enabled(),
            version: tool.version().to_owned(),
        }
    };
    axum::Json(ToolList { tools: tools.iter().map(view).collect() })
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AgentList {
    agents: Vec<AgentView>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AgentView {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    max_steps: u32,
    /// The tools it may use; all if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Vec<String>>,
}

pub(crate) async fn list_agents(State(app): State<App>) -> axum::Json<AgentList> {
    let view = |agent: &helve_agent::AgentSettings| AgentView {
        name: agent.name.clone(),
        model: agent.model.clone(),
        max_steps: agent.max_steps,
        tools: agent.tools.clone(),
    };
    axum::Json(AgentList { agents: app.runtime.agents().map(view).collect() })
}
