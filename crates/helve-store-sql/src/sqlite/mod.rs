//! One file, one writer, a few readers.

mod approvals;
mod conversations;
mod journal;
mod profiles;
mod readers;
mod rows;
mod runs;
mod spent;
mod tokens;
mod tools;
mod writer;

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

use helve_store::{
    Append, Approval, ApprovalFilter, AuditEntry, CallRecord, Claimed, Conversation, NewRun, Opened, Page,
    Recorded, RunRecord, Scope, Store, StoreError, StoreFuture, Token, ToolRow, Urgency,
};
use helve_types::{ApprovalId, CallId, ConversationId, Message, ModelProfile, RunId, Timestamp};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OptionalExtension};

use self::journal::{ClaimedRow, OpenedRow};
use self::readers::Readers;
use self::writer::Writer;
use crate::migrate::{MigrateError, migrate};
use crate::{DataDir, DataDirError};

/// Before this version the write-ahead log could be corrupted when it was reset.
const SQLITE_MIN: i32 = 3_051_003;

/// Up to this size a database that was not closed properly is checked before the server starts.
const CHECKED_BYTES_MAX: u64 = 64 << 20;

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    DataDir(#[from] DataDirError),

    #[error("the database `{path}` cannot be opened")]
    Database { path: String, source: rusqlite::Error },

    #[error("the database file `{path}` cannot be created or made private")]
    Private { path: String, source: std::io::Error },

    #[error("the database `{path}` is damaged: {finding}; restore it from a backup, or use another --data")]
    Damaged { path: String, finding: String },

    #[error(transparent)]
    Migrate(#[from] MigrateError),

    #[error("SQLite {0} is too old: its write-ahead log can lose data; 3.51.3 is needed")]
    OldSqlite(&'static str),

    #[error("the writer thread cannot be started")]
    Thread(#[source] std::io::Error),
}

pub struct SqliteStore {
    /// `None` once closed.
    writer: Mutex<Option<Writer>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    readers: Readers,
    _dir: DataDir,
}

impl SqliteStore {
    /// Opens the database in the directory, and brings its layout up to date.
    pub fn open(dir: DataDir, now: Timestamp) -> Result<Self, OpenError> {
        if rusqlite::version_number() < SQLITE_MIN {
            return Err(OpenError::OldSqlite(rusqlite::version()));
        }
        let path = dir.database();
        let failed = |source| OpenError::Database { path: path.display().to_string(), source };
        keep_private(&path)?;
        let mut connection = Connection::open(&path).map_err(failed)?;
        configure(&connection).map_err(failed)?;
        migrate(&mut connection, now.0)?;
        if !was_closed(&connection).map_err(failed)? {
            check_after_crash(&connection, &path)?;
        }
        set_closed(&connection, false).map_err(failed)?;
        let (writer, thread) = Writer::spawn(connection).map_err(OpenError::Thread)?;
        Ok(Self {
            writer: Mutex::new(Some(writer)),
            thread: Mutex::new(Some(thread)),
            readers: Readers::new(path),
            _dir: dir,
        })
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
                self.readers.read(move |connection| conversations::history(connection, id, count)).await
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
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the writer did not end properly");
        }
    }
}

fn configure(connection: &Connection) -> Result<(), rusqlite::Error> {
    connection.execute_batch(
        "PRAGMA busy_timeout = 5000;
         PRAGMA journal_mode = WAL;
         PRAGMA synchronous = FULL;
         PRAGMA foreign_keys = ON;
         PRAGMA mmap_size = 0;
         PRAGMA wal_autocheckpoint = 2000;
         PRAGMA journal_size_limit = 67108864;",
    )?;
    keep_plans(connection)?;
    connection.set_prepared_statement_cache_capacity(128);
    Ok(())
}

/// Plans a statement once: without this, SQLite plans it again whenever other values are bound to it.
fn keep_plans(connection: &Connection) -> Result<(), rusqlite::Error> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// The database holds conversations: not for other users of the machine. SQLite gives the files beside it the mode
/// that the database has when they are made, so it comes first.
fn keep_private(path: &Path) -> Result<(), OpenError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
        let failed = |source| OpenError::Private { path: path.display().to_string(), source };
        let file =
            std::fs::OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path);
        let private = std::fs::Permissions::from_mode(0o600);
        file.and_then(|file| file.set_permissions(private)).map_err(failed)?;
    }
    Ok(())
}

