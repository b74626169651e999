//! The tools that are rows: made when they are written, kept in the store, registered with the others.
//!
//! A change is checked, made, kept and registered, in this order: nothing is registered that is not kept, and nothing
//! is kept that cannot be made. Rows that were kept by another process are found by looking (`refresh`); one that can
//! no longer be made is listed with its problem and keeps nobody from starting. What a definition means is the
//! maker's business; what a row looks like on disk is the store's.

mod check;
mod difference;
mod grants;
mod import;
mod inside;
mod listed;
mod mapped;
mod offered;
mod pinned;
mod placed;
mod rows;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, RwLock};

use helve_store::{AuditEntry, Store, StoreError, ToolRow};
use helve_types::{ToolDefinition, ToolGrant, World};
use serde_json::Value;

pub use self::check::{RESERVED_NAMES, read_definition};
use self::check::{check, patched};
pub use self::difference::{FieldChange, differences};
use self::grants::HeldGrants;
pub use self::grants::{FindNeed, SecretNeed, ToolGrants};
pub use self::import::{
    IMPORT_BYTES_MAX, IMPORT_ROWS_MAX, ImportOptions, ImportOutcome, ImportedRow, rows_in, rows_of_text,
};
use self::import::{NewGrant, kept_id};
pub use self::listed::{Listed, ToolSource};
pub use self::mapped::{MappedRow, map_row};
use self::offered::Offers;
pub use self::offered::{Consent, Offered};
use self::pinned::Pinned;
use self::placed::PlacedTools;
use self::rows::Held;
use crate::offload::make_ready;
use crate::repair::look_alike;
use crate::{Guards, Registered, Registry, Tool};

/// A tool with its guards.
pub type Made = (Arc<dyn Tool>, Guards);

/// Turns a definition into a tool that has what the operator allows it.
pub type Maker =
    Arc<dyn Fn(&ToolDefinition, &Arc<ToolGrants>) -> Result<Made, DefinitionError> + Send + Sync>;

/// What the operator says about a tool's guards, over what its definition says.
pub type Over = Arc<dyn Fn(&str, Guards) -> Guards + Send + Sync>;

/// What is wrong with a definition, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{field}`: {problem}")]
pub struct DefinitionError {
    /// The way to the field, such as `endpoint.url_template`.
    pub field: String,
    /// What is wrong and what to do about it.
    pub problem: String,
    /// The host and port on this machine that the operator may allow, where nothing else is wrong.
    pub consent: Option<String>,
}

impl DefinitionError {
    pub fn new(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { field: field.into(), problem: problem.into(), consent: None }
    }
}

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

    #[error("`{name}` looks like `{other}`, which is there already; choose a name that nobody takes for it")]
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
    maker: Maker,
    over: Over,
    /// Switched off by the configuration.
    held_off: BTreeSet<String>,
    rows: RwLock<BTreeMap<String, Held>>,
    /// What tools from outside have become, which nobody has agreed to.
    offers: RwLock<Offers>,
    /// What the operator lets single tools have.
    grants: HeldGrants,
    find_need: FindNeed,
    pinned: Pinned,
    placed: PlacedTools,
    /// One change at a time; holds the count of changes that the rows are from.
    seen: tokio::sync::Mutex<Option<u64>>,
}

impl Catalogue {
    pub fn new(registry: Arc<Registry>, store: Arc<dyn Store>, world: World, maker: Maker) -> Self {
        Self {
            registry,
            store,
            world,
            maker,
            over: Arc::new(|_, guards| guards),
            held_off: BTreeSet::new(),
            rows: RwLock::default(),
            offers: RwLock::default(),
            grants: HeldGrants::default(),
            find_need: Arc::new(|_, _| None),
            pinned: Pinned::default(),
            placed: PlacedTools::default(),
            seen: tokio::sync::Mutex::new(None),
        }
    }

    /// A catalogue of the registered tools alone: no row can be made here.
    pub fn fixed(registry: Arc<Registry>, store: Arc<dyn Store>, world: World) -> Self {
        let nothing = |_: &ToolDefinition, _: &Arc<ToolGrants>| {
            Err(DefinitionError::new("endpoint", "this server makes no tools of definitions"))
        };
        Self::new(registry, store, world, Arc::new(nothing))
    }

    /// With the operator's word on guards.
    pub fn guarding(self, over: Over) -> Self {
        Self { over, ..self }
    }

    /// Tools that the configuration switches off, whatever else is said about them.
    pub fn holding_off(self, names: impl IntoIterator<Item = String>) -> Self {
        Self { held_off: names.into_iter().collect(), ..self }
    }

