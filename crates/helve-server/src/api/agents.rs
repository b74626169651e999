//! The agents there are to choose from.

use axum::extract::State;
use schemars::JsonSchema;
use serde::Serialize;

use crate::access::Right;
use crate::app::App;
use crate::routes::{Operation, Routes};

pub(crate) fn routes(routes: Routes) -> Routes {
    routes.add(Operation::get("/api/agents", Right::Chat, "List agents").gives::<AgentList>(), list_agents)
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
    /// Whether a person's no to a call ends the run.
    end_when_refused: bool,
    /// The tools it may use; all if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Vec<String>>,
    /// Those of `tools` that are not there now; the agent has them as soon as they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing_tools: Vec<String>,
}

pub(crate) async fn list_agents(State(app): State<App>) -> axum::Json<AgentList> {
    let registry = app.runtime.registry();
    let view = |agent: &helve_runtime::AgentSettings| AgentView {
        missing_tools: agent
            .tools
            .iter()
            .flatten()
            .filter(|name| registry.get(name).is_none())
            .cloned()
            .collect(),
        name: agent.name.clone(),
        model: agent.model.clone(),
        max_steps: agent.max_steps,
        end_when_refused: agent.end_when_refused,
        tools: agent.tools.clone(),
    };
    axum::Json(AgentList { agents: app.runtime.agents().map(view).collect() })
}
