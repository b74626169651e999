//! All agents: those of the configuration, and those that are rows.
//!
//! An agent of the configuration is read-only, and comes first where a row has the same name. A run pins the version
//! of the row it was started with and goes on with it after the row was changed or deleted. Beside a row there may be a
//! draft of what it is to become, which runs use only when they are asked to.

mod registrar;

use std::str::FromStr;
use std::sync::Arc;

use helve_rows::{
    BatchError, BatchOutcome, BatchRow, DefinitionError, HeldRow, PinnedVersion, RowCatalogue, RowError,
};
use helve_store::{PeopleDirectory, Store, StoreError};
use helve_tool::{FieldChange, Hooks, Registry, Rule, merge_patch, read_json, value_differences};
use helve_types::{AgentDefinition, AgentTool, AgentToolLink, Notice, RunSetup, World};
use serde_json::{Value, json};

use super::check::{build_settings, read_agent};
use super::kind::{AgentDraftKind, AgentDraftRow, AgentRow, AgentRowKind};
use super::{Agent, AgentSettings};

/// Why an agent is not made, changed or deleted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentError {
    #[error(transparent)]
    Definition(#[from] DefinitionError),

    #[error("there is an agent named `{0}` already; change that one, or choose another name")]
    Exists(String),

    #[error("the id `{id}` is taken by the agent `{other}`; change that one, or choose another id")]
    IdTaken { id: String, other: String },

    #[error("there is no agent named `{0}`")]
    Missing(String),

    #[error("there is no draft of the agent `{0}`")]
    MissingDraft(String),

    #[error("the agent `{agent}` has no version {version}")]
    MissingVersion { agent: String, version: u32 },

    #[error(
        "the agent `{0}` is defined in the configuration (`[[agents]]` in helve.toml, or the agent `default` that every \
         server has); change it there, or make another agent"
    )]
    Configured(String),

    #[error("the agent `{agent}` has no tool `{tool}`")]
    MissingTool { agent: String, tool: String },

    #[error("the agent `{agent}` has the tool `{tool}` already")]
    ToolExists { agent: String, tool: String },

    #[error("the agent has changed meanwhile and is at version {0} now; read it again and decide anew")]
    Changed(u32),

    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<RowError> for AgentError {
    fn from(error: RowError) -> Self {
        match error {
            RowError::Definition(wrong) => Self::Definition(wrong),
            RowError::Exists(name) => Self::Exists(name),
            // Agents have no offers.
            RowError::Missing(name) | RowError::NoOffer(name) | RowError::OfferChanged(name) => {
                Self::Missing(name)
            }
            RowError::Changed(version) => Self::Changed(version),
            RowError::Store(error) => Self::Store(error),
        }
    }
}

/// How a definition becomes another.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentChange {
    /// This is the whole of it.
    Whole(Box<AgentDefinition>),
    /// Only what the merge patch names changes; `null` takes a field back to its default.
    Patch(Value),
    AddTool(AgentTool),
    /// The tool is changed, or added if the agent does not have it.
    SetTool(AgentTool),
    /// Only what the merge patch names changes.
    PatchTool {
        name: String,
        patch: Value,
    },
    RemoveTool(String),
}

/// An agent with where it comes from.
#[derive(Clone)]
pub struct ListedAgent {
    /// None for an agent of the configuration.
    pub row: Option<Arc<AgentRow>>,
    /// What runs use; none where it cannot be built.
    pub agent: Option<Arc<Agent>>,
    /// Why no run can use it.
    pub problem: Option<String>,
    /// What it is to become, if somebody works on that.
    pub draft: Option<Arc<AgentDraftRow>>,
}

/// What an agent is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComparedVersion {
    Version(u32),
    Draft,
}

impl FromStr for ComparedVersion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "draft" => Ok(Self::Draft),
            number => number
                .parse()
                .map(Self::Version)
                .map_err(|_| format!("`{text}` is neither the number of a version nor `draft`")),
        }
    }
}

/// Two versions of an agent side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct VersionPair {
    pub from: u32,
    /// A number, or `draft`.
    pub to: String,
    pub was: AgentDefinition,
    pub now: AgentDefinition,
}

/// An agent of a file.
pub struct AgentImport {
    pub name: String,
    pub outcome: BatchOutcome,
    /// The agent as it is; none if it was only checked and is not there yet.
    pub agent: Option<ListedAgent>,
}

