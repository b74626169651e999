//! A tool as the catalogue lists it, whatever it is and whether or not it works.

use std::sync::Arc;

use helve_types::{Notice, ToolDefinition};

use super::check::list_warnings;
use super::kind::{HeldTool, ToolOffer, ToolRow};
use super::{Catalogue, DefinitionError, FieldChange, differences};
use crate::Registered;

/// Where a tool is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolSource {
    Builtin,
    Row,
    /// A program in the folder of tools.
    Folder,
}

#[derive(Clone)]
pub struct ListedTool {
    pub name: String,
    pub source: ToolSource,
    /// None for a tool that is no row.
    pub row: Option<Arc<ToolRow>>,
    /// What runs; none where it cannot be made.
    pub registered: Option<Arc<Registered>>,
    /// Why it cannot be made.
    pub problem: Option<DefinitionError>,
    /// What is odd, but no reason to refuse.
    pub warnings: Vec<Notice>,
    /// Its changed definition outside, to which no person has agreed yet.
    pub offer: Option<Arc<ToolOffer>>,
    /// What is odd about that.
    pub offer_warnings: Vec<Notice>,
}

impl ListedTool {
    fn new(name: &str, source: ToolSource) -> Self {
        Self {
            name: name.to_owned(),
            source,
            row: None,
            registered: None,
            problem: None,
            warnings: vec![],
            offer: None,
            offer_warnings: vec![],
        }
    }

    /// A program in the folder of tools that cannot be used.
    pub(super) fn broken(name: &str, problem: DefinitionError) -> Self {
        Self { problem: Some(problem), ..Self::new(name, ToolSource::Folder) }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether a person has to agree to the changed tool before a new run gets it.
    pub fn is_quarantined(&self) -> bool {
        self.offer.is_some()
    }

    /// What would change if a person agreed.
    pub fn changes(&self) -> Vec<FieldChange> {
        let (Some(row), Some(offer)) = (&self.row, &self.offer) else { return vec![] };
        let now = ToolDefinition { enabled: row.definition.enabled, ..offer.definition.clone() };
        differences(&row.definition, &now)
    }

    pub fn is_enabled(&self) -> bool {
        match (&self.registered, &self.row) {
            (Some(tool), _) => tool.is_enabled(),
            (None, Some(row)) => row.definition.enabled,
            (None, None) => false,
        }
    }
}

impl Catalogue {
    /// All tools, those that cannot be built among them, in the order of their names.
    pub fn list(&self) -> Vec<ListedTool> {
        let mut all: Vec<_> = self.rows.all().iter().map(|held| self.list_row(held)).collect();
        let others = self.registry.list();
        let others = others.into_iter().filter(|tool| !self.rows.is_built(&tool.spec().name));
        all.extend(others.map(|tool| self.list_unsaved(tool)));
        all.extend(self.list_broken_from_folder());
        all.sort_by(|one, other| one.name().cmp(other.name()));
        all
    }

    /// A registered tool that is no row.
    pub(super) fn list_unsaved(&self, tool: Arc<Registered>) -> ListedTool {
        let name = &tool.spec().name;
        let source = if self.is_from_folder(name) { ToolSource::Folder } else { ToolSource::Builtin };
        ListedTool { registered: Some(tool.clone()), ..ListedTool::new(name, source) }
    }

    /// The tool of this name; a row that lost its name to a tool of ours is found by its problem only.
    pub fn get(&self, name: &str) -> Option<ListedTool> {
        match (self.rows.get(name), self.registry.get(name)) {
            (Some(held), registered) if held.built.is_ok() || registered.is_none() => {
                Some(self.list_row(&held))
            }
            (_, Some(tool)) => Some(self.list_unsaved(tool)),
            (Some(held), None) => Some(self.list_row(&held)),
            (None, None) => self.list_broken_from_folder().into_iter().find(|listed| listed.name == name),
        }
    }

    pub(super) fn list_row(&self, held: &HeldTool) -> ListedTool {
        let offer = self.rows.offer(held.row.name());
        ListedTool {
            offer_warnings: offer
                .as_ref()
                .map(|offer| self.list_warnings(&offer.definition))
                .unwrap_or_default(),
            row: Some(held.row.clone()),
            registered: held.built.clone().ok(),
            problem: held.built.as_ref().err().cloned(),
            warnings: self.list_warnings(&held.row.definition),
            offer,
            ..ListedTool::new(held.row.name(), ToolSource::Row)
        }
    }

    pub(super) fn list_warnings(&self, definition: &ToolDefinition) -> Vec<Notice> {
        let mut found =
            list_warnings(definition, |name| self.registry.get(name).map(|tool| tool.spec().effect));
        found.extend(self.find_secret_need(definition).map(|need| need.warning));
        found
    }
}
