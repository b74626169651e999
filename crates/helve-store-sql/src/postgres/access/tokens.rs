//! Access tokens and sessions.

use helve_store::{ActFor, AuditEntry, ENDED_SESSIONS_MAX, StoreError, Token, TokenRights};
use helve_types::{Timestamp, UserId};
use tokio_postgres::Row;

use crate::postgres::audit;
use crate::postgres::columns::{
    Db, column, damaged, json_column, replace_nul, to_bigint, to_json, word_column,
};

pub(super) async fn create(db: &Db<'_>, token: &Token, entry: &AuditEntry) -> Result<(), StoreError> {
    db.execute(
        "INSERT INTO tokens (id, secret_hash, user_id, rights, note, created_at, revoked_at, act_for)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        &[
            &token.id,
            &&token.secret_hash[..],
            &token.user.0,
            &token.rights.as_str(),
            &replace_nul(&token.note),
            &token.created_at.0,
            &token.revoked_at.map(|at| at.0),
            &token.act_for.to_string(),
        ],
    )
    .await?;
    audit::append(db, entry).await
}

pub(super) async fn all_tokens(db: &Db<'_>) -> Result<Vec<Token>, StoreError> {
    db.all("SELECT * FROM tokens ORDER BY created_at, id", &[]).await?.iter().map(read).collect()
}

fn read(row: &Row) -> Result<Token, StoreError> {
    let secret_hash: &[u8] = column(row, "secret_hash")?;
    Ok(Token {
        id: column(row, "id")?,
        secret_hash: secret_hash.try_into().map_err(|error| damaged("secret_hash", &error))?,
        user: UserId(column(row, "user_id")?),
        rights: word_column(row, "rights", TokenRights::parse)?,
        act_for: word_column(row, "act_for", |text| ActFor::parse(text).ok())?,
        note: column(row, "note")?,
        created_at: Timestamp(column(row, "created_at")?),
        revoked_at: column::<Option<i64>>(row, "revoked_at")?.map(Timestamp),
    })
}

pub(super) async fn revoke(db: &Db<'_>, id: &str, entry: &AuditEntry) -> Result<(), StoreError> {
    let sql = "UPDATE tokens SET revoked_at = coalesce(revoked_at, $2) WHERE id = $1";
    match db.execute(sql, &[&replace_nul(id), &entry.at.0]).await? {
        0 => Err(StoreError::NotFound("token")),
        _ => audit::append(db, entry).await,
    }
}

/// Keeps the end of a session, and of one token's the last `ENDED_SESSIONS_MAX` alone.
pub(super) async fn end_session(
    db: &Db<'_>,
    token: &str,
    issued_at: Timestamp,
    entry: &AuditEntry,
) -> Result<(), StoreError> {
    db.execute(
        "INSERT INTO ended_sessions (token, issued_at) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        &[&token, &issued_at.0],
    )
    .await?;
    db.execute(
        "DELETE FROM ended_sessions WHERE token = $1 AND issued_at NOT IN
             (SELECT issued_at FROM ended_sessions WHERE token = $1 ORDER BY issued_at DESC LIMIT $2)",
        &[&token, &to_bigint(ENDED_SESSIONS_MAX)],
    )
    .await?;
    audit::append(db, entry).await
}

pub(super) async fn ended_sessions(db: &Db<'_>) -> Result<Vec<(String, Timestamp)>, StoreError> {
    let sql = "SELECT token, issued_at FROM ended_sessions ORDER BY token, issued_at";
    let rows = db.all(sql, &[]).await?;
    rows.iter().map(|row| Ok((column(row, "token")?, Timestamp(column(row, "issued_at")?)))).collect()
}

/// The key that is kept, or this one from now on.
pub(super) async fn signing_key(db: &Db<'_>, fresh: [u8; 32]) -> Result<[u8; 32], StoreError> {
    let sql = "INSERT INTO settings (name, value) VALUES ('signing_key', $1) ON CONFLICT DO NOTHING";
    db.execute(sql, &[&to_json(&fresh)?]).await?;
    let kept = db.first("SELECT value FROM settings WHERE name = 'signing_key'", &[]).await?;
    kept.map_or(Ok(fresh), |row| json_column(&row, "value"))
}
