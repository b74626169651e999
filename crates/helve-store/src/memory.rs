//! A store in memory: the fake for tests, and the plainest statement of what a store does.

mod executions;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use helve_types::{
    ApprovalId, CallId, ConversationId, Fact, Message, ModelProfile, RunId, RunState, Spent, Timestamp,
    ToolCall, Trail, UserId,
};

use crate::tools::ToolShelf;
use crate::{
    Append, Approval, ApprovalFilter, ApprovalState, AuditEntry, CallChange, CallRecord, CallState, Claimed,
    Conversation, Execution, ExecutionFilter, ExecutionPage, KeptFile, NewRun, Opened, PLANS_MAX, Page,
    Place, PlanBody, PlanChange, Recorded, RunRecord, Scope, Store, StoreError, StoreFuture, Token, ToolRow,
    Urgency, UserPlan, call_change,
};

#[derive(Default)]
pub struct MemoryStore {
    shelves: Mutex<Shelves>,
    writes_to_fail: AtomicU32,
}

#[derive(Default)]
struct Shelves {
    runs: BTreeMap<RunId, RunShelf>,
    conversations: BTreeMap<ConversationId, ConversationShelf>,
    calls: BTreeMap<CallId, CallRecord>,
    wholes: HashMap<CallId, String>,
    files: BTreeMap<(RunId, String), KeptFile>,
    plans: BTreeMap<UserId, Vec<PlanShelf>>,
    approvals: BTreeMap<ApprovalId, Approval>,
    keys: HashMap<(UserId, String, String), (String, RunId, Timestamp)>,
    tokens: BTreeMap<String, Token>,
    audit: Vec<AuditEntry>,
    profiles: BTreeMap<String, ModelProfile>,
    tools: ToolShelf,
}

struct RunShelf {
    record: RunRecord,
    epoch: u64,
    log: Vec<Recorded>,
    /// How many messages of the conversation were there before the run's own.
    history: usize,
}

struct PlanShelf {
    plan: UserPlan,
    made_by: CallId,
}

struct ConversationShelf {
    row: Conversation,
    messages: Vec<Message>,
}

impl MemoryStore {
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes the next appends fail as a full disk would.
    pub fn fail_writes(&self, count: u32) {
        self.writes_to_fail.store(count, Ordering::Relaxed);
    }

    /// What people with rights did.
    pub fn audited(&self) -> Vec<AuditEntry> {
        self.shelves().audit.clone()
    }

