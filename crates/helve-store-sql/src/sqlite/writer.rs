//! The one writer: a thread that commits what has gathered, once, and then wakes everybody it kept waiting.
//!
//! A commit costs a sync of the disk, so work that arrives during one shares the next. `Soon` work waits a
//! few milliseconds for company; `Now` work takes along whatever is queued. Work is tried again alone when a
//! batch fails, so that one bad statement cannot fail its neighbours.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use helve_store::{StoreError, Urgency};
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::unavailable;
use super::wal::Wal;
use crate::DiskWatch;

const GATHER: Duration = Duration::from_millis(10);
const BATCH_MAX: usize = 64;
const IDLE: Duration = Duration::from_secs(5);

/// Something to do inside a transaction.
///
/// `apply` looks before it writes: an error other than `Unavailable` promises that nothing was written, so
/// that the rest of the batch can go on.
trait Job: Send {
    fn apply(&mut self, connection: &Connection) -> Result<(), StoreError>;

    /// Called once, after the transaction: answers the waiting caller.
    fn settle(self: Box<Self>, outcome: Result<(), StoreError>);
}

struct Queued {
    job: Box<dyn Job>,
    urgency: Urgency,
}

#[derive(Debug)]
pub(super) struct Writer {
    queue: Sender<Queued>,
}

impl Writer {
    pub(super) fn spawn(
        connection: Connection,
        watch: Option<Arc<DiskWatch>>,
        log: Wal,
    ) -> Result<(Self, JoinHandle<()>), std::io::Error> {
        let (queue, jobs) = channel();
        let thread = std::thread::Builder::new()
            .name("helve-writer".into())
            .spawn(move || write_until_closed(&connection, watch.as_deref(), &jobs, log))?;
        Ok((Self { queue }, thread))
    }

    /// Queues the work at once; the future resolves when it is durable or has failed.
    pub(super) fn submit<T: Send + 'static>(
        &self,
        urgency: Urgency,
        work: impl FnMut(&Connection) -> Result<T, StoreError> + Send + 'static,
        published: impl FnOnce(&T) + Send + 'static,
    ) -> impl Future<Output = Result<T, StoreError>> + Send + 'static {
        let (reply, answer) = oneshot::channel();
        let job = Box::new(Task { work, published, result: None, reply });
        let gone = self.queue.send(Queued { job, urgency }).is_err();
        async move {
            if gone {
                return Err(closed_error());
            }
            answer.await.unwrap_or_else(|_| Err(closed_error()))
        }
    }
}

fn closed_error() -> StoreError {
    StoreError::Unavailable("the database is closed".into())
}

