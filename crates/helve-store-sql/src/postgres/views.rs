//! What is read.

pub(super) mod allowances;
pub(super) mod approvals;
pub(super) mod conversations;
pub(super) mod days;
pub(super) mod executions;
pub(super) mod files;
pub(super) mod runs;
pub(super) mod shares;
pub(super) mod spent;

use helve_store::{
    Allowance, AllowanceFilter, AllowanceKey, Approval, ApprovalFilter, CallRecord, Conversation, DayUsed,
    Execution, ExecutionFilter, ExecutionPage, KeptFile, Page, RunFilter, RunRecord, Scope, Share,
    StoreFuture, Views,
};
use helve_types::{ApprovalId, CallId, ConversationId, Message, RunId, Timestamp, UserId};

use super::PostgresStore;

impl Views for PostgresStore {
    fn run(&self, scope: Scope, run: RunId) -> StoreFuture<'_, RunRecord> {
        self.read((scope, run), |db, (scope, run)| Box::pin(runs::run(db, scope, *run)))
    }

    fn runs(&self, scope: Scope, filter: RunFilter, page: Page) -> StoreFuture<'_, Vec<RunRecord>> {
        self.read((scope, filter, page), |db, (scope, filter, page)| {
            Box::pin(runs::runs(db, scope, filter, *page))
        })
    }

    fn running_runs(&self) -> StoreFuture<'_, Vec<RunRecord>> {
        self.read((), |db, ()| Box::pin(runs::list_running(db)))
    }

    fn subagent_runs(&self, root: RunId) -> StoreFuture<'_, Vec<RunRecord>> {
        self.read(root, |db, root| Box::pin(runs::list_subagent_runs(db, *root)))
    }

    fn unreported_subagents(&self) -> StoreFuture<'_, Vec<RunRecord>> {
        self.read((), |db, ()| Box::pin(runs::list_unreported(db)))
    }

    fn calls(&self, run: RunId) -> StoreFuture<'_, Vec<CallRecord>> {
        self.read(run, |db, run| Box::pin(runs::calls(db, *run)))
    }

    fn executions(
        &self,
        scope: Scope,
        filter: ExecutionFilter,
        page: ExecutionPage,
    ) -> StoreFuture<'_, Vec<Execution>> {
        self.read((scope, filter, page), |db, (scope, filter, page)| {
            Box::pin(executions::executions(db, scope, filter, page))
        })
    }

    fn execution(&self, scope: Scope, call: CallId) -> StoreFuture<'_, Execution> {
        self.read((scope, call), |db, (scope, call)| Box::pin(executions::execution(db, scope, call)))
    }

    fn send_times(
        &self,
        tool: String,
        user: Option<UserId>,
        since: Timestamp,
        limit: usize,
    ) -> StoreFuture<'_, Vec<Timestamp>> {
        self.read((tool, user, since, limit), |db, (tool, user, since, limit)| {
            Box::pin(executions::send_times(db, tool, user.as_ref(), *since, *limit))
        })
    }

    fn whole_output(&self, call: CallId) -> StoreFuture<'_, String> {
        self.read(call, |db, call| Box::pin(runs::whole_output(db, call)))
    }

    fn file(&self, scope: Scope, run: RunId, id: String) -> StoreFuture<'_, KeptFile> {
        self.read((scope, run, id), |db, (scope, run, id)| Box::pin(files::find_file(db, scope, *run, id)))
    }

    fn conversations(&self, scope: Scope, page: Page) -> StoreFuture<'_, Vec<Conversation>> {
        self.read((scope, page), |db, (scope, page)| Box::pin(conversations::conversations(db, scope, *page)))
    }

    fn conversation(&self, scope: Scope, conversation: ConversationId) -> StoreFuture<'_, Conversation> {
        self.read((scope, conversation), |db, (scope, conversation)| {
            Box::pin(conversations::conversation(db, scope, *conversation))
        })
    }

    fn messages(&self, scope: Scope, conversation: ConversationId) -> StoreFuture<'_, Vec<Message>> {
        self.read((scope, conversation), |db, (scope, conversation)| {
            Box::pin(conversations::messages(db, scope, *conversation))
        })
    }

    fn approval(&self, scope: Scope, approval: ApprovalId) -> StoreFuture<'_, Approval> {
        self.read((scope, approval), |db, (scope, approval)| {
            Box::pin(approvals::approval(db, scope, *approval))
        })
    }

    fn approvals(&self, scope: Scope, filter: ApprovalFilter) -> StoreFuture<'_, Vec<Approval>> {
        self.read((scope, filter), |db, (scope, filter)| Box::pin(approvals::approvals(db, scope, *filter)))
    }

    fn expired_approvals(&self, now: Timestamp) -> StoreFuture<'_, Vec<Approval>> {
        self.read(now, |db, now| Box::pin(approvals::expired(db, *now)))
    }

    fn approvals_to_notify(&self, now: Timestamp) -> StoreFuture<'_, Vec<Approval>> {
        self.read(now, |db, now| Box::pin(approvals::list_to_notify(db, *now)))
    }

    fn allowances(
        &self,
        scope: Scope,
        filter: AllowanceFilter,
        page: Page,
    ) -> StoreFuture<'_, Vec<Allowance>> {
        self.read((scope, filter, page), |db, (scope, filter, page)| {
            Box::pin(allowances::list(db, scope, *filter, *page))
        })
    }

    fn allowances_in_force(&self, key: AllowanceKey, now: Timestamp) -> StoreFuture<'_, Vec<Allowance>> {
        self.read((key, now), |db, (key, now)| Box::pin(allowances::list_in_force(db, key, *now)))
    }

    fn usage_of_day(&self, day: i64, user: UserId, agent: String) -> StoreFuture<'_, DayUsed> {
        // Where the appends are made, so that all of them are counted.
        self.write_now((day, user, agent), |db, (day, user, agent)| {
            Box::pin(days::usage_of_day(db, *day, user, agent))
        })
    }

    fn storage_share_of(&self, user: UserId) -> StoreFuture<'_, Share> {
        // Where the appends are made, so that all of them are counted.
        self.write_now(user, |db, user| Box::pin(shares::read_share(db, user)))
    }
}
