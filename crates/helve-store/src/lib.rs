//! What it means to remember.
//!
//! Owns the `Store` port, which has a part for each subject: `Log` (runs, appended to), `Views` (what follows from the
//! log), `Rows` (definitions that people write), `Plans` (users' own), `Access` (who may do what),
//! `Audit` (who did what), `Bus` (wake-ups). All
//! changes of a run are appended facts; views are derived from them in the same transaction (`projection`).
//! `MemoryStore` is the fake that tests use and the plainest statement of the semantics; `helve-store-contract` is the
//! suite that every implementation passes. Nothing here knows SQL.

mod access;
mod allowances;
mod audit;
mod bus;
mod disk;
mod error;
mod executions;
mod files;
mod journal;
mod log;
mod memory;
mod people;
mod plans;
mod projection;
mod records;
mod rows;
mod store;
mod user_store;
mod views;

pub use access::{Access, ENDED_SESSIONS_MAX};
pub use allowances::{Allowance, AllowanceFilter, AllowanceKey, Circumstances};
pub use audit::{
    AUDIT_PAGE, Audit, AuditEntry, AuditFilter, AuditHead, AuditRecord, ChainBreak, ChainHash, ChainVerifier,
    ChainedEntry, HeadError, verify_audit,
};
pub use bus::{Bus, LocalBus, Wakeup, Wakeups};
pub use disk::{Disk, DiskSpace, DiskStatus, FreeMin};
pub use error::StoreError;
pub use executions::{Execution, ExecutionFilter, ExecutionPage, Mark, MarkError};
pub use files::KeptFile;
pub use journal::{BACKLOG_BYTES_MAX, BACKLOG_ENTRIES_MAX, Publish, RETRY_FOR_MAX, RunJournal};
pub use log::Log;
pub use memory::MemoryStore;
pub use people::{
    GROUPS_MAX, GroupChange, GroupGrants, GroupRecord, Identity, PasswordHash, People, PeopleDirectory,
    ProviderSession, SessionRecord, SessionsToEnd, USER_SESSIONS_MAX, USERS_MAX, UserChange, UserKind,
    UserRecord,
};
pub use plans::{PLANS_MAX, PlanBody, PlanChange, PlanRecord, PlanStatus, PlanStep, Plans};
pub use projection::{CallChange, CallResult, call_change, resets_crash_count, tool_sent_to};
pub use records::{
    ActFor, Append, Approval, ApprovalFilter, ApprovalState, CallRecord, Claimed, Conversation, DayUsed,
    FullOutput, IdempotencyKey, NewFacts, NewRun, OnCommit, Opened, Page, Place, Recorded, RunFilter,
    RunRecord, RunWriter, Scope, Share, Token, TokenRights, Urgency,
};
pub use rows::{DefinitionFile, OfferUse, RowChange, RowGrant, RowKind, RowOffer, RowRecord, Rows};
pub use store::{Store, StoreFuture};
pub use user_store::UserStore;
pub use views::{EXPIRED_MAX, SENDS_KEPT_MS, Views};
