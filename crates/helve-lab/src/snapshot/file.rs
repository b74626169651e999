//! SQLite: a copy of the file and its log, made while no server runs, so that looking changes nothing that the next
//! start will find.

use std::path::{Path, PathBuf};

use anyhow::Context;
use rusqlite::types::FromSql;
use rusqlite::{Connection, OpenFlags, Row};
use uuid::Uuid;

use super::{APPROVALS, Approval, CALLS, EVENTS, KEYS, Key, MESSAGES, RunColumns, Snapshot, select_runs};

impl Snapshot {
    /// Copies the database from the data directory to `scratch` and reads the copy.
    pub fn read_copy(data: &Path, scratch: &Path) -> anyhow::Result<Self> {
        let source = data.join("helve.db");
        if !source.exists() {
            // Killed before it made one.
            return Ok(Self { integrity: "ok".into(), ..Self::default() });
        }
        std::fs::create_dir_all(scratch)?;
        let copy = scratch.join("copy.db");
        for ending in ["", "-wal"] {
            let (from, to) = (append_ending(&source, ending), append_ending(&copy, ending));
            _ = std::fs::remove_file(&to);
            if from.exists() {
                std::fs::copy(&from, &to).with_context(|| format!("cannot copy {}", from.display()))?;
            }
        }
        _ = std::fs::remove_file(append_ending(&copy, "-shm"));
        read_file(&Connection::open(&copy)?)
    }
}

fn read_file(db: &Connection) -> anyhow::Result<Snapshot> {
    let integrity = db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    let tables: i64 =
        db.query_row("SELECT count(*) FROM sqlite_master WHERE name = 'runs'", [], |row| row.get(0))?;
    let mut snapshot = Snapshot { integrity, ..Snapshot::default() };
    if tables == 0 {
        return Ok(snapshot);
    }
    each(db, &select_runs("user"), |row| {
        snapshot.add_run(RunColumns {
            id: id(row, 0)?,
            state: get_column(row, 1)?,
            ended: get_column::<Option<i64>>(row, 2)?.is_some(),
            conversation: get_column::<Option<Vec<u8>>>(row, 3)?
                .map(|id| Uuid::from_slice(&id))
                .transpose()?,
            history: get_column(row, 4)?,
            setup: get_column(row, 5)?,
            user: get_column(row, 6)?,
        })
    })?;
    each(db, EVENTS, |row| {
        snapshot.add_event(id(row, 0)?, get_column(row, 1)?, get_column(row, 2)?, get_column(row, 3)?)
    })?;
    each(db, CALLS, |row| {
        let (id, state) = (get_column::<String>(row, 0)?, get_column::<String>(row, 2)?);
        snapshot.add_call(&id, get_column(row, 1)?, &state, get_column(row, 3)?)
    })?;
    each(db, APPROVALS, |row| {
        let approval = Approval { state: get_column(row, 1)?, answer: get_column(row, 2)? };
        snapshot.approvals.insert(id(row, 0)?, approval);
        Ok(())
    })?;
    each(db, KEYS, |row| {
        snapshot.keys.push(Key { key: get_column(row, 0)?, run: helve_types::RunId(id(row, 1)?) });
        Ok(())
    })?;
    each(db, MESSAGES, |row| snapshot.add_message(id(row, 0)?, &get_column::<String>(row, 1)?))?;
    Ok(snapshot)
}

/// The one number that a live database gives.
pub(crate) fn count_in_file(data: &Path, sql: &str) -> anyhow::Result<u64> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(data.join("helve.db"), flags)?;
    db.busy_timeout(std::time::Duration::from_secs(2))?;
    let count: i64 = db.query_row(sql, [], |row| row.get(0))?;
    Ok(u64::try_from(count)?)
}

fn append_ending(path: &Path, ending: &str) -> PathBuf {
    let mut whole = path.as_os_str().to_owned();
    whole.push(ending);
    whole.into()
}

fn each(
    db: &Connection,
    sql: &str,
    mut take: impl FnMut(&Row<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut statement = db.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        take(row)?;
    }
    Ok(())
}

fn get_column<T: FromSql>(row: &Row<'_>, at: usize) -> anyhow::Result<T> {
    Ok(row.get(at)?)
}

fn id(row: &Row<'_>, at: usize) -> anyhow::Result<Uuid> {
    Ok(Uuid::from_slice(&get_column::<Vec<u8>>(row, at)?)?)
}
