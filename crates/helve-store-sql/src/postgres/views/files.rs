//! Files that calls made.

use helve_store::{KeptFile, Scope, StoreError};
use helve_types::{RunId, Timestamp};

use super::runs::add_scope;
use crate::postgres::columns::{Conditions, Db, column, replace_nul, text_id_column};
use crate::postgres::log::journal::Batch;

/// Keeps the files of a batch, in the transaction that keeps its events.
pub(in crate::postgres) async fn save_files(
    db: &Db<'_>,
    batch: &Batch,
    at: Timestamp,
) -> Result<(), StoreError> {
    for file in &batch.files {
        db.execute(
            "INSERT INTO files (run, id, call, name, media_type, bytes, at)
             VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (run, id) DO NOTHING",
            &[
                &batch.run.0,
                &file.id,
                &file.call.to_string(),
                &replace_nul(&file.name),
                &replace_nul(&file.media_type),
                &&*file.bytes,
                &at.0,
            ],
        )
        .await?;
    }
    Ok(())
}

pub(super) async fn find_file(
    db: &Db<'_>,
    scope: &Scope,
    run: RunId,
    id: &str,
) -> Result<KeptFile, StoreError> {
    let id = replace_nul(id);
    let mut conditions = Conditions::default();
    conditions.add_condition("files.run = {} AND files.id = {}", &[&run.0, &id]);
    add_scope(&mut conditions, scope, "runs.user_id");
    let sql = conditions.append_to("SELECT files.* FROM files JOIN runs ON runs.id = files.run");
    let row = db.first(&sql, conditions.values()).await?.ok_or(StoreError::NotFound("file"))?;
    Ok(KeptFile {
        id: column(&row, "id")?,
        call: text_id_column(&row, "call")?,
        name: column(&row, "name")?,
        media_type: column(&row, "media_type")?,
        bytes: column::<Vec<u8>>(&row, "bytes")?.into(),
    })
}
