//! Looking at the layout of a database, and changing it without serving it.

use std::path::Path;

use helve_types::Timestamp;
use rusqlite::{Connection, OpenFlags};

use super::Syncs;
use super::open::{OpenError, is_truncated_beside_wal, migrate_error, open_database, open_error, set_closed};
use crate::{DataDir, Layout};

/// How far the database in a data directory is. Changes nothing, and may be asked while a server uses it.
pub fn read_layout(data: &Path) -> Result<Layout, OpenError> {
    let path = &*data.join(crate::data_dir::DATABASE);
    if is_truncated_beside_wal(path) {
        return Err(OpenError::Emptied { path: path.display().to_string() });
    }
    let failed = |source| open_error(path, source);
    let connection = if path.exists() {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Connection::open_with_flags(path, flags).map_err(failed)?
    } else {
        Connection::open_in_memory().map_err(failed)?
    };
    connection.execute_batch("PRAGMA busy_timeout = 5000").map_err(failed)?;
    crate::migrate::read_layout(&connection).map_err(|error| migrate_error(path, error))
}

/// Brings it up to date. How far it was.
pub fn migrate_database(dir: &DataDir, now: Timestamp) -> Result<Layout, OpenError> {
    let layout = read_layout(dir.path())?;
    let opened = open_database(dir, now, Syncs::default())?;
    // Who opens it next must know how the one before left it.
    if opened.was_closed {
        set_closed(&opened.connection, true).map_err(|source| open_error(&dir.database(), source))?;
    }
    Ok(layout)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LayoutStep;
    use crate::migrate::MigrateError;

    #[test]
    fn a_layout_is_new_then_newest_then_behind_then_too_new() {
        let home = tempfile::tempdir().unwrap();
        let dir = DataDir::lock(home.path()).unwrap();
        assert!(read_layout(dir.path()).unwrap().is_new());
        assert!(!dir.database().exists(), "looking makes nothing");
        assert!(migrate_database(&dir, Timestamp(1)).unwrap().is_new());
        let layout = read_layout(dir.path()).unwrap();
        assert!(layout.is_newest() && layout.number == Some(layout.newest));

        let connection = Connection::open(dir.database()).unwrap();
        let older = "DROP TABLE model_profiles; DELETE FROM migrations WHERE number = 3";
        connection.execute_batch(older).unwrap();
        let missing = [LayoutStep { number: 3, name: "model_profiles" }];
        assert_eq!(read_layout(dir.path()).unwrap().pending, missing);
        assert_eq!(migrate_database(&dir, Timestamp(2)).unwrap().pending, missing);
        assert!(read_layout(dir.path()).unwrap().is_newest());

        connection.execute("INSERT INTO migrations VALUES (999, 'x', 'y', 1)", []).unwrap();
        let newer = read_layout(dir.path()).unwrap_err();
        assert!(matches!(newer, OpenError::Migrate(MigrateError::Newer(999))), "{newer}");
        assert!(migrate_database(&dir, Timestamp(3)).is_err());
        connection
            .execute_batch("DELETE FROM migrations WHERE number = 999; UPDATE migrations SET checksum = 'z'")
            .unwrap();
        let changed = read_layout(dir.path()).unwrap_err();
        assert!(matches!(changed, OpenError::Migrate(MigrateError::Changed { number: 1 })), "{changed}");
    }

    #[test]
    fn how_a_database_was_left_is_not_changed_by_a_migration() {
        let home = tempfile::tempdir().unwrap();
        let dir = DataDir::lock(home.path()).unwrap();
        migrate_database(&dir, Timestamp(1)).unwrap();
        let connection = Connection::open(dir.database()).unwrap();
        let closed = || -> String {
            let sql = "SELECT value FROM settings WHERE name = 'closed'";
            connection.query_row(sql, [], |row| row.get(0)).unwrap()
        };
        assert_eq!(closed(), "yes");
        set_closed(&connection, false).unwrap();
        migrate_database(&dir, Timestamp(2)).unwrap();
        assert_eq!(closed(), "no");
    }

    #[test]
    fn a_file_that_is_no_database_is_named() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("helve.db"), "no database".repeat(1000)).unwrap();
        let refused = read_layout(home.path()).unwrap_err();
        assert!(matches!(refused, OpenError::Damaged { .. }), "{refused}");
    }
}
