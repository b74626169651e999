//! What there is to choose from: tools, agents, models.

use axum::extract::State;
use helve_types::{Effect, Mode, ModelProfile};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::app::App;

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

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ModelList {
    models: Vec<ModelView>,
    default: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ModelView {
    name: String,
    /// How it calls tools now.
    mode: Mode,
    /// The dialect of the last call that it wrote into its text, if it ever did.
    #[serde(skip_serializing_if = "Option::is_none")]
    dialect: Option<&'static str>,
    /// What it was found to do when it was asked; none if it never was.
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<ModelProfile>,
    ready: bool,
    /// What is wrong, and what to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

pub(crate) async fn list_models(State(app): State<App>) -> axum::Json<ModelList> {
    let models = app.runtime.models();
    let view = |model: &std::sync::Arc<dyn helve_agent::Model>| {
        let problem = app.problem_of_model(model.name());
        ModelView {
            name: model.name().to_owned(),
            mode: models.mode(&**model, app.runtime.default_profile()),
            dialect: models.dialect(model.name()),
            profile: models.profile(model.name()).map(|profile| (*profile).clone()),
            ready: problem.is_none(),
            problem,
        }
    };
    axum::Json(ModelList {
        models: models.all().map(view).collect(),
        default: models.default_name().to_owned(),
    })
}
