//! The bug "the key is not part of the run's transaction": it is only remembered, and a crash forgets it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use helve_store::{NewRun, Opened, Store, StoreFuture};
use helve_types::RunId;

use super::StoreFault;

#[derive(Default)]
pub(crate) struct LooseKey {
    runs: Mutex<HashMap<String, RunId>>,
}

impl StoreFault for LooseKey {
    fn open_run<'a>(&'a self, inner: &'a Arc<dyn Store>, mut new: NewRun) -> StoreFuture<'a, Opened> {
        if let Some(key) = new.key.take() {
            let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(run) = runs.get(&key.key) {
                return Box::pin(std::future::ready(Ok(Opened::Replayed { run: *run })));
            }
            runs.insert(key.key, new.run);
        }
        inner.open_run(new)
    }
}
