//! How rows of agents and of drafts are checked and built: they are found where they are held, and registered nowhere else.

use std::sync::Arc;

use helve_rows::{DefinitionError, GrantSet, Registrar};
use helve_types::AgentDefinition;

use super::{AgentCatalogue, AgentError};
use crate::agents::Agent;
use crate::agents::check::build_settings;
use crate::agents::kind::{AgentDraftKind, AgentDraftRow, AgentRow, AgentRowKind};

impl Registrar<AgentRowKind> for AgentCatalogue {
    type Error = AgentError;

    async fn prepare(&self, _: &AgentDefinition) {}

    fn check_new(&self, definition: &AgentDefinition) -> Result<(), AgentError> {
        let name = &definition.name;
        match self.get(name) {
            Some(other) if other.row.is_none() => return Err(AgentError::Configured(name.clone())),
            Some(other) if other.name() == name => return Err(AgentError::Exists(name.clone())),
            Some(other) => {
                return Err(AgentError::IdTaken { id: name.clone(), other: other.name().to_owned() });
            }
            None => {}
        }
        self.check_id_is_free(definition)
    }

    fn check_definition(&self, definition: &AgentDefinition) -> Result<(), DefinitionError> {
        build_settings(definition).map(drop)
    }

    fn build(
        &self,
        definition: &AgentDefinition,
        _: &Arc<GrantSet<String>>,
    ) -> Result<Arc<Agent>, DefinitionError> {
        self.built(definition).map(Arc::new)
    }

    fn register(&self, _: &AgentRow, _: &Arc<Agent>, _: bool) {}

    fn unregister(&self, _: &str) {}

    fn set_agreed(&self, _: &str, _: bool) {}

    fn is_registered(&self, name: &str) -> bool {
        self.is_taken(name)
    }

    fn apply_switches(&self, _: &[(String, bool)]) {}

    fn prepare_pinned(&self, _: &AgentRow, _: &Agent) {}
}

impl Registrar<AgentDraftKind> for AgentCatalogue {
    type Error = AgentError;

    async fn prepare(&self, _: &AgentDefinition) {}

    fn check_new(&self, _: &AgentDefinition) -> Result<(), AgentError> {
        Ok(())
    }

    fn check_definition(&self, definition: &AgentDefinition) -> Result<(), DefinitionError> {
        build_settings(definition).map(drop)
    }

    fn build(
        &self,
        definition: &AgentDefinition,
        _: &Arc<GrantSet<String>>,
    ) -> Result<Arc<Agent>, DefinitionError> {
        Ok(Arc::new(self.built(definition)?.into_draft()))
    }

    fn register(&self, _: &AgentDraftRow, _: &Arc<Agent>, _: bool) {}

    fn unregister(&self, _: &str) {}

    fn set_agreed(&self, _: &str, _: bool) {}

    fn is_registered(&self, name: &str) -> bool {
        self.drafts.contains(name)
    }

    fn apply_switches(&self, _: &[(String, bool)]) {}

    fn prepare_pinned(&self, _: &AgentDraftRow, _: &Agent) {}
}
