//! Users' own plans: what they want to do, step by step. What a change means is the tools' business.

use helve_types::{CallId, Taint, Timestamp, UserId};
use serde::{Deserialize, Serialize};

use crate::{Page, StoreFuture};

/// More than a user reads; a loop must not fill the disk.
pub const PLANS_MAX: u32 = 1_000;

/// What a plan says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct PlanBody {
    pub title: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub content: String,
    #[serde(default)]
    pub steps: Vec<PlanStep>,
    #[serde(default)]
    pub status: PlanStatus,
    /// What those had read who wrote it; none where that was not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taint: Option<Taint>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanStep {
    pub text: String,
    #[serde(default)]
    pub done: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum PlanStatus {
    #[default]
    Active,
    Done,
    Dropped,
}

/// A plan as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanRecord {
    /// Counts from 1 for each user.
    pub number: u32,
    /// Counts its changes, from 1.
    pub version: u32,
    pub body: PlanBody,
    /// The call that changed it last.
    pub changed_by: Option<CallId>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A change of a plan, made for what it was at one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanChange {
    pub number: u32,
    /// The version that the change was made for.
    pub over: u32,
    pub body: PlanBody,
    /// The call that makes it: the same change sent again is made once.
    pub by: CallId,
    pub at: Timestamp,
}

/// Each user's own plans, which tools write.
pub trait Plans: Send + Sync + 'static {
    /// Makes a plan with the user's next number, up to `PLANS_MAX` of them. The same call again finds the plan that it
    /// made.
    fn create_plan(
        &self,
        user: UserId,
        by: CallId,
        body: PlanBody,
        at: Timestamp,
    ) -> StoreFuture<'_, PlanRecord>;

    /// Changes a plan that is still at the version that the change was made for. The same call again finds the plan
    /// as it is.
    fn change_plan(&self, user: UserId, change: PlanChange) -> StoreFuture<'_, PlanRecord>;

    fn plan(&self, user: UserId, number: u32) -> StoreFuture<'_, PlanRecord>;

    /// Those that were changed last first.
    fn plans(&self, user: UserId, page: Page) -> StoreFuture<'_, Vec<PlanRecord>>;
}
