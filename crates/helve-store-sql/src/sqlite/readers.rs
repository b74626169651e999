//! Readers: a few connections that look at the database while the writer writes.
//!
//! A query that finds all connections in use waits for one without taking a thread, so a crowd of readers costs
//! neither connections nor threads.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use helve_store::StoreError;
use rusqlite::{Connection, OpenFlags};
use tokio::sync::Semaphore;

use super::unavailable;

/// How many queries run at a time. Each has a connection with its cache, and a thread.
const READERS_MAX: usize = 4;

#[derive(Clone)]
pub(super) struct Readers {
    path: Arc<PathBuf>,
    permits: Arc<Semaphore>,
    idle: Arc<Mutex<Vec<Connection>>>,
}

impl Readers {
    pub(super) fn new(path: PathBuf) -> Self {
        let permits = Arc::new(Semaphore::new(READERS_MAX));
        Self { path: Arc::new(path), permits, idle: Arc::default() }
    }

    /// Runs `look` on a thread that may block.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let readers = self.clone();
        let permit = self.permits.clone().acquire_owned().await;
        let permit = permit.map_err(|error| StoreError::Unavailable(error.to_string()))?;
        let found = tokio::task::spawn_blocking(move || {
            // Held until the query has ended, whether or not its caller still waits.
            let _permit = permit;
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
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use tokio::task::JoinSet;

    use super::*;

    #[tokio::test]
    async fn a_crowd_of_queries_runs_a_few_at_a_time_and_all_are_answered() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("helve.db");
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
        let readers = Readers::new(path);
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut queries = JoinSet::new();
        for n in 0..100 {
            let (readers, running, most) = (readers.clone(), running.clone(), most.clone());
            queries.spawn(async move {
                let query = readers.read(move |_| {
                    most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    std::thread::sleep(Duration::from_millis(2));
                    running.fetch_sub(1, Ordering::SeqCst);
                    Ok(n)
                });
                query.await.unwrap()
            });
        }
        let mut answers = queries.join_all().await;
        answers.sort_unstable();
        assert_eq!(answers, (0..100).collect::<Vec<_>>());
        assert!(most.load(Ordering::SeqCst) <= READERS_MAX, "{most:?} at a time");
        assert!(readers.idle.lock().unwrap().len() <= READERS_MAX);
    }

    #[tokio::test]
    async fn a_query_whose_caller_has_left_keeps_its_place_until_it_ends() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("helve.db");
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
        let readers = Readers::new(path);
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let mut left = Box::pin(readers.read(move |_| {
            _ = ended.recv();
            Ok(())
        }));
        // Polled once: the query runs from then on.
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(left.as_mut().poll(&mut cx).is_pending());
        drop(left);
        assert_eq!(readers.permits.available_permits(), READERS_MAX - 1);
        end.send(()).unwrap();
        let all = readers.permits.acquire_many(u32::try_from(READERS_MAX).unwrap()).await;
        assert!(all.is_ok());
    }
}