/// Why none of a file's agents was made.
#[derive(Debug)]
pub struct AgentImportError {
    /// The agent that is wrong, by its number; none if it is no single one.
    pub number: Option<usize>,
    pub error: AgentError,
}

impl ListedAgent {
    pub fn name(&self) -> &str {
        let of_row = self.row.as_ref().map(|row| row.name());
        of_row.or(self.agent.as_ref().map(|agent| agent.settings.name.as_str())).unwrap_or_default()
    }

    pub fn is_enabled(&self) -> bool {
        self.row.as_ref().is_none_or(|row| row.definition.enabled)
    }
}

/// All agents of this server.
pub struct AgentCatalogue {
    /// The one named `default` is the first.
    configured: Vec<Arc<Agent>>,
    rows: RowCatalogue<AgentRowKind>,
    drafts: RowCatalogue<AgentDraftKind>,
    operator: Vec<Rule>,
    registry: Arc<Registry>,
    hooks: Arc<Hooks>,
    people: PeopleDirectory,
}

impl AgentCatalogue {
    pub fn new(
        configured: &[AgentSettings],
        operator: &[Rule],
        registry: Arc<Registry>,
        hooks: Arc<Hooks>,
        people: PeopleDirectory,
        store: Arc<dyn Store>,
        world: World,
    ) -> Self {
        let agent =
            |agent: &AgentSettings| Arc::new(Agent::new(agent.clone(), operator, &registry, &hooks, &people));
        let mut configured: Vec<_> = configured.iter().map(agent).collect();
        // A request without an agent's name means the first.
        configured.sort_by_key(|agent| agent.settings.name != "default");
        Self {
            configured,
            rows: RowCatalogue::new(store.clone(), world.clone()),
            drafts: RowCatalogue::new(store, world),
            operator: operator.to_vec(),
            registry,
            hooks,
            people,
        }
    }

    /// Reads the rows again if any was changed since they were last read. Returns whether one was.
    pub async fn refresh(&self) -> Result<bool, StoreError> {
        let rows_changed = self.rows.refresh(self).await?;
        Ok(self.drafts.refresh(self).await? || rows_changed)
    }

    /// The agent of requests that name none.
    pub fn default_agent(&self) -> Option<Arc<Agent>> {
        self.configured.first().cloned()
    }

    /// All agents that new runs can use.
    pub fn enabled_agents(&self) -> Vec<Arc<Agent>> {
        let listed = self.list().into_iter().filter(|listed| listed.is_enabled() && listed.problem.is_none());
        listed.filter_map(|listed| listed.agent).collect()
    }

    /// The agent with this name or id, if new runs can use it.
    pub fn find(&self, address: &str) -> Option<Arc<Agent>> {
        self.get(address).filter(|listed| listed.is_enabled() && listed.problem.is_none())?.agent
    }

    /// The agent that a run was started with, at the version that it had then.
    pub async fn load_agent_of_run(&self, setup: &RunSetup) -> Result<Option<Arc<Agent>>, StoreError> {
        let Some(version) = &setup.agent_version else {
            return Ok(self.find_configured(&setup.agent).cloned());
        };
        Ok(match self.rows.pinned(self, &setup.agent, version).await? {
            PinnedVersion::Built(agent) => Some(agent),
            PinnedVersion::Broken => None,
            PinnedVersion::NotSaved => match self.drafts.pinned(self, &setup.agent, version).await? {
                PinnedVersion::Built(agent) => Some(agent),
                PinnedVersion::Broken | PinnedVersion::NotSaved => None,
            },
        })
    }

    /// The draft of an agent, for a run that tries it; a draft is built when it is saved.
    pub fn draft_agent(&self, address: &str) -> Result<Arc<Agent>, AgentError> {
        let name = self.row_name(address)?;
        let held = self.drafts.get(&name).ok_or(AgentError::MissingDraft(name))?;
        Ok(held.built?)
    }

    /// Those of the configuration, and then the rows by their names.
    pub fn list(&self) -> Vec<ListedAgent> {
        let configured = self.configured.iter().map(to_listed_configured);
        configured.chain(self.rows.all().iter().map(|held| self.to_listed(held))).collect()
    }

    /// The agent with this name or id.
    pub fn get(&self, address: &str) -> Option<ListedAgent> {
        if let Some(agent) = self.find_configured(address) {
            return Some(to_listed_configured(agent));
        }
        self.find_row(address).map(|held| self.to_listed(&held))
    }

