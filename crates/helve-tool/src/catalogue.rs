//! The tools that are rows, listed with all others.
//!
//! What is true of rows of any kind (`helve-rows`: checked, built, saved and registered, in this order; offers, grants
//! and earlier versions) is not said again here. This is what tools add: which names and ids are free, what a
//! definition may say, how a tool is guarded and registered, and programs in the folder of tools, which are no rows.

mod build;
mod check;
mod difference;
mod grants;
mod import;
mod inside;
mod kind;
mod listed;
mod mapped;
mod offered;
mod pinned;
mod placed;
mod words;

use std::collections::BTreeSet;
use std::sync::Arc;

pub use helve_rows::{Consent, DefinitionError, OfferOutcome};
use helve_rows::{Registrar, RowCatalogue, RowError};
use helve_store::{Store, StoreError};
use helve_types::{Notice, ToolDefinition, World};
use serde_json::Value;

use self::check::apply_patch;
pub use self::check::{RESERVED_NAMES, merge_patch, read_definition, read_json};
pub use self::difference::{FieldChange, differences, value_differences};
pub use self::grants::{FindNeed, SecretNeed, ToolGrants};
use self::import::with_saved_id;
pub use self::import::{
    IMPORT_BYTES_MAX, IMPORT_ROWS_MAX, ImportOptions, ImportOutcome, ImportedRow, parse_rows, split_rows,
};
pub use self::kind::{ToolGrantRow, ToolOffer, ToolRow, ToolRowKind};
pub use self::listed::{ListedTool, ToolSource};
pub use self::mapped::{MappedRow, map_row};
use self::placed::PlacedTools;
use crate::repair::looks_alike;
use crate::{Guards, Registry, Tool};

/// A tool with its guards.
pub type BuiltTool = (Arc<dyn Tool>, Guards);

/// Turns a definition into a tool that has what the operator allows it.
pub type ToolBuilder =
    Arc<dyn Fn(&ToolDefinition, &Arc<ToolGrants>) -> Result<BuiltTool, DefinitionError> + Send + Sync>;

/// What the operator says about a tool's guards, in the place of what its definition says.
pub type GuardOverrides = Arc<dyn Fn(&str, Guards) -> Guards + Send + Sync>;

/// Why a tool is not made, changed or deleted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CatalogueError {
    #[error(transparent)]
    Definition(#[from] DefinitionError),

    #[error("there is a tool named `{0}` already; change that one, or choose another name")]
    Exists(String),

    #[error("the id `{id}` is taken by the tool `{other}`; change that one, or choose another id")]
    IdTaken { id: String, other: String },

    #[error("there is no tool named `{0}`")]
    Missing(String),

    #[error("`{0}` comes with Helve: it can be switched off and on, but not changed or deleted")]
    BuiltIn(String),

    #[error("`{0}` is a program in the folder of tools: change or delete its files there")]
    InFolder(String),

    #[error("`{0}` is switched off in the configuration, and can be switched on only there")]
    HeldOff(String),

    #[error("`{0}` is what was agreed to; nothing else is offered")]
    NoOffer(String),

    #[error(
        "what is offered about `{0}`, or the tool itself, has changed meanwhile; look at it again, or import anew"
    )]
    OfferChanged(String),

    #[error(
        "`{name}` looks like `{other}`, which is there already; choose a name that cannot be taken for it"
    )]
    LooksLike { name: String, other: String },

    #[error("the tool has changed meanwhile and is at version {0} now; read it again and decide anew")]
    Changed(u32),

    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How a definition becomes another.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// This is the whole of it.
    Whole(Box<ToolDefinition>),
    /// Only what the patch names changes; `null` takes a field back to its default.
    Patch(Value),
}

/// All tools of this server, with those that are rows.
pub struct Catalogue {
    registry: Arc<Registry>,
    store: Arc<dyn Store>,
    world: World,
    builder: ToolBuilder,
    overrides: GuardOverrides,
    /// Switched off by the configuration.
    held_off: BTreeSet<String>,
    find_need: FindNeed,
    placed: PlacedTools,
    rows: RowCatalogue<ToolRowKind>,
}

