//! Opens what keeps everything durable: a database server if there is one, or else SQLite in the data directory.

use std::sync::Arc;

use helve_store::Store;
use helve_store_sql::{DataDir, PostgresStore, SqliteStore, Syncs};
use helve_types::World;

use crate::config::Config;

/// A store at work.
pub(crate) struct OpenedStore {
    pub(crate) store: Arc<dyn Store>,
    /// The process that had it last has closed it.
    pub(crate) stopped_cleanly: bool,
    /// Why what was acknowledged may be lost with the database server's power, if it may.
    pub(crate) durability_problem: Option<String>,
}

pub(crate) async fn open_store(
    config: &Config,
    dir: DataDir,
    world: &World,
    syncs: Syncs,
) -> anyhow::Result<OpenedStore> {
    let Some(settings) = &config.database else {
        let sqlite = SqliteStore::open_syncing(dir, world.now(), syncs)?;
        let stopped_cleanly = sqlite.was_closed();
        return Ok(OpenedStore { store: Arc::new(sqlite), stopped_cleanly, durability_problem: None });
    };
    let postgres = PostgresStore::open(dir, settings, world.now()).await?;
    let stopped_cleanly = postgres.was_closed();
    let durability_problem = postgres.durability_problem().map(str::to_owned);
    Ok(OpenedStore { store: Arc::new(postgres), stopped_cleanly, durability_problem })
}
