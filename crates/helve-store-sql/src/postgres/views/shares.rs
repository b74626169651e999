//! What each user keeps. A run's bytes are written with what they count, so the sum survives whatever the rows survive.

use helve_store::{NewRun, Share, StoreError};
use helve_types::{ConversationId, UserId};

use crate::postgres::columns::{Db, number, to_bigint, to_json};
use crate::postgres::log::journal::Batch;

pub(super) async fn read_share(db: &Db<'_>, user: &UserId) -> Result<Share, StoreError> {
    let sql = "SELECT (SELECT least(coalesce(sum(bytes), 0), 9223372036854775807)::bigint
                       FROM run_bytes WHERE user_id = $1) AS bytes,
                      (SELECT count(*) FROM runs
                       WHERE user_id = $1 AND ended_at IS NULL AND state <> 'running') AS waiting";
    let Some(row) = db.first(sql, &[&user.0]).await? else { return Ok(Share::default()) };
    Ok(Share { bytes: number(&row, "bytes")?, waiting_runs: number(&row, "waiting")? })
}

pub(in crate::postgres) async fn insert_share(db: &Db<'_>, new: &NewRun) -> Result<(), StoreError> {
    let message = new.message.as_ref().map(to_json).transpose()?.map_or(0, |message| message.len());
    let bytes = to_json(&new.setup)?.len() + new.started.json.len() + message;
    let sql = "INSERT INTO run_bytes (user_id, run, bytes) VALUES ($1, $2, $3)";
    db.execute(sql, &[&new.user.0, &new.run.0, &to_bigint(bytes)]).await.map(drop)
}

/// Counts what is kept of a batch; `events` are its new ones alone.
pub(in crate::postgres) async fn add_bytes(
    db: &Db<'_>,
    batch: &Batch,
    events: usize,
) -> Result<(), StoreError> {
    let full_outputs: usize = batch.full_outputs.iter().map(|output| output.text.len()).sum();
    let files: usize = batch.files.iter().map(|file| file.bytes.len()).sum();
    let message = batch.message.as_ref().map(to_json).transpose()?.map_or(0, |message| message.len());
    let sql = "UPDATE run_bytes SET bytes = bytes + $2
               WHERE user_id = (SELECT user_id FROM runs WHERE id = $1) AND run = $1";
    db.execute(sql, &[&batch.run.0, &to_bigint(events + full_outputs + files + message)]).await.map(drop)
}

/// Gives back what the runs of a conversation took up.
pub(super) async fn delete_bytes(db: &Db<'_>, id: ConversationId) -> Result<(), StoreError> {
    let sql = "DELETE FROM run_bytes WHERE (user_id, run) IN (SELECT user_id, id FROM runs WHERE conversation = $1)";
    db.execute(sql, &[&id.0]).await.map(drop)
}