    /// Makes or changes all agents of a file, or none if one of them cannot be. `check` has a say about each, beside what
    /// the agent is now. With `dry_run` nothing is kept.
    pub async fn import(
        &self,
        definitions: Vec<AgentDefinition>,
        replace: bool,
        dry_run: bool,
        by: &str,
        check: impl Fn(Option<&AgentDefinition>, &AgentDefinition) -> Result<(), AgentError> + Send + Sync,
    ) -> Result<Vec<AgentImport>, AgentImportError> {
        for (number, definition) in definitions.iter().enumerate() {
            let id = definition.id.as_ref();
            let other = definitions[..number].iter().find(|other| id.is_some() && other.id.as_ref() == id);
            if let (Some(id), Some(other)) = (id, other) {
                let error = AgentError::IdTaken { id: id.clone(), other: other.name.clone() };
                return Err(AgentImportError { number: Some(number), error });
            }
        }
        let check = |before: Option<&AgentDefinition>, next: &mut AgentDefinition| {
            match before {
                Some(_) if !replace => return Err(AgentError::Exists(next.name.clone())),
                Some(before) => {
                    *next = self.apply_change(before, AgentChange::Whole(Box::new(next.clone())))?
                }
                None => {}
            }
            check(before, next)
        };
        let rows = self.rows.save_all(self, definitions, dry_run, by, check).await;
        let rows = rows.map_err(|BatchError { number, error }| AgentImportError { number, error })?;
        let imported = |BatchRow { name, outcome, held }: BatchRow<AgentRowKind>| AgentImport {
            name,
            outcome,
            agent: held.map(|held| self.to_listed(&held)),
        };
        Ok(rows.into_iter().map(imported).collect())
    }

    /// Changes the draft of an agent, or begins one with what the agent is.
    pub async fn save_draft(
        &self,
        address: &str,
        change: AgentChange,
        expected: Option<u32>,
        by: &str,
        check: impl FnOnce(&AgentDefinition) -> Result<(), AgentError> + Send,
    ) -> Result<ListedAgent, AgentError> {
        let name = self.row_name(address)?;
        let held = self.rows.get(&name).ok_or_else(|| AgentError::Missing(name.clone()))?;
        let next = |before: &AgentDefinition| {
            let next = AgentDefinition { enabled: true, ..self.apply_change(before, change)? };
            check(&next)?;
            Ok(next)
        };
        if self.drafts.contains(&name) {
            self.drafts.update(self, &name, expected, false, by, next).await?;
        } else if expected.is_some() {
            return Err(AgentError::MissingDraft(name));
        } else {
            self.drafts.create(self, next(&held.row.definition)?, false, by).await?;
        }
        self.get(&name).ok_or(AgentError::Missing(name))
    }

    /// Makes the agent what its draft says; the draft ends.
    pub async fn publish_draft(
        &self,
        address: &str,
        expected: Option<u32>,
        by: &str,
        check: impl FnOnce(&AgentDefinition) -> Result<(), AgentError> + Send,
    ) -> Result<ListedAgent, AgentError> {
        let name = self.row_name(address)?;
        let draft = self.drafts.get(&name).ok_or_else(|| AgentError::MissingDraft(name.clone()))?.row;
        let next = |before: &AgentDefinition| {
            let whole = AgentDefinition { enabled: before.enabled, ..draft.definition.clone() };
            let next = self.apply_change(before, AgentChange::Whole(Box::new(whole)))?;
            check(&next)?;
            Ok(next)
        };
        let published = self.rows.update(self, &name, expected, false, by, next).await?;
        // One that was changed meanwhile stays.
        match self.drafts.delete(self, &name, Some(draft.version), by).await {
            Ok(()) | Err(AgentError::Changed(_) | AgentError::Missing(_)) => {}
            Err(error) => return Err(error),
        }
        Ok(self.to_listed(&published))
    }

    pub async fn discard_draft(&self, address: &str, by: &str) -> Result<(), AgentError> {
        let name = self.row_name(address)?;
        match self.drafts.delete(self, &name, None, by).await {
            Err(AgentError::Missing(name)) => Err(AgentError::MissingDraft(name)),
            done => done,
        }
    }

    pub async fn create(&self, definition: AgentDefinition, by: &str) -> Result<ListedAgent, AgentError> {
        Ok(self.to_listed(&self.rows.create(self, definition, false, by).await?))
    }

