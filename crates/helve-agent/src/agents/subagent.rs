//! The tools with which an agent gives tasks to other agents: `ask_<agent>`.
//!
//! They belong to the agent that has them, and no registry knows them. What a call asks for is read here; that it becomes a
//! run of its own is the driver's work (`drive/subagents.rs`).

use std::sync::Arc;

use helve_tool::{CallContext, Registered, Request, SubagentRequest, Tool, ToolError, ToolFuture, schema_of};
use helve_types::{AgentSubagent, Effect, RunId, ToolSpec, UserId, subagent_tool_name};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Agent, AgentCatalogue};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PlainTask {
    /// What the agent is to do, with everything it has to know: it sees nothing of this conversation.
    #[schemars(length(min = 1, max = 100_000))]
    task: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BackgroundTask {
    /// What the agent is to do, with everything it has to know: it sees nothing of this conversation. Leave it out only
    /// where you give `result_of`.
    #[schemars(length(min = 1, max = 100_000))]
    task: Option<String>,
    /// Whether the agent works while you go on. You are told when it is done, and get its answer with `result_of`.
    background: Option<bool>,
    /// The run of an earlier background task, to get its answer; it is waited for if need be.
    #[schemars(length(min = 1, max = 64))]
    result_of: Option<String>,
}

struct AskAgent {
    spec: ToolSpec,
    /// The agent's name, also where it was named by its id.
    agent: String,
    link: AgentSubagent,
}

impl AskAgent {
    fn read(&self, request: Request<'_>) -> Result<SubagentRequest, String> {
        let agent = self.agent.clone();
        let budget_share = self.link.budget_share();
        let fits = |error: ToolError| error.to_string();
        let (task, background) = if self.link.config.background {
            let asked: BackgroundTask = request.parse().map_err(fits)?;
            match (asked.task, asked.result_of) {
                (None, Some(run)) => {
                    let run = run.trim().parse::<RunId>();
                    let run = run.map_err(|_| "`result_of` must be the id of a run".to_owned())?;
                    return Ok(SubagentRequest::Join { agent, run });
                }
                (Some(task), None) => (task, asked.background.unwrap_or_default()),
                _ => return Err("give either `task` or `result_of`".into()),
            }
        } else {
            (request.parse::<PlainTask>().map_err(fits)?.task, false)
        };
        if task.trim().is_empty() {
            return Err("`task` is empty; say what the agent is to do".into());
        }
        Ok(SubagentRequest::Begin { agent, task, background, budget_share })
    }
}

impl Tool for AskAgent {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn is_subagent(&self) -> bool {
        true
    }

    fn subagent_request(&self, request: Request<'_>) -> Option<Result<SubagentRequest, String>> {
        Some(self.read(request))
    }

    fn call<'a>(&'a self, _request: Request<'a>, _cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async { Err(ToolError::Declined("other agents can be asked only in a run".into())) })
    }
}

/// The tool that gives tasks to an agent.
fn build_tool(link: &AgentSubagent, agent: &Agent) -> Option<Arc<Registered>> {
    let texts = &agent.settings.texts;
    let own = texts.description.trim();
    let about = link.config.description.as_deref().map(str::trim).filter(|about| !about.is_empty());
    let shown = texts.display_name.as_deref().unwrap_or(&agent.settings.name);
    let mut description = format!("Gives a task to the agent \"{shown}\" and returns its answer.");
    let about = about.or((!own.is_empty()).then_some(own));
    if let Some(about) = about {
        description.push(' ');
        description.push_str(about);
    }
    description.push_str(
        "\nThe agent sees nothing of this conversation: write everything that it needs into the task, and what the answer \
         is to look like.",
    );
    if link.config.background {
        description.push_str(
            "\nWith `background: true` it works while you go on; you are told when it is done, and then call this tool with \
             `result_of` to get the answer.",
        );
    }
    let parameters =
        if link.config.background { schema_of::<BackgroundTask>() } else { schema_of::<PlainTask>() };
    // A call finds the run that it has opened before, so it may be made again after a crash.
    let name = subagent_tool_name(&link.agent);
    let spec = ToolSpec {
        title: Some(shown.to_owned()),
        tags: vec!["agents".into()],
        ..ToolSpec::new(name, description, parameters, Effect::Idempotent)
    };
    match Registered::for_subagent(Arc::new(AskAgent {
        spec,
        agent: agent.settings.name.clone(),
        link: link.clone(),
    })) {
        Ok(tool) => Some(Arc::new(tool)),
        Err(problem) => {
            tracing::warn!(agent = link.agent, %problem, "subagent left out: its tool cannot be made");
            None
        }
    }
}

impl AgentCatalogue {
    /// The tools with which an agent gives tasks to others, as far as this user may use those. An agent that is missing or
    /// switched off is left out, as a missing tool is.
    pub fn subagent_tools(&self, agent: &Agent, user: &UserId) -> Vec<Arc<Registered>> {
        let tool = |link: &AgentSubagent| {
            let other = self.find(&link.agent).filter(|other| other.admits(user))?;
            build_tool(link, &other).filter(|tool| !agent.forbids(tool.spec(), user))
        };
        agent.settings.subagents.iter().filter_map(tool).collect()
    }

    /// The subagents of an agent that no run can use now.
    pub fn missing_subagents(&self, agent: &Agent) -> Vec<String> {
        let names = agent.settings.subagents.iter().map(|link| &link.agent);
        names.filter(|name| self.find(name).is_none()).cloned().collect()
    }
}
