//! The versions of a definition that is kept as a row, the same for every kind of row.

use helve_tool::{DefinitionKind, DefinitionRow};
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "VersionListOf{D}")]
pub(crate) struct VersionList<D> {
    /// Oldest first.
    versions: Vec<VersionView<D>>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "VersionOf{D}")]
pub(crate) struct VersionView<D> {
    version: u32,
    hash: String,
    id: String,
    updated_at: i64,
    definition: D,
}

impl<D> VersionList<D> {
    pub(crate) fn from_rows<K: DefinitionKind<Definition = D>>(rows: Vec<DefinitionRow<K>>) -> Self {
        Self { versions: rows.into_iter().map(VersionView::from_row).collect() }
    }
}

impl<D> VersionView<D> {
    pub(crate) fn from_row<K: DefinitionKind<Definition = D>>(row: DefinitionRow<K>) -> Self {
        Self {
            version: row.version,
            hash: row.hash,
            id: row.id.to_string(),
            updated_at: row.updated_at.0,
            definition: row.definition,
        }
    }
}
