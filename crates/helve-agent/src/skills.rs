//! Skills: instructions with files that a model reads when a task needs them.
//!
//! `catalogue` has all of them, as rows of a kind; `folder` keeps those of the operator's folder in step with it;
//! `prompt` tells a model which there are. What a run reads of them is in `helve-tool`.

mod catalogue;
mod compare;
mod folder;
mod kind;
mod prompt;
#[cfg(test)]
mod tests;

pub use self::catalogue::{ListedSkill, SkillCatalogue, SkillCatalogueError};
pub use self::compare::{ComparedSkill, SkillVersionPair};
pub use self::folder::SkillFolder;
pub use self::kind::{SkillOffer, SkillRow, SkillRowKind};
pub use self::prompt::skills_prompt;
