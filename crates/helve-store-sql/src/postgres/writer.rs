//! The one writer of this process: a task that commits what has gathered, once, and then wakes everybody it kept waiting.
//!
//! A commit costs a round trip and a sync of the server's disk, so work that arrives during one shares the next. `Soon`
//! work waits a few milliseconds for company; `Now` work takes along whatever is queued. Work is tried again alone when a
//! batch fails, so that one bad statement cannot fail its neighbours.
//!
//! When the connection breaks while the server commits, it is unknown whether it did. The transaction's number tells: it is
//! noted before, and the server is asked for it afterwards.

use std::time::{Duration, Instant};

use deadpool_postgres::Pool;
use helve_store::{StoreError, StoreFuture, Urgency};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_postgres::IsolationLevel;
use tokio_postgres::error::SqlState;

use super::CHANNEL;
use super::columns::{Db, unavailable};
use super::held::Held;

const GATHER: Duration = Duration::from_millis(10);
const BATCH_MAX: usize = 64;
/// A transaction that takes longer is given up, and its connection with it.
const TRANSACTION_MAX: Duration = Duration::from_secs(30);
/// How long the server is asked what became of a transaction.
const RESOLVE_MAX: Duration = Duration::from_secs(30);
const RESOLVE_PAUSE: Duration = Duration::from_millis(100);

/// Work inside a transaction.
pub(super) type Work<A, T> = for<'a> fn(&'a Db<'a>, &'a A) -> StoreFuture<'a, T>;

/// Something to do inside a transaction.
///
/// `apply` looks before it writes: an error other than `Unavailable` promises that nothing was written, so
/// that the rest of the batch can go on.
trait Job: Send + Sync {
    fn apply<'a>(&'a mut self, db: &'a Db<'a>) -> StoreFuture<'a, ()>;

    /// Called once, after the transaction: tells the caller that waits.
    fn settle(self: Box<Self>, outcome: Result<(), StoreError>);
}

struct Queued {
    job: Box<dyn Job>,
    urgency: Urgency,
}

#[derive(Debug)]
pub(super) struct Writer {
    queue: UnboundedSender<Queued>,
}

impl Writer {
    /// Over a pool with a single connection, so that there is never another one beside it.
    pub(super) fn spawn(pool: Pool) -> (Self, JoinHandle<()>) {
        let (queue, jobs) = unbounded_channel();
        (Self { queue }, tokio::spawn(write_until_closed(pool, jobs)))
    }

    /// Queues the work at once; the future resolves when it is durable or has failed. Other processes are notified of
    /// `notice` with the commit.
    pub(super) fn submit<A: Send + Sync + 'static, T: Send + Sync + 'static>(
        &self,
        urgency: Urgency,
        notice: Option<String>,
        arguments: A,
        work: Work<A, T>,
        published: impl FnOnce(&T) + Send + Sync + 'static,
    ) -> StoreFuture<'static, T> {
        let (reply, answer) = oneshot::channel();
        let job = Box::new(Task { arguments, work, notice, published, result: None, reply });
        let gone = self.queue.send(Queued { job, urgency }).is_err();
        Box::pin(async move {
            if gone {
                return Err(closed_error());
            }
            answer.await.unwrap_or_else(|_| Err(closed_error()))
        })
    }
}

pub(super) fn closed_error() -> StoreError {
    StoreError::Unavailable("the database is closed".into())
}

struct Task<A, T, P> {
    arguments: A,
    work: Work<A, T>,
    notice: Option<String>,
    published: P,
    result: Option<T>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<A, T, P> Job for Task<A, T, P>
where
    A: Send + Sync,
    T: Send + Sync,
    P: FnOnce(&T) + Send + Sync,
{
    fn apply<'a>(&'a mut self, db: &'a Db<'a>) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let Self { arguments, work, notice, result, .. } = self;
            *result = Some(work(db, arguments).await?);
            if let Some(notice) = notice {
                db.first("SELECT pg_notify($1, $2)", &[&CHANNEL, notice]).await?;
            }
            Ok(())
        })
    }

    fn settle(self: Box<Self>, outcome: Result<(), StoreError>) {
        let Self { published, result, reply, .. } = *self;
        let outcome = outcome.and_then(|()| result.ok_or_else(closed_error));
        if let Ok(value) = &outcome {
            published(value);
        }
        // No caller waits for work that was only recorded.
        _ = reply.send(outcome);
    }
}

