//! The store as the lab wants it: watched at its commits, or bent into a bug.
//!
//! `Bent` passes everything on to the real store but the three ways in which a run is written, which a `Bend` may
//! change. The product is never switched into a bug; the bug is put around it.

mod answered_twice;
mod early_shown;
mod ghost;
mod held;
mod loose_key;
mod reread;
mod rewritten;
mod unfenced;
mod unwaited;
mod watched;
mod write_behind;

use std::pin::Pin;
use std::sync::Arc;

use helve_store::{
    Allowance, AllowanceFilter, AllowanceKey, Append, Approval, ApprovalFilter, AuditEntry, CallRecord,
    Claimed, Conversation, DayUsed, Execution, ExecutionFilter, ExecutionPage, IdempotencyKey, KeptFile,
    NewRun, Opened, Page, PlanBody, PlanChange, Recorded, RunFilter, RunRecord, Scope, Share, Store,
    StoreFuture, Token, ToolGrantRow, ToolOffer, ToolRow, Urgency, UserPlan,
};
use helve_types::{
    ApprovalId, CallId, ConversationId, Message, ModelProfile, RunId, Timestamp, ToolGrant, UserId,
};

pub(crate) use self::answered_twice::AnsweredTwice;
pub(crate) use self::early_shown::EarlyShown;
pub(crate) use self::ghost::{Ghost, SIGN};
pub(crate) use self::held::Held;
pub(crate) use self::loose_key::LooseKey;
pub(crate) use self::reread::{consent_unbound, usage_forgotten};
pub(crate) use self::rewritten::{
    Rewritten, attempts_run_together, claim_left_out, consent_as_refusal, late_as_outcome, start_left_out,
    unknown_as_failed,
};
pub(crate) use self::unfenced::Unfenced;
pub(crate) use self::unwaited::Unwaited;
pub(crate) use self::watched::Watched;
pub(crate) use self::write_behind::{Early, WriteBehind};

/// What is done differently.
pub(crate) trait Bend: Send + Sync + 'static {
    fn append(&self, inner: &Arc<dyn Store>, batch: Append, urgency: Urgency) -> StoreFuture<'static, ()> {
        inner.append(batch, urgency)
    }

    fn open_run<'a>(&'a self, inner: &'a Arc<dyn Store>, new: NewRun) -> StoreFuture<'a, Opened> {
        inner.open_run(new)
    }

    /// Before a run is claimed.
    fn before_claim(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(std::future::ready(()))
    }

    /// When a run was claimed, and before its new owner hears of it.
    fn claimed(&self, _: &Arc<dyn Store>, _: &mut Claimed) {}
}

pub(crate) struct Bent<B> {
    inner: Arc<dyn Store>,
    bend: B,
}

impl<B: Bend> Bent<B> {
    pub(crate) fn around(inner: Arc<dyn Store>, bend: B) -> Arc<dyn Store> {
        Arc::new(Self { inner, bend })
    }
}

