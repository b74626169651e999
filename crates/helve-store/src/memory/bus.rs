//! Wake-ups.

use super::{MemoryStore, MemoryTables};
use crate::{Bus, StoreError, StoreFuture, Wakeup, Wakeups};

impl Bus for MemoryStore {
    fn subscribe(&self) -> Wakeups {
        self.bus.subscribe()
    }
}

impl MemoryStore {
    /// Makes a change that subscribers are told of.
    pub(super) fn write_and_wake<T: Send + 'static>(
        &self,
        wakeup: Wakeup,
        work: impl FnOnce(&mut MemoryTables) -> Result<T, StoreError>,
    ) -> StoreFuture<'static, T> {
        let result = work(&mut self.lock_tables());
        if result.is_ok() {
            self.bus.wake(wakeup);
        }
        Box::pin(std::future::ready(result))
    }
}
