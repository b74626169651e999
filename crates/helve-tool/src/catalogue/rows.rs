//! The rows that the catalogue holds, and how they get into the registry.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLockReadGuard, RwLockWriteGuard};



use super::kind::{ToolRow};
use super::{Catalogue, DefinitionError, Listed};
use crate::Registered;

/// A row and what became of it.
pub(super) struct Held {
    pub(super) row: Arc<ToolRow>,
    /// What is registered, or why nothing is.
    pub(super) made: Result<Arc<Registered>, DefinitionError>,
}

impl Catalogue {
    /// Takes up all rows that are kept; what is not among them is gone.
    pub(super) fn take_all(&self, rows: Vec<ToolRow>) {
        let kept: BTreeSet<_> = rows.iter().map(|row| row.name().to_owned()).collect();
        let held: Vec<_> = self.rows().keys().cloned().collect();
        for gone in held.iter().filter(|name| !kept.contains(*name)) {
            self.forget(gone);
        }
        for row in rows {
            self.take(row);
        }
    }

    /// Puts a kept row into the catalogue and its tool, if it could be made, into the registry.
    pub(super) fn hold(&self, row: ToolRow, made: Result<Arc<Registered>, DefinitionError>) -> Listed {
        let name = row.name().to_owned();
        let held = Held { row: Arc::new(row), made };
        let listed = self.listed(&held);
        let enabled = held.row.definition.enabled;
        match &held.made {
            Ok(made) => {
                made.guarding.set_limits();
                if let Some(before) = self.registry.replace(made.clone()) {
                    self.pinned.remember(&before);
                }
                made.set_agreed(!self.is_quarantined(&name));
                self.set_switch(made, enabled);
            }
            Err(problem) => {
                tracing::warn!(tool = name, %problem, "the tool cannot be made; it is not there until that is put right");
                if self.owns(&name) {
                    _ = self.registry.unregister(&name);
                }
            }
        }
        self.rows_mut().insert(name, held);
        listed
    }

    /// Takes up a row that somebody else may have written.
    pub(super) fn take(&self, row: ToolRow) -> Listed {
        let name = row.name().to_owned();
        let before = self.rows().get(&name).map(|held| (held.row.version, self.listed(held)));
        let made = match before {
            Some((version, listed)) if version == row.version => return listed,
            _ => self.made(&name, &row.hash),
        };
        let made = made.unwrap_or_else(|| self.make(&row.definition).map(Arc::new));
        self.hold(row, made)
    }

    pub(super) fn forget(&self, name: &str) {
        let held = self.rows_mut().remove(name);
        if let Some(Held { made: Ok(made), .. }) = held {
            self.pinned.remember(&made);
            _ = self.registry.unregister(name);
        }
    }

    /// What was made of this very definition before.
    pub(super) fn made(&self, name: &str, hash: &str) -> Option<Result<Arc<Registered>, DefinitionError>> {
        self.rows().get(name).filter(|held| held.row.hash == hash).map(|held| held.made.clone())
    }

    pub(super) fn set_switch(&self, tool: &Registered, enabled: bool) {
        let name = &tool.spec().name;
        // The generation grows with it, which tells agents to look at their tools again.
        _ = self.registry.set_enabled(name, enabled && !self.held_off.contains(name));
    }

    /// Whether the registered tool of this name is a row; one that could not be made is not registered.
    pub(super) fn owns(&self, name: &str) -> bool {
        self.rows().get(name).is_some_and(|held| held.made.is_ok())
    }

    /// Whether there is a tool of this name, be it one that cannot be made.
    pub fn is_taken(&self, name: &str) -> bool {
        self.registry.get(name).is_some() || self.rows().contains_key(name)
    }

    pub(super) fn rows(&self) -> RwLockReadGuard<'_, BTreeMap<String, Held>> {
        self.rows.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn rows_mut(&self) -> RwLockWriteGuard<'_, BTreeMap<String, Held>> {
        self.rows.write().unwrap_or_else(PoisonError::into_inner)
    }
}
