//! What the operator lets single definitions have.

use helve_store::{AuditEntry, RowGrant, RowKind, StoreError};
use helve_types::Timestamp;
use rusqlite::{Connection, Row, params};

use super::definitions::count_change;
use crate::sqlite::audit;
use crate::sqlite::columns::{all, column, execute};

pub(crate) fn list(connection: &Connection, kind: RowKind) -> Result<Vec<RowGrant>, StoreError> {
    let sql = "SELECT * FROM definition_grants WHERE kind = ?1 ORDER BY name, grant_json";
    all(connection, sql, [kind.as_str()], |row| read(row, kind))
}

pub(crate) fn save(connection: &Connection, grant: &RowGrant, line: &AuditEntry) -> Result<(), StoreError> {
    insert(connection, grant, line)?;
    count_change(connection, grant.kind)
}

/// Writes a grant and its line of the audit, as a part of a change that is counted elsewhere.
pub(crate) fn insert(connection: &Connection, grant: &RowGrant, line: &AuditEntry) -> Result<(), StoreError> {
    execute(
        connection,
        "INSERT OR REPLACE INTO definition_grants (kind, name, grant_json, by, at)
         VALUES (?1, ?2, ?3, ?4, ?5)",
        params![grant.kind.as_str(), grant.name, grant.grant, grant.by, grant.at.0],
    )?;
    audit::append(connection, line)
}

pub(crate) fn delete(
    connection: &Connection,
    kind: RowKind,
    name: &str,
    grant: &str,
    line: &AuditEntry,
) -> Result<(), StoreError> {
    let sql = "DELETE FROM definition_grants WHERE kind = ?1 AND name = ?2 AND grant_json = ?3";
    if execute(connection, sql, [kind.as_str(), name, grant])? == 0 {
        return Err(StoreError::NotFound("grant"));
    }
    audit::append(connection, line)?;
    count_change(connection, kind)
}

pub(crate) fn forget(connection: &Connection, kind: RowKind, name: &str) -> Result<(), StoreError> {
    let sql = "DELETE FROM definition_grants WHERE kind = ?1 AND name = ?2";
    execute(connection, sql, [kind.as_str(), name])?;
    Ok(())
}

fn read(row: &Row<'_>, kind: RowKind) -> Result<RowGrant, StoreError> {
    Ok(RowGrant {
        kind,
        name: column(row, "name")?,
        grant: column(row, "grant_json")?,
        by: column(row, "by")?,
        at: Timestamp(column(row, "at")?),
    })
}
