//! The skills of a run, which two of its tools read for it.
//!
//! A skill is text: its instructions and its files. A run keeps the versions that it was started with; the bytes of the
//! files are read when a model asks for one. Nothing of a skill is ever run.

use std::fmt;
use std::sync::Arc;

use helve_store::{Rows, StoreError};
use helve_types::{PinnedSkill, SkillDefinition, SkillFile};

/// The tool with which a model reads the instructions of a skill.
pub const LOAD_SKILL: &str = "load_skill";
/// The tool with which a model reads a file of a skill.
pub const READ_SKILL_FILE: &str = "read_skill_file";

/// Whether it is one of the tools that a run has for its skills, and otherwise does not have.
pub fn is_skill_tool(name: &str) -> bool {
    matches!(name, LOAD_SKILL | READ_SKILL_FILE)
}

/// A version of a skill, ready to be read.
#[derive(Clone)]
pub struct Skill {
    pub definition: SkillDefinition,
    /// The hash of the definition.
    pub version: String,
    store: Arc<dyn Rows>,
}

impl Skill {
    pub fn new(definition: SkillDefinition, store: Arc<dyn Rows>) -> Self {
        Self { version: definition.hash(), definition, store }
    }

    pub async fn read_file(&self, file: &SkillFile) -> Result<Arc<[u8]>, StoreError> {
        self.store.definition_file(file.hash.clone()).await
    }
}

impl fmt::Debug for Skill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Skill({} {})", self.definition.name, self.version)
    }
}

/// The skills that a run may load, by their names.
#[derive(Debug, Clone, Default)]
pub struct RunSkills {
    skills: Vec<Arc<Skill>>,
    /// Those that it was started with and that cannot be read any more.
    lost: Vec<String>,
}

impl RunSkills {
    pub fn new(skills: Vec<Arc<Skill>>, lost: Vec<String>) -> Self {
        Self { skills, lost }
    }

    pub fn is_empty(&self) -> bool {
        self.skills.is_empty() && self.lost.is_empty()
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<Skill>> {
        self.skills.iter()
    }

    /// The skill that a model means by a name.
    pub fn find(&self, name: &str) -> Option<&Arc<Skill>> {
        let name = name.trim();
        let exact = self.skills.iter().find(|skill| skill.definition.name == name);
        // Models write names as they write those of tools.
        let loose = || name.to_lowercase().replace(['_', ' '], "-");
        exact.or_else(|| self.skills.iter().find(|skill| skill.definition.name == loose()))
    }

    /// Whether the run had a skill of this name that cannot be read any more.
    pub fn is_lost(&self, name: &str) -> bool {
        self.lost.iter().any(|lost| lost == name.trim())
    }

    pub fn to_pinned(&self) -> Vec<PinnedSkill> {
        let pinned = |skill: &Arc<Skill>| PinnedSkill {
            name: skill.definition.name.clone(),
            version: skill.version.clone(),
            untrusted: !skill.definition.trusted,
        };
        self.skills.iter().map(pinned).collect()
    }
}
