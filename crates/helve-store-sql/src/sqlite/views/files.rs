//! Files that calls made.

use helve_store::{Append, KeptFile, Scope, StoreError};
use helve_types::{RunId, Timestamp};
use rusqlite::{Connection, params};

use crate::sqlite::columns::{column, execute, first, text_id_column};
use crate::sqlite::views::runs::user_of_scope;

/// Keeps the files of a batch, in the transaction that keeps its events.
pub(crate) fn save_files(connection: &Connection, batch: &Append, at: Timestamp) -> Result<(), StoreError> {
    for file in &batch.files {
        execute(
            connection,
            "INSERT OR IGNORE INTO files (run, id, call, name, media_type, bytes, at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                batch.writer.run.0.as_bytes(),
                file.id,
                file.call.to_string(),
                file.name,
                file.media_type,
                &*file.bytes,
                at.0
            ],
        )?;
    }
    Ok(())
}

pub(crate) fn find_file(
    connection: &Connection,
    scope: &Scope,
    run: RunId,
    id: &str,
) -> Result<KeptFile, StoreError> {
    first(
        connection,
        "SELECT files.* FROM files JOIN runs ON runs.id = files.run
         WHERE files.run = ?1 AND files.id = ?2 AND (?3 IS NULL OR runs.user = ?3)",
        params![run.0.as_bytes(), id, user_of_scope(scope)],
        |row| {
            Ok(KeptFile {
                id: column(row, "id")?,
                call: text_id_column(row, "call")?,
                name: column(row, "name")?,
                media_type: column(row, "media_type")?,
                bytes: column::<Vec<u8>>(row, "bytes")?.into(),
            })
        },
    )?
    .ok_or(StoreError::NotFound("file"))
}
