//! A store in memory: the fake for tests, and the plainest statement of what a store does.

mod allowances;
mod approvals;
mod calls;
mod conversations;
mod delayed;
mod executions;
mod journal;
mod plans;
mod runs;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use helve_types::{
    ApprovalId, CallId, ConversationId, Message, ModelProfile, RunId, RunState, Timestamp, ToolGrant, Used,
    UserId,
};

use self::conversations::ConversationShelf;
use self::delayed::Delayed;
use self::plans::PlanShelf;
use self::runs::RunShelf;
use crate::grants::GrantShelf;
use crate::offers::OfferShelf;
use crate::tools::ToolShelf;
use crate::{
    Allowance, AllowanceFilter, AllowanceKey, Append, Approval, ApprovalFilter, AuditEntry, CallRecord,
    Claimed, Conversation, DayUsed, ENDED_SESSIONS_MAX, Execution, ExecutionFilter, ExecutionPage,
    IdempotencyKey, KeptFile, NewRun, Opened, Page, PlanBody, PlanChange, Recorded, RunFilter, RunRecord,
    Scope, Share, Store, StoreError, StoreFuture, Token, ToolGrantRow, ToolOffer, ToolRow, Urgency, UserPlan,
};

#[derive(Default)]
pub struct MemoryStore {
    shelves: Mutex<Shelves>,
    writes_to_fail: AtomicU32,
    looks_to_fail: AtomicU32,
    barriers: AtomicU32,
    delayed: Delayed,
}

#[derive(Default)]
struct Shelves {
    runs: BTreeMap<RunId, RunShelf>,
    conversations: BTreeMap<ConversationId, ConversationShelf>,
    calls: BTreeMap<CallId, CallRecord>,
    wholes: HashMap<CallId, String>,
    files: BTreeMap<(RunId, String), KeptFile>,
    plans: BTreeMap<UserId, Vec<PlanShelf>>,
    /// By tool, in the order in which they were written.
    sends: HashMap<String, Vec<(Timestamp, UserId)>>,
    approvals: BTreeMap<ApprovalId, Approval>,
    allowances: BTreeMap<ApprovalId, Allowance>,
    /// By day, user and agent.
    days: BTreeMap<(i64, UserId, String), Used>,
    keys: HashMap<(UserId, String, String), (String, RunId, Timestamp)>,
    tokens: BTreeMap<String, Token>,
    ended_sessions: BTreeMap<String, BTreeSet<Timestamp>>,
    audit: Vec<AuditEntry>,
    signing_key: Option<[u8; 32]>,
    profiles: BTreeMap<String, ModelProfile>,
    tools: ToolShelf,
    offers: OfferShelf,
    grants: GrantShelf,
}

impl MemoryStore {
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes the next appends fail as a full disk would.
    pub fn fail_writes(&self, count: u32) {
        self.writes_to_fail.store(count, Ordering::Relaxed);
    }

    /// Makes the next looks for what is due fail: for questions, for calls, for runs that nobody drives.
    pub fn fail_looks(&self, count: u32) {
        self.looks_to_fail.store(count, Ordering::Relaxed);
    }

    /// From now on what is only recorded stays undone until somebody waits for a write of any run.
    pub fn delay_recorded(&self) {
        self.delayed.begin();
    }

    /// What was recorded and is not written yet is gone, as after a crash.
    pub fn lose_recorded(&self) {
        drop(self.delayed.take());
    }

    /// How many writes of runs were waited for: runs opened and batches committed.
    pub fn barriers(&self) -> u32 {
        self.barriers.load(Ordering::Relaxed)
    }

    /// What people with rights did.
    pub fn audited(&self) -> Vec<AuditEntry> {
        self.shelves().audit.clone()
    }

    fn write(&self, mut batch: Append) -> Result<(), StoreError> {
        if self.fails() {
            return Err(StoreError::Unavailable("told to fail".into()));
        }
        self.shelves().append(&batch)?;
        if let Some(publish) = batch.on_commit.take() {
            publish(&batch.events);
        }
        Ok(())
    }

