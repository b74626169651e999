//! The audit log.

use std::collections::BTreeMap;

use helve_types::UserId;

use super::{MemoryStore, MemoryTables};
use crate::{Audit, AuditEntry, AuditFilter, AuditHead, AuditRecord, ChainedEntry, StoreFuture};

#[derive(Default)]
pub(super) struct MemoryAudit {
    /// As they were handed in.
    pub(super) entries: Vec<AuditEntry>,
    chain: Vec<ChainedEntry>,
    /// By user.
    pseudonyms: BTreeMap<String, String>,
    pseudonyms_given: u64,
}

impl MemoryAudit {
    pub(super) fn append(&mut self, entry: AuditEntry) {
        let by = self.pseudonym_of(&entry.by);
        let about = entry.about.as_deref().map(|user| self.pseudonym_of(user));
        self.chain.push(ChainedEntry::after(self.head(), &entry, by, about));
        self.entries.push(entry);
    }

    fn head(&self) -> AuditHead {
        self.chain.last().map_or(AuditHead::default(), ChainedEntry::head)
    }

    /// Not random here: this store is a fake, and numbers are never used again.
    fn pseudonym_of(&mut self, user: &str) -> String {
        let given = &mut self.pseudonyms_given;
        let fresh = || {
            *given += 1;
            format!("p_{given}")
        };
        self.pseudonyms.entry(user.to_owned()).or_insert_with(fresh).clone()
    }

    fn name_of(&self, pseudonym: &str) -> Option<String> {
        let found = self.pseudonyms.iter().find(|(_, held)| *held == pseudonym);
        found.map(|(user, _)| user.clone())
    }

    fn record(&self, entry: &ChainedEntry) -> AuditRecord {
        AuditRecord {
            by: self.name_of(&entry.by),
            about: entry.about.as_deref().and_then(|about| self.name_of(about)),
            entry: entry.clone(),
        }
    }

    fn is_meant(record: &AuditRecord, filter: &AuditFilter) -> bool {
        let AuditRecord { entry, by, about } = record;
        filter.user.as_ref().is_none_or(|user| by.as_ref() == Some(user) || about.as_ref() == Some(user))
            && filter.action.as_ref().is_none_or(|action| {
                let rest = entry.action.strip_prefix(&**action);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            })
            && filter.since.is_none_or(|since| entry.at >= since)
            && filter.until.is_none_or(|until| entry.at < until)
            && filter.before.is_none_or(|before| entry.seq < before)
    }
}

impl MemoryTables {
    pub(super) fn audit(&mut self, entry: AuditEntry) {
        self.audit.append(entry);
    }
}

impl Audit for MemoryStore {
    fn record_audit(&self, entry: AuditEntry) -> StoreFuture<'_, ()> {
        self.with_tables(|all| {
            all.audit(entry);
            Ok(())
        })
    }

    fn audit_head(&self) -> StoreFuture<'_, AuditHead> {
        self.with_tables(|all| Ok(all.audit.head()))
    }

    fn audit_chain(&self, after: u64, limit: usize) -> StoreFuture<'_, Vec<ChainedEntry>> {
        self.with_tables(|all| {
            let later = all.audit.chain.iter().filter(|entry| entry.seq > after);
            Ok(later.take(limit).cloned().collect())
        })
    }

    fn audit_records(&self, filter: AuditFilter, limit: usize) -> StoreFuture<'_, Vec<AuditRecord>> {
        self.with_tables(|all| {
            let records = all.audit.chain.iter().rev().map(|entry| all.audit.record(entry));
            Ok(records.filter(|record| MemoryAudit::is_meant(record, &filter)).take(limit).collect())
        })
    }

    fn forget_pseudonym(&self, user: UserId, entry: AuditEntry) -> StoreFuture<'_, ()> {
        self.with_tables(|all| {
            all.audit(entry);
            all.audit.pseudonyms.remove(&user.0);
            Ok(())
        })
    }
}
