//! Pages of a run's log, shared by the readers who read the same part of it at the same time.
//!
//! A page is small, is read once for all who wait for it, and is dropped with its last reader.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use helve_store::{Recorded, Store, StoreError};
use helve_types::RunId;
use tokio::sync::OnceCell;

/// How much of the log a page holds: so many bytes, and what is left of the event that goes beyond them.
const PAGE_BYTES: usize = 16 << 10;

/// Consecutive events.
#[derive(Debug)]
pub(crate) struct LogPage {
    pub(crate) events: Vec<Arc<Recorded>>,
    /// The log had no more events when the page was read.
    pub(crate) is_last: bool,
}

impl LogPage {
    fn new(events: Vec<Recorded>) -> Self {
        let bytes: usize = events.iter().map(|recorded| recorded.json.len()).sum();
        Self { is_last: bytes < PAGE_BYTES, events: events.into_iter().map(Arc::new).collect() }
    }

    /// Whether the same page would be read at any later time.
    fn is_complete(&self) -> bool {
        !self.is_last || self.events.last().is_some_and(|recorded| recorded.event.fact.is_last())
    }
}

type Slot = OnceCell<Arc<LogPage>>;

/// The pages of one run that have a reader, by the number of the event before them.
#[derive(Default)]
pub(crate) struct LogPages {
    slots: Mutex<HashMap<u64, Weak<Slot>>>,
}

/// A page, and its place among the shared ones.
pub(crate) struct HeldPage {
    pub(crate) page: Arc<LogPage>,
    /// Keeps the page where other readers find it.
    _slot: Arc<Slot>,
}

impl LogPages {
    /// The events after `after`: from a reader who has them, or else from the store.
    pub(crate) async fn read_page(
        &self,
        store: &dyn Store,
        run: RunId,
        after: u64,
    ) -> Result<HeldPage, StoreError> {
        let slot = self.get_slot(after);
        let load = || async {
            let page = LogPage::new(store.log_page(run, after, PAGE_BYTES).await?);
            if !page.is_complete() {
                self.remove_slot(after);
            }
            Ok(Arc::new(page))
        };
        let page = slot.get_or_try_init(load).await?.clone();
        Ok(HeldPage { page, _slot: slot })
    }

    fn get_slot(&self, after: u64) -> Arc<Slot> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = slots.get(&after).and_then(Weak::upgrade) {
            return slot;
        }
        slots.retain(|_, slot| slot.strong_count() > 0);
        let slot = Arc::new(Slot::new());
        slots.insert(after, Arc::downgrade(&slot));
        slot
    }

    /// The next reader reads anew: the log goes on behind this page.
    fn remove_slot(&self, after: u64) {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).remove(&after);
    }
}

#[cfg(test)]
mod tests;
