//! Opening the file: private, of this version's layout, and whole after a crash.

use std::path::Path;

use helve_types::Timestamp;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OptionalExtension};

use super::wal::Wal;
use crate::migrate::{MigrateError, migrate};
use crate::{DataDir, DataDirError};

/// Before this version the write-ahead log could be corrupted when it was reset.
const SQLITE_MIN: i32 = 3_051_003;

/// Up to this size a database that was not closed properly is checked before the server starts.
const CHECKED_BYTES_MAX: u64 = 64 << 20;

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    DataDir(#[from] DataDirError),

    #[error("the database `{path}` cannot be opened")]
    Database { path: String, source: rusqlite::Error },

    #[error("the database file `{path}` cannot be created or made private")]
    Private { path: String, source: std::io::Error },

    #[error("the log of the database `{path}` cannot be written: {source}")]
    Log { path: String, source: std::io::Error },

    #[error(
        "the database `{path}` is damaged: {finding}. Nothing was changed. Restore `{path}` from a backup (and move \
         `{path}-wal` and `{path}-shm` away, which belong to the damaged one), or save what can still be read: \
         sqlite3 '{path}' .recover | sqlite3 '{path}.recovered', and put the new file in its place. To begin anew, use \
         another --data"
    )]
    Damaged { path: String, finding: String },

    #[error(
        "`{path}` is not a database of Helve: it is empty, though a log of changes (`{path}-wal`) stands beside it. \
         Nothing was changed. Restore both files from a backup, or move both away to begin anew"
    )]
    Emptied { path: String },

    #[error(transparent)]
    Migrate(#[from] MigrateError),

    #[error("SQLite {0} is too old: its write-ahead log can lose data; 3.51.3 is needed")]
    OldSqlite(&'static str),

    #[error("the writer thread cannot be started")]
    Thread(#[source] std::io::Error),
}

/// When what was written is made sure to be on the disk. Helve knows only `Commits`: an effect must not be sent
/// before it is on record. The fault lab opens databases otherwise, to see that it would be found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Syncs {
    /// Before a commit is reported.
    #[default]
    Commits,
    /// Only when the write-ahead log is emptied.
    Checkpoints,
    /// When the system pleases.
    Never,
}

impl Syncs {
    fn synchronous_pragma(self) -> &'static str {
        match self {
            Self::Commits => "PRAGMA synchronous = FULL",
            Self::Checkpoints => "PRAGMA synchronous = NORMAL",
            Self::Never => "PRAGMA synchronous = OFF",
        }
    }
}

/// A connection that writes, to a database of whatever layout.
pub(super) fn connect(dir: &DataDir, syncs: Syncs) -> Result<Connection, OpenError> {
    check_sqlite_version(rusqlite::version_number(), rusqlite::version())?;
    let path = &*dir.database();
    let failed = |source| open_error(path, source);
    // SQLite would throw the log away, and with it what was committed last.
    if is_truncated_beside_wal(path) {
        return Err(OpenError::Emptied { path: path.display().to_string() });
    }
    restrict_permissions(path)?;
    // A log that is in use by another process is not one that was left behind.
    if dir.is_locked() {
        Wal::for_database(path)
            .rewrite()
            .map_err(|source| OpenError::Log { path: path.display().to_string(), source })?;
    }
    let connection = Connection::open(path).map_err(failed)?;
    configure(&connection, syncs).map_err(failed)?;
    Ok(connection)
}

/// The connection that writes; from now on the database counts as not closed.
pub(super) fn open_database(dir: &DataDir, now: Timestamp, syncs: Syncs) -> Result<Opened, OpenError> {
    let mut connection = connect(dir, syncs)?;
    let path = &*dir.database();
    let failed = |source| open_error(path, source);
    migrate(&mut connection, now.0).map_err(|error| migrate_error(path, error))?;
    let was_closed = check_if_left_open(&connection, path)?;
    set_closed(&connection, false).map_err(failed)?;
    Ok(Opened { connection, was_closed })
}

/// Looks whether the database is whole if its last user did not close it; whether it was closed.
pub(super) fn check_if_left_open(connection: &Connection, path: &Path) -> Result<bool, OpenError> {
    let was_closed = was_closed(connection).map_err(|source| open_error(path, source))?;
    if !was_closed {
        check_after_crash(connection, path)?;
    }
    Ok(was_closed)
}

/// A database at work.
pub(super) struct Opened {
    pub(super) connection: Connection,
    /// Its last user closed it.
    pub(super) was_closed: bool,
}

/// What SQLite says of a file that is none of its own, or is broken, in words that say what to do.
pub(super) fn open_error(path: &Path, source: rusqlite::Error) -> OpenError {
    let path = path.display().to_string();
    match is_damage(&source) {
        true => OpenError::Damaged { path, finding: source.to_string() },
        false => OpenError::Database { path, source },
    }
}

