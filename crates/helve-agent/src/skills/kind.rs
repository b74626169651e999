//! Skills as a kind of row.

use helve_rows::{DefinitionKind, DefinitionOffer, DefinitionRow};
use helve_store::{RowKind, StoreError};
use helve_tool::Skill;
use helve_types::{SkillDefinition, SkillSource};
use serde_json::{Value, json};

/// The kind of rows that are skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SkillRowKind;

pub type SkillRow = DefinitionRow<SkillRowKind>;
pub type SkillOffer = DefinitionOffer<SkillRowKind>;

/// The origin of skills that are imported.
pub(super) const IMPORT: &str = "import";
/// The origin of skills of the operator's folder.
pub(super) const FOLDER: &str = "folder";

const ENABLED: &str = "enabled";

impl DefinitionKind for SkillRowKind {
    const KIND: RowKind = RowKind::new("skill");
    type Definition = SkillDefinition;
    /// Nothing is granted to skills: they do nothing.
    type Grant = String;
    type Built = Skill;

    fn name(definition: &SkillDefinition) -> &str {
        &definition.name
    }

    fn hash(definition: &SkillDefinition) -> String {
        definition.hash()
    }

    fn is_enabled(definition: &SkillDefinition) -> bool {
        definition.enabled
    }

    fn set_enabled(definition: &mut SkillDefinition, enabled: bool) {
        definition.enabled = enabled;
    }

    fn has_origin(definition: &SkillDefinition, origin: &str) -> bool {
        origin_of(definition.source) == origin
    }

    fn grant_for(consent: String) -> String {
        consent
    }

    fn encode(definition: &SkillDefinition) -> Result<String, StoreError> {
        let mut body = json!(definition);
        if let Value::Object(members) = &mut body {
            members.remove(ENABLED);
        }
        Ok(body.to_string())
    }

    fn decode(json: &str) -> Result<SkillDefinition, StoreError> {
        serde_json::from_str(json).map_err(|error| StoreError::Unavailable(error.to_string()))
    }
}

pub(super) fn origin_of(source: SkillSource) -> &'static str {
    match source {
        SkillSource::Import => IMPORT,
        SkillSource::Folder => FOLDER,
    }
}
