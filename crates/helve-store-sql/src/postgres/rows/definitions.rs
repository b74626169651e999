//! Definitions in all their versions, and the switches of what is none.
//!
//! What refuses a change looks before anything is written: a refusal is no reason to undo the other work of a batch. The
//! changes of one kind are made one after the other, whichever process makes them.

use std::collections::BTreeSet;

use helve_store::{AuditEntry, OfferUse, RowChange, RowKind, RowRecord, StoreError};
use helve_types::{RowId, Timestamp};
use tokio_postgres::Row;

use super::{grants, offers};
use crate::postgres::audit;
use crate::postgres::columns::{Db, column, number, replace_nul};

const CURRENT: &str = "SELECT v.* FROM definitions d
    JOIN definition_versions v ON v.kind = d.kind AND v.name = d.name AND v.version = d.version
    WHERE d.kind = $1";

pub(super) async fn list(db: &Db<'_>, kind: RowKind) -> Result<Vec<RowRecord>, StoreError> {
    let sql = format!("{CURRENT} ORDER BY d.name");
    db.all(&sql, &[&kind.as_str()]).await?.iter().map(|row| read(row, kind)).collect()
}

pub(super) async fn find(db: &Db<'_>, kind: RowKind, name: &str) -> Result<RowRecord, StoreError> {
    let sql = format!("{CURRENT} AND d.name = $2");
    let row = db.first(&sql, &[&kind.as_str(), &replace_nul(name)]).await?;
    read(&row.ok_or(StoreError::NotFound(kind.as_str()))?, kind)
}

pub(super) async fn versions(db: &Db<'_>, kind: RowKind, name: &str) -> Result<Vec<RowRecord>, StoreError> {
    let sql = "SELECT * FROM definition_versions WHERE kind = $1 AND name = $2 ORDER BY version";
    db.all(sql, &[&kind.as_str(), &replace_nul(name)]).await?.iter().map(|row| read(row, kind)).collect()
}

pub(super) async fn lock(db: &Db<'_>, kind: RowKind) -> Result<(), StoreError> {
    db.lock(&format!("rows {}", kind.as_str())).await
}

pub(super) async fn save_all(db: &Db<'_>, changes: &[RowChange]) -> Result<Vec<RowRecord>, StoreError> {
    let mut names = BTreeSet::new();
    for RowChange { row, expected, offer, .. } in changes {
        lock(db, row.kind).await?;
        if *offer == OfferUse::Accepted {
            offers::check(db, row.kind, &row.name).await?;
        }
        let now = current_version(db, row.kind, &row.name).await?.unwrap_or(0);
        if now != *expected || !names.insert(&row.name) {
            return Err(StoreError::Changed(now));
        }
    }
    let mut saved = vec![];
    for change in changes {
        saved.push(save(db, change).await?);
    }
    Ok(saved)
}

