//! What is derived from the log, and only read: runs, calls, conversations, approvals, allowances, usage.

use helve_types::{ApprovalId, CallId, ConversationId, Message, RunId, Timestamp, UserId};

use crate::{
    Allowance, AllowanceFilter, AllowanceKey, Approval, ApprovalFilter, CallRecord, Conversation, DayUsed,
    Execution, ExecutionFilter, ExecutionPage, KeptFile, Page, RunFilter, RunRecord, Scope, Share,
    StoreFuture,
};

/// So many questions are let expire at a time; the rest waits for the next round.
pub const EXPIRED_MAX: usize = 1_000;

/// How long is known when a tool was sent to, in milliseconds: the longest window of a rate limit is a day, and what was
/// sent arrives a little later.
pub const SENDS_KEPT_MS: i64 = 25 * 60 * 60 * 1_000;

/// Rows that follow from the log. No method shows anything outside its `Scope`.
pub trait Views: Send + Sync + 'static {
    fn run(&self, scope: Scope, run: RunId) -> StoreFuture<'_, RunRecord>;

    /// Latest first.
    fn runs(&self, scope: Scope, filter: RunFilter, page: Page) -> StoreFuture<'_, Vec<RunRecord>>;

    /// Every run that is neither over nor waiting, oldest first.
    fn running_runs(&self) -> StoreFuture<'_, Vec<RunRecord>>;

    /// The runs of subagents below this one, which is no subagent's itself; oldest first.
    fn subagent_runs(&self, root: RunId) -> StoreFuture<'_, Vec<RunRecord>>;

    /// The runs of subagents of which the runs that they work for do not know what became of them, oldest first.
    fn unreported_subagents(&self) -> StoreFuture<'_, Vec<RunRecord>>;

    fn calls(&self, run: RunId) -> StoreFuture<'_, Vec<CallRecord>>;

    /// The calls of all runs that the scope sees and the filter lets through, newest first.
    fn executions(
        &self,
        scope: Scope,
        filter: ExecutionFilter,
        page: ExecutionPage,
    ) -> StoreFuture<'_, Vec<Execution>>;

    fn execution(&self, scope: Scope, call: CallId) -> StoreFuture<'_, Execution>;

    /// When calls were sent to a tool, whatever they called it by: every attempt since then, the latest first, by all
    /// users or by one, `limit` at most. They are kept for `SENDS_KEPT_MS`, also when their runs are forgotten.
    fn send_times(
        &self,
        tool: String,
        user: Option<UserId>,
        since: Timestamp,
        limit: usize,
    ) -> StoreFuture<'_, Vec<Timestamp>>;

    /// The whole text of an output that was too large for the model.
    fn whole_output(&self, call: CallId) -> StoreFuture<'_, String>;

    /// A file that a call of the run made.
    fn file(&self, scope: Scope, run: RunId, id: String) -> StoreFuture<'_, KeptFile>;

    fn conversations(&self, scope: Scope, page: Page) -> StoreFuture<'_, Vec<Conversation>>;

    fn conversation(&self, scope: Scope, conversation: ConversationId) -> StoreFuture<'_, Conversation>;

    fn messages(&self, scope: Scope, conversation: ConversationId) -> StoreFuture<'_, Vec<Message>>;

    fn approval(&self, scope: Scope, approval: ApprovalId) -> StoreFuture<'_, Approval>;

    fn approvals(&self, scope: Scope, filter: ApprovalFilter) -> StoreFuture<'_, Vec<Approval>>;

    /// Pending approvals whose time is up, up to `EXPIRED_MAX` of them.
    fn expired_approvals(&self, now: Timestamp) -> StoreFuture<'_, Vec<Approval>>;

    /// Pending approvals whose approvers are to be reminded, or for which it is time to ask others, up to
    /// `EXPIRED_MAX` of them.
    fn approvals_to_notify(&self, now: Timestamp) -> StoreFuture<'_, Vec<Approval>>;

    /// Consent that outlives its call, newest first.
    fn allowances(
        &self,
        scope: Scope,
        filter: AllowanceFilter,
        page: Page,
    ) -> StoreFuture<'_, Vec<Allowance>>;

    /// The consents to calls of one version of a tool that hold now, oldest first.
    fn allowances_in_force(&self, key: AllowanceKey, now: Timestamp) -> StoreFuture<'_, Vec<Allowance>>;

    /// What the runs of a day (`Timestamp::day`) have used up so far, all appends before this call included.
    fn usage_of_day(&self, day: i64, user: UserId, agent: String) -> StoreFuture<'_, DayUsed>;

    /// What a user keeps, all appends before this call included.
    fn storage_share_of(&self, user: UserId) -> StoreFuture<'_, Share>;
}