    /// Changes an agent, if it is at the version `expected` or none is given. `check` has a say about the next
    /// definition. Runs of the agent go on with what they were started with.
    pub async fn update(
        &self,
        address: &str,
        change: AgentChange,
        expected: Option<u32>,
        by: &str,
        check: impl FnOnce(&AgentDefinition) -> Result<(), AgentError> + Send,
    ) -> Result<ListedAgent, AgentError> {
        let name = self.row_name(address)?;
        let next = |before: &AgentDefinition| {
            let next = self.apply_change(before, change)?;
            check(&next)?;
            Ok(next)
        };
        Ok(self.to_listed(&self.rows.update(self, &name, expected, false, by, next).await?))
    }

    /// Deletes an agent; its runs go on, and its versions stay readable.
    pub async fn delete(&self, address: &str, expected: Option<u32>, by: &str) -> Result<(), AgentError> {
        let name = self.row_name(address)?;
        self.rows.delete(self, &name, expected, by).await?;
        match self.drafts.delete(self, &name, None, by).await {
            Err(AgentError::Missing(_)) => Ok(()),
            done => done,
        }
    }

    /// One version of an agent.
    pub async fn version(&self, address: &str, version: u32) -> Result<AgentRow, AgentError> {
        let versions = self.list_versions(address).await?;
        let agent = versions.first().map(|row| row.name().to_owned()).unwrap_or_default();
        let found = versions.into_iter().find(|row| row.version == version);
        found.ok_or(AgentError::MissingVersion { agent, version })
    }

    /// Everything that agents of this name or id ever were, oldest first.
    pub async fn list_versions(&self, address: &str) -> Result<Vec<AgentRow>, AgentError> {
        let name = self.row_name(address)?;
        let versions = self.rows.table().versions(&name).await?;
        if versions.is_empty() { Err(AgentError::Missing(name)) } else { Ok(versions) }
    }

    /// Two versions of an agent: `to`, or else its draft, or else what it is now; and `from`, or else the one before.
    pub async fn compare(
        &self,
        address: &str,
        from: Option<u32>,
        to: Option<ComparedVersion>,
    ) -> Result<VersionPair, AgentError> {
        let name = self.row_name(address)?;
        let missing = || AgentError::Missing(name.clone());
        let row = self.rows.get(&name).ok_or_else(missing)?.row;
        let draft = self.drafts.get(&name).map(|draft| draft.row.definition.clone());
        let to = to.unwrap_or(match &draft {
            Some(_) => ComparedVersion::Draft,
            None => ComparedVersion::Version(row.version),
        });
        let (to, now, before) = match to {
            ComparedVersion::Draft => {
                let draft = draft.ok_or_else(|| AgentError::MissingDraft(name.clone()))?;
                let draft = AgentDefinition { enabled: row.definition.enabled, ..draft };
                ("draft".to_owned(), draft, row.version)
            }
            ComparedVersion::Version(number) => {
                let definition = self.version(&name, number).await?.definition;
                (number.to_string(), definition, number.saturating_sub(1).max(1))
            }
        };
        let from = from.unwrap_or(before);
        let was = self.version(&name, from).await?.definition;
        Ok(VersionPair { from, to, was, now })
    }

    /// Whether an agent has this name or id.
    pub fn is_taken(&self, address: &str) -> bool {
        self.find_configured(address).is_some() || self.find_row(address).is_some()
    }

    /// The name of the row with this name or id. What addresses nothing is taken for a name.
    fn row_name(&self, address: &str) -> Result<String, AgentError> {
        if let Some(agent) = self.find_configured(address)
            && !self.rows.contains(address)
        {
            return Err(AgentError::Configured(agent.settings.name.clone()));
        }
        let held = self.find_row(address);
        Ok(held.map_or_else(|| address.to_owned(), |held| held.row.name().to_owned()))
    }

    fn find_configured(&self, name: &str) -> Option<&Arc<Agent>> {
        self.configured.iter().find(|agent| agent.settings.name == name)
    }

    /// The row with this name, with this id of its definition or with this id of ours.
    fn find_row(&self, address: &str) -> Option<HeldRow<AgentRowKind>> {
        let by_id =
            |row: &AgentRow| row.definition.id.as_deref() == Some(address) || row.id.to_string() == address;
        self.rows.get(address).or_else(|| self.rows.find(by_id))
    }

