//! What each user keeps. Bytes are counted in the transaction that writes them, so the count survives what the rows
//! survive.

use helve_store::{Append, NewRun, Share, StoreError};
use helve_types::{ConversationId, UserId};
use rusqlite::{Connection, params};

use crate::sqlite::columns::{column, execute, first, to_json};

const READ_SHARE: &str = "\
    SELECT coalesce((SELECT bytes FROM user_bytes WHERE user = ?1), 0) AS bytes,
           (SELECT count(*) FROM runs WHERE user = ?1 AND ended_at IS NULL AND state <> 'running') AS waiting";

pub(crate) fn read_share(connection: &Connection, user: &UserId) -> Result<Share, StoreError> {
    let share = first(connection, READ_SHARE, params![user.0], |row| {
        Ok(Share { bytes: column(row, "bytes")?, waiting_runs: column(row, "waiting")? })
    })?;
    Ok(share.unwrap_or_default())
}

/// The bytes that a run takes up when it is opened.
pub(crate) fn count_opening(new: &NewRun) -> Result<i64, StoreError> {
    let message = new.message.as_ref().map(to_json).transpose()?.map_or(0, |message| message.len());
    Ok(to_bigint(to_json(&new.setup)?.len() + new.started.json.len() + message))
}

/// Adds to what a user keeps.
pub(crate) fn add_to_user(connection: &Connection, user: &UserId, bytes: i64) -> Result<(), StoreError> {
    execute(
        connection,
        "INSERT INTO user_bytes (user, bytes) VALUES (?1, ?2)
         ON CONFLICT (user) DO UPDATE SET bytes = bytes + excluded.bytes",
        params![user.0, bytes],
    )?;
    Ok(())
}

/// Counts what is kept of a batch; `events` are its new ones alone.
pub(crate) fn add_batch(connection: &Connection, batch: &Append, events: usize) -> Result<(), StoreError> {
    let full_outputs: usize = batch.full_outputs.iter().map(|output| output.text.len()).sum();
    let files: usize = batch.files.iter().map(|file| file.bytes.len()).sum();
    let message = batch.message.as_ref().map(to_json).transpose()?.map_or(0, |message| message.len());
    let (run, bytes) = (batch.writer.run.0, to_bigint(events + full_outputs + files + message));
    execute(connection, "UPDATE runs SET bytes = bytes + ?2 WHERE id = ?1", params![run.as_bytes(), bytes])?;
    execute(
        connection,
        "UPDATE user_bytes SET bytes = bytes + ?2 WHERE user = (SELECT user FROM runs WHERE id = ?1)",
        params![run.as_bytes(), bytes],
    )?;
    Ok(())
}

/// Gives back what the runs of a conversation took up.
pub(crate) fn subtract_conversation(connection: &Connection, id: ConversationId) -> Result<(), StoreError> {
    execute(
        connection,
        "UPDATE user_bytes
         SET bytes = bytes - (SELECT coalesce(sum(bytes), 0) FROM runs WHERE conversation = ?1)
         WHERE user = (SELECT user FROM conversations WHERE id = ?1)",
        [id.0.as_bytes()],
    )?;
    Ok(())
}

fn to_bigint(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::*;
    use crate::migrate::SQLITE;

    #[test]
    fn the_share_of_a_user_with_a_thousand_ended_runs_takes_as_many_steps_as_with_one() {
        let connection = Connection::open_in_memory().unwrap();
        SQLITE.iter().for_each(|known| connection.execute_batch(known.sql).unwrap());
        let mei = UserId("mei".into());
        connection.execute("INSERT INTO users VALUES ('mei', 1)", []).unwrap();
        let add_run = |number: i64| {
            let sql = "INSERT INTO runs (id, user, history, state, epoch, owner, resumes, created_at, ended_at, bytes)
                       VALUES (?1, 'mei', 0, 'completed', 1, 'o', 0, 1, 2, 10)";
            connection.execute(sql, [number.to_be_bytes()]).unwrap();
            add_to_user(&connection, &mei, 10).unwrap();
        };
        let steps = || {
            read_share(&connection, &mei).unwrap();
            connection.prepare_cached(READ_SHARE).unwrap().reset_status(StatementStatus::VmStep)
        };
        add_run(1);
        let with_one = steps();
        (2..=1_000).for_each(add_run);
        assert_eq!(steps(), with_one);
        assert_eq!(read_share(&connection, &mei).unwrap().bytes, 10_000);
    }
}