async fn write_until_closed(pool: Pool, mut jobs: UnboundedReceiver<Queued>) {
    let mut writers = WriterPool { pool, server: None };
    while let Some(first) = jobs.recv().await {
        let batch = gather_batch(first, &mut jobs).await;
        commit_batch(&mut writers, batch).await;
    }
}

async fn gather_batch(first: Queued, jobs: &mut UnboundedReceiver<Queued>) -> Vec<Box<dyn Job>> {
    let mut hurry = first.urgency == Urgency::Now;
    let mut batch = vec![first.job];
    let until = tokio::time::Instant::now() + GATHER;
    while batch.len() < BATCH_MAX {
        let next = if hurry {
            jobs.try_recv().ok()
        } else {
            tokio::time::timeout_at(until, jobs.recv()).await.ok().flatten()
        };
        let Some(next) = next else { break };
        hurry |= next.urgency == Urgency::Now;
        batch.push(next.job);
    }
    batch
}

async fn commit_batch(writers: &mut WriterPool, mut batch: Vec<Box<dyn Job>>) {
    match run_transaction(writers, &mut batch).await {
        Ok(outcomes) => settle_batch(batch, outcomes),
        Err(Failed { by_server: false, .. }) if batch.len() > 1 => {
            for job in batch {
                let mut alone = vec![job];
                match run_transaction(writers, &mut alone).await {
                    Ok(outcomes) => settle_batch(alone, outcomes),
                    Err(failed) => fail_batch(alone, &failed.error),
                }
            }
        }
        Err(failed) => fail_batch(batch, &failed.error),
    }
}

fn settle_batch(batch: Vec<Box<dyn Job>>, outcomes: Vec<Result<(), StoreError>>) {
    for (job, outcome) in batch.into_iter().zip(outcomes) {
        job.settle(outcome);
    }
}

fn fail_batch(batch: Vec<Box<dyn Job>>, error: &StoreError) {
    tracing::error!(%error, "database write failed");
    for job in batch {
        job.settle(Err(error.clone()));
    }
}

/// Why a batch was not kept.
struct Failed {
    error: StoreError,
    /// The server is the reason, and not one job of the batch.
    by_server: bool,
}

/// How far a transaction came.
#[derive(Default)]
struct Progress {
    /// Its number, once the server was or will be told to commit it; none if it changed nothing.
    number: Option<String>,
    outcomes: Vec<Result<(), StoreError>>,
}

/// The pool of the writer's one connection, and what is known of the server that the connection leads to.
struct WriterPool {
    pool: Pool,
    server: Option<(Instant, ServerLife)>,
}

/// One life of a server: from a start, or from a crash that it recovered from, to the next. After a crash the numbers of
/// transactions that were lost are given to others.
type ServerLife = String;

/// Both are changed by a start; the second also by a crash of one of the server's processes. Whoever resets the statistics
/// by hand is taken for a crash, which does no harm.
const SERVER_LIFE: &str =
    "SELECT concat(pg_postmaster_start_time()::text, ' ', (SELECT stats_reset::text FROM pg_stat_wal))";

impl WriterPool {
    /// The life of the server in which this connection was made, which ends with the connection.
    async fn identify_server(&mut self, held: &mut Held) -> Result<ServerLife, StoreError> {
        let made_at = held.made_at();
        if let Some((known, life)) = &self.server
            && made_at == Some(*known)
        {
            return Ok(life.clone());
        }
        let row = held.connection()?.query_one(SERVER_LIFE, &[]).await.map_err(unavailable)?;
        let life: ServerLife = row.try_get(0).map_err(unavailable)?;
        self.server = made_at.map(|at| (at, life.clone()));
        Ok(life)
    }
}