    fn fails(&self) -> bool {
        let one_less = |left: u32| left.checked_sub(1);
        self.writes_to_fail.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok()
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

impl Shelves {
    fn open_run(&mut self, new: NewRun) -> Result<Opened, StoreError> {
        if let Some(key) = &new.key {
            let name = (new.user.clone(), key.route.clone(), key.key.clone());
            let is_open =
                |run: &RunId| self.runs.get(run).is_some_and(|shelf| !shelf.record.state.is_final());
            let now = new.started.event.at;
            let known = self.keys.get(&name).filter(|known| known.2 > now || is_open(&known.1));
            if let Some((fingerprint, run, _)) = known {
                return if *fingerprint == key.fingerprint {
                    Ok(Opened::Replayed { run: *run })
                } else {
                    Err(StoreError::KeyReused)
                };
            }
        }
        let at = new.started.event.at;
        let history = match &new.place {
            Place::NewConversation { id, title } => {
                let row = Conversation {
                    id: *id,
                    user: new.user.clone(),
                    title: title.clone(),
                    messages: 0,
                    spent: Spent::default(),
                    created_at: at,
                    updated_at: at,
                    active_run: None,
                };
                self.conversations.insert(*id, ConversationShelf { row, messages: vec![] });
                vec![]
            }
            Place::Conversation(id) => {
                let shelf = self.conversation(&Scope::User(new.user.clone()), *id)?;
                if let Some(active) = shelf.row.active_run {
                    return Err(StoreError::Busy(active));
                }
                shelf.messages.clone()
            }
            Place::Nowhere => vec![],
        };
        if let Some(shelf) = new.place.conversation().and_then(|id| self.conversations.get_mut(&id)) {
            shelf.row.active_run = Some(new.run);
            shelf.keep(at, new.message.iter().cloned());
        }
        if let Some(key) = new.key {
            self.keys
                .insert((new.user.clone(), key.route, key.key), (key.fingerprint, new.run, key.expires_at));
        }
        let record = RunRecord {
            run: new.run,
            user: new.user,
            conversation: new.place.conversation(),
            state: helve_types::RunState::Running,
            setup: new.setup,
            last_seq: 1,
            resumes: 0,
            spent: Spent::default(),
            created_at: at,
            ended_at: None,
        };
        let shelf = RunShelf { record, epoch: 1, log: vec![(*new.started).clone()], history: history.len() };
        self.runs.insert(new.run, shelf);
        Ok(Opened::New { epoch: 1, history })
    }

    fn append(&mut self, batch: &Append) -> Result<(), StoreError> {
        let fenced = StoreError::Fenced(batch.run);
        let shelf = self.runs.get(&batch.run).ok_or_else(|| fenced.clone())?;
        if shelf.epoch != batch.epoch {
            return Err(fenced);
        }
        // A batch sent again may begin with events that its first try has kept.
        let known = batch.events.partition_point(|recorded| recorded.event.seq <= shelf.record.last_seq);
        let (known, new) = batch.events.split_at(known);
        let place = |recorded: &Recorded| usize::try_from(recorded.event.seq - 1).ok();
        let is_kept = |recorded: &Arc<Recorded>| {
            place(recorded).and_then(|at| shelf.log.get(at)).is_some_and(|held| *held == **recorded)
        };
        if !known.iter().all(is_kept) {
            return Err(fenced);
        }
        if new.first().is_some_and(|first| first.event.seq != shelf.record.last_seq + 1) {
            return Err(fenced);
        }
        for recorded in new {
            if let Fact::ApprovalAnswered { approval, .. } = &recorded.event.fact {
                let pending = self.approvals.get(approval).map(|held| &held.state);
                if pending != Some(&ApprovalState::Pending) {
                    return Err(StoreError::AlreadyAnswered);
                }
            }
        }
        for recorded in new {
            self.derive(batch.run, recorded);
        }
        for whole in &batch.wholes {
            self.wholes.insert(whole.call.clone(), whole.text.clone());
        }
        for file in &batch.files {
            self.files.entry((batch.run, file.id.clone())).or_insert_with(|| file.clone());
        }
        self.settle(batch);
        Ok(())
    }

    fn derive(&mut self, run: RunId, recorded: &Recorded) {
        let at = recorded.event.at;
        let fact = &recorded.event.fact;
        let Some(shelf) = self.runs.get_mut(&run) else {
            return;
        };
        shelf.log.push(recorded.clone());
        shelf.record.last_seq = recorded.event.seq;
        if let Fact::StepFinished { .. } = fact {
            shelf.record.resumes = 0;
        }
        if let Some(spent) = Spent::of(fact) {
            shelf.record.spent = shelf.record.spent.plus(spent);
            if let Some(place) = shelf.record.conversation.and_then(|id| self.conversations.get_mut(&id)) {
                place.row.spent = place.row.spent.plus(spent);
            }
        }
        if let Fact::ApprovalAsked(question) = fact {
            let approval = Approval {
                run,
                user: shelf.record.user.clone(),
                question: question.clone(),
                asked_at: at,
                state: ApprovalState::Pending,
            };
            self.approvals.insert(approval.id(), approval);
        }
        if let Fact::ApprovalAnswered { approval, answer, by, .. } = fact
            && let Some(held) = self.approvals.get_mut(approval)
        {
            held.state = ApprovalState::Answered { answer: answer.clone(), by: by.clone(), answered_at: at };
        }
        if let (Some(call), Some(change)) = (fact.call(), call_change(fact)) {
            self.change_call(run, at, call, change);
        }
    }

    fn change_call(&mut self, run: RunId, at: Timestamp, id: &CallId, change: CallChange<'_>) {
        if let CallChange::Plan { step, tool, arguments, provider_id } = change {
            let call = ToolCall {
                id: id.clone(),
                provider_id: provider_id.map(str::to_owned),
                name: tool.to_owned(),
                arguments: arguments.to_owned(),
            };
            let record = CallRecord {
                call,
                run,
                step,
                state: CallState::Planned,
                attempt: 0,
                effect: None,
                version: None,
                trail: Trail::default(),
                failure: None,
                problem: None,
                output_bytes: None,
                requested_at: at,
                started_at: None,
                ended_at: None,
            };
            self.calls.insert(id.clone(), record);
            return;
        }
        let Some(record) = self.calls.get_mut(id) else {
            return;
        };
        match change {
            CallChange::Plan { .. } => {}
            CallChange::Start { tool, version, effect, attempt, arguments } => {
                record.state = CallState::Started;
                record.call.name = tool.to_owned();
                record.version = Some(version.to_owned());
                record.effect = Some(effect);
                record.attempt = attempt;
                record.started_at = Some(at);
                if let Some(arguments) = arguments {
                    record.call.arguments = arguments.to_owned();
                }
            }
            CallChange::Move(state) => {
                record.state = state;
                record.ended_at = None;
            }
            CallChange::Lose { because, trail } => {
                record.state = CallState::Unknown;
                record.trail = trail.clone();
                record.problem = Some(because.to_owned());
                record.ended_at = Some(at);
            }
            CallChange::Settle { state, trail, result } => {
                record.state = state;
                record.trail = trail.clone();
                record.failure = result.failure().map(|failure| failure.kind);
                record.problem = result.failure().map(|failure| failure.message.clone());
                record.output_bytes = result.output_bytes();
                record.ended_at = Some(at);
            }
        }
    }

    fn settle(&mut self, batch: &Append) {
        let Some(shelf) = self.runs.get_mut(&batch.run) else {
            return;
        };
        let at = batch.events.last().map_or(shelf.record.created_at, |last| last.event.at);
        if let Some(state) = batch.state {
            shelf.record.state = state;
            if state.is_final() {
                shelf.record.ended_at = Some(at);
            }
        }
        let over = shelf.record.state.is_final();
        if let Some(place) = shelf.record.conversation.and_then(|id| self.conversations.get_mut(&id)) {
            place.keep(at, batch.message.iter().cloned());
            if over && place.row.active_run == Some(batch.run) {
                place.row.active_run = None;
            }
        }
        if over {
            let held = self.approvals.values_mut().filter(|held| held.run == batch.run);
            for approval in held.filter(|held| held.state == ApprovalState::Pending) {
                approval.state = ApprovalState::Withdrawn;
            }
        }
    }

    fn claim(&mut self, run: RunId, counts_as_resume: bool) -> Result<Claimed, StoreError> {
        let shelf = self.runs.get_mut(&run).ok_or(StoreError::NotFound("run"))?;
        shelf.epoch += 1;
        shelf.record.resumes += u32::from(counts_as_resume);
        let messages = shelf.record.conversation.and_then(|id| self.conversations.get(&id));
        Ok(Claimed {
            epoch: shelf.epoch,
            record: shelf.record.clone(),
            history: messages.map_or(vec![], |place| place.messages[..shelf.history].to_vec()),
            events: shelf.log.clone(),
        })
    }

    fn conversation(&self, scope: &Scope, id: ConversationId) -> Result<&ConversationShelf, StoreError> {
        self.conversations
            .get(&id)
            .filter(|shelf| scope.sees(&shelf.row.user))
            .ok_or(StoreError::NotFound("conversation"))
    }

    fn delete_conversation(&mut self, scope: &Scope, id: ConversationId) -> Result<(), StoreError> {
        if let Some(active) = self.conversation(scope, id)?.row.active_run {
            return Err(StoreError::Busy(active));
        }
        self.conversations.remove(&id);
        let gone = |run: RunId, runs: &BTreeMap<RunId, RunShelf>| {
            runs.get(&run).is_some_and(|shelf| shelf.record.conversation == Some(id))
        };
        self.approvals.retain(|_, held| !gone(held.run, &self.runs));
        self.wholes.retain(|call, _| !call.run().is_some_and(|run| gone(run, &self.runs)));
        self.files.retain(|(run, _), _| !gone(*run, &self.runs));
        self.calls.retain(|_, call| !gone(call.run, &self.runs));
        self.keys.retain(|_, (_, run, _)| !gone(*run, &self.runs));
        self.runs.retain(|_, shelf| shelf.record.conversation != Some(id));
        Ok(())
    }
}

impl Shelves {
    fn create_plan(
        &mut self,
        user: UserId,
        by: CallId,
        body: PlanBody,
        at: Timestamp,
    ) -> Result<UserPlan, StoreError> {
        let shelves = self.plans.entry(user).or_default();
        if let Some(made) = shelves.iter().find(|shelf| shelf.made_by == by) {
            return Ok(made.plan.clone());
        }
        let number = u32::try_from(shelves.len() + 1).unwrap_or(u32::MAX);
        if number > PLANS_MAX {
            return Err(StoreError::Full("plan"));
        }
        let plan = UserPlan { number, version: 1, body, changed_by: None, created_at: at, updated_at: at };
        shelves.push(PlanShelf { plan: plan.clone(), made_by: by });
        Ok(plan)
    }

    fn change_plan(&mut self, user: &UserId, change: PlanChange) -> Result<UserPlan, StoreError> {
        let mut shelves = self.plans.get_mut(user).into_iter().flatten();
        let shelf = shelves.find(|shelf| shelf.plan.number == change.number);
        let shelf = shelf.ok_or(StoreError::NotFound("plan"))?;
        if shelf.plan.changed_by.as_ref() != Some(&change.by) {
            if shelf.plan.version != change.over {
                return Err(StoreError::Changed(shelf.plan.version));
            }
            shelf.plan.version += 1;
            shelf.plan.body = change.body;
            shelf.plan.updated_at = change.at;
            shelf.plan.changed_by = Some(change.by);
        }
        Ok(shelf.plan.clone())
    }

    fn plans_of(&self, user: &UserId) -> impl Iterator<Item = &UserPlan> {
        self.plans.get(user).into_iter().flatten().map(|shelf| &shelf.plan)
    }
}

impl ConversationShelf {
    fn keep(&mut self, at: Timestamp, messages: impl IntoIterator<Item = Message>) {
        self.messages.extend(messages);
        self.row.messages = self.messages.len() as u64;
        self.row.updated_at = at;
    }
}

fn page<T>(items: impl Iterator<Item = T>, page: Page) -> Vec<T> {
    items.skip(page.offset).take(page.limit).collect()
}

impl Store for MemoryStore {
    fn open_run(&self, new: NewRun) -> StoreFuture<'_, Opened> {
        self.with(|all| all.open_run(new))
    }

    fn append(&self, mut batch: Append, _: Urgency) -> StoreFuture<'static, ()> {
        let result = if self.fails() {
            Err(StoreError::Unavailable("told to fail".into()))
        } else {
            self.shelves().append(&batch)
        };
        if result.is_ok()
            && let Some(publish) = batch.on_commit.take()
        {
            publish(&batch.events);
        }
        Box::pin(std::future::ready(result))
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

    fn runs(&self, scope: Scope, at: Page) -> StoreFuture<'_, Vec<RunRecord>> {
        self.with(|all| {
            let seen = all.runs.values().rev().map(|shelf| &shelf.record);
            Ok(page(seen.filter(|record| scope.sees(&record.user)).cloned(), at))
        })
    }

