//! Definitions.

mod definitions;
mod files;
mod grants;
mod offers;
mod profiles;

use std::sync::Arc;

use helve_store::{
    AuditEntry, DefinitionFile, RowChange, RowGrant, RowKind, RowOffer, RowRecord, Rows, StoreFuture, Wakeup,
};
use helve_types::ModelProfile;

use super::PostgresStore;

impl Rows for PostgresStore {
    fn rows(&self, kind: RowKind) -> StoreFuture<'_, Vec<RowRecord>> {
        self.read(kind, |db, kind| Box::pin(definitions::list(db, *kind)))
    }

    fn row(&self, kind: RowKind, name: String) -> StoreFuture<'_, RowRecord> {
        self.read((kind, name), |db, (kind, name)| Box::pin(definitions::find(db, *kind, name)))
    }

    fn row_versions(&self, kind: RowKind, name: String) -> StoreFuture<'_, Vec<RowRecord>> {
        self.read((kind, name), |db, (kind, name)| Box::pin(definitions::versions(db, *kind, name)))
    }

    fn save_row(&self, change: RowChange) -> StoreFuture<'_, RowRecord> {
        self.write_and_wake(Wakeup::Rows(change.row.kind), change, |db, change| {
            Box::pin(definitions::save(db, change))
        })
    }

    fn save_rows(&self, changes: Vec<RowChange>) -> StoreFuture<'_, Vec<RowRecord>> {
        let Some(kind) = changes.first().map(|change| change.row.kind) else {
            return Box::pin(async { Ok(vec![]) });
        };
        self.write_and_wake(Wakeup::Rows(kind), changes, |db, changes| {
            Box::pin(definitions::save_all(db, changes))
        })
    }

    fn delete_row(
        &self,
        kind: RowKind,
        name: String,
        expected: Option<u32>,
        audit: AuditEntry,
    ) -> StoreFuture<'_, ()> {
        let change = (kind, name, expected, audit);
        self.write_and_wake(Wakeup::Rows(kind), change, |db, (kind, name, expected, audit)| {
            Box::pin(definitions::delete(db, *kind, name, *expected, audit))
        })
    }

    fn offers(&self, kind: RowKind) -> StoreFuture<'_, Vec<RowOffer>> {
        self.read(kind, |db, kind| Box::pin(offers::list(db, *kind)))
    }

    fn save_offer(&self, offer: RowOffer, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_and_wake(Wakeup::Rows(offer.kind), (offer, audit), |db, (offer, audit)| {
            Box::pin(offers::save(db, offer, audit))
        })
    }

    fn delete_offer(&self, kind: RowKind, name: String, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_and_wake(Wakeup::Rows(kind), (kind, name, audit), |db, (kind, name, audit)| {
            Box::pin(offers::delete(db, *kind, name, audit))
        })
    }

    fn grants(&self, kind: RowKind) -> StoreFuture<'_, Vec<RowGrant>> {
        self.read(kind, |db, kind| Box::pin(grants::list(db, *kind)))
    }

    fn save_grant(&self, grant: RowGrant, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_and_wake(Wakeup::Rows(grant.kind), (grant, audit), |db, (grant, audit)| {
            Box::pin(grants::save(db, grant, audit))
        })
    }

    fn delete_grant(
        &self,
        kind: RowKind,
        name: String,
        grant: String,
        audit: AuditEntry,
    ) -> StoreFuture<'_, ()> {
        let change = (kind, name, grant, audit);
        self.write_and_wake(Wakeup::Rows(kind), change, |db, (kind, name, grant, audit)| {
            Box::pin(grants::delete(db, *kind, name, grant, audit))
        })
    }

    fn save_switch(
        &self,
        kind: RowKind,
        name: String,
        enabled: bool,
        audit: AuditEntry,
    ) -> StoreFuture<'_, ()> {
        let change = (kind, name, enabled, audit);
        self.write_and_wake(Wakeup::Rows(kind), change, |db, (kind, name, enabled, audit)| {
            Box::pin(definitions::save_switch(db, *kind, name, *enabled, audit))
        })
    }

    fn switches(&self, kind: RowKind) -> StoreFuture<'_, Vec<(String, bool)>> {
        self.read(kind, |db, kind| Box::pin(definitions::switches(db, *kind)))
    }

    fn row_changes(&self, kind: RowKind) -> StoreFuture<'_, u64> {
        self.read(kind, |db, kind| Box::pin(definitions::changes(db, *kind)))
    }

    fn save_definition_files(&self, files: Vec<DefinitionFile>) -> StoreFuture<'_, ()> {
        self.write_now(files, |db, files| Box::pin(files::save(db, files)))
    }

    fn definition_file(&self, hash: String) -> StoreFuture<'_, Arc<[u8]>> {
        self.read(hash, |db, hash| Box::pin(files::find(db, hash)))
    }

    fn keep_model_profile(&self, model: String, profile: ModelProfile) -> StoreFuture<'_, ()> {
        self.write_now((model, profile), |db, (model, profile)| Box::pin(profiles::save(db, model, profile)))
    }

    fn model_profiles(&self) -> StoreFuture<'_, Vec<(String, ModelProfile)>> {
        self.read((), |db, ()| Box::pin(profiles::all_profiles(db)))
    }
}