pub(super) async fn save(db: &Db<'_>, change: &RowChange) -> Result<RowRecord, StoreError> {
    let RowChange { row, expected, offer, grants: granted, audit: line } = change;
    let kind = row.kind.as_str();
    lock(db, row.kind).await?;
    if *offer == OfferUse::Accepted {
        offers::check(db, row.kind, &row.name).await?;
    }
    let now = current_version(db, row.kind, &row.name).await?.unwrap_or(0);
    if now != *expected {
        return Err(StoreError::Changed(now));
    }
    let last = db
        .first(
            "SELECT coalesce(max(version), 0)::bigint AS version FROM definition_versions
             WHERE kind = $1 AND name = $2",
            &[&kind, &row.name],
        )
        .await?;
    let last: u32 = last.map_or(Ok(0), |row| number(&row, "version"))?;
    let saved = RowRecord { version: last + 1, ..row.clone() };
    let version = i64::from(saved.version);
    db.execute(
        "INSERT INTO definition_versions
             (kind, name, version, id, hash, enabled, body, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        &[
            &kind,
            &saved.name,
            &version,
            &saved.id.0,
            &saved.hash,
            &saved.enabled,
            &replace_nul(&saved.body),
            &saved.created_at.0,
            &saved.updated_at.0,
        ],
    )
    .await?;
    db.execute(
        "INSERT INTO definitions (kind, name, version) VALUES ($1, $2, $3)
         ON CONFLICT (kind, name) DO UPDATE SET version = excluded.version",
        &[&kind, &saved.name, &version],
    )
    .await?;
    if *offer == OfferUse::Accepted {
        offers::forget(db, row.kind, &row.name).await?;
    }
    audit::append(db, line).await?;
    for (grant, line) in granted {
        grants::insert(db, grant, line).await?;
    }
    count_change(db, row.kind).await?;
    Ok(saved)
}

pub(super) async fn delete(
    db: &Db<'_>,
    kind: RowKind,
    name: &str,
    expected: Option<u32>,
    line: &AuditEntry,
) -> Result<(), StoreError> {
    lock(db, kind).await?;
    let now = current_version(db, kind, name).await?.ok_or(StoreError::NotFound(kind.as_str()))?;
    if expected.is_some_and(|expected| expected != now) {
        return Err(StoreError::Changed(now));
    }
    let sql = "DELETE FROM definitions WHERE kind = $1 AND name = $2";
    db.execute(sql, &[&kind.as_str(), &replace_nul(name)]).await?;
    offers::forget(db, kind, name).await?;
    grants::forget(db, kind, name).await?;
    audit::append(db, line).await?;
    count_change(db, kind).await
}

pub(super) async fn save_switch(
    db: &Db<'_>,
    kind: RowKind,
    name: &str,
    enabled: bool,
    line: &AuditEntry,
) -> Result<(), StoreError> {
    lock(db, kind).await?;
    db.execute(
        "INSERT INTO definition_switches (kind, name, enabled) VALUES ($1, $2, $3)
         ON CONFLICT (kind, name) DO UPDATE SET enabled = excluded.enabled",
        &[&kind.as_str(), &replace_nul(name), &enabled],
    )
    .await?;
    audit::append(db, line).await?;
    count_change(db, kind).await
}

pub(super) async fn switches(db: &Db<'_>, kind: RowKind) -> Result<Vec<(String, bool)>, StoreError> {
    let sql = "SELECT name, enabled FROM definition_switches WHERE kind = $1 ORDER BY name";
    let rows = db.all(sql, &[&kind.as_str()]).await?;
    rows.iter().map(|row| Ok((column(row, "name")?, column(row, "enabled")?))).collect()
}

pub(super) async fn changes(db: &Db<'_>, kind: RowKind) -> Result<u64, StoreError> {
    let sql = "SELECT count FROM definition_changes WHERE kind = $1";
    db.first(sql, &[&kind.as_str()]).await?.map_or(Ok(0), |row| number(&row, "count"))
}

pub(super) async fn count_change(db: &Db<'_>, kind: RowKind) -> Result<(), StoreError> {
    db.execute(
        "INSERT INTO definition_changes (kind, count) VALUES ($1, 1)
         ON CONFLICT (kind) DO UPDATE SET count = definition_changes.count + 1",
        &[&kind.as_str()],
    )
    .await
    .map(drop)
}

async fn current_version(db: &Db<'_>, kind: RowKind, name: &str) -> Result<Option<u32>, StoreError> {
    let sql = "SELECT version FROM definitions WHERE kind = $1 AND name = $2";
    let row = db.first(sql, &[&kind.as_str(), &replace_nul(name)]).await?;
    row.map(|row| number(&row, "version")).transpose()
}

fn read(row: &Row, kind: RowKind) -> Result<RowRecord, StoreError> {
    Ok(RowRecord {
        kind,
        name: column(row, "name")?,
        id: RowId(column(row, "id")?),
        version: number(row, "version")?,
        hash: column(row, "hash")?,
        enabled: column(row, "enabled")?,
        body: column(row, "body")?,
        created_at: Timestamp(column(row, "created_at")?),
        updated_at: Timestamp(column(row, "updated_at")?),
    })
}
