//! Opening the file: private, of this version's layout, and whole after a crash.

use std::path::Path;

use helve_types::Timestamp;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OptionalExtension};

use crate::DataDirError;
use crate::migrate::{MigrateError, migrate};

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

    #[error("the database `{path}` is damaged: {finding}; restore it from a backup, or use another --data")]
    Damaged { path: String, finding: String },

    #[error(transparent)]
    Migrate(#[from] MigrateError),

    #[error("SQLite {0} is too old: its write-ahead log can lose data; 3.51.3 is needed")]
    OldSqlite(&'static str),

    #[error("the writer thread cannot be started")]
    Thread(#[source] std::io::Error),
}

/// The connection that writes; from now on the database counts as not closed.
pub(super) fn database(path: &Path, now: Timestamp) -> Result<Connection, OpenError> {
    if rusqlite::version_number() < SQLITE_MIN {
        return Err(OpenError::OldSqlite(rusqlite::version()));
    }
    let failed = |source| OpenError::Database { path: path.display().to_string(), source };
    keep_private(path)?;
    let mut connection = Connection::open(path).map_err(failed)?;
    configure(&connection).map_err(failed)?;
    migrate(&mut connection, now.0)?;
    if !was_closed(&connection).map_err(failed)? {
        check_after_crash(&connection, path)?;
    }
    set_closed(&connection, false).map_err(failed)?;
    Ok(connection)
}

fn configure(connection: &Connection) -> Result<(), rusqlite::Error> {
    connection.execute_batch(
        "PRAGMA busy_timeout = 5000;
         PRAGMA journal_mode = WAL;
         PRAGMA synchronous = FULL;
         PRAGMA foreign_keys = ON;
         PRAGMA mmap_size = 0;
         PRAGMA wal_autocheckpoint = 2000;
         PRAGMA journal_size_limit = 67108864;",
    )?;
    keep_plans(connection)?;
    connection.set_prepared_statement_cache_capacity(128);
    Ok(())
}

/// Plans a statement once: without this, SQLite plans it again whenever other values are bound to it.
pub(super) fn keep_plans(connection: &Connection) -> Result<(), rusqlite::Error> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// The database holds conversations: not for other users of the machine. SQLite gives the files beside it the mode
/// that the database has when they are made, so it comes first.
fn keep_private(path: &Path) -> Result<(), OpenError> {
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
        tracing::info!(
            bytes,
            "the last stop was not clean; the database is too large to check at every start"
        );
        return Ok(());
    }
    let damaged = |finding| OpenError::Damaged { path: path.display().to_string(), finding };
    let finding: String = connection
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .map_err(|error| damaged(error.to_string()))?;
    if finding == "ok" { Ok(()) } else { Err(damaged(finding)) }
}
