//! What definitions from outside have become, until a person says what is to become of that.

use helve_store::{AuditEntry, RowKind, RowOffer, StoreError};
use helve_types::Timestamp;
use tokio_postgres::Row;

use super::definitions::{count_change, lock};
use crate::postgres::audit;
use crate::postgres::columns::{Db, column, replace_nul};

pub(super) async fn list(db: &Db<'_>, kind: RowKind) -> Result<Vec<RowOffer>, StoreError> {
    let sql = "SELECT * FROM definition_offers WHERE kind = $1 ORDER BY name";
    db.all(sql, &[&kind.as_str()]).await?.iter().map(|row| read(row, kind)).collect()
}

pub(super) async fn save(db: &Db<'_>, offer: &RowOffer, line: &AuditEntry) -> Result<(), StoreError> {
    lock(db, offer.kind).await?;
    db.execute(
        "INSERT INTO definition_offers (kind, name, origin, body, over_hash, at)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (kind, name) DO UPDATE SET origin = excluded.origin, body = excluded.body,
             over_hash = excluded.over_hash, at = excluded.at",
        &[
            &offer.kind.as_str(),
            &offer.name,
            &replace_nul(&offer.origin),
            &replace_nul(&offer.body),
            &offer.over,
            &offer.at.0,
        ],
    )
    .await?;
    audit::append(db, line).await?;
    count_change(db, offer.kind).await
}

pub(super) async fn delete(
    db: &Db<'_>,
    kind: RowKind,
    name: &str,
    line: &AuditEntry,
) -> Result<(), StoreError> {
    lock(db, kind).await?;
    check(db, kind, name).await?;
    forget(db, kind, name).await?;
    audit::append(db, line).await?;
    count_change(db, kind).await
}

/// Fails unless there is an offer.
pub(super) async fn check(db: &Db<'_>, kind: RowKind, name: &str) -> Result<(), StoreError> {
    let sql = "SELECT name FROM definition_offers WHERE kind = $1 AND name = $2";
    let row = db.first(sql, &[&kind.as_str(), &replace_nul(name)]).await?;
    row.map(drop).ok_or(StoreError::NotFound("offer"))
}

pub(super) async fn forget(db: &Db<'_>, kind: RowKind, name: &str) -> Result<(), StoreError> {
    let sql = "DELETE FROM definition_offers WHERE kind = $1 AND name = $2";
    db.execute(sql, &[&kind.as_str(), &replace_nul(name)]).await.map(drop)
}

fn read(row: &Row, kind: RowKind) -> Result<RowOffer, StoreError> {
    Ok(RowOffer {
        kind,
        name: column(row, "name")?,
        origin: column(row, "origin")?,
        body: column(row, "body")?,
        over: column(row, "over_hash")?,
        at: Timestamp(column(row, "at")?),
    })
}
