//! Rows with what they define.

use helve_types::{RowId, Timestamp};

use crate::DefinitionKind;

/// One version of a definition.
#[derive(Debug, Clone, PartialEq)]
pub struct DefinitionRow<K: DefinitionKind> {
    pub id: RowId,
    pub definition: K::Definition,
    /// 1, 2, …: never twice under one name, so that it says which of all definitions is meant.
    pub version: u32,
    /// Of the definition, which runs and approvals are bound to.
    pub hash: String,
    /// When the first version was made.
    pub created_at: Timestamp,
    /// When this version was.
    pub updated_at: Timestamp,
}

impl<K: DefinitionKind> DefinitionRow<K> {
    /// A row that is not saved yet.
    pub fn new(id: RowId, definition: K::Definition, at: Timestamp) -> Self {
        Self { id, hash: K::hash(&definition), definition, version: 0, created_at: at, updated_at: at }
    }

    /// The same row with another definition.
    pub fn changed_to(&self, definition: K::Definition, at: Timestamp) -> Self {
        Self { hash: K::hash(&definition), definition, updated_at: at, ..self.clone() }
    }

    pub fn name(&self) -> &str {
        K::name(&self.definition)
    }
}

/// A definition that a row's origin offers in the place of the one that a person agreed to. As long as it is there, the
/// row is in quarantine.
#[derive(Debug, Clone, PartialEq)]
pub struct DefinitionOffer<K: DefinitionKind> {
    /// Where it is from.
    pub origin: String,
    pub definition: K::Definition,
    /// The hash of the definition that it was compared with.
    pub over: String,
    pub at: Timestamp,
}

impl<K: DefinitionKind> DefinitionOffer<K> {
    pub fn name(&self) -> &str {
        K::name(&self.definition)
    }
}

/// A consent of the operator's to one row. It ends when it is revoked or when the row is deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinitionGrant<K: DefinitionKind> {
    pub name: String,
    pub grant: K::Grant,
    pub by: String,
    pub at: Timestamp,
}
