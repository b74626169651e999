//! Skills as people and programs see them.

use std::collections::BTreeMap;

use helve_runtime::{ListedSkill, SkillCatalogue};
use helve_types::{SkillFile, SkillSource};
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SkillList {
    skills: Vec<SkillView>,
    /// What is wrong with skills of the folder of skills, by the places where they are; for those with the right `admin`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    folder_problems: BTreeMap<String, String>,
}

impl SkillList {
    pub(super) fn new(skills: &SkillCatalogue, is_admin: bool) -> Self {
        let listed = skills.list();
        let folder_problems = if is_admin { skills.folder_problems() } else { BTreeMap::new() };
        // A list has no instructions: together they can be long.
        let view = |skill: &ListedSkill| SkillView { instructions: None, ..SkillView::of(skill, is_admin) };
        Self { skills: listed.iter().map(view).collect(), folder_problems }
    }
}

/// Whether new runs get a skill.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum SkillState {
    Enabled,
    Disabled,
    /// It has changed, and no administrator has agreed to the change yet.
    Quarantined,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SkillView {
    name: String,
    description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    license: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compatibility: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<String, String>,
    /// The tools that its author names; it gives no right to call them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    allowed_tools: Vec<String>,
    source: SkillSource,
    /// Whether somebody has agreed to its text; what a model reads of another one is labelled `untrusted`.
    trusted: bool,
    enabled: bool,
    state: SkillState,
    version: u32,
    /// Changes when the skill does; runs are bound to it.
    hash: String,
    created_at: i64,
    updated_at: i64,
    /// What a model reads when it loads it; for those with the right `admin`, and only where one skill is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<String>,
    /// For those with the right `admin`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<SkillFile>,
    /// What it has become and nobody has agreed to; for those with the right `admin`.
    #[serde(skip_serializing_if = "Option::is_none")]
    offer: Option<SkillOfferView>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SkillOfferView {
    /// For `agree`.
    hash: String,
    at: i64,
}

/// What became of a skill that was brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum SkillOutcome {
    Created,
    Changed,
    Unchanged,
    /// It has changed: no new run gets it until an administrator agrees or rejects the change.
    Quarantined,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ImportedSkillView {
    pub(super) outcome: SkillOutcome,
    /// Keys of the front matter that mean nothing here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) ignored: Vec<String>,
    #[serde(flatten)]
    pub(super) skill: SkillView,
}

impl SkillView {
    pub(super) fn of(skill: &ListedSkill, is_admin: bool) -> Self {
        let ListedSkill { row, offer } = skill;
        let definition = row.definition.clone();
        let state = match (&offer, definition.enabled) {
            (Some(_), _) => SkillState::Quarantined,
            (None, true) => SkillState::Enabled,
            (None, false) => SkillState::Disabled,
        };
        let offer = offer.as_ref().filter(|_| is_admin);
        Self {
            name: definition.name,
            description: definition.description,
            license: definition.license,
            compatibility: definition.compatibility,
            metadata: definition.metadata,
            allowed_tools: definition.allowed_tools,
            source: definition.source,
            trusted: definition.trusted,
            enabled: definition.enabled,
            state,
            version: row.version,
            hash: row.hash.clone(),
            created_at: row.created_at.0,
            updated_at: row.updated_at.0,
            instructions: is_admin.then_some(definition.instructions),
            files: if is_admin { definition.files } else { vec![] },
            offer: offer.map(|offer| SkillOfferView { hash: offer.definition.hash(), at: offer.at.0 }),
        }
    }
}
