//! Definitions in all their versions, and the switches of what is none.
//!
//! What refuses a change looks before anything is written: a refusal is no reason to undo the other work of a batch.

use std::collections::BTreeSet;

use helve_store::{AuditEntry, OfferUse, RowChange, RowKind, RowRecord, StoreError};
use helve_types::{RowId, Timestamp};
use rusqlite::{Connection, Row, params};

use super::{grants, offers};
use crate::sqlite::audit;
use crate::sqlite::columns::{all, column, execute, first, id_column};

const CURRENT: &str = "SELECT v.* FROM definitions d
    JOIN definition_versions v ON v.kind = d.kind AND v.name = d.name AND v.version = d.version
    WHERE d.kind = ?1";

pub(crate) fn list(connection: &Connection, kind: RowKind) -> Result<Vec<RowRecord>, StoreError> {
    let sql = format!("{CURRENT} ORDER BY d.name");
    all(connection, &sql, [kind.as_str()], |row| read(row, kind))
}

pub(crate) fn find(connection: &Connection, kind: RowKind, name: &str) -> Result<RowRecord, StoreError> {
    let sql = format!("{CURRENT} AND d.name = ?2");
    first(connection, &sql, [kind.as_str(), name], |row| read(row, kind))?
        .ok_or(StoreError::NotFound(kind.as_str()))
}

pub(crate) fn versions(
    connection: &Connection,
    kind: RowKind,
    name: &str,
) -> Result<Vec<RowRecord>, StoreError> {
    let sql = "SELECT * FROM definition_versions WHERE kind = ?1 AND name = ?2 ORDER BY version";
    all(connection, sql, [kind.as_str(), name], |row| read(row, kind))
}

