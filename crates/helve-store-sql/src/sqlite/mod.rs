//! One file, one writer, a few readers.

mod allowances;
mod approvals;
mod conversations;
mod days;
mod derived;
mod executions;
mod files;
mod grants;
mod journal;
mod log;
mod offers;
mod open;
mod plans;
mod profiles;
mod readers;
mod rows;
mod runs;
mod setups;
mod shares;
mod spent;
mod tokens;
mod tools;
mod writer;

use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

use helve_store::{
    Allowance, AllowanceFilter, AllowanceKey, Append, Approval, ApprovalFilter, AuditEntry, CallRecord,
    Claimed, Conversation, DayUsed, Execution, ExecutionFilter, ExecutionPage, IdempotencyKey, KeptFile,
    NewRun, Opened, Page, PlanBody, PlanChange, Recorded, RunFilter, RunRecord, Scope, Share, Store,
    StoreError, StoreFuture, Token, ToolGrantRow, ToolOffer, ToolRow, Urgency, UserPlan,
};
use helve_types::{
    ApprovalId, CallId, ConversationId, Message, ModelProfile, RunId, Timestamp, ToolGrant, UserId,
};
use rusqlite::Connection;

use self::journal::{ClaimedRow, OpenedRow};
use self::log::Log;
pub use self::open::{OpenError, Syncs};
use self::readers::Readers;
use self::writer::Writer;
use crate::DataDir;

pub struct SqliteStore {
    /// `None` once closed.
    writer: Mutex<Option<Writer>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    readers: Readers,
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
        let open::Opened { connection, was_closed } = open::database(&dir, now, syncs)?;
        let log = Log::beside(&path);
        let (writer, thread) = Writer::spawn(connection, dir.watch(), log).map_err(OpenError::Thread)?;
        Ok(Self {
            writer: Mutex::new(Some(writer)),
            thread: Mutex::new(Some(thread)),
            readers: Readers::new(path),
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
        // Whoever is told of a commit may be the store's last owner: then the writer itself is here, and ends next.
        let another = thread.filter(|writer| writer.thread().id() != std::thread::current().id());
        if another.is_some_and(|writer| writer.join().is_err()) {
            tracing::error!("the writer did not end properly");
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

    fn run_of_key(
        &self,
        user: UserId,
        key: IdempotencyKey,
        now: Timestamp,
    ) -> StoreFuture<'_, Option<RunId>> {
        self.read(move |connection| journal::run_of_key(connection, &user, &key, now))
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

    fn runs(&self, scope: Scope, filter: RunFilter, page: Page) -> StoreFuture<'_, Vec<RunRecord>> {
        self.read(move |connection| runs::runs(connection, &scope, &filter, page))
    }

    fn running_runs(&self) -> StoreFuture<'_, Vec<RunRecord>> {
        self.read(runs::running)
    }

    fn events(&self, run: RunId, after: u64, limit: usize) -> StoreFuture<'_, Vec<Recorded>> {
        self.read(move |connection| runs::events(connection, run, after, limit))
    }

