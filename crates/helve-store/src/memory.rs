//! A store in memory: the fake for tests, and the plainest statement of what a store does.

mod access;
mod allowances;
mod approvals;
mod audit;
mod bus;
mod calls;
mod conversations;
mod delayed;
mod executions;
mod journal;
mod log;
mod people;
mod plans;
mod rows;
mod runs;
mod views;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use helve_types::{ApprovalId, CallId, ConversationId, ModelProfile, RunId, Timestamp, Used, UserId};

use self::audit::MemoryAudit;
use self::conversations::MemoryConversation;
use self::delayed::Delayed;
use self::plans::PlanShelf;
use self::rows::MemoryRowTable;
use self::runs::RunShelf;
use crate::{
    Allowance, Append, Approval, AuditEntry, CallRecord, GroupRecord, KeptFile, LocalBus, Page, RowKind,
    SessionRecord, Store, StoreError, StoreFuture, Token, UserRecord,
};

#[derive(Default)]
pub struct MemoryStore {
    shelves: Mutex<MemoryTables>,
    writes_to_fail: AtomicU32,
    looks_to_fail: AtomicU32,
    barriers: AtomicU32,
    delayed: Delayed,
    bus: LocalBus,
}

#[derive(Default)]
struct MemoryTables {
    runs: BTreeMap<RunId, RunShelf>,
    conversations: BTreeMap<ConversationId, MemoryConversation>,
    calls: BTreeMap<CallId, CallRecord>,
    full_outputs: HashMap<CallId, String>,
    files: BTreeMap<(RunId, String), KeptFile>,
    plans: BTreeMap<UserId, Vec<PlanShelf>>,
    /// By tool, in the order in which they were written.
    sends: HashMap<String, Vec<(Timestamp, UserId)>>,
    approvals: BTreeMap<ApprovalId, Approval>,
    /// Questions whose approvers were reminded.
    reminded: BTreeSet<ApprovalId>,
    allowances: BTreeMap<ApprovalId, Allowance>,
    /// By day, user and agent.
    days: BTreeMap<(i64, UserId, String), Used>,
    keys: HashMap<(UserId, String, String), (String, RunId, Timestamp)>,
    users: BTreeMap<UserId, UserRecord>,
    groups: BTreeMap<String, GroupRecord>,
    /// By their start.
    sessions: Vec<SessionRecord>,
    tokens: BTreeMap<String, Token>,
    ended_sessions: BTreeMap<String, BTreeSet<Timestamp>>,
    audit: MemoryAudit,
    signing_key: Option<[u8; 32]>,
    profiles: BTreeMap<String, ModelProfile>,
    definition_files: BTreeMap<String, Arc<[u8]>>,
    rows: BTreeMap<RowKind, MemoryRowTable>,
}

impl MemoryStore {
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes the next appends fail as a full disk would.
    pub fn fail_writes(&self, count: u32) {
        self.writes_to_fail.store(count, Ordering::Relaxed);
    }

    /// Makes the next looks for what is due fail: for questions, for calls, for runs without a driver.
    pub fn fail_reads(&self, count: u32) {
        self.looks_to_fail.store(count, Ordering::Relaxed);
    }

    /// From now on what is only recorded stays undone until the next commit of any run.
    pub fn delay_recorded_batches(&self) {
        self.delayed.begin_delaying();
    }

    /// What was recorded and is not written yet is gone, as after a crash.
    pub fn lose_recorded_batches(&self) {
        drop(self.delayed.take());
    }

    /// How many writes of runs were waited for: runs opened and batches committed.
    pub fn barrier_count(&self) -> u32 {
        self.barriers.load(Ordering::Relaxed)
    }

    /// The audit log as it was handed in.
    pub fn audit_entries(&self) -> Vec<AuditEntry> {
        self.lock_tables().audit.entries.clone()
    }

    fn write(&self, mut batch: Append) -> Result<(), StoreError> {
        if self.takes_failure() {
            return Err(StoreError::Unavailable("told to fail".into()));
        }
        self.lock_tables().append(&batch)?;
        if let Some(publish) = batch.writer.on_commit.take() {
            publish(&batch.events);
        }
        Ok(())
    }

    /// Before a commit.
    fn write_delayed(&self) {
        self.barriers.fetch_add(1, Ordering::Relaxed);
        for (batch, receipt) in self.delayed.take() {
            // Recorded batches may have no waiting caller.
            _ = receipt.send(self.write(batch));
        }
    }

    fn takes_failure(&self) -> bool {
        take_one(&self.writes_to_fail)
    }

    fn read<T: Send + 'static>(&self, look: impl FnOnce(&mut MemoryTables) -> T) -> StoreFuture<'static, T> {
        let fails = take_one(&self.looks_to_fail);
        let failure = || StoreError::Unavailable("the disk cannot be read".into());
        self.with_tables(|all| if fails { Err(failure()) } else { Ok(look(all)) })
    }

    fn with_tables<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut MemoryTables) -> Result<T, StoreError>,
    ) -> StoreFuture<'static, T> {
        let result = work(&mut self.lock_tables());
        Box::pin(std::future::ready(result))
    }

    fn lock_tables(&self) -> MutexGuard<'_, MemoryTables> {
        self.shelves.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn take_one(to_fail: &AtomicU32) -> bool {
    let one_less = |left: u32| left.checked_sub(1);
    to_fail.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok()
}

fn page_of<T>(items: impl Iterator<Item = T>, page: Page) -> Vec<T> {
    items.skip(page.offset).take(page.limit).collect()
}

impl Store for MemoryStore {
    fn check(&self) -> StoreFuture<'_, ()> {
        self.with_tables(|_| Ok(()))
    }

    fn close(&self) -> StoreFuture<'_, ()> {
        self.with_tables(|_| Ok(()))
    }
}
