//! What the operator lets single definitions have.

use helve_store::{AuditEntry, RowGrant, RowKind, StoreError};
use helve_types::Timestamp;
use tokio_postgres::Row;

use super::definitions::{count_change, lock};
use crate::postgres::audit;
use crate::postgres::columns::{Db, column, replace_nul};

pub(super) async fn list(db: &Db<'_>, kind: RowKind) -> Result<Vec<RowGrant>, StoreError> {
    let sql = "SELECT * FROM definition_grants WHERE kind = $1 ORDER BY name, grant_json";
    db.all(sql, &[&kind.as_str()]).await?.iter().map(|row| read(row, kind)).collect()
}

pub(super) async fn save(db: &Db<'_>, grant: &RowGrant, line: &AuditEntry) -> Result<(), StoreError> {
    lock(db, grant.kind).await?;
    insert(db, grant, line).await?;
    count_change(db, grant.kind).await
}

/// Writes a grant and its line of the audit, as a part of a change that is counted elsewhere.
pub(super) async fn insert(db: &Db<'_>, grant: &RowGrant, line: &AuditEntry) -> Result<(), StoreError> {
    db.execute(
        "INSERT INTO definition_grants (kind, name, grant_json, by, at) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (kind, name, grant_json) DO UPDATE SET by = excluded.by, at = excluded.at",
        &[
            &grant.kind.as_str(),
            &grant.name,
            &replace_nul(&grant.grant),
            &replace_nul(&grant.by),
            &grant.at.0,
        ],
    )
    .await?;
    audit::append(db, line).await
}

pub(super) async fn delete(
    db: &Db<'_>,
    kind: RowKind,
    name: &str,
    grant: &str,
    line: &AuditEntry,
) -> Result<(), StoreError> {
    lock(db, kind).await?;
    let sql = "DELETE FROM definition_grants WHERE kind = $1 AND name = $2 AND grant_json = $3";
    if db.execute(sql, &[&kind.as_str(), &replace_nul(name), &replace_nul(grant)]).await? == 0 {
        return Err(StoreError::NotFound("grant"));
    }
    audit::append(db, line).await?;
    count_change(db, kind).await
}

pub(super) async fn forget(db: &Db<'_>, kind: RowKind, name: &str) -> Result<(), StoreError> {
    let sql = "DELETE FROM definition_grants WHERE kind = $1 AND name = $2";
    db.execute(sql, &[&kind.as_str(), &replace_nul(name)]).await.map(drop)
}

fn read(row: &Row, kind: RowKind) -> Result<RowGrant, StoreError> {
    Ok(RowGrant {
        kind,
        name: column(row, "name")?,
        grant: column(row, "grant_json")?,
        by: column(row, "by")?,
        at: Timestamp(column(row, "at")?),
    })
}