impl From<RowError> for CatalogueError {
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

impl Catalogue {
    pub fn new(registry: Arc<Registry>, store: Arc<dyn Store>, world: World, builder: ToolBuilder) -> Self {
        Self {
            rows: RowCatalogue::new(store.clone(), world.clone()),
            registry,
            store,
            world,
            builder,
            overrides: Arc::new(|_, guards| guards),
            held_off: BTreeSet::new(),
            find_need: Arc::new(|_, _| None),
            placed: PlacedTools::default(),
        }
    }

    /// A catalogue of the registered tools alone: no row can be made here.
    pub fn without_rows(registry: Arc<Registry>, store: Arc<dyn Store>, world: World) -> Self {
        let nothing = |_: &ToolDefinition, _: &Arc<ToolGrants>| {
            Err(DefinitionError::new("endpoint", Notice::definition_makes_no_tools()))
        };
        Self::new(registry, store, world, Arc::new(nothing))
    }

    /// With the operator's word on guards.
    pub fn with_guard_overrides(self, overrides: GuardOverrides) -> Self {
        Self { overrides, ..self }
    }

    /// Tools that the configuration switches off, whatever else is said about them.
    pub fn with_disabled_tools(self, names: impl IntoIterator<Item = String>) -> Self {
        Self { held_off: names.into_iter().collect(), ..self }
    }

    /// With a way to find the secrets that wait for the operator.
    pub fn with_secret_needs(self, find_need: FindNeed) -> Self {
        Self { find_need, ..self }
    }

    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    pub fn world(&self) -> &World {
        &self.world
    }

    /// Reads the tools again if any was changed since they were last read. Returns whether one was.
    pub async fn refresh(&self) -> Result<bool, StoreError> {
        self.rows.refresh(self).await
    }

    /// Whether a definition could be kept under its name, and what is odd about it.
    pub fn check(&self, definition: &ToolDefinition) -> Result<Vec<Notice>, CatalogueError> {
        self.check_granted(definition, false)
    }

    /// The same for those who must not keep others waiting.
    pub async fn check_in_background(
        &self,
        definition: &ToolDefinition,
    ) -> Result<Vec<Notice>, CatalogueError> {
        self.prepare(definition).await;
        self.check(definition)
    }

    /// Makes a new tool.
    pub async fn create(&self, definition: ToolDefinition, by: &str) -> Result<ListedTool, CatalogueError> {
        self.create_granted(definition, false, by).await
    }

    /// Makes a new tool, which may reach this machine if its address says so and the operator agrees.
    pub async fn create_granted(
        &self,
        definition: ToolDefinition,
        allow_host: bool,
        by: &str,
    ) -> Result<ListedTool, CatalogueError> {
        Ok(self.list_row(&self.rows.create(self, definition, allow_host, by).await?))
    }

    /// Whether no tool has this name, or one that could be taken for it.
    pub fn check_name_is_free(&self, name: &str) -> Result<(), CatalogueError> {
        if self.is_taken(name) {
            return Err(CatalogueError::Exists(name.into()));
        }
        let addressed = self.resolve_name(name);
        if addressed != name {
            return Err(CatalogueError::IdTaken { id: name.into(), other: addressed });
        }
        let built_in = self.registry.list();
        let rows = self.rows.all();
        let names = built_in.iter().map(|tool| tool.spec().name.as_str());
        let mut names = names.chain(rows.iter().map(|held| held.row.name()));
        match names.find(|other| looks_alike(name, other)) {
            Some(other) => Err(CatalogueError::LooksLike { name: name.into(), other: other.into() }),
            None => Ok(()),
        }
    }

    /// The name of the tool that is addressed by its name, by the id of its definition or by our own id. What
    /// addresses nothing is a name that is not taken.
    pub fn resolve_name(&self, address: &str) -> String {
        if self.is_taken(address) {
            return address.to_owned();
        }
        let addressed = self
            .rows
            .find(|row| row.definition.id.as_deref() == Some(address) || row.id.to_string() == address);
        addressed.map_or_else(|| address.to_owned(), |held| held.row.name().to_owned())
    }

    /// Whether the id of a definition addresses no other tool.
    fn check_id_is_free(&self, definition: &ToolDefinition) -> Result<(), CatalogueError> {
        let Some(id) = &definition.id else { return Ok(()) };
        let other = self.resolve_name(id);
        if other == definition.name || !self.is_taken(&other) {
            return Ok(());
        }
        Err(CatalogueError::IdTaken { id: id.clone(), other })
    }

