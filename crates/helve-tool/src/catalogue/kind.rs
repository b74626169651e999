//! Tools as a kind of row.

use helve_rows::{DefinitionGrant, DefinitionKind, DefinitionOffer, DefinitionRow, HeldRow};
use helve_store::{RowKind, StoreError};
use helve_types::{ToolDefinition, ToolGrant};
use serde_json::{Value, json};

use crate::Registered;

/// The kind of rows that are tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolRowKind;

pub type ToolRow = DefinitionRow<ToolRowKind>;
pub type ToolOffer = DefinitionOffer<ToolRowKind>;
pub type ToolGrantRow = DefinitionGrant<ToolRowKind>;
pub(super) type HeldTool = HeldRow<ToolRowKind>;

const ENABLED: &str = "enabled";

impl DefinitionKind for ToolRowKind {
    const KIND: RowKind = RowKind::new("tool");
    type Definition = ToolDefinition;
    type Grant = ToolGrant;
    type Built = Registered;

    fn name(definition: &ToolDefinition) -> &str {
        &definition.name
    }

    fn hash(definition: &ToolDefinition) -> String {
        definition.hash()
    }

    fn is_enabled(definition: &ToolDefinition) -> bool {
        definition.enabled
    }

    fn set_enabled(definition: &mut ToolDefinition, enabled: bool) {
        definition.enabled = enabled;
    }

    /// The tools of an origin have it as a tag.
    fn has_origin(definition: &ToolDefinition, origin: &str) -> bool {
        definition.tags.iter().any(|tag| tag == origin)
    }

    fn grant_for(consent: String) -> ToolGrant {
        ToolGrant::Host { place: consent }
    }

    fn encode(definition: &ToolDefinition) -> Result<String, StoreError> {
        let mut body = json!(definition);
        if let Value::Object(members) = &mut body {
            members.remove(ENABLED);
        }
        Ok(body.to_string())
    }

    fn decode(json: &str) -> Result<ToolDefinition, StoreError> {
        serde_json::from_str(json).map_err(|error| StoreError::Unavailable(error.to_string()))
    }
}