    /// Before a write that somebody waits for.
    fn write_delayed(&self) {
        self.barriers.fetch_add(1, Ordering::Relaxed);
        for (batch, receipt) in self.delayed.take() {
            // Nobody may wait for what was recorded.
            _ = receipt.send(self.write(batch));
        }
    }

    fn fails(&self) -> bool {
        is_next(&self.writes_to_fail)
    }

    fn look<T: Send + 'static>(&self, look: impl FnOnce(&mut Shelves) -> T) -> StoreFuture<'static, T> {
        let fails = is_next(&self.looks_to_fail);
        let failure = || StoreError::Unavailable("the disk cannot be read".into());
        self.with(|all| if fails { Err(failure()) } else { Ok(look(all)) })
    }

    fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Shelves) -> Result<T, StoreError>,
    ) -> StoreFuture<'static, T> {
        let result = work(&mut self.shelves());
        Box::pin(std::future::ready(result))
    }

    fn shelves(&self) -> MutexGuard<'_, Shelves> {
        self.shelves.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_next(to_fail: &AtomicU32) -> bool {
    let one_less = |left: u32| left.checked_sub(1);
    to_fail.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok()
}

fn page<T>(items: impl Iterator<Item = T>, page: Page) -> Vec<T> {
    items.skip(page.offset).take(page.limit).collect()
}

