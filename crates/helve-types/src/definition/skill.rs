//! A skill as data: what its `SKILL.md` says, and which files belong to it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::canonical_json;

/// A skill that is a row. The bytes of its files are kept beside it, under their hashes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkillDefinition {
    /// 1 to 64 lower-case letters, digits and single `-`; no two skills have the same.
    pub name: String,
    /// What the skill does and when to use it; models read it in every run that has the skill.
    pub description: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
    /// What the skill needs around it, in its author's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compatibility: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// The tools that its author names. It gives no right to call them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_tools: Vec<String>,
    /// What a model reads when it loads the skill: `SKILL.md` without its front matter.
    pub instructions: String,
    /// All files, `SKILL.md` among them, by their paths.
    pub files: Vec<SkillFile>,
    pub source: SkillSource,
    /// Whether a person has agreed to its text, or it is the operator's own. What a model reads of another one is labelled
    /// `untrusted`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trusted: bool,
    /// New runs can have it; those that were started before keep it.
    #[serde(default = "default_true")]
    pub enabled: bool,
}

/// A file of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkillFile {
    /// `references/forms.md`
    pub path: String,
    /// BLAKE3 of its bytes, under which they are kept.
    pub hash: String,
    pub bytes: u64,
    /// Whether it is UTF-8 text, which models can read.
    pub text: bool,
}

/// Where a skill comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SkillSource {
    /// The API or the command line.
    Import,
    /// The folder of skills, which the operator keeps; it can be changed only there.
    Folder,
}

impl SkillDefinition {
    /// Changes with everything that a model can read of it and how far it is trusted, and not with the switch.
    pub fn hash(&self) -> String {
        let pinned = Self { enabled: true, ..self.clone() };
        blake3::hash(canonical_json(&json!(pinned)).as_bytes()).to_hex()[..32].to_owned()
    }

    pub fn file(&self, path: &str) -> Option<&SkillFile> {
        self.files.iter().find(|file| file.path == path)
    }
}

impl SkillFile {
    pub fn new(path: impl Into<String>, bytes: &[u8]) -> Self {
        // A text that a model cannot be shown is as good as binary.
        let text = std::str::from_utf8(bytes).is_ok_and(|text| !text.contains('\0'));
        Self {
            path: path.into(),
            hash: blake3::hash(bytes).to_hex().to_string(),
            bytes: bytes.len() as u64,
            text,
        }
    }
}

fn default_true() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_changes_with_files_and_trust_and_not_with_the_switch() {
        let skill = SkillDefinition {
            name: "forms".into(),
            description: "Fills in forms.".into(),
            license: None,
            compatibility: None,
            metadata: BTreeMap::new(),
            allowed_tools: vec![],
            instructions: "Ask first.".into(),
            files: vec![SkillFile::new("a.md", b"one")],
            source: SkillSource::Import,
            trusted: false,
            enabled: true,
        };
        assert_eq!(SkillDefinition { enabled: false, ..skill.clone() }.hash(), skill.hash());
        assert_ne!(SkillDefinition { trusted: true, ..skill.clone() }.hash(), skill.hash());
        let changed = SkillDefinition { files: vec![SkillFile::new("a.md", b"two")], ..skill.clone() };
        assert_ne!(changed.hash(), skill.hash());
        assert!(!SkillFile::new("a.png", b"\x89PNG\0").text && !SkillFile::new("a", b"a\0b").text);
    }
}
