//! What tools from outside have become, until a person says what is to become of that.

use helve_store::{AuditEntry, StoreError, ToolOffer, ToolRow};
use helve_types::Timestamp;
use rusqlite::{Connection, Row, params};

use crate::sqlite::access::tokens::audit;
use crate::sqlite::columns::{all, column, execute, first, json_column, to_json};
use crate::sqlite::rows::tools;

pub(crate) fn all_offers(connection: &Connection) -> Result<Vec<ToolOffer>, StoreError> {
    all(connection, "SELECT * FROM tool_offers ORDER BY name", [], read)
}

pub(crate) fn put(connection: &Connection, offer: &ToolOffer, entry: &AuditEntry) -> Result<(), StoreError> {
    execute(
        connection,
        "INSERT OR REPLACE INTO tool_offers (name, origin, definition, over_hash, at) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![offer.name(), offer.origin, to_json(&offer.definition)?, offer.over, offer.at.0],
    )?;
    audit(connection, entry)?;
    tools::changed(connection)
}

pub(crate) fn drop(connection: &Connection, name: &str, entry: &AuditEntry) -> Result<(), StoreError> {
    check(connection, name)?;
    forget(connection, name)?;
    audit(connection, entry)?;
    tools::changed(connection)
}

/// The tool's next version in the place of what was offered about it. What refuses it looks before anything is written.
pub(crate) fn take(
    connection: &Connection,
    row: &ToolRow,
    expected: u32,
    entry: &AuditEntry,
) -> Result<ToolRow, StoreError> {
    check(connection, row.name())?;
    let kept = tools::keep(connection, row, expected, entry)?;
    forget(connection, row.name())?;
    Ok(kept)
}

pub(crate) fn forget(connection: &Connection, name: &str) -> Result<(), StoreError> {
    execute(connection, "DELETE FROM tool_offers WHERE name = ?1", [name])?;
    Ok(())
}

fn check(connection: &Connection, name: &str) -> Result<(), StoreError> {
    let found = first(connection, "SELECT name FROM tool_offers WHERE name = ?1", [name], |row| {
        column::<String>(row, "name")
    })?;
    found.map(std::mem::drop).ok_or(StoreError::NotFound("offer"))
}

fn read(row: &Row<'_>) -> Result<ToolOffer, StoreError> {
    Ok(ToolOffer {
        origin: column(row, "origin")?,
        definition: json_column(row, "definition")?,
        over: column(row, "over_hash")?,
        at: Timestamp(column(row, "at")?),
    })
}
