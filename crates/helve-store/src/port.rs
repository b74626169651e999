//! The `Store` port.

use std::future::Future;
use std::pin::Pin;

use helve_types::{
    ApprovalId, CallId, ConversationId, Message, ModelProfile, RunId, Timestamp, ToolGrant, UserId,
};

use crate::{
    Allowance, AllowanceFilter, AllowanceKey, Append, Approval, ApprovalFilter, AuditEntry, CallRecord,
    Claimed, Conversation, DayUsed, Execution, ExecutionFilter, ExecutionPage, IdempotencyKey, KeptFile,
    NewRun, Opened, Page, PlanBody, PlanChange, Recorded, RunFilter, RunRecord, Scope, Share, StoreError,
    Token, ToolGrantRow, ToolOffer, ToolRow, Urgency, UserPlan,
};

/// So many questions are let expire at a time; the rest waits for the next round.
pub const EXPIRED_MAX: usize = 1_000;

/// So many ended sessions of one token are kept; those that were begun before the first of them count as ended too.
pub const ENDED_SESSIONS_MAX: usize = 100;

/// How long is known when a tool was sent to, in milliseconds: the longest window of a rate limit is a day, and what was
/// sent arrives a little later.
pub const SENDS_KEPT_MS: i64 = 25 * 60 * 60 * 1_000;

pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Where everything durable lives.
///
/// An implementer promises: what a future resolved with `Ok` survives a crash of the process and of the
/// machine; each method is one transaction, kept whole or not at all; appends of one run are written in the
/// order of the calls; facts become visible to `on_commit` and to readers only after they are durable; and
/// no method shows anything outside its `Scope`.
pub trait Store: Send + Sync + 'static {
    // Runs and their log

    /// Records a run with its first event and the user's message, and returns the history before it.
    fn open_run(&self, new: NewRun) -> StoreFuture<'_, Opened>;

    /// The run that a request with this key has started, if the key still holds.
    fn run_of_key(&self, user: UserId, key: IdempotencyKey, now: Timestamp)
    -> StoreFuture<'_, Option<RunId>>;

    /// Appends facts and derives the rows from them.
    ///
    /// The batch is queued when this is called, not when the future is polled, so a caller may let `Soon`
    /// batches ride with its next `Now` batch. A lost batch makes all later ones of the run fail.
    fn append(&self, batch: Append, urgency: Urgency) -> StoreFuture<'static, ()>;

    /// Takes a run over: whoever owned it before can no longer append.
    fn claim(&self, run: RunId, owner: String, counts_as_resume: bool) -> StoreFuture<'_, Claimed>;

    fn run(&self, scope: Scope, run: RunId) -> StoreFuture<'_, RunRecord>;

    /// Latest first.
    fn runs(&self, scope: Scope, filter: RunFilter, page: Page) -> StoreFuture<'_, Vec<RunRecord>>;

    /// Every run that is neither over nor waits for somebody, oldest first.
    fn running_runs(&self) -> StoreFuture<'_, Vec<RunRecord>>;

    /// Events with a sequence number above `after`, in order.
    fn events(&self, run: RunId, after: u64, limit: usize) -> StoreFuture<'_, Vec<Recorded>>;

    /// The events after `after`, in order, up to the one with which they have `bytes_max` bytes or more. Fewer bytes
    /// mean that the log ends there.
    fn log_page(&self, run: RunId, after: u64, bytes_max: usize) -> StoreFuture<'_, Vec<Recorded>>;

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
    fn sends(
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

    // Approvals

    fn approval(&self, scope: Scope, approval: ApprovalId) -> StoreFuture<'_, Approval>;

    fn approvals(&self, scope: Scope, filter: ApprovalFilter) -> StoreFuture<'_, Vec<Approval>>;

    /// Pending approvals whose time is up, up to `EXPIRED_MAX` of them.
    fn expired_approvals(&self, now: Timestamp) -> StoreFuture<'_, Vec<Approval>>;

    /// Consent that outlives its call, newest first.
    fn allowances(
        &self,
        scope: Scope,
        filter: AllowanceFilter,
        page: Page,
    ) -> StoreFuture<'_, Vec<Allowance>>;

    /// The consents to calls of one version of a tool that hold now, oldest first.
    fn allowances_of(&self, key: AllowanceKey, now: Timestamp) -> StoreFuture<'_, Vec<Allowance>>;

    /// Takes a consent back, with the audit's line; one that was taken back before stays as it is.
    fn revoke_allowance(&self, scope: Scope, id: ApprovalId, audit: AuditEntry)
    -> StoreFuture<'_, Allowance>;

    // Budgets

    /// What the runs of a day (`Timestamp::day`) have used up so far, all appends before this call included.
    fn used_on(&self, day: i64, user: UserId, agent: String) -> StoreFuture<'_, DayUsed>;

    /// What a user keeps, all appends before this call included.
    fn share_of(&self, user: UserId) -> StoreFuture<'_, Share>;

    // Conversations

    fn conversations(&self, scope: Scope, page: Page) -> StoreFuture<'_, Vec<Conversation>>;

    fn conversation(&self, scope: Scope, conversation: ConversationId) -> StoreFuture<'_, Conversation>;

    fn messages(&self, scope: Scope, conversation: ConversationId) -> StoreFuture<'_, Vec<Message>>;

    fn rename_conversation(
        &self,
        scope: Scope,
        conversation: ConversationId,
        title: String,
    ) -> StoreFuture<'_, ()>;

    /// Forgets a conversation with its messages, runs and events; refused while a run is not over.
    fn delete_conversation(&self, scope: Scope, conversation: ConversationId) -> StoreFuture<'_, ()>;

    // Users' own plans

    /// Makes a plan with the user's next number, up to `PLANS_MAX` of them. The same call again finds the plan that it
    /// made.
    fn create_plan(
        &self,
        user: UserId,
        by: CallId,
        body: PlanBody,
        at: Timestamp,
    ) -> StoreFuture<'_, UserPlan>;

    /// Changes a plan that is still at the version that the change was made for. The same call again finds the plan
    /// as it is.
    fn change_plan(&self, user: UserId, change: PlanChange) -> StoreFuture<'_, UserPlan>;

    fn plan(&self, user: UserId, number: u32) -> StoreFuture<'_, UserPlan>;

    /// Those that were changed last first.
    fn plans(&self, user: UserId, page: Page) -> StoreFuture<'_, Vec<UserPlan>>;

    // Access

    fn create_token(&self, token: Token) -> StoreFuture<'_, ()>;

    fn tokens(&self) -> StoreFuture<'_, Vec<Token>>;

    fn revoke_token(&self, id: String, at: Timestamp) -> StoreFuture<'_, ()>;

    /// Ends the session that a token was traded for at a time. Of one token the last `ENDED_SESSIONS_MAX` are kept.
    fn end_session(&self, token: String, issued_at: Timestamp) -> StoreFuture<'_, ()>;

    /// The sessions that were ended, with their tokens.
    fn ended_sessions(&self) -> StoreFuture<'_, Vec<(String, Timestamp)>>;

    /// The installation's own key: the one that is kept, or else this one, which is kept from now on.
    fn signing_key(&self, fresh: [u8; 32]) -> StoreFuture<'_, [u8; 32]>;

    /// Adds to the record of what people with rights did.
    fn audit(&self, entry: AuditEntry) -> StoreFuture<'_, ()>;

    // Models

    /// Keeps what a model was found to do, in place of what was known of the model with that name.
    fn keep_model_profile(&self, model: String, profile: ModelProfile) -> StoreFuture<'_, ()>;

    /// What is known of the models, by their names.
    fn model_profiles(&self) -> StoreFuture<'_, Vec<(String, ModelProfile)>>;

    // Tools that are rows

    /// All tools as they are now, by their names.
    fn tools(&self) -> StoreFuture<'_, Vec<ToolRow>>;

    fn tool(&self, name: String) -> StoreFuture<'_, ToolRow>;

    /// Keeps a tool in place of its version `expected`, which is 0 for a new one, and returns it with its number: one
    /// more than any that its name ever had. With it goes the line of the audit.
    fn keep_tool(&self, row: ToolRow, expected: u32, audit: AuditEntry) -> StoreFuture<'_, ToolRow>;

    /// Forgets a tool, if it is at the version `expected` or none is given. Its versions stay.
    fn delete_tool(&self, name: String, expected: Option<u32>, audit: AuditEntry) -> StoreFuture<'_, ()>;

    /// Everything that tools of this name ever were, oldest first: runs go on with what they were started with.
    fn tool_versions(&self, name: String) -> StoreFuture<'_, Vec<ToolRow>>;

    /// Switches a tool that is no row on or off.
    fn switch_tool(&self, name: String, enabled: bool, audit: AuditEntry) -> StoreFuture<'_, ()>;

    /// Which of the tools that are no rows were switched, by their names.
    fn tool_switches(&self) -> StoreFuture<'_, Vec<(String, bool)>>;

    /// What tools from outside have become, by their names: none of it holds before a person agrees.
    fn tool_offers(&self) -> StoreFuture<'_, Vec<ToolOffer>>;

    /// Keeps what a tool has become, in the place of what was offered about it before.
    fn offer_tool(&self, offer: ToolOffer, audit: AuditEntry) -> StoreFuture<'_, ()>;

    /// Forgets what was offered about a tool.
    fn drop_offer(&self, name: String, audit: AuditEntry) -> StoreFuture<'_, ()>;

    /// As `keep_tool`, with what was offered about the tool, which is then no offer any more.
    fn take_offer(&self, row: ToolRow, expected: u32, audit: AuditEntry) -> StoreFuture<'_, ToolRow>;

    /// What the operator lets single tools have, by their names.
    fn tool_grants(&self) -> StoreFuture<'_, Vec<ToolGrantRow>>;

    /// As `keep_tool`, together with what the tool is allowed.
    fn keep_granted_tool(
        &self,
        row: ToolRow,
        expected: u32,
        audit: AuditEntry,
        grants: Vec<(ToolGrantRow, AuditEntry)>,
    ) -> StoreFuture<'_, ToolRow>;

    /// Lets a tool have something; it ends with the tool.
    fn grant_tool(&self, grant: ToolGrantRow, audit: AuditEntry) -> StoreFuture<'_, ()>;

    /// Takes back what a tool was allowed.
    fn revoke_tool_grant(&self, tool: String, grant: ToolGrant, audit: AuditEntry) -> StoreFuture<'_, ()>;

    /// Grows with every change of a tool, an offer, a grant or a switch, whoever makes it.
    fn tool_changes(&self) -> StoreFuture<'_, u64>;

    // The medium itself

    /// Writes and reads; fails if either does.
    fn check(&self) -> StoreFuture<'_, ()>;

    /// Makes everything durable and closes; nothing may be called afterwards.
    fn close(&self) -> StoreFuture<'_, ()>;
}
