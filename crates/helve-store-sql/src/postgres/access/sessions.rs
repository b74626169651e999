//! Sessions of the page that began with a password or at an identity provider.

use helve_store::{AuditEntry, SessionRecord, SessionsToEnd, StoreError, USER_SESSIONS_MAX};
use helve_types::{Timestamp, UserId};
use tokio_postgres::Row;

use crate::postgres::audit;
use crate::postgres::columns::{Db, column, damaged, json_column, to_bigint, to_json};

pub(super) async fn create(
    db: &Db<'_>,
    session: &SessionRecord,
    line: &AuditEntry,
) -> Result<(), StoreError> {
    db.execute("DELETE FROM page_sessions WHERE expires_at <= $1", &[&session.started_at.0]).await?;
    db.execute(
        "INSERT INTO page_sessions (secret_hash, user_id, started_at, expires_at, provider)
         VALUES ($1, $2, $3, $4, $5)",
        &[
            &&session.secret_hash[..],
            &session.user.0,
            &session.started_at.0,
            &session.expires_at.0,
            &session.provider.as_ref().map(to_json).transpose()?,
        ],
    )
    .await?;
    db.execute(
        "DELETE FROM page_sessions WHERE user_id = $1 AND secret_hash NOT IN
             (SELECT secret_hash FROM page_sessions WHERE user_id = $1
              ORDER BY started_at DESC, secret_hash DESC LIMIT $2)",
        &[&session.user.0, &to_bigint(USER_SESSIONS_MAX)],
    )
    .await?;
    audit::append(db, line).await
}

pub(super) async fn all_sessions(db: &Db<'_>) -> Result<Vec<SessionRecord>, StoreError> {
    let sql = "SELECT * FROM page_sessions ORDER BY started_at, secret_hash";
    db.all(sql, &[]).await?.iter().map(read).collect()
}

fn read(row: &Row) -> Result<SessionRecord, StoreError> {
    let secret_hash: &[u8] = column(row, "secret_hash")?;
    let is_provided = column::<Option<&str>>(row, "provider")?.is_some();
    Ok(SessionRecord {
        secret_hash: secret_hash.try_into().map_err(|error| damaged("secret_hash", &error))?,
        user: UserId(column(row, "user_id")?),
        started_at: Timestamp(column(row, "started_at")?),
        expires_at: Timestamp(column(row, "expires_at")?),
        provider: is_provided.then(|| json_column(row, "provider")).transpose()?,
    })
}

pub(super) async fn end(db: &Db<'_>, which: &SessionsToEnd, line: &AuditEntry) -> Result<u64, StoreError> {
    let mut count = 0;
    for session in all_sessions(db).await?.iter().filter(|session| which.include(session)) {
        let sql = "DELETE FROM page_sessions WHERE secret_hash = $1";
        count += db.execute(sql, &[&&session.secret_hash[..]]).await?;
    }
    audit::append(db, line).await?;
    Ok(count)
}