fn was_closed(connection: &Connection) -> Result<bool, rusqlite::Error> {
    let state: Option<String> = connection
        .query_row("SELECT value FROM settings WHERE name = 'closed'", [], |row| row.get(0))
        .optional()?;
    Ok(state.is_none_or(|state| state == "yes"))
}

fn set_closed(connection: &Connection, closed: bool) -> Result<(), rusqlite::Error> {
    let value = if closed { "yes" } else { "no" };
    connection.execute("INSERT OR REPLACE INTO settings (name, value) VALUES ('closed', ?1)", [value])?;
    Ok(())
}

fn check_after_crash(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    let bytes = std::fs::metadata(path).map_or(0, |file| file.len());
    if bytes > CHECKED_BYTES_MAX {
        tracing::info!(
            bytes,
            "the last stop was not clean; the database is too large to check at every start"
        );
        return Ok(());
    }
    let damaged = |finding| OpenError::Damaged { path: path.display().to_string(), finding };
    let finding: String = connection
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .map_err(|error| damaged(error.to_string()))?;
    if finding == "ok" { Ok(()) } else { Err(damaged(finding)) }
}

#[expect(clippy::needless_pass_by_value, reason = "used as a function for map_err")]
fn unavailable(error: rusqlite::Error) -> StoreError {
    let full = matches!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::DiskFull));
    let hint = if full { " (free some space; nothing is lost)" } else { "" };
    StoreError::Unavailable(format!("{error}{hint}"))
}

