//! Access tokens and sessions.

use helve_store::{ActFor, AuditEntry, ENDED_SESSIONS_MAX, StoreError, Token, TokenRights};
use helve_types::{Timestamp, UserId};
use rusqlite::{Connection, Row, params};

use crate::sqlite::audit;
use crate::sqlite::columns::{all, column, execute, first, json_column, to_json, word_column};

pub(crate) fn create(connection: &Connection, token: &Token, entry: &AuditEntry) -> Result<(), StoreError> {
    execute(
        connection,
        "INSERT INTO tokens (id, secret_hash, user, rights, note, created_at, revoked_at, act_for)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            token.id,
            token.secret_hash,
            token.user.0,
            token.rights.as_str(),
            token.note,
            token.created_at.0,
            token.revoked_at.map(|at| at.0),
            token.act_for.to_string()
        ],
    )?;
    audit::append(connection, entry)
}

pub(crate) fn all_tokens(connection: &Connection) -> Result<Vec<Token>, StoreError> {
    all(connection, "SELECT * FROM tokens ORDER BY created_at, id", [], read)
}

fn read(row: &Row<'_>) -> Result<Token, StoreError> {
    Ok(Token {
        id: column(row, "id")?,
        secret_hash: column(row, "secret_hash")?,
        user: UserId(column(row, "user")?),
        rights: word_column(row, "rights", TokenRights::parse)?,
        act_for: word_column(row, "act_for", |text| ActFor::parse(text).ok())?,
        note: column(row, "note")?,
        created_at: Timestamp(column(row, "created_at")?),
        revoked_at: column::<Option<i64>>(row, "revoked_at")?.map(Timestamp),
    })
}

pub(crate) fn revoke(connection: &Connection, id: &str, entry: &AuditEntry) -> Result<(), StoreError> {
    let changed = execute(
        connection,
        "UPDATE tokens SET revoked_at = coalesce(revoked_at, ?2) WHERE id = ?1",
        params![id, entry.at.0],
    )?;
    if changed == 0 { Err(StoreError::NotFound("token")) } else { audit::append(connection, entry) }
}

/// Keeps the end of a session, and of one token's the last `ENDED_SESSIONS_MAX` alone.
pub(crate) fn end_session(
    connection: &Connection,
    token: &str,
    issued_at: Timestamp,
    entry: &AuditEntry,
) -> Result<(), StoreError> {
    execute(
        connection,
        "INSERT OR IGNORE INTO ended_sessions (token, issued_at) VALUES (?1, ?2)",
        params![token, issued_at.0],
    )?;
    execute(
        connection,
        "DELETE FROM ended_sessions WHERE token = ?1 AND issued_at NOT IN
             (SELECT issued_at FROM ended_sessions WHERE token = ?1 ORDER BY issued_at DESC LIMIT ?2)",
        params![token, i64::try_from(ENDED_SESSIONS_MAX).unwrap_or(i64::MAX)],
    )?;
    audit::append(connection, entry)
}

pub(crate) fn ended_sessions(connection: &Connection) -> Result<Vec<(String, Timestamp)>, StoreError> {
    let sql = "SELECT token, issued_at FROM ended_sessions ORDER BY token, issued_at";
    all(connection, sql, [], |row| Ok((column(row, "token")?, Timestamp(column(row, "issued_at")?))))
}

/// The key that is kept, or this one from now on.
pub(crate) fn signing_key(connection: &Connection, fresh: [u8; 32]) -> Result<[u8; 32], StoreError> {
    execute(
        connection,
        "INSERT OR IGNORE INTO settings (name, value) VALUES ('signing_key', ?1)",
        [to_json(&fresh)?],
    )?;
    let kept = first(connection, "SELECT value FROM settings WHERE name = 'signing_key'", [], |row| {
        json_column(row, "value")
    })?;
    Ok(kept.unwrap_or(fresh))
}
