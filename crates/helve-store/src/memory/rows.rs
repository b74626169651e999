//! Definitions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use helve_types::ModelProfile;

use super::MemoryStore;
use crate::{
    AuditEntry, DefinitionFile, OfferUse, RowChange, RowGrant, RowKind, RowOffer, RowRecord, Rows,
    StoreError, StoreFuture, Wakeup,
};

/// What is kept of one kind.
#[derive(Clone, Default)]
pub(super) struct MemoryRowTable {
    /// All that was ever kept under a name.
    versions: BTreeMap<String, Vec<RowRecord>>,
    /// The version that holds now; none for a row that was deleted.
    current: BTreeMap<String, u32>,
    offers: BTreeMap<String, RowOffer>,
    /// By name and grant.
    grants: BTreeMap<(String, String), RowGrant>,
    switches: BTreeMap<String, bool>,
    changes: u64,
}

impl MemoryRowTable {
    fn rows(&self) -> Vec<RowRecord> {
        self.current.keys().filter_map(|name| self.row(name)).cloned().collect()
    }

    fn row(&self, name: &str) -> Option<&RowRecord> {
        let version = self.current.get(name)?;
        self.versions(name).iter().find(|row| row.version == *version)
    }

    fn versions(&self, name: &str) -> &[RowRecord] {
        self.versions.get(name).map_or(&[], Vec::as_slice)
    }

    fn save(&mut self, change: RowChange) -> Result<RowRecord, StoreError> {
        let RowChange { row, expected, offer, grants, .. } = change;
        let name = row.name.clone();
        if offer == OfferUse::Accepted && !self.offers.contains_key(&name) {
            return Err(StoreError::NotFound("offer"));
        }
        let now = self.current.get(&name).copied().unwrap_or(0);
        if now != expected {
            return Err(StoreError::Changed(now));
        }
        if offer == OfferUse::Accepted {
            self.offers.remove(&name);
        }
        let versions = self.versions.entry(name.clone()).or_default();
        let saved = RowRecord { version: versions.last().map_or(0, |last| last.version) + 1, ..row };
        versions.push(saved.clone());
        self.current.insert(name, saved.version);
        for (grant, _) in grants {
            self.grants.insert((grant.name.clone(), grant.grant.clone()), grant);
        }
        Ok(saved)
    }

    fn delete(&mut self, kind: RowKind, name: &str, expected: Option<u32>) -> Result<(), StoreError> {
        let now = *self.current.get(name).ok_or(StoreError::NotFound(kind.as_str()))?;
        if expected.is_some_and(|expected| expected != now) {
            return Err(StoreError::Changed(now));
        }
        self.current.remove(name);
        self.offers.remove(name);
        self.grants.retain(|(of, _), _| of != name);
        Ok(())
    }
}

impl MemoryStore {
    fn read_rows<T: Send + 'static>(
        &self,
        kind: RowKind,
        read: impl FnOnce(&MemoryRowTable) -> T,
    ) -> StoreFuture<'_, T> {
        self.with_tables(|all| Ok(read(all.rows.entry(kind).or_default())))
    }

    /// Counts the change and writes its lines into the audit, unless it fails.
    fn change_rows<T: Send + 'static>(
        &self,
        kind: RowKind,
        lines: Vec<AuditEntry>,
        change: impl FnOnce(&mut MemoryRowTable) -> Result<T, StoreError>,
    ) -> StoreFuture<'_, T> {
        self.write_and_wake(Wakeup::Rows(kind), |all| {
            let shelf = all.rows.entry(kind).or_default();
            let changed = change(shelf)?;
            shelf.changes += 1;
            lines.into_iter().for_each(|line| all.audit(line));
            Ok(changed)
        })
    }
}

