//! Tools as a kind of definition.

use helve_rows::{DefinitionGrant, DefinitionOffer, DefinitionRow, Kind, RowTable, StoredBody};
use helve_store::{RowKind, StoreError};
use helve_types::{ToolDefinition, ToolGrant};
use serde_json::{Value, json};

/// The kind of rows that are tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolKind;

pub type ToolRow = DefinitionRow<ToolKind>;
pub type ToolOffer = DefinitionOffer<ToolKind>;
pub type ToolGrantRow = DefinitionGrant<ToolKind>;
pub type ToolTable = RowTable<ToolKind>;

const ENABLED: &str = "enabled";

impl Kind for ToolKind {
    const KIND: RowKind = RowKind::new("tool");
    type Definition = ToolDefinition;
    type Grant = ToolGrant;

    fn name(definition: &ToolDefinition) -> &str {
        &definition.name
    }

    fn hash(definition: &ToolDefinition) -> String {
        definition.hash()
    }

    fn encode(definition: &ToolDefinition) -> Result<StoredBody, StoreError> {
        let mut body = json!(definition);
        if let Value::Object(members) = &mut body {
            members.remove(ENABLED);
        }
        Ok(StoredBody { json: body.to_string(), enabled: definition.enabled })
    }

    fn decode(json: &str, enabled: bool) -> Result<ToolDefinition, StoreError> {
        let read: Result<ToolDefinition, _> = serde_json::from_str(json);
        let definition = read.map_err(|error| StoreError::Unavailable(error.to_string()))?;
        Ok(ToolDefinition { enabled, ..definition })
    }
}
