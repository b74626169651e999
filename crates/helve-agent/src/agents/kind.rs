//! Agents as a kind of row, and their drafts as another.

use helve_rows::{DefinitionKind, DefinitionRow};
use helve_store::{RowKind, StoreError};
use helve_types::AgentDefinition;
use serde_json::{Value, json};

use super::Agent;

/// The kind of rows that are agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentRowKind;

/// The kind of rows that are drafts of agents: under the agent's name what it may become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentDraftKind;

pub type AgentRow = DefinitionRow<AgentRowKind>;
pub type AgentDraftRow = DefinitionRow<AgentDraftKind>;

const ENABLED: &str = "enabled";

macro_rules! agent_kind {
    ($kind:ident, $name:literal) => {
        impl DefinitionKind for $kind {
            const KIND: RowKind = RowKind::new($name);
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
    };
}

agent_kind!(AgentRowKind, "agent");
agent_kind!(AgentDraftKind, "agent_draft");
