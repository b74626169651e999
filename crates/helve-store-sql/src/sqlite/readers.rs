//! Readers: a few threads, each with a connection, that look at the database while the writer writes.
//!
//! A query that finds all of them busy waits in a queue, so a crowd of readers costs neither connections nor threads.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use helve_store::StoreError;
use rusqlite::{Connection, OpenFlags};
use tokio::sync::oneshot;

use super::unavailable;

/// How many queries run at a time.
const READERS_MAX: usize = 4;

type Query = Box<dyn FnOnce(Result<&Connection, StoreError>) + Send>;

/// The threads end with this value, once the queue is empty.
pub(super) struct Readers(Arc<Shared>);

struct Shared {
    path: PathBuf,
    queue: Mutex<Queue>,
    /// Told of every new query, and of the end.
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Query>,
    threads: usize,
    idle: usize,
    closed: bool,
}

impl Readers {
    pub(super) fn new(path: PathBuf) -> Self {
        Self(Arc::new(Shared { path, queue: Mutex::default(), changed: Condvar::new() }))
    }

    /// Runs `look` on one of the threads. It is not run if the caller has left before its turn.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        self.submit(Box::new(move |connection| {
            if !answer.is_closed() {
                // If this fails, the caller is gone.
                _ = answer.send(connection.and_then(look));
            }
        }))?;
        // A query that panicked has dropped its end.
        answered.await.unwrap_or_else(|_| Err(StoreError::Unavailable("a query did not end properly".into())))
    }

    fn submit(&self, query: Query) -> Result<(), StoreError> {
        let mut queue = self.0.lock_queue();
        if queue.idle <= queue.waiting.len() && queue.threads < READERS_MAX {
            let shared = self.0.clone();
            let name = format!("reader-{}", queue.threads + 1);
            match std::thread::Builder::new().name(name).spawn(move || shared.run_queries()) {
                Ok(_) => queue.threads += 1,
                // Those that are there will do.
                Err(_) if queue.threads > 0 => {}
                Err(error) => return Err(StoreError::Unavailable(error.to_string())),
            }
        }
        queue.waiting.push_back(query);
        drop(queue);
        self.0.changed.notify_one();
        Ok(())
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.0.lock_queue().closed = true;
        self.0.changed.notify_all();
    }
}

impl Shared {
    fn lock_queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run_queries(&self) {
        let mut connection = None;
        while let Some(query) = self.next_query() {
            // A connection that a query panicked with is not used again.
            let opened = connection.take().map_or_else(|| self.open().map_err(unavailable), Ok);
            let ran = catch_unwind(AssertUnwindSafe(|| query(opened.as_ref().map_err(Clone::clone))));
            connection = ran.ok().and_then(|()| opened.ok());
        }
    }

    /// Waits for a query; none once the store is closed and all were run.
    fn next_query(&self) -> Option<Query> {
        let mut queue = self.lock_queue();
        loop {
            if let Some(query) = queue.waiting.pop_front() {
                return Some(query);
            }
            if queue.closed {
                return None;
            }
            queue.idle += 1;
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.idle -= 1;
        }
    }

    fn open(&self) -> Result<Connection, rusqlite::Error> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        connection
            .execute_batch("PRAGMA busy_timeout = 5000; PRAGMA mmap_size = 0; PRAGMA query_only = ON")?;
        super::open::enable_stable_plans(&connection)?;
        Ok(connection)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::mpsc;
    use std::thread::ThreadId;

    use tokio::task::JoinSet;

    use super::*;

    fn readers() -> (tempfile::TempDir, Arc<Readers>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("helve.db");
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
        (dir, Arc::new(Readers::new(path)))
    }

    #[tokio::test]
    async fn a_crowd_of_queries_is_answered_by_a_few_threads() {
        let (_dir, readers) = readers();
        let mut queries = JoinSet::new();
        for n in 0..200 {
            let readers = readers.clone();
            queries.spawn(async move {
                let query = readers.read(move |connection| {
                    connection.query_row("SELECT count(*) FROM t", [], |_| Ok(())).unwrap();
                    Ok((n, std::thread::current().id()))
                });
                query.await.unwrap()
            });
        }
        let (mut numbers, threads): (Vec<i32>, HashSet<ThreadId>) =
            queries.join_all().await.into_iter().unzip();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..200).collect::<Vec<_>>());
        assert!(threads.len() <= READERS_MAX, "{} threads", threads.len());
    }

    #[tokio::test]
    async fn a_query_whose_caller_has_left_is_not_run() {
        let (_dir, readers) = readers();
        let (end, ended) = mpsc::channel::<()>();
        let ended = Arc::new(Mutex::new(ended));
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        // All threads are busy until they are told.
        let mut busy = vec![];
        for _ in 0..READERS_MAX {
            let ended = ended.clone();
            let mut query = Box::pin(readers.read(move |_| {
                _ = ended.lock().unwrap().recv();
                Ok(())
            }));
            assert!(query.as_mut().poll(&mut cx).is_pending());
            busy.push(query);
        }
        let ran = Arc::new(Mutex::new(false));
        let mut left = Box::pin({
            let ran = ran.clone();
            readers.read(move |_| {
                *ran.lock().unwrap() = true;
                Ok(())
            })
        });
        assert!(left.as_mut().poll(&mut cx).is_pending());
        drop(left);
        drop(end);
        for query in busy {
            query.await.unwrap();
        }
        // The next request is answered.
        readers.read(|_| Ok(())).await.unwrap();
        assert!(!*ran.lock().unwrap());
    }

    #[tokio::test]
    async fn a_query_that_panics_fails_alone() {
        let (_dir, readers) = readers();
        for _ in 0..2 * READERS_MAX {
            assert!(readers.read::<()>(|_| panic!("on purpose")).await.is_err());
        }
        readers.read(|_| Ok(())).await.unwrap();
        assert!(readers.0.lock_queue().threads <= READERS_MAX);
    }
}
