//! What is different between two versions of a skill.

use std::str::FromStr;

use helve_store::StoreError;
use helve_tool::{FieldChange, value_differences};
use helve_types::SkillDefinition;
use serde_json::{Map, Value, json};

use super::catalogue::{SkillCatalogue, SkillCatalogueError};

/// The part of a text that is compared and shown.
const SHOWN_BYTES_MAX: usize = 16_000;

/// What a skill is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComparedSkill {
    Version(u32),
    Offer,
}

impl FromStr for ComparedSkill {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "offer" => Ok(Self::Offer),
            number => number
                .parse()
                .map(Self::Version)
                .map_err(|_| format!("`{text}` is neither the number of a version nor `offer`")),
        }
    }
}

/// Two versions of a skill side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillVersionPair {
    pub from: u32,
    /// A number, or `offer`.
    pub to: String,
    pub changes: Vec<FieldChange>,
}

impl SkillCatalogue {
    /// Two versions of a skill: `to`, or else what is offered, or else what it is now; and `from`, or else the one before.
    pub async fn compare(
        &self,
        name: &str,
        from: Option<u32>,
        to: Option<ComparedSkill>,
    ) -> Result<SkillVersionPair, SkillCatalogueError> {
        let listed = self.get(name).ok_or_else(|| SkillCatalogueError::Missing(name.into()))?;
        let to = to.unwrap_or(match &listed.offer {
            Some(_) => ComparedSkill::Offer,
            None => ComparedSkill::Version(listed.row.version),
        });
        let (to, now, before) = match to {
            ComparedSkill::Offer => {
                let offer = listed.offer.ok_or_else(|| SkillCatalogueError::NoOffer(name.into()))?;
                let enabled = listed.row.definition.enabled;
                let offered = SkillDefinition { enabled, ..offer.definition.clone() };
                ("offer".to_owned(), offered, listed.row.version)
            }
            ComparedSkill::Version(number) => {
                let definition = self.version(name, number).await?.definition;
                (number.to_string(), definition, number.saturating_sub(1).max(1))
            }
        };
        let from = from.unwrap_or(before);
        let was = self.version(name, from).await?.definition;
        let changes =
            value_differences(&self.described(&was, &now).await?, &self.described(&now, &was).await?);
        Ok(SkillVersionPair { from, to, changes })
    }

    /// The skill with the texts of those of its files that the other one does not have alike.
    async fn described(&self, skill: &SkillDefinition, other: &SkillDefinition) -> Result<Value, StoreError> {
        let mut told = json!(skill);
        let mut files = Map::new();
        for file in &skill.files {
            if other.file(&file.path).is_some_and(|known| known.hash == file.hash) {
                continue;
            }
            let text = match file.text {
                true => {
                    let bytes = self.store.definition_file(file.hash.clone()).await?;
                    let text = String::from_utf8_lossy(&bytes);
                    let shown = &text[..text.floor_char_boundary(SHOWN_BYTES_MAX)];
                    let cut = if shown.len() < text.len() { "…" } else { "" };
                    format!("{shown}{cut}")
                }
                false => format!("({} bytes, {})", file.bytes, &file.hash[..16]),
            };
            files.insert(file.path.clone(), Value::String(text));
        }
        if let Value::Object(members) = &mut told {
            // They are in `SKILL.md`.
            members.remove("instructions");
            members.insert("files".into(), Value::Object(files));
        }
        Ok(told)
    }
}
