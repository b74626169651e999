//! Files that definitions name.

use std::sync::Arc;

use helve_store::{DefinitionFile, StoreError};

use crate::postgres::columns::{Db, column};

pub(super) async fn save(db: &Db<'_>, files: &[DefinitionFile]) -> Result<(), StoreError> {
    for DefinitionFile { hash, bytes } in files {
        db.execute(
            "INSERT INTO definition_files (hash, bytes) VALUES ($1, $2) ON CONFLICT (hash) DO NOTHING",
            &[hash, &&bytes[..]],
        )
        .await?;
    }
    Ok(())
}

pub(super) async fn find(db: &Db<'_>, hash: &str) -> Result<Arc<[u8]>, StoreError> {
    let row = db.first("SELECT bytes FROM definition_files WHERE hash = $1", &[&hash]).await?;
    let row = row.ok_or(StoreError::NotFound("file of a definition"))?;
    Ok(column::<Vec<u8>>(&row, "bytes")?.into())
}
