//! What the operator lets single tools have.

use helve_store::{AuditEntry, StoreError, ToolGrantRow, ToolRow};
use helve_types::{Timestamp, ToolGrant};
use rusqlite::{Connection, Row, params};

use crate::sqlite::access::tokens::audit;
use crate::sqlite::columns::{all, column, execute, json_column, to_json};
use crate::sqlite::rows::tools;

pub(crate) fn all_grants(connection: &Connection) -> Result<Vec<ToolGrantRow>, StoreError> {
    all(connection, "SELECT * FROM tool_grants ORDER BY tool, grant_json", [], read)
}

pub(crate) fn put(
    connection: &Connection,
    grant: &ToolGrantRow,
    entry: &AuditEntry,
) -> Result<(), StoreError> {
    execute(
        connection,
        "INSERT OR REPLACE INTO tool_grants (tool, grant_json, by, at) VALUES (?1, ?2, ?3, ?4)",
        params![grant.tool, to_json(&grant.grant)?, grant.by, grant.at.0],
    )?;
    audit(connection, entry)?;
    tools::changed(connection)
}

/// A tool together with what it is allowed: both or neither.
pub(crate) fn keep_tool(
    connection: &Connection,
    row: &ToolRow,
    expected: u32,
    entry: &AuditEntry,
    grants: &[(ToolGrantRow, AuditEntry)],
) -> Result<ToolRow, StoreError> {
    let kept = tools::keep(connection, row, expected, entry)?;
    grants.iter().try_for_each(|(grant, entry)| put(connection, grant, entry))?;
    Ok(kept)
}

pub(crate) fn revoke(
    connection: &Connection,
    tool: &str,
    grant: &ToolGrant,
    entry: &AuditEntry,
) -> Result<(), StoreError> {
    let sql = "DELETE FROM tool_grants WHERE tool = ?1 AND grant_json = ?2";
    if execute(connection, sql, params![tool, to_json(grant)?])? == 0 {
        return Err(StoreError::NotFound("grant"));
    }
    audit(connection, entry)?;
    tools::changed(connection)
}

pub(crate) fn forget(connection: &Connection, tool: &str) -> Result<(), StoreError> {
    execute(connection, "DELETE FROM tool_grants WHERE tool = ?1", [tool])?;
    Ok(())
}

fn read(row: &Row<'_>) -> Result<ToolGrantRow, StoreError> {
    Ok(ToolGrantRow {
        tool: column(row, "tool")?,
        grant: json_column(row, "grant_json")?,
        by: column(row, "by")?,
        at: Timestamp(column(row, "at")?),
    })
}