    /// Changes a tool, if it is at the version `expected` or none is given. Runs that use it go on with what they were
    /// started with.
    pub async fn update(
        &self,
        name: &str,
        change: Change,
        expected: Option<u32>,
        by: &str,
    ) -> Result<ListedTool, CatalogueError> {
        self.update_granted(name, change, expected, false, by).await
    }

    /// As `update`; the tool may reach this machine if its address says so and the operator agrees.
    pub async fn update_granted(
        &self,
        name: &str,
        change: Change,
        expected: Option<u32>,
        allow_host: bool,
        by: &str,
    ) -> Result<ListedTool, CatalogueError> {
        let next = |before: &ToolDefinition| self.apply_change(before, change);
        let updated = self.rows.update(self, name, expected, allow_host, by, next).await;
        Ok(self.list_row(&updated.map_err(|error| self.explain_missing_row(error))?))
    }

    /// The next definition of a tool, if it may become that.
    fn apply_change(
        &self,
        before: &ToolDefinition,
        change: Change,
    ) -> Result<ToolDefinition, CatalogueError> {
        let name = &before.name;
        let (definition, asked_on) = match change {
            Change::Whole(definition) => (with_saved_id(*definition, before), false),
            Change::Patch(patch) => (apply_patch(before, &patch)?, patch["enabled"] == true),
        };
        if definition.name != *name {
            return Err(DefinitionError::new("name", Notice::definition_name_kept(name)).into());
        }
        if let Some(id) = &before.id
            && definition.id != before.id
        {
            return Err(DefinitionError::new("id", Notice::definition_id_kept(id)).into());
        }
        self.check_id_is_free(&definition)?;
        let turns_on = definition.enabled && !before.enabled;
        if (turns_on || asked_on) && self.held_off.contains(name) {
            return Err(CatalogueError::HeldOff(name.clone()));
        }
        Ok(definition)
    }

    /// Deletes a tool; runs that use it keep it until they end.
    pub async fn remove(&self, name: &str, expected: Option<u32>, by: &str) -> Result<(), CatalogueError> {
        self.rows.delete(self, name, expected, by).await.map_err(|error| self.explain_missing_row(error))
    }

    /// Switches any tool on or off, for good.
    pub async fn set_enabled(
        &self,
        name: &str,
        enabled: bool,
        by: &str,
    ) -> Result<ListedTool, CatalogueError> {
        match self.registry.get(name).filter(|_| !self.rows.is_built(name)) {
            None => {
                let patch = serde_json::json!({"enabled": enabled});
                self.update(name, Change::Patch(patch), None, by).await
            }
            Some(_) if enabled && self.held_off.contains(name) => Err(CatalogueError::HeldOff(name.into())),
            Some(tool) => {
                self.rows.switch(name, enabled, by, || self.set_switch(&tool, enabled)).await?;
                Ok(self.list_unsaved(tool))
            }
        }
    }

    /// Everything that tools of this name ever were, oldest first.
    pub async fn list_versions(&self, name: &str) -> Result<Vec<ToolRow>, CatalogueError> {
        let versions = self.rows.table().versions(name).await?;
        match versions.is_empty() {
            false => Ok(versions),
            true if self.registry.get(name).is_some() => Err(self.not_a_row_error(name)),
            true => Err(CatalogueError::Missing(name.into())),
        }
    }

    /// Whether there is a tool of this name, be it one that cannot be built.
    pub fn is_taken(&self, name: &str) -> bool {
        self.registry.get(name).is_some() || self.rows.contains(name)
    }

    /// Says of a row that does not exist whether a tool has its name that is no row.
    fn explain_missing_row(&self, error: CatalogueError) -> CatalogueError {
        match error {
            CatalogueError::Missing(name)
                if self.registry.get(&name).is_some() && !self.rows.is_built(&name) =>
            {
                self.not_a_row_error(&name)
            }
            other => other,
        }
    }

    /// Why a tool that exists cannot be changed as a row.
    fn not_a_row_error(&self, name: &str) -> CatalogueError {
        if self.is_from_folder(name) {
            CatalogueError::InFolder(name.into())
        } else {
            CatalogueError::BuiltIn(name.into())
        }
    }
}

#[cfg(test)]
mod tests;
