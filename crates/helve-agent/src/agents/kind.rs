//! Agents as a kind of row.

use helve_rows::{DefinitionKind, DefinitionRow};
use helve_store::{RowKind, StoreError};
use helve_types::AgentDefinition;
use serde_json::{Value, json};

use super::Agent;

/// The kind of rows that are agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentRowKind;

pub type AgentRow = DefinitionRow<AgentRowKind>;

const ENABLED: &str = "enabled";

impl DefinitionKind for AgentRowKind {
    const KIND: RowKind = RowKind::new("agent");
    type Definition = AgentDefinition;
    /// Nothing is granted to agents: what a tool may reach is granted to the tool.
    type Grant = String;
    type Built = Agent;

    fn name(definition: &AgentDefinition) -> &str {
        &definition.name
    }

    fn hash(definition: &AgentDefinition) -> String {
        definition.hash()
    }

    fn is_enabled(definition: &AgentDefinition) -> bool {
        definition.enabled
    }

    fn set_enabled(definition: &mut AgentDefinition, enabled: bool) {
        definition.enabled = enabled;
    }

    /// Agents are made by people; no origin offers them.
    fn has_origin(_: &AgentDefinition, _: &str) -> bool {
        false
    }

    fn grant_for(consent: String) -> String {
        consent
    }

    fn encode(definition: &AgentDefinition) -> Result<String, StoreError> {
        let mut body = json!(definition);
        if let Value::Object(members) = &mut body {
            members.remove(ENABLED);
        }
        Ok(body.to_string())
    }

    fn decode(json: &str) -> Result<AgentDefinition, StoreError> {
        serde_json::from_str(json).map_err(|error| StoreError::Unavailable(error.to_string()))
    }
}