struct Task<T, W, P> {
    work: W,
    published: P,
    result: Option<T>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, W, P> Job for Task<T, W, P>
where
    T: Send,
    W: FnMut(&Connection) -> Result<T, StoreError> + Send,
    P: FnOnce(&T) + Send,
{
    fn apply(&mut self, connection: &Connection) -> Result<(), StoreError> {
        self.result = Some((self.work)(connection)?);
        Ok(())
    }

    fn settle(self: Box<Self>, outcome: Result<(), StoreError>) {
        let Self { published, result, reply, .. } = *self;
        let outcome = outcome.and_then(|()| result.ok_or_else(closed_error));
        if let Ok(value) = &outcome {
            published(value);
        }
        // Recorded work has no waiting caller.
        _ = reply.send(outcome);
    }
}

fn write_until_closed(connection: &Connection, watch: Option<&DiskWatch>, jobs: &Receiver<Queued>, log: Wal) {
    if let Err(Dead(error)) = write_batches(connection, watch, jobs, log) {
        tracing::error!(%error, "disk failed: no more writes until a restart");
        refuse_until_closed(&error, jobs);
    }
}

fn write_batches(
    connection: &Connection,
    watch: Option<&DiskWatch>,
    jobs: &Receiver<Queued>,
    mut log: Wal,
) -> Result<(), Dead> {
    let mut written = false;
    loop {
        match jobs.recv_timeout(IDLE) {
            Ok(first) => {
                commit_batch(connection, watch, gather_batch(first, jobs))?;
                log.check_length();
                written = true;
            }
            Err(RecvTimeoutError::Timeout) => {
                if std::mem::take(&mut written) {
                    checkpoint(connection)?;
                    log.check_length();
                }
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    checkpoint(connection)
}

fn gather_batch(first: Queued, jobs: &Receiver<Queued>) -> Vec<Box<dyn Job>> {
    let mut hurry = first.urgency == Urgency::Now;
    let mut batch = vec![first.job];
    let until = Instant::now() + GATHER;
    while batch.len() < BATCH_MAX {
        let next = if hurry {
            jobs.try_recv().ok()
        } else {
            jobs.recv_timeout(until.saturating_duration_since(Instant::now())).ok()
        };
        let Some(next) = next else { break };
        hurry |= next.urgency == Urgency::Now;
        batch.push(next.job);
    }
    batch
}

/// The disk failed in the middle of a commit: what it holds is known only after the database is opened again.
struct Dead(StoreError);

fn refuse_until_closed(error: &StoreError, jobs: &Receiver<Queued>) {
    while let Ok(queued) = jobs.recv() {
        queued.job.settle(Err(error.clone()));
    }
}

fn commit_batch(
    connection: &Connection,
    watch: Option<&DiskWatch>,
    mut batch: Vec<Box<dyn Job>>,
) -> Result<(), Dead> {
    match run_transaction(connection, &mut batch) {
        Ok(outcomes) => {
            for (job, outcome) in batch.into_iter().zip(outcomes) {
                job.settle(outcome);
            }
        }
        Err(Failed { dead: false, .. }) if batch.len() > 1 => {
            let mut alive = Ok(());
            for job in batch {
                match &alive {
                    Ok(()) => alive = commit_batch(connection, watch, vec![job]),
                    Err(Dead(error)) => job.settle(Err(error.clone())),
                }
            }
            return alive;
        }
        Err(Failed { error, dead }) => {
            tracing::error!(%error, "database write failed");
            // Before the error is reported: a retry may find space.
            if let Some(watch) = watch {
                watch.handle_write_failure();
            }
            for job in batch {
                job.settle(Err(error.clone()));
            }
            if dead {
                return Err(Dead(error));
            }
        }
    }
    Ok(())
}

/// Why a batch was not kept.
struct Failed {
    error: StoreError,
    /// Whether to write anything more would be to trust a disk that has just lied.
    dead: bool,
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Self {
        Self { error, dead: false }
    }
}

/// After a sync that failed the system may have dropped what it could not write; syncing again would seem to work.
fn is_fatal(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::SystemIoFailure)
}

/// Applies all jobs in one transaction; `Err` means that nothing at all was kept.
fn run_transaction(
    connection: &Connection,
    batch: &mut [Box<dyn Job>],
) -> Result<Vec<Result<(), StoreError>>, Failed> {
    connection
        .prepare_cached("BEGIN IMMEDIATE")
        .and_then(|mut begin| begin.execute([]))
        .map_err(unavailable)?;
    let mut outcomes = Vec::with_capacity(batch.len());
    for job in batch {
        match job.apply(connection) {
            Err(error @ StoreError::Unavailable(_)) => {
                roll_back(connection);
                return Err(error.into());
            }
            outcome => outcomes.push(outcome),
        }
    }
    let committed = connection.prepare_cached("COMMIT").and_then(|mut commit| commit.execute([]));
    if let Err(error) = committed {
        roll_back(connection);
        return Err(Failed { dead: is_fatal(&error), error: unavailable(error) });
    }
    Ok(outcomes)
}

fn roll_back(connection: &Connection) {
    if !connection.is_autocommit()
        && let Err(error) = connection.execute_batch("ROLLBACK")
    {
        tracing::error!(%error, "transaction not rolled back");
    }
}

/// Moves the log into the database file and empties it, while the writer is idle.
fn checkpoint(connection: &Connection) -> Result<(), Dead> {
    match connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())) {
        Err(error) if is_fatal(&error) => Err(Dead(unavailable(error))),
        Err(error) => {
            tracing::debug!(%error, "write-ahead log not emptied");
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}