pub(crate) fn save(connection: &Connection, change: &RowChange) -> Result<RowRecord, StoreError> {
    let RowChange { row, expected, offer, grants: granted, audit: line } = change;
    let kind = row.kind.as_str();
    if *offer == OfferUse::Accepted {
        offers::check(connection, row.kind, &row.name)?;
    }
    let now = current_version(connection, row.kind, &row.name)?.unwrap_or(0);
    if now != *expected {
        return Err(StoreError::Changed(now));
    }
    let last: Option<Option<u32>> = first(
        connection,
        "SELECT max(version) AS version FROM definition_versions WHERE kind = ?1 AND name = ?2",
        [kind, &row.name],
        |row| column(row, "version"),
    )?;
    let saved = RowRecord { version: last.flatten().unwrap_or(0) + 1, ..row.clone() };
    execute(
        connection,
        "INSERT INTO definition_versions
             (kind, name, version, id, hash, enabled, body, created_at, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![
            kind,
            saved.name,
            saved.version,
            saved.id.0.as_bytes(),
            saved.hash,
            saved.enabled,
            saved.body,
            saved.created_at.0,
            saved.updated_at.0
        ],
    )?;
    execute(
        connection,
        "INSERT OR REPLACE INTO definitions (kind, name, version) VALUES (?1, ?2, ?3)",
        params![kind, saved.name, saved.version],
    )?;
    if *offer == OfferUse::Accepted {
        offers::forget(connection, row.kind, &row.name)?;
    }
    audit::append(connection, line)?;
    granted.iter().try_for_each(|(grant, line)| grants::insert(connection, grant, line))?;
    count_change(connection, row.kind)?;
    Ok(saved)
}

pub(crate) fn save_all(connection: &Connection, changes: &[RowChange]) -> Result<Vec<RowRecord>, StoreError> {
    let mut names = BTreeSet::new();
    for RowChange { row, expected, offer, .. } in changes {
        if *offer == OfferUse::Accepted {
            offers::check(connection, row.kind, &row.name)?;
        }
        let now = current_version(connection, row.kind, &row.name)?.unwrap_or(0);
        if now != *expected || !names.insert(&row.name) {
            return Err(StoreError::Changed(now));
        }
    }
    changes.iter().map(|change| save(connection, change)).collect()
}

pub(crate) fn delete(
    connection: &Connection,
    kind: RowKind,
    name: &str,
    expected: Option<u32>,
    line: &AuditEntry,
) -> Result<(), StoreError> {
    let now = current_version(connection, kind, name)?.ok_or(StoreError::NotFound(kind.as_str()))?;
    if expected.is_some_and(|expected| expected != now) {
        return Err(StoreError::Changed(now));
    }
    execute(connection, "DELETE FROM definitions WHERE kind = ?1 AND name = ?2", [kind.as_str(), name])?;
    offers::forget(connection, kind, name)?;
    grants::forget(connection, kind, name)?;
    audit::append(connection, line)?;
    count_change(connection, kind)
}

pub(crate) fn save_switch(
    connection: &Connection,
    kind: RowKind,
    name: &str,
    enabled: bool,
    line: &AuditEntry,
) -> Result<(), StoreError> {
    execute(
        connection,
        "INSERT OR REPLACE INTO definition_switches (kind, name, enabled) VALUES (?1, ?2, ?3)",
        params![kind.as_str(), name, enabled],
    )?;
    audit::append(connection, line)?;
    count_change(connection, kind)
}

pub(crate) fn switches(connection: &Connection, kind: RowKind) -> Result<Vec<(String, bool)>, StoreError> {
    let sql = "SELECT name, enabled FROM definition_switches WHERE kind = ?1 ORDER BY name";
    all(connection, sql, [kind.as_str()], |row| Ok((column(row, "name")?, column(row, "enabled")?)))
}

pub(crate) fn changes(connection: &Connection, kind: RowKind) -> Result<u64, StoreError> {
    let sql = "SELECT count FROM definition_changes WHERE kind = ?1";
    let count = first(connection, sql, [kind.as_str()], |row| column::<u64>(row, "count"))?;
    Ok(count.unwrap_or(0))
}

pub(crate) fn count_change(connection: &Connection, kind: RowKind) -> Result<(), StoreError> {
    execute(
        connection,
        "INSERT INTO definition_changes (kind, count) VALUES (?1, 1)
         ON CONFLICT (kind) DO UPDATE SET count = count + 1",
        [kind.as_str()],
    )?;
    Ok(())
}

fn current_version(connection: &Connection, kind: RowKind, name: &str) -> Result<Option<u32>, StoreError> {
    let sql = "SELECT version FROM definitions WHERE kind = ?1 AND name = ?2";
    first(connection, sql, [kind.as_str(), name], |row| column(row, "version"))
}

fn read(row: &Row<'_>, kind: RowKind) -> Result<RowRecord, StoreError> {
    Ok(RowRecord {
        kind,
        name: column(row, "name")?,
        id: id_column(row, "id", RowId)?,
        version: column(row, "version")?,
        hash: column(row, "hash")?,
        enabled: column(row, "enabled")?,
        body: column(row, "body")?,
        created_at: Timestamp(column(row, "created_at")?),
        updated_at: Timestamp(column(row, "updated_at")?),
    })
}

#[cfg(test)]
mod tests {
    use helve_types::World;

    use super::*;
    use crate::migrate::migrate;

    const KIND: RowKind = RowKind::new("greeting");

    fn change(expected: u32) -> RowChange {
        let row = RowRecord {
            kind: KIND,
            name: "hello".into(),
            id: World::deterministic().row_id(),
            version: 0,
            hash: "h".into(),
            enabled: true,
            body: r#"{"text": "hello"}"#.into(),
            created_at: Timestamp(1),
            updated_at: Timestamp(1),
        };
        RowChange { row, expected, offer: OfferUse::Untouched, grants: vec![], audit: line() }
    }

    fn line() -> AuditEntry {
        AuditEntry::new(Timestamp(1), "mei", "greeting.created", "hello 1")
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
        save(&connection, &change(0)).unwrap();
        assert_eq!(save(&connection, &change(0)), Err(StoreError::Changed(1)));
        assert_eq!(delete(&connection, KIND, "hello", Some(9), &line()), Err(StoreError::Changed(1)));
        let accepting = RowChange { offer: OfferUse::Accepted, ..change(1) };
        assert_eq!(save(&connection, &accepting), Err(StoreError::NotFound("offer")));
        assert_eq!(lines(&connection), 1);
        delete(&connection, KIND, "hello", None, &line()).unwrap();
        save_switch(&connection, KIND, "bye", false, &line()).unwrap();
        assert_eq!(lines(&connection), 3);
    }

    #[test]
    fn a_change_that_cannot_be_audited_fails_so_that_its_transaction_is_undone() {
        let connection = database();
        connection.execute_batch("DROP TABLE audit; BEGIN").unwrap();
        assert!(matches!(save(&connection, &change(0)), Err(StoreError::Unavailable(_))));
        connection.execute_batch("ROLLBACK").unwrap();
        assert_eq!(list(&connection, KIND), Ok(vec![]));
    }
}