    fn running_runs(&self) -> StoreFuture<'_, Vec<RunRecord>> {
        self.with(|all| {
            let records = all.runs.values().map(|shelf| &shelf.record);
            Ok(records.filter(|record| record.state == RunState::Running).cloned().collect())
        })
    }

    fn events(&self, run: RunId, after: u64, limit: usize) -> StoreFuture<'_, Vec<Recorded>> {
        self.with(|all| {
            let log = all.runs.get(&run).map_or(&[][..], |shelf| &shelf.log);
            Ok(log.iter().filter(|recorded| recorded.event.seq > after).take(limit).cloned().collect())
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
        self.with(|all| Ok(all.executions(&scope, &filter, &page)))
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
        self.with(|all| {
            let held = all.approvals.get(&approval).filter(|held| scope.sees(&held.user));
            held.cloned().ok_or(StoreError::NotFound("approval"))
        })
    }

    fn approvals(&self, scope: Scope, filter: ApprovalFilter) -> StoreFuture<'_, Vec<Approval>> {
        self.with(|all| {
            let mut seen: Vec<_> = all.approvals.values().filter(|held| scope.sees(&held.user)).collect();
            seen.sort_by_key(|held| (held.asked_at, held.id()));
            Ok(match filter {
                ApprovalFilter::Pending => {
                    seen.into_iter().filter(|held| held.state == ApprovalState::Pending).cloned().collect()
                }
                ApprovalFilter::All(at) => page(seen.into_iter().rev().cloned(), at),
            })
        })
    }

    fn expired_approvals(&self, now: Timestamp) -> StoreFuture<'_, Vec<Approval>> {
        self.with(|all| {
            let pending = all.approvals.values().filter(|held| held.state == ApprovalState::Pending);
            Ok(pending.filter(|held| held.question.expires_at <= now).cloned().collect())
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
    use super::*;

    async fn empty() -> Arc<dyn Store> {
        Arc::new(MemoryStore::new())
    }

    crate::store_contract!(empty());
}
