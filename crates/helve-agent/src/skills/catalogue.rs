//! All skills of a server, each in all its versions.
//!
//! Who imports a skill first makes it; its text counts as untrusted until somebody agrees to it. A skill that is imported
//! again and has changed is an offer, and in quarantine until a person agrees or rejects it. What is in the operator's
//! folder is the operator's own: it is trusted, and changes with its files.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use helve_rows::{
    Consent, DefinitionError, GrantSet, HeldRow, OfferOutcome, PinnedVersion, Registrar, RowCatalogue,
    RowError,
};
use helve_skill::{SkillError, SkillPackage};
use helve_store::{DefinitionFile, Store, StoreError};
use helve_tool::{RunSkills, Skill};
use helve_types::{PinnedSkill, SkillDefinition, SkillSource, World};

use super::kind::{SkillOffer, SkillRow, SkillRowKind, origin_of};
use crate::agents::ALL_SKILLS;

/// The most skills that a server keeps.
const SKILLS_MAX: usize = 1_000;

/// Why a skill is not made, changed or deleted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SkillCatalogueError {
    #[error(transparent)]
    Definition(#[from] DefinitionError),

    #[error("there is a skill named `{0}` already; remove that one first, or give this one another name")]
    Exists(String),

    #[error("there is no skill named `{0}`")]
    Missing(String),

    #[error("the skill `{skill}` has no version {version}")]
    MissingVersion { skill: String, version: u32 },

    #[error("the skill `{0}` is in the folder of skills on the server; change or delete its files there")]
    InFolder(String),

    #[error("`{0}` is what was agreed to; nothing else is offered")]
    NoOffer(String),

    #[error("what is offered about `{0}`, or the skill itself, has changed meanwhile; look at it again")]
    OfferChanged(String),

    #[error("the skill has changed meanwhile and is at version {0} now; read it again and decide anew")]
    Changed(u32),

    #[error("there are {SKILLS_MAX} skills, and more cannot be kept; remove some that nobody uses")]
    TooMany,

    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<RowError> for SkillCatalogueError {
    fn from(error: RowError) -> Self {
        match error {
            RowError::Definition(wrong) => Self::Definition(wrong),
            RowError::Exists(name) => Self::Exists(name),
            RowError::Missing(name) => Self::Missing(name),
            RowError::NoOffer(name) => Self::NoOffer(name),
            RowError::OfferChanged(name) => Self::OfferChanged(name),
            RowError::Changed(version) => Self::Changed(version),
            RowError::Store(error) => Self::Store(error),
        }
    }
}

impl From<SkillError> for SkillCatalogueError {
    fn from(error: SkillError) -> Self {
        Self::Definition(DefinitionError::new(error.field, error.problem))
    }
}

/// A skill with what is offered in its place.
#[derive(Debug, Clone)]
pub struct ListedSkill {
    pub row: Arc<SkillRow>,
    pub offer: Option<Arc<SkillOffer>>,
}

impl ListedSkill {
    pub fn name(&self) -> &str {
        self.row.name()
    }

    /// Whether new runs can have it.
    pub fn is_usable(&self) -> bool {
        self.row.definition.enabled && self.offer.is_none()
    }
}

/// All skills of this server.
pub struct SkillCatalogue {
    pub(super) rows: RowCatalogue<SkillRowKind>,
    pub(super) store: Arc<dyn Store>,
    generation: AtomicU64,
    /// What is wrong with skills of the operator's folder, by the places where they are.
    folder_problems: RwLock<BTreeMap<String, String>>,
}

impl SkillCatalogue {
    pub fn new(store: Arc<dyn Store>, world: World) -> Self {
        Self {
            rows: RowCatalogue::new(store.clone(), world),
            store,
            generation: AtomicU64::default(),
            folder_problems: RwLock::default(),
        }
    }

    /// Reads the rows again if any was changed since they were last read. Returns whether one was.
    pub async fn refresh(&self) -> Result<bool, StoreError> {
        let changed = self.rows.refresh(self).await?;
        if changed {
            self.mark_changed();
        }
        Ok(changed)
    }

    /// Grows with every change, so that what was derived from the skills knows when it is out of date.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// All skills by their names.
    pub fn list(&self) -> Vec<ListedSkill> {
        self.rows.all().iter().map(|held| self.to_listed(held)).collect()
    }

    pub fn get(&self, name: &str) -> Option<ListedSkill> {
        self.rows.get(name).map(|held| self.to_listed(&held))
    }

    /// What is wrong with skills of the operator's folder, by the places where they are.
    pub fn folder_problems(&self) -> BTreeMap<String, String> {
        self.folder_problems.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_folder_problems(&self, problems: BTreeMap<String, String>) {
        *self.folder_problems.write().unwrap_or_else(PoisonError::into_inner) = problems;
    }

    /// The skills that an agent may load, of those that new runs can have. `*` means all.
    pub fn select(&self, names: &[String]) -> RunSkills {
        if names.is_empty() {
            return RunSkills::default();
        }
        let has_all = names.iter().any(|name| name == ALL_SKILLS);
        let is_meant = |held: &HeldRow<SkillRowKind>| {
            let name = held.row.name();
            (has_all || names.iter().any(|named| named == name)) && self.to_listed(held).is_usable()
        };
        let all = self.rows.all();
        let built = all.iter().filter(|held| is_meant(held)).filter_map(|held| held.built.clone().ok());
        RunSkills::new(built.collect(), vec![])
    }

    /// The skills that a run was started with, at the versions that they had then. One that cannot be read leaves the run
    /// without it.
    pub async fn load_pinned(&self, pinned: &[PinnedSkill]) -> Result<RunSkills, StoreError> {
        let (mut skills, mut lost) = (vec![], vec![]);
        for PinnedSkill { name, version, .. } in pinned {
            match self.rows.pinned(self, name, version).await? {
                PinnedVersion::Built(skill) => skills.push(skill),
                PinnedVersion::Broken | PinnedVersion::NotSaved => lost.push(name.clone()),
            }
        }
        Ok(RunSkills::new(skills, lost))
    }

    /// Makes a skill, or offers what it has become. Who brings it may say that they agree to its text.
    pub async fn import(
        &self,
        package: SkillPackage,
        agrees: bool,
        by: &str,
    ) -> Result<OfferOutcome<ListedSkill>, SkillCatalogueError> {
        let SkillPackage { definition, contents, .. } = package;
        let origin = origin_of(definition.source);
        let is_own = definition.source == SkillSource::Folder;
        let before = self.rows.get(&definition.name).map(|held| held.row);
        let (trusted, expected) = match &before {
            None => (agrees || is_own, None),
            Some(row) if row.definition.source != definition.source => {
                return Err(match row.definition.source {
                    SkillSource::Folder => SkillCatalogueError::InFolder(definition.name),
                    SkillSource::Import => SkillCatalogueError::Exists(definition.name),
                });
            }
            Some(row) => {
                let same = SkillDefinition { trusted: row.definition.trusted, ..definition.clone() };
                // What is offered becomes the skill only when somebody agrees to it, and then it is trusted.
                let is_same = same.hash() == row.hash && !agrees;
                (if is_same { row.definition.trusted } else { true }, Some(row.version))
            }
        };
        let definition = SkillDefinition { trusted, ..definition };
        let files = contents.into_iter().map(|(hash, bytes)| DefinitionFile { hash, bytes });
        // Before the row: a row whose files are missing could not be read.
        self.store.save_definition_files(files.collect()).await?;
        let consent = if agrees || is_own { Consent::Given } else { Consent::Wanted };
        let outcome = self.rows.receive_offer(self, origin, definition, consent, expected, by).await?;
        Ok(outcome.map(|held| self.to_listed(&held)))
    }

    /// Agrees to what is offered, or to the skill as it was imported. `hash` is that of the definition that the person has
    /// seen, if they say so.
    pub async fn agree(
        &self,
        name: &str,
        hash: Option<&str>,
        by: &str,
    ) -> Result<ListedSkill, SkillCatalogueError> {
        let listed = self.get(name).ok_or_else(|| SkillCatalogueError::Missing(name.into()))?;
        if listed.offer.is_some() || listed.row.definition.trusted {
            return Ok(self.to_listed(&self.rows.accept_offer(self, name, hash, by).await?));
        }
        if hash.is_some_and(|seen| seen != listed.row.hash) {
            return Err(SkillCatalogueError::OfferChanged(name.into()));
        }
        let (row, definition) = (&listed.row, listed.row.definition.clone());
        let origin = origin_of(definition.source);
        let trusted = SkillDefinition { trusted: true, ..definition };
        let expected = Some(row.version);
        let outcome = self.rows.receive_offer(self, origin, trusted, Consent::Given, expected, by).await?;
        let (OfferOutcome::Created(held)
        | OfferOutcome::Same(held)
        | OfferOutcome::Changed(held)
        | OfferOutcome::Quarantined(held)) = outcome;
        Ok(self.to_listed(&held))
    }

    /// Leaves the skill what it is.
    pub async fn reject(&self, name: &str, by: &str) -> Result<ListedSkill, SkillCatalogueError> {
        Ok(self.to_listed(&self.rows.reject_offer(self, name, by).await?))
    }

    /// Switches a skill on or off for new runs.
    pub async fn set_enabled(
        &self,
        name: &str,
        enabled: bool,
        expected: Option<u32>,
        by: &str,
    ) -> Result<ListedSkill, SkillCatalogueError> {
        let next = |before: &SkillDefinition| Ok(SkillDefinition { enabled, ..before.clone() });
        Ok(self.to_listed(&self.rows.update(self, name, expected, false, by, next).await?))
    }

    /// Deletes a skill; runs that have it keep it, and its versions stay readable.
    pub async fn delete(
        &self,
        name: &str,
        expected: Option<u32>,
        by: &str,
    ) -> Result<(), SkillCatalogueError> {
        match self.get(name) {
            Some(listed) if listed.row.definition.source == SkillSource::Folder => {
                Err(SkillCatalogueError::InFolder(name.into()))
            }
            _ => self.rows.delete(self, name, expected, by).await,
        }
    }

    /// Everything that skills of this name ever were, oldest first.
    pub async fn list_versions(&self, name: &str) -> Result<Vec<SkillRow>, SkillCatalogueError> {
        let versions = self.rows.table().versions(name).await?;
        if versions.is_empty() { Err(SkillCatalogueError::Missing(name.into())) } else { Ok(versions) }
    }

    pub async fn version(&self, name: &str, version: u32) -> Result<SkillRow, SkillCatalogueError> {
        let found = self.list_versions(name).await?.into_iter().find(|row| row.version == version);
        found.ok_or_else(|| SkillCatalogueError::MissingVersion { skill: name.into(), version })
    }

    /// A skill with the bytes of its files.
    pub async fn package(&self, definition: &SkillDefinition) -> Result<SkillPackage, StoreError> {
        let mut contents = BTreeMap::new();
        for file in &definition.files {
            contents.insert(file.hash.clone(), self.store.definition_file(file.hash.clone()).await?);
        }
        Ok(SkillPackage { definition: definition.clone(), contents, ignored: vec![] })
    }

    pub(super) fn to_listed(&self, held: &HeldRow<SkillRowKind>) -> ListedSkill {
        ListedSkill { row: held.row.clone(), offer: self.rows.offer(held.row.name()) }
    }

    fn mark_changed(&self) {
        self.generation.fetch_add(1, Ordering::Release);
    }
}

/// Rows are found where they are held, so nothing is registered elsewhere; only what was derived of them is out of date.
impl Registrar<SkillRowKind> for SkillCatalogue {
    type Error = SkillCatalogueError;

    async fn prepare(&self, _: &SkillDefinition) {}

    fn check_new(&self, definition: &SkillDefinition) -> Result<(), SkillCatalogueError> {
        if self.rows.contains(&definition.name) {
            return Err(SkillCatalogueError::Exists(definition.name.clone()));
        }
        if self.rows.all().len() >= SKILLS_MAX {
            return Err(SkillCatalogueError::TooMany);
        }
        Ok(())
    }

    /// What was read of files is as it may be.
    fn check_definition(&self, _: &SkillDefinition) -> Result<(), DefinitionError> {
        Ok(())
    }

    fn build(
        &self,
        definition: &SkillDefinition,
        _: &Arc<GrantSet<String>>,
    ) -> Result<Arc<Skill>, DefinitionError> {
        Ok(Arc::new(Skill::new(definition.clone(), self.store.clone())))
    }

    fn register(&self, _: &SkillRow, _: &Arc<Skill>, _: bool) {
        self.mark_changed();
    }

    fn unregister(&self, _: &str) {
        self.mark_changed();
    }

    fn set_agreed(&self, _: &str, _: bool) {
        self.mark_changed();
    }

    fn is_registered(&self, name: &str) -> bool {
        self.rows.contains(name)
    }

    fn apply_switches(&self, _: &[(String, bool)]) {}

    fn prepare_pinned(&self, _: &SkillRow, _: &Skill) {}
}
