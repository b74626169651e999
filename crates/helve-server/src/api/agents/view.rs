//! Agents as people and programs see them.

use std::collections::BTreeMap;

use helve_runtime::{AgentRow, ListedAgent};
use helve_types::{AgentBudget, AgentPermission, AgentSubagent, AgentTexts, AgentTool, ModelParams};
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::App;

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AgentList {
    agents: Vec<AgentView>,
}

impl AgentList {
    pub(super) fn new(agents: Vec<AgentView>) -> Self {
        Self { agents }
    }
}

/// Where an agent is defined.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum AgentOrigin {
    Configuration,
    Row,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AgentView {
    name: String,
    /// The id of its definition, or else the one that Helve gave it. An agent is addressed by it as well as by its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// Whether it is a row, or is defined in the configuration and can be changed only there.
    source: AgentOrigin,
    /// What people see in place of the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    display_name: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    language: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    max_steps: u32,
    /// Whether a person's no to a call ends the run.
    end_when_refused: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    example_questions: Vec<String>,
    /// By language, what people who read it see in place of `display_name`, `description` and `example_questions`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    translations: BTreeMap<String, AgentTexts>,
    /// The tools it may use; all if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Vec<AgentTool>>,
    /// The skills it may load; `*` stands for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    skills: Vec<String>,
    /// Those of `tools` that are not there now; the agent has them as soon as they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing_tools: Vec<String>,
    /// By name, why it does not have tools that are there: they have changed, and their `config` does not fit any more.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    tool_problems: BTreeMap<String, String>,
    /// The agents that it can give tasks to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    subagents: Vec<AgentSubagent>,
    /// Those of `subagents` that are not there, or are switched off; the agent starts without them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing_subagents: Vec<String>,
    /// Whether new runs can use it.
    enabled: bool,
    /// The number of a row's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u32>,
    /// Changes when the definition does; runs are bound to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_at: Option<i64>,
    /// Why no run can use it.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// How the agent of a row is made; for those with the right `admin`.
    #[serde(flatten)]
    inner: Option<InnerView>,
}

/// What only those see who make agents.
#[derive(Debug, Serialize, JsonSchema)]
struct InnerView {
    system_prompt: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fallback_models: Vec<String>,
    params: ModelParams,
    permissions: Vec<AgentPermission>,
    budget: AgentBudget,
    #[serde(skip_serializing_if = "Option::is_none")]
    pre_search: Option<bool>,
    /// Who may use it; everybody if nobody is named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    users: Vec<String>,
    /// The groups whose members may use it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    groups: Vec<String>,
    /// The version of its draft, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    draft: Option<u32>,
}

impl AgentView {
    pub(super) fn of(app: &App, agent: &ListedAgent, is_admin: bool) -> Self {
        match &agent.row {
            Some(row) => Self::of_row(app, agent, row, is_admin),
            None => Self::of_configuration(app, agent),
        }
    }

    fn of_row(app: &App, agent: &ListedAgent, row: &AgentRow, is_admin: bool) -> Self {
        let definition = row.definition.clone();
        let inner = is_admin.then_some(InnerView {
            system_prompt: definition.system_prompt,
            fallback_models: definition.fallback_models,
            params: definition.params,
            permissions: definition.permissions,
            budget: definition.budget,
            pre_search: definition.pre_search,
            users: definition.users,
            groups: definition.groups,
            draft: agent.draft.as_ref().map(|draft| draft.version),
        });
        let built = agent.agent.as_ref();
        let problems = built.map(|agent| agent.link_problems(app.runtime.registry())).unwrap_or_default();
        let problem = agent.problem.as_ref();
        let missing_subagents = built.map(|agent| app.runtime.agents().missing_subagents(agent));
        Self {
            subagents: definition.subagents,
            missing_subagents: missing_subagents.unwrap_or_default(),
            id: Some(definition.id.unwrap_or_else(|| row.id.to_string())),
            name: definition.name,
            source: AgentOrigin::Row,
            display_name: definition.display_name,
            description: definition.description,
            language: definition.language,
            model: definition.model,
            max_steps: definition.max_steps,
            end_when_refused: definition.end_when_refused,
            example_questions: definition.example_questions,
            translations: definition.translations,
            tool_problems: problems.into_iter().collect(),
            missing_tools: missing(app, definition.tools.iter().map(|tool| &tool.name)),
            tools: Some(definition.tools),
            skills: definition.skills,
            enabled: definition.enabled,
            version: Some(row.version),
            hash: Some(row.hash.clone()),
            created_at: Some(row.created_at.0),
            updated_at: Some(row.updated_at.0),
            problem: problem.map(|told| if is_admin { told.clone() } else { "it cannot be used now".into() }),
            inner,
        }
    }

    fn of_configuration(app: &App, agent: &ListedAgent) -> Self {
        let settings = agent.agent.as_ref().map(|agent| agent.settings.clone()).unwrap_or_default();
        let tools = settings.tools.as_ref();
        let built = agent.agent.as_ref();
        let missing_subagents = built.map(|agent| app.runtime.agents().missing_subagents(agent));
        Self {
            subagents: settings.subagents,
            missing_subagents: missing_subagents.unwrap_or_default(),
            missing_tools: missing(app, tools.into_iter().flatten()),
            tools: tools.map(|names| names.iter().map(AgentTool::new).collect()),
            skills: settings.skills,
            name: settings.name,
            id: None,
            source: AgentOrigin::Configuration,
            display_name: settings.texts.display_name,
            description: settings.texts.description,
            language: settings.language,
            model: settings.model,
            max_steps: settings.max_steps,
            end_when_refused: settings.end_when_refused,
            example_questions: settings.texts.example_questions,
            translations: settings.translations,
            tool_problems: BTreeMap::new(),
            enabled: true,
            version: None,
            hash: None,
            created_at: None,
            updated_at: None,
            problem: None,
            inner: None,
        }
    }
}

fn missing<'a>(app: &App, names: impl Iterator<Item = &'a String>) -> Vec<String> {
    let registry = app.runtime.registry();
    names.filter(|name| *name != "*" && registry.get(name).is_none()).cloned().collect()
}
