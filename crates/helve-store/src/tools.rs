//! Tools that are rows, as they are kept; and how `MemoryStore` keeps them.

use std::collections::BTreeMap;

use helve_types::{Timestamp, ToolDefinition, ToolId};

use crate::StoreError;

/// One version of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolRow {
    pub id: ToolId,
    pub definition: ToolDefinition,
    /// 1, 2, …: never twice under one name, so that it says which of all definitions is meant.
    pub version: u32,
    /// Of the definition, which runs and approvals are bound to.
    pub hash: String,
    /// When the tool was made.
    pub created_at: Timestamp,
    /// When this version was.
    pub updated_at: Timestamp,
}

impl ToolRow {
    /// A tool that nobody has kept yet.
    pub fn new(id: ToolId, definition: ToolDefinition, at: Timestamp) -> Self {
        Self { id, hash: definition.hash(), definition, version: 0, created_at: at, updated_at: at }
    }

    /// The same tool with another definition.
    pub fn with(&self, definition: ToolDefinition, at: Timestamp) -> Self {
        Self { hash: definition.hash(), definition, updated_at: at, ..self.clone() }
    }

    pub fn name(&self) -> &str {
        &self.definition.name
    }
}

#[derive(Default)]
pub(crate) struct ToolShelf {
    /// All that was ever kept under a name.
    versions: BTreeMap<String, Vec<ToolRow>>,
    /// The version that holds now; none for a tool that was deleted.
    current: BTreeMap<String, u32>,
    switches: BTreeMap<String, bool>,
    changes: u64,
}

impl ToolShelf {
    pub(crate) fn rows(&self) -> Vec<ToolRow> {
        self.current.keys().filter_map(|name| self.row(name)).cloned().collect()
    }

    pub(crate) fn row(&self, name: &str) -> Option<&ToolRow> {
        let version = self.current.get(name)?;
        self.versions(name).iter().find(|row| row.version == *version)
    }

    pub(crate) fn versions(&self, name: &str) -> &[ToolRow] {
        self.versions.get(name).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn keep(&mut self, row: ToolRow, expected: u32) -> Result<ToolRow, StoreError> {
        let name = row.name().to_owned();
        let now = self.current.get(&name).copied().unwrap_or(0);
        if now != expected {
            return Err(StoreError::Changed(now));
        }
        let versions = self.versions.entry(name.clone()).or_default();
        let kept = ToolRow { version: versions.last().map_or(0, |last| last.version) + 1, ..row };
        versions.push(kept.clone());
        self.current.insert(name, kept.version);
        self.changes += 1;
        Ok(kept)
    }

    pub(crate) fn delete(&mut self, name: &str, expected: Option<u32>) -> Result<(), StoreError> {
        let now = *self.current.get(name).ok_or(StoreError::NotFound("tool"))?;
        if expected.is_some_and(|expected| expected != now) {
            return Err(StoreError::Changed(now));
        }
        self.current.remove(name);
        self.changes += 1;
        Ok(())
    }

    pub(crate) fn switch(&mut self, name: String, enabled: bool) {
        self.switches.insert(name, enabled);
        self.changes += 1;
    }

    pub(crate) fn switches(&self) -> Vec<(String, bool)> {
        self.switches.clone().into_iter().collect()
    }

    pub(crate) fn count_change(&mut self) {
        self.changes += 1;
    }

    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }
}
