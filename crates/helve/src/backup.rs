//! A backup: one archive with the database as of one moment and the other files of the data directory.
//!
//! It is a tar archive. The first file says what made it (`backup.json`), the last two what is in it (`manifest.json`, with
//! the hash of each file) and the hash of that (`manifest.blake3`). So it can be written in one pass, is refused early by
//! a Helve that cannot read it, and no damage of it goes unnoticed.

pub(crate) mod archive;
mod read;
mod restore;
mod write;

pub(crate) use self::read::{CheckedBackup, check_backup};
pub(crate) use self::restore::{RestoreProgress, RestoreTarget, Restored, restore_backup};
pub(crate) use self::write::{BackupProgress, BackupSource, WrittenBackup, write_backup};

use serde::{Deserialize, Serialize};

/// Says what the rest is.
const ABOUT: &str = "backup.json";
const MANIFEST: &str = "manifest.json";
const MANIFEST_HASH: &str = "manifest.blake3";
/// The database, whatever it was kept in.
const DATABASE: &str = "helve.db";
/// What else of the data directory is in a backup: files, and folders with all that is below them.
const OTHERS: [&str; 4] = ["notes", "tools", "skills", "session.key"];

const FORMAT: &str = "helve-backup";
/// Of the archive; a greater one is of a newer Helve.
const FORMAT_VERSION: u32 = 1;

/// The first file of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AboutBackup {
    format: String,
    format_version: u32,
    /// The Helve that made it.
    pub(crate) helve: String,
    /// The number of the database's layout.
    pub(crate) layout: u32,
    /// Milliseconds since 1970.
    pub(crate) created_at: i64,
    /// What the database was kept in: `sqlite` or `postgresql`.
    pub(crate) database: String,
    /// Nothing but the database is in it.
    pub(crate) database_only: bool,
}

/// What is in a backup besides this list and its hash.
#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    parts: Vec<BackupPart>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct BackupPart {
    path: String,
    bytes: u64,
    blake3: String,
}