impl<B: Bend> Store for Bent<B> {
    fn open_run(&self, new: NewRun) -> StoreFuture<'_, Opened> {
        self.bend.open_run(&self.inner, new)
    }

    fn append(&self, batch: Append, urgency: Urgency) -> StoreFuture<'static, ()> {
        self.bend.append(&self.inner, batch, urgency)
    }

    fn claim(&self, run: RunId, owner: String, counts_as_resume: bool) -> StoreFuture<'_, Claimed> {
        Box::pin(async move {
            self.bend.before_claim().await;
            let mut claimed = self.inner.claim(run, owner, counts_as_resume).await?;
            self.bend.claimed(&self.inner, &mut claimed);
            Ok(claimed)
        })
    }

    fn run_of_key(
        &self,
        user: UserId,
        key: IdempotencyKey,
        now: Timestamp,
    ) -> StoreFuture<'_, Option<RunId>> {
        self.inner.run_of_key(user, key, now)
    }

    fn run(&self, scope: Scope, run: RunId) -> StoreFuture<'_, RunRecord> {
        self.inner.run(scope, run)
    }

    fn runs(&self, scope: Scope, filter: RunFilter, page: Page) -> StoreFuture<'_, Vec<RunRecord>> {
        self.inner.runs(scope, filter, page)
    }

    fn running_runs(&self) -> StoreFuture<'_, Vec<RunRecord>> {
        self.inner.running_runs()
    }

    fn events(&self, run: RunId, after: u64, limit: usize) -> StoreFuture<'_, Vec<Recorded>> {
        self.inner.events(run, after, limit)
    }

    fn log_page(&self, run: RunId, after: u64, bytes_max: usize) -> StoreFuture<'_, Vec<Recorded>> {
        self.inner.log_page(run, after, bytes_max)
    }

    fn calls(&self, run: RunId) -> StoreFuture<'_, Vec<CallRecord>> {
        self.inner.calls(run)
    }

    fn executions(
        &self,
        scope: Scope,
        filter: ExecutionFilter,
        page: ExecutionPage,
    ) -> StoreFuture<'_, Vec<Execution>> {
        self.inner.executions(scope, filter, page)
    }

    fn sends(
        &self,
        tool: String,
        user: Option<UserId>,
        since: Timestamp,
        limit: usize,
    ) -> StoreFuture<'_, Vec<Timestamp>> {
        self.inner.sends(tool, user, since, limit)
    }

    fn execution(&self, scope: Scope, call: CallId) -> StoreFuture<'_, Execution> {
        self.inner.execution(scope, call)
    }

    fn whole_output(&self, call: CallId) -> StoreFuture<'_, String> {
        self.inner.whole_output(call)
    }

    fn file(&self, scope: Scope, run: RunId, id: String) -> StoreFuture<'_, KeptFile> {
        self.inner.file(scope, run, id)
    }

    fn approval(&self, scope: Scope, approval: ApprovalId) -> StoreFuture<'_, Approval> {
        self.inner.approval(scope, approval)
    }

    fn approvals(&self, scope: Scope, filter: ApprovalFilter) -> StoreFuture<'_, Vec<Approval>> {
        self.inner.approvals(scope, filter)
    }

    fn expired_approvals(&self, now: Timestamp) -> StoreFuture<'_, Vec<Approval>> {
        self.inner.expired_approvals(now)
    }

    fn allowances(
        &self,
        scope: Scope,
        filter: AllowanceFilter,
        page: Page,
    ) -> StoreFuture<'_, Vec<Allowance>> {
        self.inner.allowances(scope, filter, page)
    }

    fn allowances_of(&self, key: AllowanceKey, now: Timestamp) -> StoreFuture<'_, Vec<Allowance>> {
        self.inner.allowances_of(key, now)
    }

    fn revoke_allowance(
        &self,
        scope: Scope,
        id: ApprovalId,
        audit: AuditEntry,
    ) -> StoreFuture<'_, Allowance> {
        self.inner.revoke_allowance(scope, id, audit)
    }

    fn conversations(&self, scope: Scope, page: Page) -> StoreFuture<'_, Vec<Conversation>> {
        self.inner.conversations(scope, page)
    }

    fn conversation(&self, scope: Scope, conversation: ConversationId) -> StoreFuture<'_, Conversation> {
        self.inner.conversation(scope, conversation)
    }

    fn messages(&self, scope: Scope, conversation: ConversationId) -> StoreFuture<'_, Vec<Message>> {
        self.inner.messages(scope, conversation)
    }

    fn rename_conversation(
        &self,
        scope: Scope,
        conversation: ConversationId,
        title: String,
    ) -> StoreFuture<'_, ()> {
        self.inner.rename_conversation(scope, conversation, title)
    }

    fn delete_conversation(&self, scope: Scope, conversation: ConversationId) -> StoreFuture<'_, ()> {
        self.inner.delete_conversation(scope, conversation)
    }

    fn create_plan(
        &self,
        user: UserId,
        by: CallId,
        body: PlanBody,
        at: Timestamp,
    ) -> StoreFuture<'_, UserPlan> {
        self.inner.create_plan(user, by, body, at)
    }

    fn change_plan(&self, user: UserId, change: PlanChange) -> StoreFuture<'_, UserPlan> {
        self.inner.change_plan(user, change)
    }

    fn plan(&self, user: UserId, number: u32) -> StoreFuture<'_, UserPlan> {
        self.inner.plan(user, number)
    }

    fn plans(&self, user: UserId, page: Page) -> StoreFuture<'_, Vec<UserPlan>> {
        self.inner.plans(user, page)
    }

    fn create_token(&self, token: Token) -> StoreFuture<'_, ()> {
        self.inner.create_token(token)
    }

    fn tokens(&self) -> StoreFuture<'_, Vec<Token>> {
        self.inner.tokens()
    }

    fn revoke_token(&self, id: String, at: Timestamp) -> StoreFuture<'_, ()> {
        self.inner.revoke_token(id, at)
    }

    fn used_on(&self, day: i64, user: UserId, agent: String) -> StoreFuture<'_, DayUsed> {
        self.inner.used_on(day, user, agent)
    }

    fn share_of(&self, user: UserId) -> StoreFuture<'_, Share> {
        self.inner.share_of(user)
    }

    fn end_session(&self, token: String, issued_at: Timestamp) -> StoreFuture<'_, ()> {
        self.inner.end_session(token, issued_at)
    }

    fn ended_sessions(&self) -> StoreFuture<'_, Vec<(String, Timestamp)>> {
        self.inner.ended_sessions()
    }

    fn signing_key(&self, fresh: [u8; 32]) -> StoreFuture<'_, [u8; 32]> {
        self.inner.signing_key(fresh)
    }

    fn keep_model_profile(&self, model: String, profile: ModelProfile) -> StoreFuture<'_, ()> {
        self.inner.keep_model_profile(model, profile)
    }

    fn model_profiles(&self) -> StoreFuture<'_, Vec<(String, ModelProfile)>> {
        self.inner.model_profiles()
    }

    fn tools(&self) -> StoreFuture<'_, Vec<ToolRow>> {
        self.inner.tools()
    }

    fn tool(&self, name: String) -> StoreFuture<'_, ToolRow> {
        self.inner.tool(name)
    }

    fn keep_tool(&self, row: ToolRow, expected: u32, audit: AuditEntry) -> StoreFuture<'_, ToolRow> {
        self.inner.keep_tool(row, expected, audit)
    }

    fn delete_tool(&self, name: String, expected: Option<u32>, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.inner.delete_tool(name, expected, audit)
    }

    fn tool_versions(&self, name: String) -> StoreFuture<'_, Vec<ToolRow>> {
        self.inner.tool_versions(name)
    }

    fn switch_tool(&self, name: String, enabled: bool, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.inner.switch_tool(name, enabled, audit)
    }

    fn tool_switches(&self) -> StoreFuture<'_, Vec<(String, bool)>> {
        self.inner.tool_switches()
    }

    fn tool_offers(&self) -> StoreFuture<'_, Vec<ToolOffer>> {
        self.inner.tool_offers()
    }

    fn offer_tool(&self, offer: ToolOffer, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.inner.offer_tool(offer, audit)
    }

    fn drop_offer(&self, name: String, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.inner.drop_offer(name, audit)
    }

    fn take_offer(&self, row: ToolRow, expected: u32, audit: AuditEntry) -> StoreFuture<'_, ToolRow> {
        self.inner.take_offer(row, expected, audit)
    }

    fn tool_grants(&self) -> StoreFuture<'_, Vec<ToolGrantRow>> {
        self.inner.tool_grants()
    }

    fn keep_granted_tool(
        &self,
        row: ToolRow,
        expected: u32,
        audit: AuditEntry,
        grants: Vec<(ToolGrantRow, AuditEntry)>,
    ) -> StoreFuture<'_, ToolRow> {
        self.inner.keep_granted_tool(row, expected, audit, grants)
    }

    fn grant_tool(&self, grant: ToolGrantRow, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.inner.grant_tool(grant, audit)
    }

    fn revoke_tool_grant(&self, tool: String, grant: ToolGrant, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.inner.revoke_tool_grant(tool, grant, audit)
    }

    fn tool_changes(&self) -> StoreFuture<'_, u64> {
        self.inner.tool_changes()
    }

    fn audit(&self, entry: AuditEntry) -> StoreFuture<'_, ()> {
        self.inner.audit(entry)
    }

    fn check(&self) -> StoreFuture<'_, ()> {
        self.inner.check()
    }

    fn close(&self) -> StoreFuture<'_, ()> {
        self.inner.close()
    }
}
