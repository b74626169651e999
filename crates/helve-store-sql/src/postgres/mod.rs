//! A database server: one connection writes, a few read, one listens.

mod access;
mod audit;
mod bus;
mod columns;
mod copy;
mod foreign;
mod held;
mod layout;
mod log;
mod migrate;
mod plans;
mod readers;
mod rows;
mod settings;
mod views;
mod writer;

use std::sync::{Mutex, PoisonError};

use helve_store::{Store, StoreError, StoreFuture, Urgency, Wakeup};
use helve_types::{ConversationId, Message, Timestamp};
use tokio::task::JoinHandle;

use self::bus::WakeupListener;
use self::columns::{Db, describe};
pub(crate) use self::copy::PostgresCopy;
pub use self::foreign::read_foreign_tables;
use self::held::describe_pool_error;
pub use self::layout::{migrate_database, read_layout};
#[cfg(test)]
pub(crate) use self::migrate::POSTGRES;
use self::readers::Readers;
pub use self::settings::PostgresSettings;
use self::writer::{Work, Writer, closed_error};
use crate::DataDir;

/// What processes tell each other of changes on.
const CHANNEL: &str = "helve";

/// `pg_current_xact_id` and `xid8` came with 13; nothing older than 15 is tested.
const VERSION_MIN: i64 = 150_000;

#[derive(Debug, thiserror::Error)]
pub enum PostgresError {
    #[error("the database `{place}` cannot be used: {problem}")]
    Unusable { place: String, problem: String },

    #[error(
        "the database `{place}` is in use by another server of Helve; stop it, or use another database with HELVE_DATABASE_URL"
    )]
    InUse { place: String },

    #[error("the database `{place}` is served by PostgreSQL {found}; version 15 or newer is needed")]
    Old { place: String, found: String },

    #[error(
        "the database `{place}` was written by a newer Helve (layout {number}); start that version, or use another \
         database with HELVE_DATABASE_URL"
    )]
    Newer { place: String, number: u32 },

    #[error(
        "layout {number} of the database `{place}` is not the one this Helve knows; was a migration edited?"
    )]
    Changed { place: String, number: u32 },

    #[error("layout {number} (`{name}`) cannot be applied to the database `{place}`: {problem}")]
    Failed { place: String, number: u32, name: &'static str, problem: String },

    #[error("the database `{place}` must have the encoding UTF8; it has {found}")]
    Encoding { place: String, found: String },
}

pub struct PostgresStore {
    /// `None` once closed.
    writer: Mutex<Option<Writer>>,
    task: Mutex<Option<JoinHandle<()>>>,
    readers: Readers,
    listener: WakeupListener,
    was_closed: bool,
    durability_problem: Option<String>,
    _dir: DataDir,
}

impl PostgresStore {
    /// Connects, and brings the layout up to date. Who holds the data directory is a server, and the only one of this
    /// database.
    pub async fn open(
        dir: DataDir,
        settings: &PostgresSettings,
        now: Timestamp,
    ) -> Result<Self, PostgresError> {
        let place = settings.to_string();
        let unusable = |problem| PostgresError::Unusable { place: place.clone(), problem };
        // The lock comes first: a server that must not start changes nothing.
        let listener = WakeupListener::open(settings, dir.is_locked()).await?;
        let writers = settings.build_pool(1).map_err(unusable)?;
        let found = {
            let mut connection =
                writers.get().await.map_err(|error| unusable(describe_pool_error(&error)))?;
            migrate::migrate(&mut connection, &place, now.0).await?;
            migrate::inspect_server(&connection, dir.is_locked())
                .await
                .map_err(|error| unusable(describe(&error)))?
        };
        let readers = Readers::new(settings.build_pool(readers::READERS_MAX).map_err(unusable)?);
        let (writer, task) = Writer::spawn(writers);
        if let Some(problem) = &found.durability_problem {
            tracing::warn!(%problem, "database may lose what was acknowledged");
        }
        Ok(Self {
            writer: Mutex::new(Some(writer)),
            task: Mutex::new(Some(task)),
            readers,
            listener,
            was_closed: found.was_closed,
            durability_problem: found.durability_problem,
            _dir: dir,
        })
    }

    /// Whether it was closed in good order before it was opened now; a new one was.
    pub fn was_closed(&self) -> bool {
        self.was_closed
    }

    /// Why what was acknowledged may be lost with the server's power, if it may.
    pub fn durability_problem(&self) -> Option<&str> {
        self.durability_problem.as_deref()
    }

    fn write<A: Send + Sync + 'static, T: Send + Sync + 'static>(
        &self,
        urgency: Urgency,
        notice: Option<String>,
        arguments: A,
        work: Work<A, T>,
        published: impl FnOnce(&T) + Send + Sync + 'static,
    ) -> StoreFuture<'static, T> {
        match &*self.writer.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(writer) => writer.submit(urgency, notice, arguments, work, published),
            None => Box::pin(std::future::ready(Err(closed_error()))),
        }
    }

    fn write_now<A: Send + Sync + 'static, T: Send + Sync + 'static>(
        &self,
        arguments: A,
        work: Work<A, T>,
    ) -> StoreFuture<'static, T> {
        self.write(Urgency::Now, None, arguments, work, |_| {})
    }

    /// Makes a change that subscribers in all processes are told of when it is durable.
    fn write_and_wake<A: Send + Sync + 'static, T: Send + Sync + 'static>(
        &self,
        wakeup: Wakeup,
        arguments: A,
        work: Work<A, T>,
    ) -> StoreFuture<'static, T> {
        let wake = self.listener.waker();
        self.write(Urgency::Now, Some(bus::encode_notice(wakeup)), arguments, work, move |_| {
            wake.wake(wakeup)
        })
    }

    fn read<A: Send + Sync + 'static, T: Send + 'static>(
        &self,
        arguments: A,
        look: Work<A, T>,
    ) -> StoreFuture<'_, T> {
        Box::pin(self.readers.read(arguments, look))
    }

    /// The first messages of a conversation. They never change, so the writer need not be kept waiting for them.
    async fn load_history(&self, of: Option<ConversationId>, count: u64) -> Result<Vec<Message>, StoreError> {
        match of {
            Some(id) if count > 0 => {
                self.read((id, count), |db, (id, count)| {
                    Box::pin(views::conversations::history(db, *id, *count))
                })
                .await
            }
            _ => Ok(vec![]),
        }
    }
}

impl Store for PostgresStore {
    fn check(&self) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.write_now((), |db, ()| Box::pin(check_writable(db))).await?;
            self.read((), |db, ()| Box::pin(check_readable(db))).await
        })
    }

    fn close(&self) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            if self.listener.is_server() {
                self.write_now((), |db, ()| Box::pin(migrate::set_closed(db, true))).await?;
            }
            // Dropping the queue ends the task once it has written what is left.
            self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
            let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(task) = task {
                task.await.map_err(|_| StoreError::Unavailable("the writer did not end properly".into()))?;
            }
            self.readers.close();
            self.listener.close();
            Ok(())
        })
    }
}

async fn check_writable(db: &Db<'_>) -> Result<(), StoreError> {
    let sql = "INSERT INTO settings (name, value) VALUES ('checked', 'yes')
               ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    db.execute(sql, &[]).await.map(drop)
}

async fn check_readable(db: &Db<'_>) -> Result<(), StoreError> {
    db.first("SELECT count(*) FROM settings", &[]).await.map(drop)
}
