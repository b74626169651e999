//! What is read.

pub(crate) mod allowances;
pub(crate) mod approvals;
pub(crate) mod conversations;
pub(crate) mod days;
pub(crate) mod executions;
pub(crate) mod files;
pub(crate) mod runs;
pub(crate) mod shares;
pub(crate) mod spent;

use helve_store::{
    Allowance, AllowanceFilter, AllowanceKey, Approval, ApprovalFilter, CallRecord, Conversation, DayUsed,
    Execution, ExecutionFilter, ExecutionPage, KeptFile, Page, RunFilter, RunRecord, Scope, Share,
    StoreFuture, Views,
};
use helve_types::{ApprovalId, CallId, ConversationId, Message, RunId, Timestamp, UserId};

use super::SqliteStore;

impl Views for SqliteStore {
    fn run(&self, scope: Scope, run: RunId) -> StoreFuture<'_, RunRecord> {
        self.read(move |connection| runs::run(connection, &scope, run))
    }

    fn runs(&self, scope: Scope, filter: RunFilter, page: Page) -> StoreFuture<'_, Vec<RunRecord>> {
        self.read(move |connection| runs::runs(connection, &scope, &filter, page))
    }

    fn running_runs(&self) -> StoreFuture<'_, Vec<RunRecord>> {
        self.read(runs::list_running)
    }

    fn subagent_runs(&self, root: RunId) -> StoreFuture<'_, Vec<RunRecord>> {
        self.read(move |connection| runs::list_subagent_runs(connection, root))
    }

    fn unreported_subagents(&self) -> StoreFuture<'_, Vec<RunRecord>> {
        self.read(runs::list_unreported)
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

    fn execution(&self, scope: Scope, call: CallId) -> StoreFuture<'_, Execution> {
        self.read(move |connection| executions::execution(connection, &scope, &call))
    }

    fn send_times(
        &self,
        tool: String,
        user: Option<UserId>,
        since: Timestamp,
        limit: usize,
    ) -> StoreFuture<'_, Vec<Timestamp>> {
        self.read(move |connection| executions::send_times(connection, &tool, user.as_ref(), since, limit))
    }

    fn whole_output(&self, call: CallId) -> StoreFuture<'_, String> {
        self.read(move |connection| runs::whole_output(connection, &call))
    }

    fn file(&self, scope: Scope, run: RunId, id: String) -> StoreFuture<'_, KeptFile> {
        self.read(move |connection| files::find_file(connection, &scope, run, &id))
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

    fn approval(&self, scope: Scope, approval: ApprovalId) -> StoreFuture<'_, Approval> {
        self.read(move |connection| approvals::approval(connection, &scope, approval))
    }

    fn approvals(&self, scope: Scope, filter: ApprovalFilter) -> StoreFuture<'_, Vec<Approval>> {
        self.read(move |connection| approvals::approvals(connection, &scope, filter))
    }

    fn expired_approvals(&self, now: Timestamp) -> StoreFuture<'_, Vec<Approval>> {
        self.read(move |connection| approvals::expired(connection, now))
    }

    fn approvals_to_notify(&self, now: Timestamp) -> StoreFuture<'_, Vec<Approval>> {
        self.read(move |connection| approvals::list_to_notify(connection, now))
    }

    fn allowances(
        &self,
        scope: Scope,
        filter: AllowanceFilter,
        page: Page,
    ) -> StoreFuture<'_, Vec<Allowance>> {
        self.read(move |connection| allowances::list(connection, &scope, filter, page))
    }

    fn allowances_in_force(&self, key: AllowanceKey, now: Timestamp) -> StoreFuture<'_, Vec<Allowance>> {
        self.read(move |connection| allowances::list_in_force(connection, &key, now))
    }

    fn usage_of_day(&self, day: i64, user: UserId, agent: String) -> StoreFuture<'_, DayUsed> {
        // Where the appends are made, so that all of them are counted.
        self.write_now(move |connection| days::usage_of_day(connection, day, &user, &agent))
    }

    fn storage_share_of(&self, user: UserId) -> StoreFuture<'_, Share> {
        // Where the appends are made, so that all of them are counted.
        self.write_now(move |connection| shares::read_share(connection, &user))
    }
}