    fn log_page(&self, run: RunId, after: u64, bytes_max: usize) -> StoreFuture<'_, Vec<Recorded>> {
        self.read(move |connection| runs::log_page(connection, run, after, bytes_max))
    }

    fn calls(&self, run: RunId) -> StoreFuture<'_, Vec<CallRecord>> {
        self.read(move |connection| runs::calls(connection, run))
    }

    fn executions(
        &self,
        scope: Scope,
        filter: ExecutionFilter,
        page: ExecutionPage,
    ) -> StoreFuture<'_, Vec<Execution>> {
        self.read(move |connection| executions::executions(connection, &scope, &filter, &page))
    }

    fn sends(
        &self,
        tool: String,
        user: Option<UserId>,
        since: Timestamp,
        limit: usize,
    ) -> StoreFuture<'_, Vec<Timestamp>> {
        self.read(move |connection| executions::sends(connection, &tool, user.as_ref(), since, limit))
    }

    fn execution(&self, scope: Scope, call: CallId) -> StoreFuture<'_, Execution> {
        self.read(move |connection| executions::execution(connection, &scope, &call))
    }

    fn whole_output(&self, call: CallId) -> StoreFuture<'_, String> {
        self.read(move |connection| runs::whole_output(connection, &call))
    }

    fn file(&self, scope: Scope, run: RunId, id: String) -> StoreFuture<'_, KeptFile> {
        self.read(move |connection| files::file(connection, &scope, run, &id))
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

    fn allowances(
        &self,
        scope: Scope,
        filter: AllowanceFilter,
        page: Page,
    ) -> StoreFuture<'_, Vec<Allowance>> {
        self.read(move |connection| allowances::list(connection, &scope, filter, page))
    }

    fn allowances_of(&self, key: AllowanceKey, now: Timestamp) -> StoreFuture<'_, Vec<Allowance>> {
        self.read(move |connection| allowances::of(connection, &key, now))
    }

    fn revoke_allowance(
        &self,
        scope: Scope,
        id: ApprovalId,
        audit: AuditEntry,
    ) -> StoreFuture<'_, Allowance> {
        self.write_now(move |connection| allowances::revoke(connection, &scope, id, &audit))
    }

    fn used_on(&self, day: i64, user: UserId, agent: String) -> StoreFuture<'_, DayUsed> {
        // Where the appends are made, so that all of them are counted.
        self.write_now(move |connection| days::used_on(connection, day, &user, &agent))
    }

    fn share_of(&self, user: UserId) -> StoreFuture<'_, Share> {
        // Where the appends are made, so that all of them are counted.
        self.write_now(move |connection| shares::of(connection, &user))
    }

    fn end_session(&self, token: String, issued_at: Timestamp) -> StoreFuture<'_, ()> {
        self.write_now(move |connection| tokens::end_session(connection, &token, issued_at))
    }

    fn ended_sessions(&self) -> StoreFuture<'_, Vec<(String, Timestamp)>> {
        self.read(tokens::ended_sessions)
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

    fn create_plan(
        &self,
        user: UserId,
        by: CallId,
        body: PlanBody,
        at: Timestamp,
    ) -> StoreFuture<'_, UserPlan> {
        self.write_now(move |connection| plans::create(connection, &user, &by, &body, at))
    }

    fn change_plan(&self, user: UserId, change: PlanChange) -> StoreFuture<'_, UserPlan> {
        self.write_now(move |connection| plans::change(connection, &user, &change))
    }

    fn plan(&self, user: UserId, number: u32) -> StoreFuture<'_, UserPlan> {
        self.read(move |connection| plans::plan(connection, &user, number))
    }

    fn plans(&self, user: UserId, page: Page) -> StoreFuture<'_, Vec<UserPlan>> {
        self.read(move |connection| plans::plans(connection, &user, page))
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

    fn signing_key(&self, fresh: [u8; 32]) -> StoreFuture<'_, [u8; 32]> {
        self.write_now(move |connection| tokens::signing_key(connection, fresh))
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

    fn tool_offers(&self) -> StoreFuture<'_, Vec<ToolOffer>> {
        self.read(offers::all_offers)
    }

    fn offer_tool(&self, offer: ToolOffer, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_now(move |connection| offers::put(connection, &offer, &audit))
    }

    fn drop_offer(&self, name: String, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_now(move |connection| offers::drop(connection, &name, &audit))
    }

    fn take_offer(&self, row: ToolRow, expected: u32, audit: AuditEntry) -> StoreFuture<'_, ToolRow> {
        self.write_now(move |connection| offers::take(connection, &row, expected, &audit))
    }

    fn tool_grants(&self) -> StoreFuture<'_, Vec<ToolGrantRow>> {
        self.read(grants::all_grants)
    }

    fn keep_granted_tool(
        &self,
        row: ToolRow,
        expected: u32,
        audit: AuditEntry,
        grants: Vec<(ToolGrantRow, AuditEntry)>,
    ) -> StoreFuture<'_, ToolRow> {
        self.write_now(move |connection| grants::keep_tool(connection, &row, expected, &audit, &grants))
    }

    fn grant_tool(&self, grant: ToolGrantRow, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_now(move |connection| grants::put(connection, &grant, &audit))
    }

    fn revoke_tool_grant(&self, tool: String, grant: ToolGrant, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_now(move |connection| grants::revoke(connection, &tool, &grant, &audit))
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
