//! Making, changing and deleting agents: what an agent names must be there, and fit.

use helve_agent::{AgentChange, AgentError, AgentImport, AgentImportError, ListedAgent};
use helve_model::fleet::choose_model;
use helve_rows::DefinitionError;
use helve_types::{AgentDefinition, Notice};

use crate::Runtime;

impl Runtime {
    pub async fn create_agent(
        &self,
        mut definition: AgentDefinition,
        by: &str,
    ) -> Result<ListedAgent, AgentError> {
        self.resolve_tools(&mut definition);
        self.check_named(None, &definition)?;
        self.agents().create(definition, by).await
    }

    /// Makes or changes all agents of a file, or none. With `dry_run` nothing is kept.
    pub async fn import_agents(
        &self,
        mut definitions: Vec<AgentDefinition>,
        replace: bool,
        dry_run: bool,
        by: &str,
    ) -> Result<Vec<AgentImport>, AgentImportError> {
        definitions.iter_mut().for_each(|definition| self.resolve_tools(definition));
        let check = |before: Option<&AgentDefinition>, next: &AgentDefinition| self.check_named(before, next);
        self.agents().import(definitions, replace, dry_run, by, check).await
    }

    /// Changes an agent, if it is at the version `expected` or none is given.
    pub async fn update_agent(
        &self,
        address: &str,
        change: AgentChange,
        expected: Option<u32>,
        by: &str,
    ) -> Result<ListedAgent, AgentError> {
        let before = self.definition(address);
        let check = |next: &AgentDefinition| self.check_named(before.as_ref(), next);
        self.agents().update(address, self.with_tool_names(change), expected, by, check).await
    }

    /// Changes the draft of an agent, or begins one; `expected` is the draft's version.
    pub async fn save_agent_draft(
        &self,
        address: &str,
        change: AgentChange,
        expected: Option<u32>,
        by: &str,
    ) -> Result<ListedAgent, AgentError> {
        let before = self.definition(address);
        let check = |next: &AgentDefinition| self.check_named(before.as_ref(), next);
        self.agents().save_draft(address, self.with_tool_names(change), expected, by, check).await
    }

    /// Makes an agent what its draft says; `expected` is the agent's version.
    pub async fn publish_agent_draft(
        &self,
        address: &str,
        expected: Option<u32>,
        by: &str,
    ) -> Result<ListedAgent, AgentError> {
        let before = self.definition(address);
        let check = |next: &AgentDefinition| self.check_named(before.as_ref(), next);
        self.agents().publish_draft(address, expected, by, check).await
    }

    /// Makes an agent again what it was at an earlier version, as the next one. Its switch stays as it is.
    pub async fn restore_agent(
        &self,
        address: &str,
        version: u32,
        expected: Option<u32>,
        by: &str,
    ) -> Result<ListedAgent, AgentError> {
        let earlier = self.agents().version(address, version).await?.definition;
        let enabled = self.agents().get(address).is_none_or(|listed| listed.is_enabled());
        let change = AgentChange::Whole(Box::new(AgentDefinition { enabled, ..earlier }));
        self.update_agent(address, change, expected, by).await
    }

    /// Deletes an agent and its draft; its runs go on.
    pub async fn delete_agent(
        &self,
        address: &str,
        expected: Option<u32>,
        by: &str,
    ) -> Result<(), AgentError> {
        self.agents().delete(address, expected, by).await
    }

    fn definition(&self, address: &str) -> Option<AgentDefinition> {
        Some(self.agents().get(address)?.row?.definition.clone())
    }

    /// The change with the tools' names where it has their ids.
    fn with_tool_names(&self, change: AgentChange) -> AgentChange {
        match change {
            AgentChange::Whole(mut definition) => {
                self.resolve_tools(&mut definition);
                AgentChange::Whole(definition)
            }
            other => other,
        }
    }

    /// The tools and subagents of an agent may be named by their ids.
    fn resolve_tools(&self, definition: &mut AgentDefinition) {
        for tool in &mut definition.tools {
            tool.name = self.catalogue().resolve_name(&tool.name);
        }
        // Tools are named after agents, and rules after tools.
        for link in &mut definition.subagents {
            if let Some(agent) = self.agents().get(&link.agent) {
                link.agent = agent.name().to_owned();
            }
        }
    }

    /// Whether what an agent names is there. Tools may come later; models must be there. What was named `before` may be
    /// gone since, and keeps nobody from changing something else.
    fn check_named(
        &self,
        before: Option<&AgentDefinition>,
        next: &AgentDefinition,
    ) -> Result<(), AgentError> {
        let is_same_model = |before: &AgentDefinition| {
            before.model == next.model && before.fallback_models == next.fallback_models
        };
        if !before.is_some_and(is_same_model) {
            self.check_models(next)?;
        }
        for (number, tool) in next.tools.iter().enumerate() {
            let is_known = before.is_some_and(|before| before.tools.contains(tool));
            let Some(registered) = self.registry().get(&tool.name).filter(|_| !is_known) else { continue };
            registered.check_link(&tool.config).map_err(|wrong| {
                DefinitionError::new(format!("tools.{number}.config.{}", wrong.field), wrong.problem)
            })?;
        }
        Ok(())
    }

    fn check_models(&self, definition: &AgentDefinition) -> Result<(), AgentError> {
        let wrong = |field: String, problem: Notice| AgentError::from(DefinitionError::new(field, problem));
        if let Some(model) = &definition.model {
            choose_model(self.models(), model, None)
                .map_err(|error| wrong("model".into(), Notice::definition_other(&error.to_string())))?;
        }
        for (number, model) in definition.fallback_models.iter().enumerate() {
            if self.models().get(model).is_none() {
                let field = format!("fallback_models.{number}");
                return Err(wrong(field, Notice::definition_model_unknown(model)));
            }
        }
        Ok(())
    }
}
