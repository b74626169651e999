//! What each user keeps. A run's bytes are written with what they count, so the sum survives whatever the rows survive.

use helve_store::{Append, NewRun, Share, StoreError};
use helve_types::{ConversationId, UserId};
use rusqlite::{Connection, params};

use crate::sqlite::columns::{column, execute, first, to_json};

pub(crate) fn read_share(connection: &Connection, user: &UserId) -> Result<Share, StoreError> {
    let share = first(
        connection,
        "SELECT (SELECT coalesce(sum(bytes), 0) FROM run_bytes WHERE user = ?1) AS bytes,
                (SELECT count(*) FROM runs WHERE user = ?1 AND ended_at IS NULL AND state <> 'running') AS waiting",
        params![user.0],
        |row| Ok(Share { bytes: column(row, "bytes")?, waiting_runs: column(row, "waiting")? }),
    )?;
    Ok(share.unwrap_or_default())
}

pub(crate) fn insert_share(connection: &Connection, new: &NewRun) -> Result<(), StoreError> {
    let message = new.message.as_ref().map(to_json).transpose()?.map_or(0, |message| message.len());
    let bytes = to_json(&new.setup)?.len() + new.started.json.len() + message;
    execute(
        connection,
        "INSERT INTO run_bytes (user, run, bytes) VALUES (?1, ?2, ?3)",
        params![new.user.0, new.run.0.as_bytes(), to_bigint(bytes)],
    )?;
    Ok(())
}

/// Counts what is kept of a batch; `events` are its new ones alone.
pub(crate) fn add_bytes(connection: &Connection, batch: &Append, events: usize) -> Result<(), StoreError> {
    let full_outputs: usize = batch.full_outputs.iter().map(|output| output.text.len()).sum();
    let files: usize = batch.files.iter().map(|file| file.bytes.len()).sum();
    let message = batch.message.as_ref().map(to_json).transpose()?.map_or(0, |message| message.len());
    execute(
        connection,
        "UPDATE run_bytes SET bytes = bytes + ?2 WHERE user = (SELECT user FROM runs WHERE id = ?1) AND run = ?1",
        params![batch.writer.run.0.as_bytes(), to_bigint(events + full_outputs + files + message)],
    )?;
    Ok(())
}

/// Gives back what the runs of a conversation took up.
pub(crate) fn delete_bytes(connection: &Connection, id: ConversationId) -> Result<(), StoreError> {
    execute(
        connection,
        "DELETE FROM run_bytes WHERE (user, run) IN (SELECT user, id FROM runs WHERE conversation = ?1)",
        [id.0.as_bytes()],
    )?;
    Ok(())
}

fn to_bigint(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
