//! What is read.

use helve_types::{ApprovalId, CallId, ConversationId, Message, RunId, RunState, Timestamp, UserId};

use super::{MemoryStore, page_of};
use crate::{
    Allowance, AllowanceFilter, AllowanceKey, Approval, ApprovalFilter, CallRecord, Conversation, DayUsed,
    Execution, ExecutionFilter, ExecutionPage, KeptFile, Page, RunFilter, RunRecord, Scope, Share,
    StoreError, StoreFuture, Views,
};

impl Views for MemoryStore {
    fn run(&self, scope: Scope, run: RunId) -> StoreFuture<'_, RunRecord> {
        self.with_tables(|all| {
            let shelf = all.runs.get(&run).filter(|shelf| scope.sees(&shelf.record.user));
            shelf.map(|shelf| shelf.record.clone()).ok_or(StoreError::NotFound("run"))
        })
    }

    fn runs(&self, scope: Scope, filter: RunFilter, at: Page) -> StoreFuture<'_, Vec<RunRecord>> {
        self.with_tables(|all| {
            let seen = all.runs.values().rev().map(|shelf| &shelf.record);
            let seen = seen.filter(|record| scope.sees(&record.user) && filter.fits(record));
            Ok(page_of(seen.cloned(), at))
        })
    }

    fn running_runs(&self) -> StoreFuture<'_, Vec<RunRecord>> {
        self.read(|all| {
            let records = all.runs.values().map(|shelf| &shelf.record);
            records.filter(|record| record.state == RunState::Running).cloned().collect()
        })
    }

    fn subagent_runs(&self, root: RunId) -> StoreFuture<'_, Vec<RunRecord>> {
        self.read(|all| {
            let records = all.runs.values().map(|shelf| &shelf.record);
            let below =
                |record: &&RunRecord| record.setup.parent.as_ref().is_some_and(|parent| parent.root == root);
            records.filter(below).cloned().collect()
        })
    }

    fn unreported_subagents(&self) -> StoreFuture<'_, Vec<RunRecord>> {
        self.read(|all| {
            let unreported = all.runs.values().filter(|shelf| shelf.is_unreported);
            unreported.map(|shelf| shelf.record.clone()).collect()
        })
    }

    fn calls(&self, run: RunId) -> StoreFuture<'_, Vec<CallRecord>> {
        self.with_tables(|all| {
            let mut calls: Vec<_> = all.calls.values().filter(|call| call.run == run).cloned().collect();
            calls.sort_by_key(|call| (call.step, call.requested_at));
            Ok(calls)
        })
    }

    fn executions(
        &self,
        scope: Scope,
        filter: ExecutionFilter,
        page: ExecutionPage,
    ) -> StoreFuture<'_, Vec<Execution>> {
        self.read(|all| all.executions(&scope, &filter, &page))
    }

    fn execution(&self, scope: Scope, call: CallId) -> StoreFuture<'_, Execution> {
        self.with_tables(|all| all.execution(&scope, &call))
    }

    fn send_times(
        &self,
        tool: String,
        user: Option<UserId>,
        since: Timestamp,
        limit: usize,
    ) -> StoreFuture<'_, Vec<Timestamp>> {
        self.read(move |all| all.sends(&tool, user.as_ref(), since, limit))
    }

    fn whole_output(&self, call: CallId) -> StoreFuture<'_, String> {
        self.with_tables(|all| all.full_outputs.get(&call).cloned().ok_or(StoreError::NotFound("output")))
    }

    fn file(&self, scope: Scope, run: RunId, id: String) -> StoreFuture<'_, KeptFile> {
        self.with_tables(|all| {
            let is_seen = all.runs.get(&run).is_some_and(|shelf| scope.sees(&shelf.record.user));
            let file = all.files.get(&(run, id)).filter(|_| is_seen);
            file.cloned().ok_or(StoreError::NotFound("file"))
        })
    }

    fn conversations(&self, scope: Scope, at: Page) -> StoreFuture<'_, Vec<Conversation>> {
        self.with_tables(|all| {
            let mut seen: Vec<_> = all.conversations.values().map(|shelf| &shelf.row).collect();
            seen.retain(|row| scope.sees(&row.user));
            seen.sort_by_key(|row| std::cmp::Reverse((row.updated_at, row.id)));
            Ok(page_of(seen.into_iter().cloned(), at))
        })
    }

    fn conversation(&self, scope: Scope, conversation: ConversationId) -> StoreFuture<'_, Conversation> {
        self.with_tables(|all| all.conversation(&scope, conversation).map(|shelf| shelf.row.clone()))
    }

    fn messages(&self, scope: Scope, conversation: ConversationId) -> StoreFuture<'_, Vec<Message>> {
        self.with_tables(|all| all.conversation(&scope, conversation).map(|shelf| shelf.messages.clone()))
    }

    fn approval(&self, scope: Scope, approval: ApprovalId) -> StoreFuture<'_, Approval> {
        self.with_tables(|all| all.approval(&scope, approval))
    }

    fn approvals(&self, scope: Scope, filter: ApprovalFilter) -> StoreFuture<'_, Vec<Approval>> {
        self.with_tables(|all| Ok(all.approvals(&scope, filter)))
    }

    fn expired_approvals(&self, now: Timestamp) -> StoreFuture<'_, Vec<Approval>> {
        self.read(|all| all.expired_approvals(now))
    }

    fn approvals_to_notify(&self, now: Timestamp) -> StoreFuture<'_, Vec<Approval>> {
        self.read(|all| all.approvals_to_notify(now))
    }

    fn allowances(
        &self,
        scope: Scope,
        filter: AllowanceFilter,
        page: Page,
    ) -> StoreFuture<'_, Vec<Allowance>> {
        self.with_tables(|all| Ok(all.allowances(&scope, filter, page)))
    }

    fn allowances_in_force(&self, key: AllowanceKey, now: Timestamp) -> StoreFuture<'_, Vec<Allowance>> {
        self.with_tables(|all| Ok(all.allowances_of(&key, now)))
    }

    fn usage_of_day(&self, day: i64, user: UserId, agent: String) -> StoreFuture<'_, DayUsed> {
        self.with_tables(|all| {
            let mut used = DayUsed::default();
            for ((_, who, by), sum) in all.days.iter().filter(|((on, ..), _)| *on == day) {
                used.all = used.all.plus(*sum);
                used.user = if *who == user { used.user.plus(*sum) } else { used.user };
                used.agent = if *by == agent { used.agent.plus(*sum) } else { used.agent };
            }
            Ok(used)
        })
    }

    fn storage_share_of(&self, user: UserId) -> StoreFuture<'_, Share> {
        self.with_tables(|all| Ok(all.share_of(&user)))
    }
}
