//! Readers: a few connections that look at the database while the writer writes.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use helve_store::StoreError;
use rusqlite::{Connection, OpenFlags};

use super::unavailable;

const KEPT_MAX: usize = 4;

#[derive(Clone)]
pub(super) struct Readers {
    path: Arc<PathBuf>,
    idle: Arc<Mutex<Vec<Connection>>>,
}

impl Readers {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path: Arc::new(path), idle: Arc::default() }
    }

    /// Runs `look` on a thread that may block.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let readers = self.clone();
        let found = tokio::task::spawn_blocking(move || {
            let connection = readers.take()?;
            let found = look(&connection);
            readers.give_back(connection);
            found
        });
        found.await.unwrap_or_else(|error| Err(StoreError::Unavailable(error.to_string())))
    }

    fn take(&self) -> Result<Connection, StoreError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match idle {
            Some(connection) => Ok(connection),
            None => self.open().map_err(unavailable),
        }
    }

    fn give_back(&self, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < KEPT_MAX {
            idle.push(connection);
        }
    }

    fn open(&self) -> Result<Connection, rusqlite::Error> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&*self.path, flags)?;
        connection
            .execute_batch("PRAGMA busy_timeout = 5000; PRAGMA mmap_size = 0; PRAGMA query_only = ON")?;
        super::open::keep_plans(&connection)?;
        Ok(connection)
    }
}
