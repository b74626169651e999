//! What each user keeps. Bytes are counted in the transaction that writes them, so the count survives what the rows
//! survive.

use helve_store::{NewRun, Share, StoreError};
use helve_types::{ConversationId, UserId};

use crate::postgres::columns::{Db, number, to_bigint, to_json};
use crate::postgres::log::journal::Batch;

pub(super) async fn read_share(db: &Db<'_>, user: &UserId) -> Result<Share, StoreError> {
    let sql = "SELECT coalesce((SELECT bytes FROM user_bytes WHERE user_id = $1), 0) AS bytes,
                      (SELECT count(*) FROM runs
                       WHERE user_id = $1 AND ended_at IS NULL AND state <> 'running') AS waiting";
    let Some(row) = db.first(sql, &[&user.0]).await? else { return Ok(Share::default()) };
    Ok(Share { bytes: number(&row, "bytes")?, waiting_runs: number(&row, "waiting")? })
}

/// The bytes that a run takes up when it is opened.
pub(in crate::postgres) fn count_opening(new: &NewRun) -> Result<i64, StoreError> {
    let message = new.message.as_ref().map(to_json).transpose()?.map_or(0, |message| message.len());
    Ok(to_bigint(to_json(&new.setup)?.len() + new.started.json.len() + message))
}

/// Adds to what a user keeps.
pub(in crate::postgres) async fn add_to_user(
    db: &Db<'_>,
    user: &UserId,
    bytes: i64,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO user_bytes (user_id, bytes) VALUES ($1, $2)
               ON CONFLICT (user_id) DO UPDATE SET bytes = user_bytes.bytes + excluded.bytes";
    db.execute(sql, &[&user.0, &bytes]).await.map(drop)
}

/// Counts what is kept of a batch; `events` are its new ones alone.
pub(in crate::postgres) async fn add_batch(
    db: &Db<'_>,
    batch: &Batch,
    events: usize,
) -> Result<(), StoreError> {
    let full_outputs: usize = batch.full_outputs.iter().map(|output| output.text.len()).sum();
    let files: usize = batch.files.iter().map(|file| file.bytes.len()).sum();
    let message = batch.message.as_ref().map(to_json).transpose()?.map_or(0, |message| message.len());
    let sql = "WITH grown AS (UPDATE runs SET bytes = bytes + $2 WHERE id = $1 RETURNING user_id)
               UPDATE user_bytes SET bytes = user_bytes.bytes + $2
               FROM grown WHERE user_bytes.user_id = grown.user_id";
    db.execute(sql, &[&batch.run.0, &to_bigint(events + full_outputs + files + message)]).await.map(drop)
}

/// Gives back what the runs of a conversation took up.
pub(super) async fn subtract_conversation(db: &Db<'_>, id: ConversationId) -> Result<(), StoreError> {
    let sql = "UPDATE user_bytes
               SET bytes = bytes - (SELECT coalesce(sum(bytes), 0)::bigint FROM runs WHERE conversation = $1)
               WHERE user_id = (SELECT user_id FROM conversations WHERE id = $1)";
    db.execute(sql, &[&id.0]).await.map(drop)
}