pub(super) fn migrate_error(path: &Path, error: MigrateError) -> OpenError {
    match error {
        MigrateError::Database(source) | MigrateError::Failed { source, .. } if is_damage(&source) => {
            open_error(path, source)
        }
        other => OpenError::Migrate(other),
    }
}

fn is_damage(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(code, Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase))
}

/// Whether the file has no bytes although a log with bytes stands beside it.
pub(super) fn is_truncated_beside_wal(path: &Path) -> bool {
    let bytes = |path: &Path| std::fs::metadata(path).map(|file| file.len()).ok();
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    bytes(path) == Some(0) && bytes(Path::new(&log)).is_some_and(|bytes| bytes > 0)
}

fn check_sqlite_version(number: i32, version: &'static str) -> Result<(), OpenError> {
    if number < SQLITE_MIN { Err(OpenError::OldSqlite(version)) } else { Ok(()) }
}

/// A turn changes a few hundred bytes on each of some twenty pages, and each commit writes its pages whole: with pages of half
/// the usual size it writes half as much. A database that exists keeps the size that it was made with.
const PAGE_BYTES: u32 = 2_048;

fn configure(connection: &Connection, syncs: Syncs) -> Result<(), rusqlite::Error> {
    connection.pragma_update(None, "page_size", PAGE_BYTES)?;
    connection.execute_batch(
        "PRAGMA busy_timeout = 5000;
         PRAGMA journal_mode = WAL;
         PRAGMA foreign_keys = ON;
         PRAGMA mmap_size = 0;
         PRAGMA wal_autocheckpoint = 4000;
         PRAGMA journal_size_limit = 67108864;",
    )?;
    connection.execute_batch(syncs.synchronous_pragma())?;
    enable_stable_plans(connection)?;
    connection.set_prepared_statement_cache_capacity(128);
    Ok(())
}

/// Plans a statement once: without this, SQLite plans it again whenever other values are bound to it.
pub(super) fn enable_stable_plans(connection: &Connection) -> Result<(), rusqlite::Error> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// The database holds conversations: not for other users of the machine. SQLite gives the files beside it the mode
/// that the database has when they are made, so it comes first.
pub(super) fn restrict_permissions(path: &Path) -> Result<(), OpenError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
        let failed = |source| OpenError::Private { path: path.display().to_string(), source };
        let file =
            std::fs::OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path);
        let private = std::fs::Permissions::from_mode(0o600);
        file.and_then(|file| file.set_permissions(private)).map_err(failed)?;
    }
    Ok(())
}

fn was_closed(connection: &Connection) -> Result<bool, rusqlite::Error> {
    let state: Option<String> = connection
        .query_row("SELECT value FROM settings WHERE name = 'closed'", [], |row| row.get(0))
        .optional()?;
    Ok(state.is_none_or(|state| state == "yes"))
}

pub(super) fn set_closed(connection: &Connection, closed: bool) -> Result<(), rusqlite::Error> {
    let value = if closed { "yes" } else { "no" };
    connection.execute("INSERT OR REPLACE INTO settings (name, value) VALUES ('closed', ?1)", [value])?;
    Ok(())
}

fn check_after_crash(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    let bytes = std::fs::metadata(path).map_or(0, |file| file.len());
    if bytes > CHECKED_BYTES_MAX {
        tracing::info!(bytes, "database not checked after an unclean stop: it is too large");
        return Ok(());
    }
    let damaged = |finding| OpenError::Damaged { path: path.display().to_string(), finding };
    let finding: String = connection
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .map_err(|error| damaged(error.to_string()))?;
    if finding == "ok" { Ok(()) } else { Err(damaged(finding)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_can_lose_its_log_is_refused() {
        for (number, fits) in [(3_040_001, false), (3_051_002, false), (3_051_003, true), (3_054_001, true)] {
            assert_eq!(check_sqlite_version(number, "x").is_ok(), fits, "{number}");
        }
        let refused = check_sqlite_version(3_051_002, "3.51.2").unwrap_err().to_string();
        assert!(refused.contains("3.51.2") && refused.contains("3.51.3"), "{refused}");
    }

    #[test]
    fn every_commit_is_synced_unless_the_lab_says_otherwise() {
        for (syncs, level) in [(Syncs::default(), 2), (Syncs::Checkpoints, 1), (Syncs::Never, 0)] {
            let dir = tempfile::tempdir().unwrap();
            let held = DataDir::lock(dir.path()).unwrap();
            let Opened { connection, .. } = open_database(&held, Timestamp(1), syncs).unwrap();
            let read: i64 = connection.query_row("PRAGMA synchronous", [], |row| row.get(0)).unwrap();
            assert_eq!(read, level, "{syncs:?}");
        }
    }
}
