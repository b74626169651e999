//! Definitions that people write and Helve keeps, each in all its versions, whatever they define.
//!
//! A kind of definition is a name: a new one needs no method and no table. What is in a body, only its kind knows.

use std::fmt;
use std::sync::Arc;

use helve_types::{ModelProfile, RowId, Timestamp};

use crate::{AuditEntry, StoreFuture};

/// What rows define: tools, and whatever comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RowKind(&'static str);

impl RowKind {
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }

    pub fn as_str(self) -> &'static str {
        self.0
    }
}

/// One version of a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowRecord {
    pub kind: RowKind,
    /// One kind has a name once.
    pub name: String,
    pub id: RowId,
    /// 1, 2, …: never twice under one name, so that it says which of all definitions is meant.
    pub version: u32,
    /// Of the body, as its kind computes it: runs and approvals are bound to it.
    pub hash: String,
    pub enabled: bool,
    /// JSON.
    pub body: String,
    /// When the first version was made.
    pub created_at: Timestamp,
    /// When this version was.
    pub updated_at: Timestamp,
}

/// A body that a row's origin offers in the place of the one that a person agreed to. As long as it is there, the row
/// is in quarantine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowOffer {
    pub kind: RowKind,
    pub name: String,
    /// Where it is from.
    pub origin: String,
    /// JSON.
    pub body: String,
    /// The hash of the body that it was compared with.
    pub over: String,
    pub at: Timestamp,
}

/// What the operator lets one row have. It ends when it is revoked or when the row is deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowGrant {
    pub kind: RowKind,
    pub name: String,
    /// JSON, by which the grant is found again.
    pub grant: String,
    pub by: String,
    pub at: Timestamp,
}

/// A file that definitions name, such as one of a skill. Its hash is made from its bytes, so the same bytes are kept once;
/// it stays as the versions of definitions do.
#[derive(Clone, PartialEq, Eq)]
pub struct DefinitionFile {
    pub hash: String,
    pub bytes: Arc<[u8]>,
}

impl fmt::Debug for DefinitionFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DefinitionFile({}, {} bytes)", self.hash, self.bytes.len())
    }
}

/// What becomes of the offer about a row when its next version is saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OfferUse {
    /// It stays what it is.
    #[default]
    Untouched,
    /// There is one, and the version is what it offered: it is deleted.
    Accepted,
}

/// A row's next version, and all that is written with it or not at all.
#[derive(Debug, Clone)]
pub struct RowChange {
    pub row: RowRecord,
    /// The version that it replaces; 0 for a new row.
    pub expected: u32,
    pub offer: OfferUse,
    pub grants: Vec<(RowGrant, AuditEntry)>,
    pub audit: AuditEntry,
}

/// Versioned definitions of any kind, with their offers, grants and switches. Each change is one transaction with its
/// line of the audit.
pub trait Rows: Send + Sync + 'static {
    /// All rows of a kind as they are now, by their names.
    fn rows(&self, kind: RowKind) -> StoreFuture<'_, Vec<RowRecord>>;

    fn row(&self, kind: RowKind, name: String) -> StoreFuture<'_, RowRecord>;

    /// Everything that rows of this name ever were, oldest first: runs go on with what they were started with.
    fn row_versions(&self, kind: RowKind, name: String) -> StoreFuture<'_, Vec<RowRecord>>;

    /// Saves a row in place of its version `expected` and returns it with its number: one more than any that its name
    /// ever had.
    fn save_row(&self, change: RowChange) -> StoreFuture<'_, RowRecord>;

    /// Saves rows of one kind as `save_row` does: all of them, or none if one is not at its version. No two have one name.
    fn save_rows(&self, changes: Vec<RowChange>) -> StoreFuture<'_, Vec<RowRecord>>;

    /// Deletes a row with its offer and its grants, if it is at the version `expected` or none is given. Its versions
    /// stay.
    fn delete_row(
        &self,
        kind: RowKind,
        name: String,
        expected: Option<u32>,
        audit: AuditEntry,
    ) -> StoreFuture<'_, ()>;

    /// What rows from outside have become, by their names: none of it holds before a person agrees.
    fn offers(&self, kind: RowKind) -> StoreFuture<'_, Vec<RowOffer>>;

    /// Saves what a row has become, in the place of what was offered about it before.
    fn save_offer(&self, offer: RowOffer, audit: AuditEntry) -> StoreFuture<'_, ()>;

    fn delete_offer(&self, kind: RowKind, name: String, audit: AuditEntry) -> StoreFuture<'_, ()>;

    /// What the operator lets rows of a kind have, by their names.
    fn grants(&self, kind: RowKind) -> StoreFuture<'_, Vec<RowGrant>>;

    fn save_grant(&self, grant: RowGrant, audit: AuditEntry) -> StoreFuture<'_, ()>;

    /// Takes back a grant, which is found by its JSON.
    fn delete_grant(
        &self,
        kind: RowKind,
        name: String,
        grant: String,
        audit: AuditEntry,
    ) -> StoreFuture<'_, ()>;

    /// Switches something of this kind that is no row on or off.
    fn save_switch(
        &self,
        kind: RowKind,
        name: String,
        enabled: bool,
        audit: AuditEntry,
    ) -> StoreFuture<'_, ()>;

    /// What of this kind is no row and was switched, by its name.
    fn switches(&self, kind: RowKind) -> StoreFuture<'_, Vec<(String, bool)>>;

    /// Grows with every change of a row, an offer, a grant or a switch of this kind, in any process.
    fn row_changes(&self, kind: RowKind) -> StoreFuture<'_, u64>;

    /// Keeps files before the definition that names them is saved. Those that are there already stay.
    fn save_definition_files(&self, files: Vec<DefinitionFile>) -> StoreFuture<'_, ()>;

    /// The bytes of a file that a definition names.
    fn definition_file(&self, hash: String) -> StoreFuture<'_, Arc<[u8]>>;

    /// Keeps what a model was found to do, in place of what was known of the model with that name.
    fn keep_model_profile(&self, model: String, profile: ModelProfile) -> StoreFuture<'_, ()>;

    /// What is known of the models, by their names.
    fn model_profiles(&self) -> StoreFuture<'_, Vec<(String, ModelProfile)>>;
}
