//! Sessions of the page that began with a password or at an identity provider.

use helve_store::{AuditEntry, SessionRecord, SessionsToEnd, StoreError, USER_SESSIONS_MAX};
use helve_types::{Timestamp, UserId};
use rusqlite::{Connection, Row, params};

use crate::sqlite::audit;
use crate::sqlite::columns::{all, column, execute, json_column, to_json};

pub(super) fn create(
    connection: &Connection,
    session: &SessionRecord,
    line: &AuditEntry,
) -> Result<(), StoreError> {
    execute(connection, "DELETE FROM page_sessions WHERE expires_at <= ?1", [session.started_at.0])?;
    execute(
        connection,
        "INSERT INTO page_sessions (secret_hash, user, started_at, expires_at, provider)
         VALUES (?1, ?2, ?3, ?4, ?5)",
        params![
            session.secret_hash,
            session.user.0,
            session.started_at.0,
            session.expires_at.0,
            session.provider.as_ref().map(to_json).transpose()?
        ],
    )?;
    execute(
        connection,
        "DELETE FROM page_sessions WHERE user = ?1 AND secret_hash NOT IN
             (SELECT secret_hash FROM page_sessions WHERE user = ?1
              ORDER BY started_at DESC, secret_hash DESC LIMIT ?2)",
        params![session.user.0, i64::try_from(USER_SESSIONS_MAX).unwrap_or(i64::MAX)],
    )?;
    audit::append(connection, line)
}

pub(super) fn all_sessions(connection: &Connection) -> Result<Vec<SessionRecord>, StoreError> {
    all(connection, "SELECT * FROM page_sessions ORDER BY started_at, secret_hash", [], read)
}

fn read(row: &Row<'_>) -> Result<SessionRecord, StoreError> {
    let is_provided = column::<Option<String>>(row, "provider")?.is_some();
    Ok(SessionRecord {
        secret_hash: column(row, "secret_hash")?,
        user: UserId(column(row, "user")?),
        started_at: Timestamp(column(row, "started_at")?),
        expires_at: Timestamp(column(row, "expires_at")?),
        provider: is_provided.then(|| json_column(row, "provider")).transpose()?,
    })
}

pub(super) fn end(
    connection: &Connection,
    which: &SessionsToEnd,
    line: &AuditEntry,
) -> Result<u64, StoreError> {
    let ended = all_sessions(connection)?.into_iter().filter(|session| which.include(session));
    let mut count = 0;
    for session in ended {
        let sql = "DELETE FROM page_sessions WHERE secret_hash = ?1";
        count += execute(connection, sql, [session.secret_hash])? as u64;
    }
    audit::append(connection, line)?;
    Ok(count)
}
