//! What definitions from outside have become, until a person says what is to become of that.

use helve_store::{AuditEntry, RowKind, RowOffer, StoreError};
use helve_types::Timestamp;
use rusqlite::{Connection, Row, params};

use super::definitions::count_change;
use crate::sqlite::audit;
use crate::sqlite::columns::{all, column, execute, first};

pub(crate) fn list(connection: &Connection, kind: RowKind) -> Result<Vec<RowOffer>, StoreError> {
    let sql = "SELECT * FROM definition_offers WHERE kind = ?1 ORDER BY name";
    all(connection, sql, [kind.as_str()], |row| read(row, kind))
}

pub(crate) fn save(connection: &Connection, offer: &RowOffer, line: &AuditEntry) -> Result<(), StoreError> {
    execute(
        connection,
        "INSERT OR REPLACE INTO definition_offers (kind, name, origin, body, over_hash, at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![offer.kind.as_str(), offer.name, offer.origin, offer.body, offer.over, offer.at.0],
    )?;
    audit::append(connection, line)?;
    count_change(connection, offer.kind)
}

pub(crate) fn delete(
    connection: &Connection,
    kind: RowKind,
    name: &str,
    line: &AuditEntry,
) -> Result<(), StoreError> {
    check(connection, kind, name)?;
    forget(connection, kind, name)?;
    audit::append(connection, line)?;
    count_change(connection, kind)
}

/// Fails unless there is an offer.
pub(crate) fn check(connection: &Connection, kind: RowKind, name: &str) -> Result<(), StoreError> {
    let sql = "SELECT name FROM definition_offers WHERE kind = ?1 AND name = ?2";
    first(connection, sql, [kind.as_str(), name], |_| Ok(()))?.ok_or(StoreError::NotFound("offer"))
}

pub(crate) fn forget(connection: &Connection, kind: RowKind, name: &str) -> Result<(), StoreError> {
    let sql = "DELETE FROM definition_offers WHERE kind = ?1 AND name = ?2";
    execute(connection, sql, [kind.as_str(), name])?;
    Ok(())
}

fn read(row: &Row<'_>, kind: RowKind) -> Result<RowOffer, StoreError> {
    Ok(RowOffer {
        kind,
        name: column(row, "name")?,
        origin: column(row, "origin")?,
        body: column(row, "body")?,
        over: column(row, "over_hash")?,
        at: Timestamp(column(row, "at")?),
    })
}
