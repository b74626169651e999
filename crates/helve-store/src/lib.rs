//! What it means to remember.
//!
//! Owns the `Store` port, which has a part for each subject: `Log` (runs, appended to), `Views` (what follows from the
//! log), `Rows` (definitions that people write), `Plans` (users' own), `Access` (who may do what). All changes of a run
//! are appended facts; views are derived from them in the same transaction (`projection`). `MemoryStore` is the fake that
//! tests use and the plainest statement of the semantics; `contract` is the suite that every implementation passes.
//! Nothing here knows SQL.

mod access;
mod allowances;
#[cfg(feature = "contract")]
pub mod contract;
mod desk;
mod disk;
mod error;
mod executions;
mod files;
mod grants;
mod journal;
mod log;
mod memory;
mod offers;
mod plans;
mod projection;
mod records;
mod rows;
mod store;
mod tools;
mod views;

pub use access::{Access, ENDED_SESSIONS_MAX};
pub use allowances::{Allowance, AllowanceFilter, AllowanceKey, Circumstances};
pub use desk::Desk;
pub use disk::{Disk, DiskStatus, FreeMin, Room};
pub use error::StoreError;
pub use executions::{Execution, ExecutionFilter, ExecutionPage, Mark, MarkError};
pub use files::KeptFile;
pub use grants::ToolGrantRow;
pub use journal::{Entry, Publish, RunJournal};
pub use log::Log;
pub use memory::MemoryStore;
pub use offers::ToolOffer;
pub use plans::{PLANS_MAX, PlanBody, PlanChange, PlanStatus, PlanStep, Plans, UserPlan};
pub use projection::{CallChange, CallResult, call_change, resets_crash_count, sent_to};
pub use records::{
    ActFor, Append, Approval, ApprovalFilter, ApprovalState, AuditEntry, CallRecord, Claimed, Conversation,
    DayUsed, IdempotencyKey, NewRun, OnCommit, Opened, Page, Place, Recorded, RunFilter, RunRecord, Scope,
    Share, Token, TokenRights, Urgency, Whole,
};
pub use rows::Rows;
pub use store::{Store, StoreFuture};
pub use tools::ToolRow;
pub use views::{EXPIRED_MAX, SENDS_KEPT_MS, Views};
