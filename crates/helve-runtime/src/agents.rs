//! Making, changing and deleting agents: what an agent names must be there.

use helve_agent::{AgentChange, AgentError, ListedAgent};
use helve_model::fleet::choose_model;
use helve_rows::DefinitionError;
use helve_types::{AgentDefinition, Notice};

use crate::Runtime;

impl Runtime {
    /// Whether a definition could be kept. Tools may come later; models must be there.
    pub fn check_agent(&self, definition: &AgentDefinition) -> Result<(), AgentError> {
        self.check_models(definition)?;
        self.agents().check(definition)
    }

    pub async fn create_agent(
        &self,
        mut definition: AgentDefinition,
        by: &str,
    ) -> Result<ListedAgent, AgentError> {
        self.resolve_tools(&mut definition);
        self.check_models(&definition)?;
        self.agents().create(definition, by).await
    }

    /// Changes an agent, if it is at the version `expected` or none is given.
    pub async fn update_agent(
        &self,
        address: &str,
        change: AgentChange,
        expected: Option<u32>,
        by: &str,
    ) -> Result<ListedAgent, AgentError> {
        let change = match change {
            AgentChange::Whole(mut definition) => {
                self.resolve_tools(&mut definition);
                AgentChange::Whole(definition)
            }
            other => other,
        };
        // A model that was there when it was named may be gone since, and does not prevent other changes.
        let before = self.agents().get(address).and_then(|listed| listed.row);
        let check = |next: &AgentDefinition| {
            let is_same = |row: &AgentDefinition| {
                row.model == next.model && row.fallback_models == next.fallback_models
            };
            match before.as_ref().is_some_and(|row| is_same(&row.definition)) {
                true => Ok(()),
                false => self.check_models(next),
            }
        };
        self.agents().update(address, change, expected, by, check).await
    }

    /// Deletes an agent; its runs go on.
    pub async fn delete_agent(
        &self,
        address: &str,
        expected: Option<u32>,
        by: &str,
    ) -> Result<(), AgentError> {
        self.agents().delete(address, expected, by).await
    }

    /// The tools of an agent may be named by their ids.
    fn resolve_tools(&self, definition: &mut AgentDefinition) {
        for tool in &mut definition.tools {
            tool.name = self.catalogue().resolve_name(&tool.name);
        }
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
