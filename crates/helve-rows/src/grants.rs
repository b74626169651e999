//! What the operator lets single rows have.
//!
//! A row is built with what it is granted. When that changes, it is built again; what was built before and had more
//! than it may have now finds that out by `is_revoked`, also in runs that go on with it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use crate::{DefinitionGrant, DefinitionKind};

/// What one row was granted when it was built.
#[derive(Debug)]
pub struct GrantSet<G> {
    all: Vec<G>,
    is_revoked: AtomicBool,
}

impl<G> Default for GrantSet<G> {
    fn default() -> Self {
        Self::new(vec![])
    }
}

impl<G> GrantSet<G> {
    pub fn new(all: Vec<G>) -> Self {
        Self { all, is_revoked: AtomicBool::new(false) }
    }

    pub fn iter(&self) -> impl Iterator<Item = &G> {
        self.all.iter()
    }

    /// Whether something of it was taken back since.
    pub fn is_revoked(&self) -> bool {
        self.is_revoked.load(Ordering::Relaxed)
    }

    fn revoke(&self) {
        self.is_revoked.store(true, Ordering::Relaxed);
    }
}

impl<G: PartialEq> GrantSet<G> {
    fn covers(&self, other: &Self) -> bool {
        other.all.iter().all(|grant| self.all.contains(grant))
    }
}

/// The grants of one row, with who gave them and when.
struct RowGrants<K: DefinitionKind> {
    set: Arc<GrantSet<K::Grant>>,
    rows: Vec<DefinitionGrant<K>>,
}

/// The grants of all rows of a kind, by their names.
pub(crate) struct HeldGrants<K: DefinitionKind>(RwLock<BTreeMap<String, RowGrants<K>>>);

impl<K: DefinitionKind> Default for HeldGrants<K> {
    fn default() -> Self {
        Self(RwLock::default())
    }
}

impl<K: DefinitionKind> HeldGrants<K> {
    pub(crate) fn list(&self, name: &str) -> Vec<DefinitionGrant<K>> {
        let held = self.0.read().unwrap_or_else(PoisonError::into_inner);
        held.get(name).map(|of_row| of_row.rows.clone()).unwrap_or_default()
    }

    pub(crate) fn list_all(&self) -> Vec<DefinitionGrant<K>> {
        let held = self.0.read().unwrap_or_else(PoisonError::into_inner);
        held.values().flat_map(|of_row| of_row.rows.clone()).collect()
    }

    pub(crate) fn set(&self, name: &str) -> Arc<GrantSet<K::Grant>> {
        let held = self.0.read().unwrap_or_else(PoisonError::into_inner);
        held.get(name).map(|of_row| of_row.set.clone()).unwrap_or_default()
    }

    /// Replaces what is held and returns the names of the rows that are granted something else than before.
    pub(crate) fn replace(&self, rows: Vec<DefinitionGrant<K>>) -> Vec<String> {
        let mut by_name: BTreeMap<String, Vec<DefinitionGrant<K>>> = BTreeMap::new();
        for row in rows {
            by_name.entry(row.name.clone()).or_default().push(row);
        }
        let mut held = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let mut changed = vec![];
        held.retain(|name, before| {
            let rows = by_name.remove(name).unwrap_or_default();
            if rows == before.rows {
                return true;
            }
            changed.push(name.clone());
            let next = RowGrants::new(rows);
            if !next.set.covers(&before.set) {
                before.set.revoke();
            }
            *before = next;
            !before.rows.is_empty()
        });
        for (name, rows) in by_name {
            changed.push(name.clone());
            held.insert(name, RowGrants::new(rows));
        }
        changed
    }
}

impl<K: DefinitionKind> RowGrants<K> {
    fn new(rows: Vec<DefinitionGrant<K>>) -> Self {
        let set = GrantSet::new(rows.iter().map(|row| row.grant.clone()).collect());
        Self { set: Arc::new(set), rows }
    }
}
