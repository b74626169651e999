//! The store in memory keeps the contract, and the journal keeps its order over it.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod journal;

use std::sync::Arc;

use helve_store::{MemoryStore, Store};

async fn empty() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new())
}

helve_store_contract::store_contract!(empty());