    fn to_listed(&self, held: &HeldRow<AgentRowKind>) -> ListedAgent {
        let is_hidden = self.find_configured(held.row.name()).is_some();
        let hidden = || {
            "an agent of the configuration has this name; rename that one, or make this one anew with another name"
                .to_owned()
        };
        let problem = held.built.as_ref().err().map(ToString::to_string);
        ListedAgent {
            row: Some(held.row.clone()),
            agent: held.built.clone().ok(),
            problem: if is_hidden { Some(hidden()) } else { problem },
            draft: self.drafts.get(held.row.name()).map(|draft| draft.row),
        }
    }

    fn apply_change(
        &self,
        before: &AgentDefinition,
        change: AgentChange,
    ) -> Result<AgentDefinition, AgentError> {
        let mut next = match change {
            AgentChange::Whole(whole) => *whole,
            AgentChange::Patch(patch) => {
                let mut laid = json!(before);
                merge_patch(&mut laid, &patch);
                read_agent(laid)?
            }
            AgentChange::AddTool(tool) => {
                let missing = |name: &str| !before.tools.iter().any(|known| known.name == name);
                if !missing(&tool.name) {
                    return Err(AgentError::ToolExists { agent: before.name.clone(), tool: tool.name });
                }
                let mut next = before.clone();
                next.tools.push(tool);
                next
            }
            AgentChange::SetTool(tool) => {
                let mut next = before.clone();
                match next.tools.iter_mut().find(|known| known.name == tool.name) {
                    Some(known) => *known = tool,
                    None => next.tools.push(tool),
                }
                next
            }
            AgentChange::PatchTool { name, patch } => {
                let mut next = before.clone();
                let Some(known) = next.tools.iter_mut().find(|known| known.name == name) else {
                    return Err(AgentError::MissingTool { agent: before.name.clone(), tool: name });
                };
                let mut laid = json!(known.link());
                merge_patch(&mut laid, &patch);
                let link: AgentToolLink = read_json(laid)?;
                if link.name != name {
                    let problem = format!("the link is to `{name}`; remove it, and add another");
                    return Err(DefinitionError::new("name", Notice::definition_other(&problem)).into());
                }
                *known = link.into();
                next
            }
            AgentChange::RemoveTool(name) => {
                let mut next = before.clone();
                next.tools.retain(|known| known.name != name);
                if next.tools.len() == before.tools.len() {
                    return Err(AgentError::MissingTool { agent: before.name.clone(), tool: name });
                }
                next
            }
        };
        if next.name != before.name {
            return Err(DefinitionError::new("name", Notice::definition_agent_name_kept(&before.name)).into());
        }
        if let Some(id) = &before.id {
            // A definition without an id is the same agent's.
            if next.id.get_or_insert_with(|| id.clone()) != id {
                return Err(DefinitionError::new("id", Notice::definition_agent_id_kept(id)).into());
            }
        }
        self.check_id_is_free(&next)?;
        Ok(next)
    }

    fn built(&self, definition: &AgentDefinition) -> Result<Agent, DefinitionError> {
        let settings = build_settings(definition)?;
        let agent = Agent::new(settings, &self.operator, &self.registry, &self.hooks, &self.people);
        Ok(Agent { version: Some(definition.hash()), ..agent })
    }

    /// Whether the id of a definition addresses no other agent.
    fn check_id_is_free(&self, definition: &AgentDefinition) -> Result<(), AgentError> {
        let Some(id) = &definition.id else { return Ok(()) };
        let other = self.get(id).filter(|other| other.name() != definition.name);
        match other {
            Some(other) => Err(AgentError::IdTaken { id: id.clone(), other: other.name().to_owned() }),
            None => Ok(()),
        }
    }
}

/// What is not the same in two definitions. The tools are told by their names.
pub fn agent_differences(was: &AgentDefinition, now: &AgentDefinition) -> Vec<FieldChange> {
    value_differences(&with_tools_by_name(was), &with_tools_by_name(now))
}

fn with_tools_by_name(definition: &AgentDefinition) -> Value {
    let mut told = json!(definition);
    let link =
        |tool: &AgentTool| (tool.name.clone(), json!({"enabled": tool.enabled, "config": tool.config}));
    told["tools"] = Value::Object(definition.tools.iter().map(link).collect());
    told
}

fn to_listed_configured(agent: &Arc<Agent>) -> ListedAgent {
    ListedAgent { row: None, agent: Some(agent.clone()), problem: None, draft: None }
}
