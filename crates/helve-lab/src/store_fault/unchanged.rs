//! The parts of the store that the lab leaves alone: all but the log.

use helve_store::{
    Access, Allowance, AllowanceFilter, AllowanceKey, Approval, ApprovalFilter, AuditEntry, CallRecord,
    Conversation, DayUsed, Execution, ExecutionFilter, ExecutionPage, KeptFile, Page, PlanBody, PlanChange,
    Plans, Rows, RunFilter, RunRecord, Scope, Share, Store, StoreFuture, Token, ToolGrantRow, ToolOffer,
    ToolRow, UserPlan, Views,
};
use helve_types::{
    ApprovalId, CallId, ConversationId, Message, ModelProfile, RunId, Timestamp, ToolGrant, UserId,
};

use super::{FaultyStore, StoreFault};

/// Passes each method on to the real store.
macro_rules! unchanged {
    ($part:ident { $(fn $name:ident($($argument:ident: $type:ty),*) -> $output:ty;)* }) => {
        impl<B: StoreFault> $part for FaultyStore<B> {
            $(fn $name(&self, $($argument: $type),*) -> StoreFuture<'_, $output> {
                self.inner.$name($($argument),*)
            })*
        }
    };
}

unchanged! {Views {
    fn run(scope: Scope, run: RunId) -> RunRecord;
    fn runs(scope: Scope, filter: RunFilter, page: Page) -> Vec<RunRecord>;
    fn running_runs() -> Vec<RunRecord>;
    fn calls(run: RunId) -> Vec<CallRecord>;
    fn executions(scope: Scope, filter: ExecutionFilter, page: ExecutionPage) -> Vec<Execution>;
    fn execution(scope: Scope, call: CallId) -> Execution;
    fn sends(tool: String, user: Option<UserId>, since: Timestamp, limit: usize) -> Vec<Timestamp>;
    fn whole_output(call: CallId) -> String;
    fn file(scope: Scope, run: RunId, id: String) -> KeptFile;
    fn conversations(scope: Scope, page: Page) -> Vec<Conversation>;
    fn conversation(scope: Scope, conversation: ConversationId) -> Conversation;
    fn messages(scope: Scope, conversation: ConversationId) -> Vec<Message>;
    fn approval(scope: Scope, approval: ApprovalId) -> Approval;
    fn approvals(scope: Scope, filter: ApprovalFilter) -> Vec<Approval>;
    fn expired_approvals(now: Timestamp) -> Vec<Approval>;
    fn allowances(scope: Scope, filter: AllowanceFilter, page: Page) -> Vec<Allowance>;
    fn allowances_of(key: AllowanceKey, now: Timestamp) -> Vec<Allowance>;
    fn used_on(day: i64, user: UserId, agent: String) -> DayUsed;
    fn share_of(user: UserId) -> Share;
}}

unchanged! {Rows {
    fn tools() -> Vec<ToolRow>;
    fn tool(name: String) -> ToolRow;
    fn keep_tool(row: ToolRow, expected: u32, audit: AuditEntry) -> ToolRow;
    fn delete_tool(name: String, expected: Option<u32>, audit: AuditEntry) -> ();
    fn tool_versions(name: String) -> Vec<ToolRow>;
    fn switch_tool(name: String, enabled: bool, audit: AuditEntry) -> ();
    fn tool_switches() -> Vec<(String, bool)>;
    fn tool_offers() -> Vec<ToolOffer>;
    fn offer_tool(offer: ToolOffer, audit: AuditEntry) -> ();
    fn drop_offer(name: String, audit: AuditEntry) -> ();
    fn take_offer(row: ToolRow, expected: u32, audit: AuditEntry) -> ToolRow;
    fn tool_grants() -> Vec<ToolGrantRow>;
    fn keep_granted_tool(row: ToolRow, expected: u32, audit: AuditEntry, grants: Vec<(ToolGrantRow, AuditEntry)>) -> ToolRow;
    fn grant_tool(grant: ToolGrantRow, audit: AuditEntry) -> ();
    fn revoke_tool_grant(tool: String, grant: ToolGrant, audit: AuditEntry) -> ();
    fn tool_changes() -> u64;
    fn keep_model_profile(model: String, profile: ModelProfile) -> ();
    fn model_profiles() -> Vec<(String, ModelProfile)>;
}}

unchanged! {Plans {
    fn create_plan(user: UserId, by: CallId, body: PlanBody, at: Timestamp) -> UserPlan;
    fn change_plan(user: UserId, change: PlanChange) -> UserPlan;
    fn plan(user: UserId, number: u32) -> UserPlan;
    fn plans(user: UserId, page: Page) -> Vec<UserPlan>;
}}

unchanged! {Access {
    fn create_token(token: Token) -> ();
    fn tokens() -> Vec<Token>;
    fn revoke_token(id: String, at: Timestamp) -> ();
    fn end_session(token: String, issued_at: Timestamp) -> ();
    fn ended_sessions() -> Vec<(String, Timestamp)>;
    fn signing_key(fresh: [u8; 32]) -> [u8; 32];
    fn revoke_allowance(scope: Scope, id: ApprovalId, audit: AuditEntry) -> Allowance;
    fn audit(entry: AuditEntry) -> ();
}}

impl<B: StoreFault> Store for FaultyStore<B> {
    fn check(&self) -> StoreFuture<'_, ()> {
        self.inner.check()
    }

    fn close(&self) -> StoreFuture<'_, ()> {
        self.inner.close()
    }
}
