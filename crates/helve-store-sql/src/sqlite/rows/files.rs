//! Files that definitions name.

use std::sync::Arc;

use helve_store::{DefinitionFile, StoreError};
use rusqlite::{Connection, params};

use crate::sqlite::columns::{column, execute, first};

pub(crate) fn save(connection: &Connection, files: &[DefinitionFile]) -> Result<(), StoreError> {
    for DefinitionFile { hash, bytes } in files {
        execute(
            connection,
            "INSERT OR IGNORE INTO definition_files (hash, bytes) VALUES (?1, ?2)",
            params![hash, &bytes[..]],
        )?;
    }
    Ok(())
}

pub(crate) fn find(connection: &Connection, hash: &str) -> Result<Arc<[u8]>, StoreError> {
    let sql = "SELECT bytes FROM definition_files WHERE hash = ?1";
    let bytes: Option<Vec<u8>> = first(connection, sql, [hash], |row| column(row, "bytes"))?;
    bytes.map(Arc::from).ok_or(StoreError::NotFound("file of a definition"))
}
