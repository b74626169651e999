//! Wake-ups. One process has the database, so they are a channel.

use helve_store::{Bus, StoreError, StoreFuture, Urgency, Wakeup, Wakeups};
use rusqlite::Connection;

use super::SqliteStore;

impl Bus for SqliteStore {
    fn subscribe(&self) -> Wakeups {
        self.bus.subscribe()
    }
}

impl SqliteStore {
    /// Makes a change that subscribers are told of when it is durable.
    pub(super) fn write_and_wake<T: Send + 'static>(
        &self,
        wakeup: Wakeup,
        work: impl FnMut(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> StoreFuture<'static, T> {
        let bus = self.bus.clone();
        self.write(Urgency::Now, work, move |_| bus.wake(wakeup))
    }
}