impl Store for SqliteStore {
    fn open_run(&self, new: NewRun) -> StoreFuture<'_, Opened> {
        let conversation = new.place.conversation();
        let written = self.write_now(move |connection| journal::open_run(connection, &new));
        Box::pin(async move {
            match written.await? {
                OpenedRow::New { epoch, before } => {
                    let history = self.history(conversation, before).await?;
                    Ok(Opened::New { epoch, history })
                }
                OpenedRow::Replayed { run } => Ok(Opened::Replayed { run }),
            }
        })
    }

    fn append(&self, mut batch: Append, urgency: Urgency) -> StoreFuture<'static, ()> {
        let on_commit = batch.on_commit.take();
        let events = batch.events.clone();
        self.write(
            urgency,
            move |connection| journal::append(connection, &batch),
            move |()| {
                if let Some(publish) = on_commit {
                    publish(&events);
                }
            },
        )
    }

    fn claim(&self, run: RunId, owner: String, counts_as_resume: bool) -> StoreFuture<'_, Claimed> {
        let written =
            self.write_now(move |connection| journal::claim(connection, run, &owner, counts_as_resume));
        Box::pin(async move {
            let ClaimedRow { epoch, before } = written.await?;
            // Nobody else writes to it from now on.
            let (record, events) = self
                .read(move |connection| {
                    let record = runs::run(connection, &Scope::Everyone, run)?;
                    Ok((record, runs::events(connection, run, 0, usize::MAX)?))
                })
                .await?;
            let history = self.history(record.conversation, before).await?;
            Ok(Claimed { epoch, record, history, events })
        })
    }

    fn run(&self, scope: Scope, run: RunId) -> StoreFuture<'_, RunRecord> {
        self.read(move |connection| runs::run(connection, &scope, run))
    }

    fn runs(&self, scope: Scope, page: Page) -> StoreFuture<'_, Vec<RunRecord>> {
        self.read(move |connection| runs::runs(connection, &scope, page))
    }

    fn running_runs(&self) -> StoreFuture<'_, Vec<RunRecord>> {
        self.read(runs::running)
    }

    fn events(&self, run: RunId, after: u64, limit: usize) -> StoreFuture<'_, Vec<Recorded>> {
        self.read(move |connection| runs::events(connection, run, after, limit))
    }

    fn calls(&self, run: RunId) -> StoreFuture<'_, Vec<CallRecord>> {
        self.read(move |connection| runs::calls(connection, run))
    }

    fn whole_output(&self, call: CallId) -> StoreFuture<'_, String> {
        self.read(move |connection| runs::whole_output(connection, &call))
    }

    fn approval(&self, scope: Scope, approval: ApprovalId) -> StoreFuture<'_, Approval> {
        self.read(move |connection| approvals::approval(connection, &scope, approval))
    }

    fn approvals(&self, scope: Scope, filter: ApprovalFilter) -> StoreFuture<'_, Vec<Approval>> {
        self.read(move |connection| approvals::approvals(connection, &scope, filter))
    }

    fn expired_approvals(&self, now: Timestamp) -> StoreFuture<'_, Vec<Approval>> {
        self.read(move |connection| approvals::expired(connection, now))
    }

    fn conversations(&self, scope: Scope, page: Page) -> StoreFuture<'_, Vec<Conversation>> {
        self.read(move |connection| conversations::conversations(connection, &scope, page))
    }

    fn conversation(&self, scope: Scope, conversation: ConversationId) -> StoreFuture<'_, Conversation> {
        self.read(move |connection| conversations::conversation(connection, &scope, conversation))
    }

    fn messages(&self, scope: Scope, conversation: ConversationId) -> StoreFuture<'_, Vec<Message>> {
        self.read(move |connection| conversations::messages(connection, &scope, conversation))
    }

    fn rename_conversation(
        &self,
        scope: Scope,
        conversation: ConversationId,
        title: String,
    ) -> StoreFuture<'_, ()> {
        self.write_now(move |connection| conversations::rename(connection, &scope, conversation, &title))
    }

    fn delete_conversation(&self, scope: Scope, conversation: ConversationId) -> StoreFuture<'_, ()> {
        self.write_now(move |connection| conversations::delete(connection, &scope, conversation))
    }

    fn create_token(&self, token: Token) -> StoreFuture<'_, ()> {
        self.write_now(move |connection| tokens::create(connection, &token))
    }

    fn tokens(&self) -> StoreFuture<'_, Vec<Token>> {
        self.read(tokens::all_tokens)
    }

    fn revoke_token(&self, id: String, at: Timestamp) -> StoreFuture<'_, ()> {
        self.write_now(move |connection| tokens::revoke(connection, &id, at))
    }

    fn audit(&self, entry: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_now(move |connection| tokens::audit(connection, &entry))
    }

    fn keep_model_profile(&self, model: String, profile: ModelProfile) -> StoreFuture<'_, ()> {
        self.write_now(move |connection| profiles::keep(connection, &model, &profile))
    }

    fn model_profiles(&self) -> StoreFuture<'_, Vec<(String, ModelProfile)>> {
        self.read(profiles::all_profiles)
    }

    fn tools(&self) -> StoreFuture<'_, Vec<ToolRow>> {
        self.read(tools::all_tools)
    }

    fn tool(&self, name: String) -> StoreFuture<'_, ToolRow> {
        self.read(move |connection| tools::tool(connection, &name))
    }

    fn keep_tool(&self, row: ToolRow, expected: u32, audit: AuditEntry) -> StoreFuture<'_, ToolRow> {
        self.write_now(move |connection| tools::keep(connection, &row, expected, &audit))
    }

    fn delete_tool(&self, name: String, expected: Option<u32>, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_now(move |connection| tools::delete(connection, &name, expected, &audit))
    }

    fn tool_versions(&self, name: String) -> StoreFuture<'_, Vec<ToolRow>> {
        self.read(move |connection| tools::versions(connection, &name))
    }

    fn switch_tool(&self, name: String, enabled: bool, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_now(move |connection| tools::switch(connection, &name, enabled, &audit))
    }

    fn tool_switches(&self) -> StoreFuture<'_, Vec<(String, bool)>> {
        self.read(tools::switches)
    }

    fn tool_changes(&self) -> StoreFuture<'_, u64> {
        self.read(tools::changes)
    }

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
            self.write_now(|connection| set_closed(connection, true).map_err(unavailable)).await?;
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