/// Applies all jobs in one transaction; `Err` means that nothing at all was kept, or that it is unknown.
async fn run_transaction(
    writers: &mut WriterPool,
    batch: &mut [Box<dyn Job>],
) -> Result<Vec<Result<(), StoreError>>, Failed> {
    let by_server = |error| Failed { error, by_server: true };
    let mut held = Held::borrow_from(&writers.pool).await.map_err(by_server)?;
    let mut progress = Progress::default();
    let identified = tokio::time::timeout(TRANSACTION_MAX, writers.identify_server(&mut held)).await;
    let life = identified.unwrap_or_else(|_| Err(too_slow())).map_err(by_server)?;
    let tried = tokio::time::timeout(TRANSACTION_MAX, try_transaction(&mut held, batch, &mut progress)).await;
    let error = match tried {
        Ok(Ok(())) => {
            held.return_connection();
            return Ok(progress.outcomes);
        }
        Ok(Err(error)) => error,
        Err(_) => too_slow(),
    };
    let is_gone = held.is_closed();
    // What is left of a transaction is not to be found by the next one.
    drop(held);
    let Some(number) = progress.number else { return Err(Failed { error, by_server: is_gone }) };
    match resolve_commit(&writers.pool, &number, &life).await {
        CommitState::Kept => {
            tracing::info!(transaction = number, "connection lost during a commit; the server has kept it");
            Ok(progress.outcomes)
        }
        CommitState::Lost => Err(Failed { error, by_server: is_gone }),
        CommitState::Unknown => {
            let doubt = format!("{error}; whether transaction {number} was kept is not known");
            Err(by_server(StoreError::Unavailable(doubt)))
        }
    }
}

fn too_slow() -> StoreError {
    StoreError::Unavailable("PostgreSQL: a transaction took too long".into())
}

async fn try_transaction(
    held: &mut Held,
    batch: &mut [Box<dyn Job>],
    progress: &mut Progress,
) -> Result<(), StoreError> {
    let building = held.connection()?.build_transaction().isolation_level(IsolationLevel::ReadCommitted);
    let transaction = building.start().await.map_err(unavailable)?;
    let db = Db { client: transaction.client(), statements: &transaction.statement_cache };
    for job in batch {
        match job.apply(&db).await {
            Err(error @ StoreError::Unavailable(_)) => return Err(error),
            outcome => progress.outcomes.push(outcome),
        }
    }
    let number = db.first("SELECT pg_current_xact_id_if_assigned()::text AS number", &[]).await?;
    let number = number.map(|row| row.try_get("number").map_err(unavailable)).transpose()?;
    progress.number = number.flatten();
    transaction.commit().await.map_err(unavailable)
}

/// What became of a transaction whose connection broke while it was committed.
#[derive(Debug, PartialEq, Eq)]
enum CommitState {
    Kept,
    Lost,
    /// The server cannot be asked, or it was started anew: then the number may be another transaction's.
    Unknown,
}

async fn resolve_commit(pool: &Pool, number: &str, life: &str) -> CommitState {
    let until = Instant::now() + RESOLVE_MAX;
    while Instant::now() < until {
        // The server may not have noticed yet that the connection is gone.
        match tokio::time::timeout(RESOLVE_MAX, ask_for_commit(pool, number, life)).await {
            Ok(Ok(Some(state))) => return state,
            _ => tokio::time::sleep(RESOLVE_PAUSE).await,
        }
    }
    CommitState::Unknown
}

/// None while it is in progress.
async fn ask_for_commit(pool: &Pool, number: &str, life: &str) -> Result<Option<CommitState>, StoreError> {
    let mut held = Held::borrow_from(pool).await?;
    let connection = held.connection()?;
    let row = connection.query_one(SERVER_LIFE, &[]).await.map_err(unavailable)?;
    let is_same_life = row.try_get::<_, String>(0).map_err(unavailable)? == life;
    let asked = connection.query_one("SELECT pg_xact_status($1::text::xid8)", &[&number]).await;
    let status: Option<String> = match asked {
        Ok(row) => row.try_get(0).map_err(unavailable)?,
        // It knows no such number: the transaction was lost in a crash.
        Err(error) if error.code() == Some(&SqlState::INVALID_PARAMETER_VALUE) => {
            held.return_connection();
            return Ok(Some(CommitState::Lost));
        }
        Err(error) => return Err(unavailable(error)),
    };
    held.return_connection();
    Ok(match status.as_deref() {
        Some("committed") if is_same_life => Some(CommitState::Kept),
        Some("aborted") => Some(CommitState::Lost),
        Some("in progress") if is_same_life => None,
        _ => Some(CommitState::Unknown),
    })
}