impl Rows for MemoryStore {
    fn rows(&self, kind: RowKind) -> StoreFuture<'_, Vec<RowRecord>> {
        self.read_rows(kind, MemoryRowTable::rows)
    }

    fn row(&self, kind: RowKind, name: String) -> StoreFuture<'_, RowRecord> {
        self.with_tables(|all| {
            let found = all.rows.get(&kind).and_then(|shelf| shelf.row(&name));
            found.cloned().ok_or(StoreError::NotFound(kind.as_str()))
        })
    }

    fn row_versions(&self, kind: RowKind, name: String) -> StoreFuture<'_, Vec<RowRecord>> {
        self.read_rows(kind, |shelf| shelf.versions(&name).to_vec())
    }

    fn save_row(&self, change: RowChange) -> StoreFuture<'_, RowRecord> {
        let granted = change.grants.iter().map(|(_, line)| line.clone());
        let lines = std::iter::once(change.audit.clone()).chain(granted).collect();
        self.change_rows(change.row.kind, lines, |shelf| shelf.save(change))
    }

    fn save_rows(&self, changes: Vec<RowChange>) -> StoreFuture<'_, Vec<RowRecord>> {
        let Some(kind) = changes.first().map(|change| change.row.kind) else {
            return self.with_tables(|_| Ok(vec![]));
        };
        let mut lines = vec![];
        for change in &changes {
            lines.push(change.audit.clone());
            lines.extend(change.grants.iter().map(|(_, line)| line.clone()));
        }
        self.change_rows(kind, lines, |shelf| {
            let mut names = BTreeSet::new();
            for RowChange { row, expected, .. } in &changes {
                let now = shelf.current.get(&row.name).copied().unwrap_or(0);
                if now != *expected || !names.insert(row.name.clone()) {
                    return Err(StoreError::Changed(now));
                }
            }
            let mut next = shelf.clone();
            let mut names = BTreeSet::new();
            if let Some(twice) = changes.iter().find(|change| !names.insert(change.row.name.clone())) {
                return Err(StoreError::Changed(shelf.current.get(&twice.row.name).copied().unwrap_or(0)));
            }
            let saved: Result<Vec<_>, _> = changes.into_iter().map(|change| next.save(change)).collect();
            let saved = saved?;
            *shelf = next;
            Ok(saved)
        })
    }

    fn delete_row(
        &self,
        kind: RowKind,
        name: String,
        expected: Option<u32>,
        audit: AuditEntry,
    ) -> StoreFuture<'_, ()> {
        self.change_rows(kind, vec![audit], |shelf| shelf.delete(kind, &name, expected))
    }

    fn offers(&self, kind: RowKind) -> StoreFuture<'_, Vec<RowOffer>> {
        self.read_rows(kind, |shelf| shelf.offers.values().cloned().collect())
    }

    fn save_offer(&self, offer: RowOffer, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.change_rows(offer.kind, vec![audit], |shelf| {
            shelf.offers.insert(offer.name.clone(), offer);
            Ok(())
        })
    }

    fn delete_offer(&self, kind: RowKind, name: String, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.change_rows(kind, vec![audit], |shelf| {
            shelf.offers.remove(&name).map(drop).ok_or(StoreError::NotFound("offer"))
        })
    }

    fn grants(&self, kind: RowKind) -> StoreFuture<'_, Vec<RowGrant>> {
        self.read_rows(kind, |shelf| shelf.grants.values().cloned().collect())
    }

    fn save_grant(&self, grant: RowGrant, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.change_rows(grant.kind, vec![audit], |shelf| {
            shelf.grants.insert((grant.name.clone(), grant.grant.clone()), grant);
            Ok(())
        })
    }

    fn delete_grant(
        &self,
        kind: RowKind,
        name: String,
        grant: String,
        audit: AuditEntry,
    ) -> StoreFuture<'_, ()> {
        self.change_rows(kind, vec![audit], |shelf| {
            shelf.grants.remove(&(name, grant)).map(drop).ok_or(StoreError::NotFound("grant"))
        })
    }

    fn save_switch(
        &self,
        kind: RowKind,
        name: String,
        enabled: bool,
        audit: AuditEntry,
    ) -> StoreFuture<'_, ()> {
        self.change_rows(kind, vec![audit], |shelf| {
            shelf.switches.insert(name, enabled);
            Ok(())
        })
    }

    fn switches(&self, kind: RowKind) -> StoreFuture<'_, Vec<(String, bool)>> {
        self.read_rows(kind, |shelf| shelf.switches.clone().into_iter().collect())
    }

    fn row_changes(&self, kind: RowKind) -> StoreFuture<'_, u64> {
        self.read_rows(kind, |shelf| shelf.changes)
    }

    fn save_definition_files(&self, files: Vec<DefinitionFile>) -> StoreFuture<'_, ()> {
        self.with_tables(|all| {
            let files = files.into_iter().map(|file| (file.hash, file.bytes));
            all.definition_files.extend(files);
            Ok(())
        })
    }

    fn definition_file(&self, hash: String) -> StoreFuture<'_, Arc<[u8]>> {
        self.with_tables(|all| {
            all.definition_files.get(&hash).cloned().ok_or(StoreError::NotFound("file of a definition"))
        })
    }

    fn keep_model_profile(&self, model: String, profile: ModelProfile) -> StoreFuture<'_, ()> {
        self.with_tables(|all| {
            all.profiles.insert(model, profile);
            Ok(())
        })
    }

    fn model_profiles(&self) -> StoreFuture<'_, Vec<(String, ModelProfile)>> {
        self.with_tables(|all| Ok(all.profiles.clone().into_iter().collect()))
    }
}
