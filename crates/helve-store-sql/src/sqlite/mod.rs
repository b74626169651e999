//! One file, one writer, a few readers.

mod access;
mod audit;
mod bus;
mod columns;
mod copy;
mod layout;
mod log;
mod open;
mod plans;
mod readers;
mod rows;
mod snapshot;
mod views;
mod wal;
mod writer;

use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

use helve_store::{LocalBus, Store, StoreError, StoreFuture, Urgency};
use helve_types::{ConversationId, Message, Timestamp};
use rusqlite::Connection;

pub(crate) use self::audit::chain_old_entries;
#[cfg(test)]
pub(crate) use self::audit::read_chain;
pub(crate) use self::copy::{SqliteCopy, check_newest};
pub use self::layout::{migrate_database, read_layout};
pub use self::open::{OpenError, Syncs};
use self::readers::Readers;
pub(crate) use self::snapshot::write_snapshot;
use self::wal::Wal;
use self::writer::Writer;
use crate::DataDir;

pub struct SqliteStore {
    /// `None` once closed.
    writer: Mutex<Option<Writer>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    readers: Readers,
    bus: LocalBus,
    was_closed: bool,
    _dir: DataDir,
}

impl SqliteStore {
    /// Opens the database in the directory, and brings its layout up to date.
    pub fn open(dir: DataDir, now: Timestamp) -> Result<Self, OpenError> {
        Self::open_syncing(dir, now, Syncs::default())
    }

    /// The same, syncing as it should not: for the fault lab.
    pub fn open_syncing(dir: DataDir, now: Timestamp, syncs: Syncs) -> Result<Self, OpenError> {
        let path = dir.database();
        let open::Opened { connection, was_closed } = open::open_database(&dir, now, syncs)?;
        let log = Wal::for_database(&path);
        let (writer, thread) = Writer::spawn(connection, dir.watch(), log).map_err(OpenError::Thread)?;
        Ok(Self {
            writer: Mutex::new(Some(writer)),
            thread: Mutex::new(Some(thread)),
            readers: Readers::new(path),
            bus: LocalBus::default(),
            was_closed,
            _dir: dir,
        })
    }

    /// Whether it was closed in good order before it was opened now; a new one was.
    pub fn was_closed(&self) -> bool {
        self.was_closed
    }

    fn write<T: Send + 'static>(
        &self,
        urgency: Urgency,
        work: impl FnMut(&Connection) -> Result<T, StoreError> + Send + 'static,
        published: impl FnOnce(&T) + Send + 'static,
    ) -> StoreFuture<'static, T> {
        match &*self.writer.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(writer) => Box::pin(writer.submit(urgency, work, published)),
            None => {
                let closed = StoreError::Unavailable("the database is closed".into());
                Box::pin(std::future::ready(Err(closed)))
            }
        }
    }

    fn write_now<T: Send + 'static>(
        &self,
        work: impl FnMut(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> StoreFuture<'static, T> {
        self.write(Urgency::Now, work, |_| {})
    }

    /// The first messages of a conversation. They never change, so the writer need not be kept waiting for them.
    async fn history(&self, of: Option<ConversationId>, count: u64) -> Result<Vec<Message>, StoreError> {
        match of {
            Some(id) if count > 0 => {
                self.readers
                    .read(move |connection| views::conversations::history(connection, id, count))
                    .await
            }
            _ => Ok(vec![]),
        }
    }

    fn read<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> StoreFuture<'_, T> {
        Box::pin(self.readers.read(look))
    }
}

impl Drop for SqliteStore {
    /// Waits for the writer, so that the lock on the directory is not given up while it still writes.
    fn drop(&mut self) {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        // A callback of a commit may drop the last owner of the store: then this runs on the writer, which ends next.
        let another = thread.filter(|writer| writer.thread().id() != std::thread::current().id());
        if another.is_some_and(|writer| writer.join().is_err()) {
            tracing::error!("database writer ended with a panic");
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "used as a function for map_err")]
fn unavailable(error: rusqlite::Error) -> StoreError {
    let full = matches!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::DiskFull));
    let hint = if full { " (free some space; nothing is lost)" } else { "" };
    StoreError::Unavailable(format!("{error}{hint}"))
}

impl Store for SqliteStore {
    fn check(&self) -> StoreFuture<'_, ()> {
        let touch = "INSERT OR REPLACE INTO settings (name, value) VALUES ('checked', 'yes')";
        Box::pin(async move {
            self.write_now(move |connection| {
                connection.prepare_cached(touch).and_then(|mut s| s.execute([])).map_err(unavailable)
            })
            .await?;
            self.read(|connection| {
                connection.query_row("SELECT count(*) FROM settings", [], |_| Ok(())).map_err(unavailable)
            })
            .await
        })
    }

    fn close(&self) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.write_now(|connection| open::set_closed(connection, true).map_err(unavailable)).await?;
            // Dropping the queue ends the thread once it has written what is left.
            self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
            let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
            let ended = tokio::task::spawn_blocking(move || thread.map(JoinHandle::join));
            match ended.await {
                Ok(None | Some(Ok(()))) => Ok(()),
                _ => Err(StoreError::Unavailable("the writer did not end properly".into())),
            }
        })
    }
}