    /// With a way to find the secrets that wait for the operator.
    pub fn finding_needs(self, find_need: FindNeed) -> Self {
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

    /// Brings the tools up to what is kept, if somebody has changed that since they were last read. Returns whether
    /// anybody had.
    pub async fn refresh(&self) -> Result<bool, StoreError> {
        let mut seen = self.seen.lock().await;
        let changes = self.store.tool_changes().await?;
        if *seen == Some(changes) {
            return Ok(false);
        }
        let (rows, switches) = (self.store.tools().await?, self.store.tool_switches().await?);
        let offers = self.store.tool_offers().await?;
        self.take_grants(self.store.tool_grants().await?);
        // One by one, so that others have their turn in between.
        for row in rows.iter().filter(|row| self.made(row.name(), &row.hash).is_none()) {
            make_ready(vec![row.definition.parameters.clone()]).await;
        }
        self.take_all(rows);
        self.take_offers(offers);
        let switched =
            |name: &str| switches.iter().find(|(named, _)| named == name).is_none_or(|(_, on)| *on);
        for tool in self.registry.all() {
            let name = &tool.spec().name;
            if !self.owns(name) {
                self.set_switch(&tool, switched(name));
            }
        }
        *seen = Some(changes);
        Ok(true)
    }

    /// Whether a definition could be kept under its name, and what is odd about it.
    pub fn check(&self, definition: &ToolDefinition) -> Result<Vec<String>, CatalogueError> {
        self.check_granted(definition, false)
    }

    /// The same for those who must not keep others waiting.
    pub async fn check_beside(&self, definition: &ToolDefinition) -> Result<Vec<String>, CatalogueError> {
        make_ready(vec![definition.parameters.clone()]).await;
        self.check(definition)
    }

    /// Makes a new tool.
    pub async fn create(&self, definition: ToolDefinition, by: &str) -> Result<Listed, CatalogueError> {
        self.create_granted(definition, false, by).await
    }

    /// Makes a new tool, which may reach this machine if its address says so and the operator agrees.
    pub async fn create_granted(
        &self,
        definition: ToolDefinition,
        allow_host: bool,
        by: &str,
    ) -> Result<Listed, CatalogueError> {
        make_ready(vec![definition.parameters.clone()]).await;
        let _alone = self.seen.lock().await;
        let name = definition.name.clone();
        self.check_name_is_free(&name)?;
        self.check_id_is_free(&definition)?;
        let (made, grant) = self.make_granted(&definition, allow_host)?;
        let row = ToolRow::new(self.world.tool_id(), definition, self.world.now());
        let line = self.line("tool.created", &format!("{name} {}", row.hash), by);
        let is_granted = grant.is_some();
        let kept = self.keep(row, 0, line, grant, by).await;
        let row = kept.map_err(|error| match error {
            StoreError::Changed(_) => CatalogueError::Exists(name),
            other => other.into(),
        })?;
        let made = if is_granted { self.make(&row.definition).map(Arc::new) } else { Ok(made) };
        Ok(self.hold(row, made))
    }

    /// Keeps a row with what it is allowed from now on.
    async fn keep(
        &self,
        row: ToolRow,
        expected: u32,
        line: AuditEntry,
        grant: NewGrant,
        by: &str,
    ) -> Result<ToolRow, StoreError> {
        let Some(grant) = grant else { return self.store.keep_tool(row, expected, line).await };
        let name = row.name().to_owned();
        let grants = vec![self.grant_row(&name, grant, by)];
        let kept = self.store.keep_granted_tool(row, expected, line, grants).await?;
        self.take_grants(self.store.tool_grants().await?);
        Ok(kept)
    }

    /// Whether no tool has this name, or one that could be taken for it.
    pub fn check_name_is_free(&self, name: &str) -> Result<(), CatalogueError> {
        if self.is_taken(name) {
            return Err(CatalogueError::Exists(name.into()));
        }
        let addressed = self.name_of(name);
        if addressed != name {
            return Err(CatalogueError::IdTaken { id: name.into(), other: addressed });
        }
        let built_in = self.registry.all();
        let rows = self.rows();
        let mut names =
            built_in.iter().map(|tool| tool.spec().name.as_str()).chain(rows.keys().map(String::as_str));
        match names.find(|other| look_alike(name, other)) {
            Some(other) => Err(CatalogueError::LooksLike { name: name.into(), other: other.into() }),
            None => Ok(()),
        }
    }

    /// The name of the tool that is addressed by its name, by the id of its definition or by our own id. What
    /// addresses nothing is a name that is not taken.
    pub fn name_of(&self, address: &str) -> String {
        if self.is_taken(address) {
            return address.to_owned();
        }
        let rows = self.rows();
        let addressed = rows.values().find(|held| {
            let row = &held.row;
            row.definition.id.as_deref() == Some(address) || row.id.to_string() == address
        });
        addressed.map_or(address, |held| held.row.name()).to_owned()
    }

    /// Whether the id of a definition addresses no other tool.
    fn check_id_is_free(&self, definition: &ToolDefinition) -> Result<(), CatalogueError> {
        let Some(id) = &definition.id else { return Ok(()) };
        let other = self.name_of(id);
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
    ) -> Result<Listed, CatalogueError> {
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
    ) -> Result<Listed, CatalogueError> {
        let _alone = self.seen.lock().await;
        let row = self.row(name, expected).await?;
        let (definition, asked_on) = match change {
            Change::Whole(definition) => (kept_id(*definition, &row.definition), false),
            Change::Patch(patch) => (patched(&row.definition, &patch)?, patch["enabled"] == true),
        };
        if definition.name != name {
            let problem = format!("a tool keeps its name, which is `{name}`; make another tool instead");
            return Err(DefinitionError::new("name", problem).into());
        }
        if row.definition.id.is_some() && definition.id != row.definition.id {
            let id = row.definition.id.as_deref().unwrap_or_default();
            return Err(DefinitionError::new("id", format!("a tool keeps its id, which is `{id}`")).into());
        }
        self.check_id_is_free(&definition)?;
        let turns_on = definition.enabled && !row.definition.enabled;
        if (turns_on || asked_on) && self.held_off.contains(name) {
            return Err(CatalogueError::HeldOff(name.into()));
        }
        if definition == row.definition {
            let grant = if allow_host { self.make_granted(&definition, true)?.1 } else { None };
            if let Some(grant) = grant {
                let (grant, line) = self.grant_row(name, grant, by);
                self.store.grant_tool(grant, line).await?;
                self.take_grants(self.store.tool_grants().await?);
            }
            return Ok(self.take(row));
        }
        // What only switches it on or off is no reason to make it again.
        let same = (definition.hash() == row.hash).then(|| self.made(name, &row.hash)).flatten();
        let (made, grant) = match same {
            Some(made) => (made, None),
            None => {
                make_ready(vec![definition.parameters.clone()]).await;
                let (made, grant) = self.make_granted(&definition, allow_host)?;
                (Ok(made), grant)
            }
        };
        let changed = row.with(definition, self.world.now());
        let action = match (changed.hash == row.hash, changed.definition.enabled) {
            (false, _) => "tool.changed",
            (true, true) => "tool.enabled",
            (true, false) => "tool.disabled",
        };
        let line = self.line(action, &format!("{name} {}", changed.hash), by);
        let is_granted = grant.is_some();
        let kept = self.keep(changed, row.version, line, grant, by).await.map_err(conflict)?;
        let made = if is_granted { self.make(&kept.definition).map(Arc::new) } else { made };
        Ok(self.hold(kept, made))
    }

    /// Deletes a tool; runs that use it keep it until they end.
    pub async fn remove(&self, name: &str, expected: Option<u32>, by: &str) -> Result<(), CatalogueError> {
        let _alone = self.seen.lock().await;
        let row = self.row(name, expected).await?;
        let line = self.line("tool.deleted", name, by);
        self.store.delete_tool(name.into(), Some(row.version), line).await.map_err(conflict)?;
        self.set_offer(name, None);
        self.forget(name);
        self.take_grants(self.store.tool_grants().await?);
        Ok(())
    }

    /// Switches any tool on or off, for good.
    pub async fn set_enabled(&self, name: &str, enabled: bool, by: &str) -> Result<Listed, CatalogueError> {
        match self.registry.get(name).filter(|_| !self.owns(name)) {
            None => {
                let patch = serde_json::json!({"enabled": enabled});
                self.update(name, Change::Patch(patch), None, by).await
            }
            Some(_) if enabled && self.held_off.contains(name) => Err(CatalogueError::HeldOff(name.into())),
            Some(tool) => {
                let _alone = self.seen.lock().await;
                let action = if enabled { "tool.enabled" } else { "tool.disabled" };
                self.store.switch_tool(name.into(), enabled, self.line(action, name, by)).await?;
                self.set_switch(&tool, enabled);
                Ok(self.listed_without_row(tool))
            }
        }
    }

    /// Everything that tools of this name ever were, oldest first.
    pub async fn versions(&self, name: &str) -> Result<Vec<ToolRow>, CatalogueError> {
        let versions = self.store.tool_versions(name.into()).await?;
        match versions.is_empty() {
            false => Ok(versions),
            true if self.registry.get(name).is_some() => Err(self.not_a_row(name)),
            true => Err(CatalogueError::Missing(name.into())),
        }
    }

    /// The row as it is kept now, which another process may have written.
    async fn row(&self, name: &str, expected: Option<u32>) -> Result<ToolRow, CatalogueError> {
        let row = self.store.tool(name.into()).await.map_err(|error| match error {
            StoreError::NotFound(_) if self.registry.get(name).is_some() && !self.owns(name) => {
                self.not_a_row(name)
            }
            StoreError::NotFound(_) => CatalogueError::Missing(name.into()),
            other => other.into(),
        })?;
        match expected {
            Some(expected) if expected != row.version => Err(CatalogueError::Changed(row.version)),
            _ => Ok(row),
        }
    }

    /// Why a tool that exists cannot be changed as a row.
    fn not_a_row(&self, name: &str) -> CatalogueError {
        if self.is_placed(name) {
            CatalogueError::InFolder(name.into())
        } else {
            CatalogueError::BuiltIn(name.into())
        }
    }

    /// Makes a tool; where only the operator's consent to a host is missing and is given, with that.
    fn make_granted(
        &self,
        definition: &ToolDefinition,
        allow_host: bool,
    ) -> Result<(Arc<Registered>, NewGrant), DefinitionError> {
        let refused = match self.make(definition) {
            Ok(made) => return Ok((Arc::new(made), None)),
            Err(refused) => refused,
        };
        let Some(place) = refused.consent.clone().filter(|_| allow_host) else { return Err(refused) };
        let grant = ToolGrant::Host { place };
        let mut all: Vec<_> = self.grants(&definition.name).into_iter().map(|row| row.grant).collect();
        all.push(grant.clone());
        let made = self.make_with(definition, &Arc::new(ToolGrants::new(all)))?;
        Ok((Arc::new(made), Some(grant)))
    }

    fn make(&self, definition: &ToolDefinition) -> Result<Registered, DefinitionError> {
        self.make_with(definition, &self.granted(&definition.name))
    }

    fn make_with(
        &self,
        definition: &ToolDefinition,
        grants: &Arc<ToolGrants>,
    ) -> Result<Registered, DefinitionError> {
        check(definition)?;
        let before = self.registry.get(&definition.name);
        if before.is_some() && !self.owns(&definition.name) {
            let owner = if self.is_placed(&definition.name) {
                "a program in the folder of tools"
            } else {
                "a tool that comes with Helve"
            };
            return Err(DefinitionError::new("name", format!("{owner} has this name; choose another")));
        }
        let (tool, guards) = match inside::target(definition) {
            Some(target) => self.within(definition, target)?,
            None => (self.maker)(definition, grants)?,
        };
        let guards = (self.over)(&definition.name, guards);
        let registered =
            Registered::for_row(tool, definition.hash(), guards, &self.registry.parts(&self.world));
        let registered = registered.map_err(|error| DefinitionError::new("parameters", error.to_string()))?;
        let registered = self.registry.attach(registered);
        Ok(match before {
            Some(before) => registered.as_next_version(&before),
            None => registered,
        })
    }

    /// A tool that leads to one that comes with Helve.
    fn within(&self, definition: &ToolDefinition, target: &str) -> Result<Made, DefinitionError> {
        if let Some(found) = self.registry.get(target).filter(|_| !self.owns(target)) {
            return inside::make(definition, &found);
        }
        let tools = self.registry.all();
        let names = tools.iter().map(|tool| tool.spec().name.as_str()).filter(|name| !self.owns(name));
        let known: Vec<_> = names.map(|name| format!("`internal://{name}`")).collect();
        let problem = format!("nothing in Helve is called `{target}`; there are: {}", known.join(", "));
        Err(DefinitionError::new("endpoint.url_template", problem))
    }

    fn line(&self, action: &str, detail: &str, by: &str) -> AuditEntry {
        AuditEntry { at: self.world.now(), by: by.into(), action: action.into(), detail: detail.into() }
    }
}

fn conflict(error: StoreError) -> CatalogueError {
    match error {
        StoreError::Changed(version) => CatalogueError::Changed(version),
        other => other.into(),
    }
}

#[cfg(test)]
mod tests;
