//! The parts of the store that the lab leaves alone: all but the log.

use std::sync::Arc;

use helve_store::{
    Access, Allowance, AllowanceFilter, AllowanceKey, Approval, ApprovalFilter, Audit, AuditEntry,
    AuditFilter, AuditHead, AuditRecord, Bus, CallRecord, ChainedEntry, Conversation, DayUsed,
    DefinitionFile, Execution, ExecutionFilter, ExecutionPage, GroupChange, GroupRecord, KeptFile, Page,
    PlanBody, PlanChange, PlanRecord, Plans, RowChange, RowGrant, RowKind, RowOffer, RowRecord, Rows,
    RunFilter, RunRecord, Scope, SessionRecord, SessionsToEnd, Share, Store, StoreFuture, Token, UserChange,
    UserRecord, Views, Wakeups,
};
use helve_types::{ApprovalId, CallId, ConversationId, Message, ModelProfile, RunId, Timestamp, UserId};

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
    fn subagent_runs(root: RunId) -> Vec<RunRecord>;
    fn unreported_subagents() -> Vec<RunRecord>;
    fn calls(run: RunId) -> Vec<CallRecord>;
    fn executions(scope: Scope, filter: ExecutionFilter, page: ExecutionPage) -> Vec<Execution>;
    fn execution(scope: Scope, call: CallId) -> Execution;
    fn send_times(tool: String, user: Option<UserId>, since: Timestamp, limit: usize) -> Vec<Timestamp>;
    fn whole_output(call: CallId) -> String;
    fn file(scope: Scope, run: RunId, id: String) -> KeptFile;
    fn conversations(scope: Scope, page: Page) -> Vec<Conversation>;
    fn conversation(scope: Scope, conversation: ConversationId) -> Conversation;
    fn messages(scope: Scope, conversation: ConversationId) -> Vec<Message>;
    fn approval(scope: Scope, approval: ApprovalId) -> Approval;
    fn approvals(scope: Scope, filter: ApprovalFilter) -> Vec<Approval>;
    fn expired_approvals(now: Timestamp) -> Vec<Approval>;
    fn approvals_to_notify(now: Timestamp) -> Vec<Approval>;
    fn allowances(scope: Scope, filter: AllowanceFilter, page: Page) -> Vec<Allowance>;
    fn allowances_in_force(key: AllowanceKey, now: Timestamp) -> Vec<Allowance>;
    fn usage_of_day(day: i64, user: UserId, agent: String) -> DayUsed;
    fn storage_share_of(user: UserId) -> Share;
}}

unchanged! {Rows {
    fn rows(kind: RowKind) -> Vec<RowRecord>;
    fn row(kind: RowKind, name: String) -> RowRecord;
    fn row_versions(kind: RowKind, name: String) -> Vec<RowRecord>;
    fn save_row(change: RowChange) -> RowRecord;
    fn save_rows(changes: Vec<RowChange>) -> Vec<RowRecord>;
    fn delete_row(kind: RowKind, name: String, expected: Option<u32>, audit: AuditEntry) -> ();
    fn offers(kind: RowKind) -> Vec<RowOffer>;
    fn save_offer(offer: RowOffer, audit: AuditEntry) -> ();
    fn delete_offer(kind: RowKind, name: String, audit: AuditEntry) -> ();
    fn grants(kind: RowKind) -> Vec<RowGrant>;
    fn save_grant(grant: RowGrant, audit: AuditEntry) -> ();
    fn delete_grant(kind: RowKind, name: String, grant: String, audit: AuditEntry) -> ();
    fn save_switch(kind: RowKind, name: String, enabled: bool, audit: AuditEntry) -> ();
    fn switches(kind: RowKind) -> Vec<(String, bool)>;
    fn row_changes(kind: RowKind) -> u64;
    fn save_definition_files(files: Vec<DefinitionFile>) -> ();
    fn definition_file(hash: String) -> Arc<[u8]>;
    fn keep_model_profile(model: String, profile: ModelProfile) -> ();
    fn model_profiles() -> Vec<(String, ModelProfile)>;
}}

unchanged! {Plans {
    fn create_plan(user: UserId, by: CallId, body: PlanBody, at: Timestamp) -> PlanRecord;
    fn change_plan(user: UserId, change: PlanChange) -> PlanRecord;
    fn plan(user: UserId, number: u32) -> PlanRecord;
    fn plans(user: UserId, page: Page) -> Vec<PlanRecord>;
}}

unchanged! {Access {
    fn users() -> Vec<UserRecord>;
    fn save_user(change: UserChange) -> UserRecord;
    fn delete_user(id: UserId, expected: Option<u32>, audit: AuditEntry) -> ();
    fn groups() -> Vec<GroupRecord>;
    fn save_group(change: GroupChange) -> GroupRecord;
    fn delete_group(name: String, expected: Option<u32>, audit: AuditEntry) -> ();
    fn create_session(session: SessionRecord, audit: AuditEntry) -> ();
    fn sessions() -> Vec<SessionRecord>;
    fn end_sessions(which: SessionsToEnd, audit: AuditEntry) -> u64;
    fn create_token(token: Token, audit: AuditEntry) -> ();
    fn tokens() -> Vec<Token>;
    fn revoke_token(id: String, audit: AuditEntry) -> ();
    fn end_session(token: String, issued_at: Timestamp, audit: AuditEntry) -> ();
    fn ended_sessions() -> Vec<(String, Timestamp)>;
    fn signing_key(fresh: [u8; 32]) -> [u8; 32];
    fn revoke_allowance(scope: Scope, id: ApprovalId, audit: AuditEntry) -> Allowance;
}}

unchanged! {Audit {
    fn record_audit(entry: AuditEntry) -> ();
    fn audit_head() -> AuditHead;
    fn audit_chain(after: u64, limit: usize) -> Vec<ChainedEntry>;
    fn audit_records(filter: AuditFilter, limit: usize) -> Vec<AuditRecord>;
    fn forget_pseudonym(user: UserId, entry: AuditEntry) -> ();
}}

impl<B: StoreFault> Bus for FaultyStore<B> {
    fn subscribe(&self) -> Wakeups {
        self.inner.subscribe()
    }
}

impl<B: StoreFault> Store for FaultyStore<B> {
    fn check(&self) -> StoreFuture<'_, ()> {
        self.inner.check()
    }

    fn close(&self) -> StoreFuture<'_, ()> {
        self.inner.close()
    }
}