impl Store for MemoryStore {
    fn open_run(&self, new: NewRun) -> StoreFuture<'_, Opened> {
        self.write_delayed();
        self.with(|all| all.open_run(new))
    }

    fn run_of_key(
        &self,
        user: UserId,
        key: IdempotencyKey,
        now: Timestamp,
    ) -> StoreFuture<'_, Option<RunId>> {
        self.with(|all| all.run_of_key(&user, &key, now))
    }

    fn append(&self, batch: Append, urgency: Urgency) -> StoreFuture<'static, ()> {
        match urgency {
            Urgency::Soon if self.delayed.has_begun() => return self.delayed.push(batch),
            Urgency::Soon => {}
            Urgency::Now => self.write_delayed(),
        }
        Box::pin(std::future::ready(self.write(batch)))
    }

    fn claim(&self, run: RunId, _: String, counts_as_resume: bool) -> StoreFuture<'_, Claimed> {
        self.with(|all| all.claim(run, counts_as_resume))
    }

    fn run(&self, scope: Scope, run: RunId) -> StoreFuture<'_, RunRecord> {
        self.with(|all| {
            let shelf = all.runs.get(&run).filter(|shelf| scope.sees(&shelf.record.user));
            shelf.map(|shelf| shelf.record.clone()).ok_or(StoreError::NotFound("run"))
        })
    }

    fn runs(&self, scope: Scope, filter: RunFilter, at: Page) -> StoreFuture<'_, Vec<RunRecord>> {
        self.with(|all| {
            let seen = all.runs.values().rev().map(|shelf| &shelf.record);
            let seen = seen.filter(|record| scope.sees(&record.user) && filter.fits(record));
            Ok(page(seen.cloned(), at))
        })
    }

    fn running_runs(&self) -> StoreFuture<'_, Vec<RunRecord>> {
        self.look(|all| {
            let records = all.runs.values().map(|shelf| &shelf.record);
            records.filter(|record| record.state == RunState::Running).cloned().collect()
        })
    }

    fn events(&self, run: RunId, after: u64, limit: usize) -> StoreFuture<'_, Vec<Recorded>> {
        self.with(|all| {
            let log = all.runs.get(&run).map_or(&[][..], |shelf| &shelf.log);
            Ok(log.iter().filter(|recorded| recorded.event.seq > after).take(limit).cloned().collect())
        })
    }

    fn log_page(&self, run: RunId, after: u64, bytes_max: usize) -> StoreFuture<'_, Vec<Recorded>> {
        self.with(|all| {
            let log = all.runs.get(&run).map_or(&[][..], |shelf| &shelf.log);
            let mut bytes = 0;
            let page = log.iter().filter(|recorded| recorded.event.seq > after).take_while(|recorded| {
                let fits = bytes < bytes_max;
                bytes += recorded.json.len();
                fits
            });
            Ok(page.cloned().collect())
        })
    }

    fn calls(&self, run: RunId) -> StoreFuture<'_, Vec<CallRecord>> {
        self.with(|all| {
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
        self.look(|all| all.executions(&scope, &filter, &page))
    }

    fn sends(
        &self,
        tool: String,
        user: Option<UserId>,
        since: Timestamp,
        limit: usize,
    ) -> StoreFuture<'_, Vec<Timestamp>> {
        self.look(move |all| all.sends(&tool, user.as_ref(), since, limit))
    }

    fn execution(&self, scope: Scope, call: CallId) -> StoreFuture<'_, Execution> {
        self.with(|all| all.execution(&scope, &call))
    }

    fn whole_output(&self, call: CallId) -> StoreFuture<'_, String> {
        self.with(|all| all.wholes.get(&call).cloned().ok_or(StoreError::NotFound("output")))
    }

    fn file(&self, scope: Scope, run: RunId, id: String) -> StoreFuture<'_, KeptFile> {
        self.with(|all| {
            let is_seen = all.runs.get(&run).is_some_and(|shelf| scope.sees(&shelf.record.user));
            let file = all.files.get(&(run, id)).filter(|_| is_seen);
            file.cloned().ok_or(StoreError::NotFound("file"))
        })
    }

    fn approval(&self, scope: Scope, approval: ApprovalId) -> StoreFuture<'_, Approval> {
        self.with(|all| all.approval(&scope, approval))
    }

    fn approvals(&self, scope: Scope, filter: ApprovalFilter) -> StoreFuture<'_, Vec<Approval>> {
        self.with(|all| Ok(all.approvals(&scope, filter)))
    }

    fn expired_approvals(&self, now: Timestamp) -> StoreFuture<'_, Vec<Approval>> {
        self.look(|all| all.expired_approvals(now))
    }

    fn allowances(
        &self,
        scope: Scope,
        filter: AllowanceFilter,
        page: Page,
    ) -> StoreFuture<'_, Vec<Allowance>> {
        self.with(|all| Ok(all.allowances(&scope, filter, page)))
    }

    fn allowances_of(&self, key: AllowanceKey, now: Timestamp) -> StoreFuture<'_, Vec<Allowance>> {
        self.with(|all| Ok(all.allowances_of(&key, now)))
    }

    fn revoke_allowance(
        &self,
        scope: Scope,
        id: ApprovalId,
        audit: AuditEntry,
    ) -> StoreFuture<'_, Allowance> {
        self.with(|all| all.revoke_allowance(&scope, id, audit))
    }

    fn used_on(&self, day: i64, user: UserId, agent: String) -> StoreFuture<'_, DayUsed> {
        self.with(|all| {
            let mut used = DayUsed::default();
            for ((_, who, by), sum) in all.days.iter().filter(|((on, ..), _)| *on == day) {
                used.all = used.all.plus(*sum);
                used.user = if *who == user { used.user.plus(*sum) } else { used.user };
                used.agent = if *by == agent { used.agent.plus(*sum) } else { used.agent };
            }
            Ok(used)
        })
    }

    fn share_of(&self, user: UserId) -> StoreFuture<'_, Share> {
        self.with(|all| Ok(all.share_of(&user)))
    }

    fn end_session(&self, token: String, issued_at: Timestamp) -> StoreFuture<'_, ()> {
        self.with(|all| {
            let ended = all.ended_sessions.entry(token).or_default();
            ended.insert(issued_at);
            if ended.len() > ENDED_SESSIONS_MAX {
                ended.pop_first();
            }
            Ok(())
        })
    }

    fn ended_sessions(&self) -> StoreFuture<'_, Vec<(String, Timestamp)>> {
        self.with(|all| {
            let of = |(token, ended): (&String, &BTreeSet<Timestamp>)| {
                ended.iter().map(|at| (token.clone(), *at)).collect::<Vec<_>>()
            };
            Ok(all.ended_sessions.iter().flat_map(of).collect())
        })
    }

    fn conversations(&self, scope: Scope, at: Page) -> StoreFuture<'_, Vec<Conversation>> {
        self.with(|all| {
            let mut seen: Vec<_> = all.conversations.values().map(|shelf| &shelf.row).collect();
            seen.retain(|row| scope.sees(&row.user));
            seen.sort_by_key(|row| std::cmp::Reverse((row.updated_at, row.id)));
            Ok(page(seen.into_iter().cloned(), at))
        })
    }

    fn conversation(&self, scope: Scope, conversation: ConversationId) -> StoreFuture<'_, Conversation> {
        self.with(|all| all.conversation(&scope, conversation).map(|shelf| shelf.row.clone()))
    }

    fn messages(&self, scope: Scope, conversation: ConversationId) -> StoreFuture<'_, Vec<Message>> {
        self.with(|all| all.conversation(&scope, conversation).map(|shelf| shelf.messages.clone()))
    }

    fn rename_conversation(
        &self,
        scope: Scope,
        conversation: ConversationId,
        title: String,
    ) -> StoreFuture<'_, ()> {
        self.with(|all| {
            all.conversation(&scope, conversation)?;
            if let Some(shelf) = all.conversations.get_mut(&conversation) {
                shelf.row.title = title;
            }
            Ok(())
        })
    }

    fn delete_conversation(&self, scope: Scope, conversation: ConversationId) -> StoreFuture<'_, ()> {
        self.with(|all| all.delete_conversation(&scope, conversation))
    }

    fn create_plan(
        &self,
        user: UserId,
        by: CallId,
        body: PlanBody,
        at: Timestamp,
    ) -> StoreFuture<'_, UserPlan> {
        self.with(|all| all.create_plan(user, by, body, at))
    }

    fn change_plan(&self, user: UserId, change: PlanChange) -> StoreFuture<'_, UserPlan> {
        self.with(|all| all.change_plan(&user, change))
    }

    fn plan(&self, user: UserId, number: u32) -> StoreFuture<'_, UserPlan> {
        self.with(|all| {
            let found = all.plans_of(&user).find(|plan| plan.number == number);
            found.cloned().ok_or(StoreError::NotFound("plan"))
        })
    }

    fn plans(&self, user: UserId, at: Page) -> StoreFuture<'_, Vec<UserPlan>> {
        self.with(|all| {
            let mut plans: Vec<_> = all.plans_of(&user).cloned().collect();
            plans.sort_by_key(|plan| std::cmp::Reverse((plan.updated_at, plan.number)));
            Ok(page(plans.into_iter(), at))
        })
    }

    fn create_token(&self, token: Token) -> StoreFuture<'_, ()> {
        self.with(|all| {
            all.tokens.insert(token.id.clone(), token);
            Ok(())
        })
    }

    fn tokens(&self) -> StoreFuture<'_, Vec<Token>> {
        self.with(|all| Ok(all.tokens.values().cloned().collect()))
    }

    fn revoke_token(&self, id: String, at: Timestamp) -> StoreFuture<'_, ()> {
        self.with(|all| {
            let token = all.tokens.get_mut(&id).ok_or(StoreError::NotFound("token"))?;
            token.revoked_at.get_or_insert(at);
            Ok(())
        })
    }

    fn audit(&self, entry: AuditEntry) -> StoreFuture<'_, ()> {
        self.with(|all| {
            all.audit.push(entry);
            Ok(())
        })
    }

    fn signing_key(&self, fresh: [u8; 32]) -> StoreFuture<'_, [u8; 32]> {
        self.with(|all| Ok(*all.signing_key.get_or_insert(fresh)))
    }

    fn keep_model_profile(&self, model: String, profile: ModelProfile) -> StoreFuture<'_, ()> {
        self.with(|all| {
            all.profiles.insert(model, profile);
            Ok(())
        })
    }

    fn model_profiles(&self) -> StoreFuture<'_, Vec<(String, ModelProfile)>> {
        self.with(|all| Ok(all.profiles.clone().into_iter().collect()))
    }

    fn tools(&self) -> StoreFuture<'_, Vec<ToolRow>> {
        self.with(|all| Ok(all.tools.rows()))
    }

    fn tool(&self, name: String) -> StoreFuture<'_, ToolRow> {
        self.with(|all| all.tools.row(&name).cloned().ok_or(StoreError::NotFound("tool")))
    }

    fn keep_tool(&self, row: ToolRow, expected: u32, audit: AuditEntry) -> StoreFuture<'_, ToolRow> {
        self.with(|all| {
            let kept = all.tools.keep(row, expected)?;
            all.audit.push(audit);
            Ok(kept)
        })
    }

    fn delete_tool(&self, name: String, expected: Option<u32>, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.with(|all| {
            all.tools.delete(&name, expected)?;
            all.offers.drop(&name);
            all.grants.forget(&name);
            all.audit.push(audit);
            Ok(())
        })
    }

    fn tool_versions(&self, name: String) -> StoreFuture<'_, Vec<ToolRow>> {
        self.with(|all| Ok(all.tools.versions(&name).to_vec()))
    }

    fn switch_tool(&self, name: String, enabled: bool, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.with(|all| {
            all.tools.switch(name, enabled);
            all.audit.push(audit);
            Ok(())
        })
    }

    fn tool_switches(&self) -> StoreFuture<'_, Vec<(String, bool)>> {
        self.with(|all| Ok(all.tools.switches()))
    }

    fn tool_offers(&self) -> StoreFuture<'_, Vec<ToolOffer>> {
        self.with(|all| Ok(all.offers.all()))
    }

    fn offer_tool(&self, offer: ToolOffer, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.with(|all| {
            all.offers.put(offer);
            all.tools.count_change();
            all.audit.push(audit);
            Ok(())
        })
    }

    fn drop_offer(&self, name: String, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.with(|all| {
            all.offers.has(&name)?;
            all.offers.drop(&name);
            all.tools.count_change();
            all.audit.push(audit);
            Ok(())
        })
    }

    fn take_offer(&self, row: ToolRow, expected: u32, audit: AuditEntry) -> StoreFuture<'_, ToolRow> {
        self.with(|all| {
            all.offers.has(row.name())?;
            let kept = all.tools.keep(row, expected)?;
            all.offers.drop(kept.name());
            all.audit.push(audit);
            Ok(kept)
        })
    }

    fn tool_grants(&self) -> StoreFuture<'_, Vec<ToolGrantRow>> {
        self.with(|all| Ok(all.grants.all()))
    }

    fn keep_granted_tool(
        &self,
        row: ToolRow,
        expected: u32,
        audit: AuditEntry,
        grants: Vec<(ToolGrantRow, AuditEntry)>,
    ) -> StoreFuture<'_, ToolRow> {
        self.with(|all| {
            let kept = all.tools.keep(row, expected)?;
            all.audit.push(audit);
            for (grant, entry) in grants {
                all.grants.put(grant);
                all.audit.push(entry);
            }
            Ok(kept)
        })
    }

    fn grant_tool(&self, grant: ToolGrantRow, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.with(|all| {
            all.grants.put(grant);
            all.tools.count_change();
            all.audit.push(audit);
            Ok(())
        })
    }

    fn revoke_tool_grant(&self, tool: String, grant: ToolGrant, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.with(|all| {
            all.grants.revoke(&tool, &grant)?;
            all.tools.count_change();
            all.audit.push(audit);
            Ok(())
        })
    }

    fn tool_changes(&self) -> StoreFuture<'_, u64> {
        self.with(|all| Ok(all.tools.changes()))
    }

    fn check(&self) -> StoreFuture<'_, ()> {
        self.with(|_| Ok(()))
    }

    fn close(&self) -> StoreFuture<'_, ()> {
        self.with(|_| Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    async fn empty() -> Arc<dyn Store> {
        Arc::new(MemoryStore::new())
    }

    crate::store_contract!(empty());
}
