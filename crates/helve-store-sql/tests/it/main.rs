//! SQLite and PostgreSQL keep the contract, and keep it over restarts.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod audit;
mod bytes;
mod copy;
mod ends;
mod outages;
mod postgres;
mod restart;
mod tls;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use helve_store::Store;
use helve_store_sql::{DataDir, SqliteStore};
use helve_types::Timestamp;

/// A directory of its own, under the build's folder for such things.
fn scratch() -> PathBuf {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap().keep()
}

fn open(dir: &Path) -> Arc<dyn Store> {
    Arc::new(SqliteStore::open(DataDir::lock(dir).unwrap(), Timestamp(1)).unwrap())
}

async fn fresh() -> Arc<dyn Store> {
    open(&scratch())
}

helve_store_contract::store_contract!(fresh());
