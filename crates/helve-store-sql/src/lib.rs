//! Remembering in SQL.
//!
//! The only crate that knows SQL. `SqliteStore` keeps everything in one file: a single writer thread with
//! group commit and `synchronous=FULL`, a few readers beside it, and a lock on the data directory so that two
//! servers never share one. `PostgresStore` keeps the same on a database server. What the rows mean is said by
//! `helve-store`; how they are laid out, by the files in `migrations/`.

mod copy;
mod data_dir;
mod layout;
mod migrate;
mod opened_row;
mod postgres;
mod snapshot;
mod sqlite;

pub use copy::{
    CopyError, CopyProgress, CopyReport, CopyStep, DatabasePlace, TableRows, copy_database, snapshot_postgres,
};
pub use data_dir::{DataDir, DataDirError, DiskWatch, Restoration, free_bytes};
pub use layout::{Layout, LayoutStep, newest_layout};
pub use postgres::{
    PostgresError, PostgresSettings, PostgresStore, migrate_database as migrate_postgres,
    read_foreign_tables, read_layout as read_postgres_layout,
};
pub use snapshot::{SnapshotError, SnapshotProgress, snapshot_sqlite};
pub use sqlite::{
    OpenError, SqliteStore, Syncs, migrate_database as migrate_sqlite, read_layout as read_sqlite_layout,
};
