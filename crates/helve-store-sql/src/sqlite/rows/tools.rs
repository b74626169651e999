//! Tools that are rows, and the switches of those that are not.
//!
//! What refuses a change looks before anything is written: a refusal is no reason to undo the other work of a batch.

use helve_store::{AuditEntry, StoreError, ToolRow};
use helve_types::{Timestamp, ToolId};
use rusqlite::{Connection, Row, params};

use crate::sqlite::access::tokens::audit;
use crate::sqlite::columns::{all, column, execute, first, id_column, json_column, to_json};
use crate::sqlite::rows::grants;
use crate::sqlite::rows::offers;

const CURRENT: &str =
    "SELECT v.* FROM tools t JOIN tool_versions v ON v.name = t.name AND v.version = t.version";

pub(crate) fn all_tools(connection: &Connection) -> Result<Vec<ToolRow>, StoreError> {
    all(connection, &format!("{CURRENT} ORDER BY t.name"), [], read)
}

pub(crate) fn tool(connection: &Connection, name: &str) -> Result<ToolRow, StoreError> {
    first(connection, &format!("{CURRENT} WHERE t.name = ?1"), [name], read)?
        .ok_or(StoreError::NotFound("tool"))
}

pub(crate) fn versions(connection: &Connection, name: &str) -> Result<Vec<ToolRow>, StoreError> {
    all(connection, "SELECT * FROM tool_versions WHERE name = ?1 ORDER BY version", [name], read)
}

pub(crate) fn keep(
    connection: &Connection,
    row: &ToolRow,
    expected: u32,
    entry: &AuditEntry,
) -> Result<ToolRow, StoreError> {
    let now = current(connection, row.name())?.unwrap_or(0);
    if now != expected {
        return Err(StoreError::Changed(now));
    }
    let last: Option<Option<u32>> = first(
        connection,
        "SELECT max(version) AS version FROM tool_versions WHERE name = ?1",
        [row.name()],
        |row| column(row, "version"),
    )?;
    let kept = ToolRow { version: last.flatten().unwrap_or(0) + 1, ..row.clone() };
    execute(
        connection,
        "INSERT INTO tool_versions (name, version, id, hash, definition, created_at, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            kept.name(),
            kept.version,
            kept.id.0.as_bytes(),
            kept.hash,
            to_json(&kept.definition)?,
            kept.created_at.0,
            kept.updated_at.0
        ],
    )?;
    execute(
        connection,
        "INSERT OR REPLACE INTO tools (name, version) VALUES (?1, ?2)",
        params![kept.name(), kept.version],
    )?;
    audit(connection, entry)?;
    changed(connection)?;
    Ok(kept)
}

pub(crate) fn delete(
    connection: &Connection,
    name: &str,
    expected: Option<u32>,
    entry: &AuditEntry,
) -> Result<(), StoreError> {
    let now = current(connection, name)?.ok_or(StoreError::NotFound("tool"))?;
    if expected.is_some_and(|expected| expected != now) {
        return Err(StoreError::Changed(now));
    }
    execute(connection, "DELETE FROM tools WHERE name = ?1", [name])?;
    offers::forget(connection, name)?;
    grants::forget(connection, name)?;
    audit(connection, entry)?;
    changed(connection)
}

pub(crate) fn switch(
    connection: &Connection,
    name: &str,
    enabled: bool,
    entry: &AuditEntry,
) -> Result<(), StoreError> {
    execute(
        connection,
        "INSERT OR REPLACE INTO tool_switches (name, enabled) VALUES (?1, ?2)",
        params![name, enabled],
    )?;
    audit(connection, entry)?;
    changed(connection)
}

pub(crate) fn switches(connection: &Connection) -> Result<Vec<(String, bool)>, StoreError> {
    all(connection, "SELECT * FROM tool_switches ORDER BY name", [], |row| {
        Ok((column(row, "name")?, column(row, "enabled")?))
    })
}

pub(crate) fn changes(connection: &Connection) -> Result<u64, StoreError> {
    let count = first(
        connection,
        "SELECT CAST(value AS INTEGER) AS count FROM settings WHERE name = 'tool_changes'",
        [],
        |row| column::<u64>(row, "count"),
    )?;
    Ok(count.unwrap_or(0))
}

pub(crate) fn changed(connection: &Connection) -> Result<(), StoreError> {
    execute(
        connection,
        "INSERT INTO settings (name, value) VALUES ('tool_changes', '1')
         ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(value AS INTEGER) + 1 AS TEXT)",
        [],
    )?;
    Ok(())
}

fn current(connection: &Connection, name: &str) -> Result<Option<u32>, StoreError> {
    first(connection, "SELECT version FROM tools WHERE name = ?1", [name], |row| column(row, "version"))
}

fn read(row: &Row<'_>) -> Result<ToolRow, StoreError> {
    Ok(ToolRow {
        id: id_column(row, "id", ToolId)?,
        definition: json_column(row, "definition")?,
        version: column(row, "version")?,
        hash: column(row, "hash")?,
        created_at: Timestamp(column(row, "created_at")?),
        updated_at: Timestamp(column(row, "updated_at")?),
    })
}

#[cfg(test)]
mod tests {
    use helve_types::World;
    use serde_json::json;

    use super::*;
    use crate::migrate::migrate;

    fn row() -> ToolRow {
        let given = json!({
            "name": "weather", "description": "Says.", "endpoint": {"url_template": "https://api.example.com"}
        });
        ToolRow::new(World::still().tool_id(), serde_json::from_value(given).unwrap(), Timestamp(1))
    }

    fn entry() -> AuditEntry {
        AuditEntry {
            at: Timestamp(1),
            by: "mei".into(),
            action: "tool.created".into(),
            detail: "weather 1".into(),
        }
    }

    fn database() -> Connection {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, 1).unwrap();
        connection
    }

    fn lines(connection: &Connection) -> u32 {
        connection.query_row("SELECT count(*) FROM audit", [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn a_change_leaves_one_line_in_the_audit_and_a_refused_one_none() {
        let connection = database();
        keep(&connection, &row(), 0, &entry()).unwrap();
        assert_eq!(keep(&connection, &row(), 0, &entry()), Err(StoreError::Changed(1)));
        assert_eq!(delete(&connection, "weather", Some(9), &entry()), Err(StoreError::Changed(1)));
        assert_eq!(lines(&connection), 1);
        delete(&connection, "weather", None, &entry()).unwrap();
        switch(&connection, "time", false, &entry()).unwrap();
        assert_eq!(lines(&connection), 3);
    }

    #[test]
    fn a_change_that_cannot_be_audited_fails_so_that_its_transaction_is_undone() {
        let connection = database();
        connection.execute_batch("DROP TABLE audit; BEGIN").unwrap();
        assert!(matches!(keep(&connection, &row(), 0, &entry()), Err(StoreError::Unavailable(_))));
        connection.execute_batch("ROLLBACK").unwrap();
        assert_eq!(all_tools(&connection), Ok(vec![]));
    }
}
