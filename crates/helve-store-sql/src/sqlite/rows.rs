//! Definitions.

pub(crate) mod definitions;
pub(crate) mod files;
pub(crate) mod grants;
pub(crate) mod offers;
pub(crate) mod profiles;

use std::sync::Arc;

use helve_store::{
    AuditEntry, DefinitionFile, RowChange, RowGrant, RowKind, RowOffer, RowRecord, Rows, StoreFuture, Wakeup,
};
use helve_types::ModelProfile;

use super::SqliteStore;

impl Rows for SqliteStore {
    fn rows(&self, kind: RowKind) -> StoreFuture<'_, Vec<RowRecord>> {
        self.read(move |connection| definitions::list(connection, kind))
    }

    fn row(&self, kind: RowKind, name: String) -> StoreFuture<'_, RowRecord> {
        self.read(move |connection| definitions::find(connection, kind, &name))
    }

    fn row_versions(&self, kind: RowKind, name: String) -> StoreFuture<'_, Vec<RowRecord>> {
        self.read(move |connection| definitions::versions(connection, kind, &name))
    }

    fn save_row(&self, change: RowChange) -> StoreFuture<'_, RowRecord> {
        self.write_and_wake(Wakeup::Rows(change.row.kind), move |connection| {
            definitions::save(connection, &change)
        })
    }

    fn save_rows(&self, changes: Vec<RowChange>) -> StoreFuture<'_, Vec<RowRecord>> {
        let Some(kind) = changes.first().map(|change| change.row.kind) else {
            return Box::pin(async { Ok(vec![]) });
        };
        self.write_and_wake(Wakeup::Rows(kind), move |connection| definitions::save_all(connection, &changes))
    }

    fn delete_row(
        &self,
        kind: RowKind,
        name: String,
        expected: Option<u32>,
        audit: AuditEntry,
    ) -> StoreFuture<'_, ()> {
        self.write_and_wake(Wakeup::Rows(kind), move |connection| {
            definitions::delete(connection, kind, &name, expected, &audit)
        })
    }

    fn offers(&self, kind: RowKind) -> StoreFuture<'_, Vec<RowOffer>> {
        self.read(move |connection| offers::list(connection, kind))
    }

    fn save_offer(&self, offer: RowOffer, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_and_wake(Wakeup::Rows(offer.kind), move |connection| {
            offers::save(connection, &offer, &audit)
        })
    }

    fn delete_offer(&self, kind: RowKind, name: String, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_and_wake(Wakeup::Rows(kind), move |connection| {
            offers::delete(connection, kind, &name, &audit)
        })
    }

    fn grants(&self, kind: RowKind) -> StoreFuture<'_, Vec<RowGrant>> {
        self.read(move |connection| grants::list(connection, kind))
    }

    fn save_grant(&self, grant: RowGrant, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_and_wake(Wakeup::Rows(grant.kind), move |connection| {
            grants::save(connection, &grant, &audit)
        })
    }

    fn delete_grant(
        &self,
        kind: RowKind,
        name: String,
        grant: String,
        audit: AuditEntry,
    ) -> StoreFuture<'_, ()> {
        self.write_and_wake(Wakeup::Rows(kind), move |connection| {
            grants::delete(connection, kind, &name, &grant, &audit)
        })
    }

    fn save_switch(
        &self,
        kind: RowKind,
        name: String,
        enabled: bool,
        audit: AuditEntry,
    ) -> StoreFuture<'_, ()> {
        self.write_and_wake(Wakeup::Rows(kind), move |connection| {
            definitions::save_switch(connection, kind, &name, enabled, &audit)
        })
    }

    fn switches(&self, kind: RowKind) -> StoreFuture<'_, Vec<(String, bool)>> {
        self.read(move |connection| definitions::switches(connection, kind))
    }

    fn row_changes(&self, kind: RowKind) -> StoreFuture<'_, u64> {
        self.read(move |connection| definitions::changes(connection, kind))
    }

    fn save_definition_files(&self, files: Vec<DefinitionFile>) -> StoreFuture<'_, ()> {
        self.write_now(move |connection| files::save(connection, &files))
    }

    fn definition_file(&self, hash: String) -> StoreFuture<'_, Arc<[u8]>> {
        self.read(move |connection| files::find(connection, &hash))
    }

    fn keep_model_profile(&self, model: String, profile: ModelProfile) -> StoreFuture<'_, ()> {
        self.write_now(move |connection| profiles::save(connection, &model, &profile))
    }

    fn model_profiles(&self) -> StoreFuture<'_, Vec<(String, ModelProfile)>> {
        self.read(profiles::all_profiles)
    }
}
