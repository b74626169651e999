//! A copy of the database as one file, and giving space back.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::open::restrict_permissions;

/// Writes what the database has at this moment to a file that does not exist or is empty. It is private from the first
/// moment, and has no free pages.
pub(crate) fn write_snapshot(database: &Path, to: &Path) -> Result<(), String> {
    restrict_permissions(to).map_err(|error| error.to_string())?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let problem = |error: rusqlite::Error| error.to_string();
    let connection = Connection::open_with_flags(database, flags).map_err(problem)?;
    connection.execute_batch("PRAGMA busy_timeout = 5000; PRAGMA mmap_size = 0").map_err(problem)?;
    let to = to.to_str().ok_or("the path is not UTF-8")?;
    connection.execute("VACUUM INTO ?1", [to]).map(drop).map_err(problem)
}
