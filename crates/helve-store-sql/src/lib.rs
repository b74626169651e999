//! Remembering in SQL.
//!
//! The only crate that knows SQL. `SqliteStore` keeps everything in one file: a single writer thread with
//! group commit and `synchronous=FULL`, a few readers beside it, and a lock on the data directory so that two
//! servers never share one. `PostgresStore` keeps the same on a database server. What the rows mean is said by
//! `helve-store`; how they are laid out, by the files in `migrations/`.

mod data_dir;
mod migrate;
mod opened_row;
mod postgres;
mod sqlite;

pub use data_dir::{DataDir, DataDirError, DiskWatch};
pub use postgres::{PostgresError, PostgresSettings, PostgresStore};
pub use sqlite::{OpenError, SqliteStore, Syncs};
