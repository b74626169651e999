//! Definitions that people write: tools, and whatever comes.
//!
//! The store keeps JSON under a name and a version and does not know what it means. A `Kind` says what it means; a
//! `RowTable` reads and writes the rows of one kind as values of its type. Nothing here knows any single kind.

mod kind;
mod row;
mod table;

pub use kind::{Kind, StoredBody};
pub use row::{DefinitionGrant, DefinitionOffer, DefinitionRow};
pub use table::{RowTable, SaveOptions};
