//! A run's log, and what follows from it.

use std::sync::Arc;

use helve_types::{Fact, RunId, Spent};

use super::MemoryTables;
use crate::{
    Append, Approval, ApprovalState, AuditEntry, Recorded, StoreError, call_change, resets_crash_count,
    tool_sent_to,
};

impl MemoryTables {
    pub(super) fn append(&mut self, batch: &Append) -> Result<(), StoreError> {
        let fenced = StoreError::Fenced(batch.writer.run);
        let shelf = self.runs.get(&batch.writer.run).ok_or_else(|| fenced.clone())?;
        if shelf.epoch != batch.writer.epoch {
            return Err(fenced);
        }
        if batch.events.is_empty() {
            return Ok(());
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
            self.apply_fact(batch.writer.run, recorded);
        }
        for output in &batch.full_outputs {
            self.full_outputs.insert(output.call.clone(), output.text.to_string());
        }
        for file in &batch.files {
            self.files.entry((batch.writer.run, file.id.clone())).or_insert_with(|| file.clone());
        }
        self.apply_state(batch);
        Ok(())
    }

    fn apply_fact(&mut self, run: RunId, recorded: &Recorded) {
        let at = recorded.event.at;
        let fact = &recorded.event.fact;
        let Some(shelf) = self.runs.get_mut(&run) else {
            return;
        };
        shelf.log.push(recorded.clone());
        shelf.record.last_seq = recorded.event.seq;
        if resets_crash_count(fact) {
            shelf.record.resumes = 0;
        }
        if let Some(spent) = Spent::from_fact(fact) {
            shelf.record.spent = shelf.record.spent.plus(spent);
            if let Some(place) = shelf.record.conversation.and_then(|id| self.conversations.get_mut(&id)) {
                place.row.spent = place.row.spent.plus(spent);
            }
        }
        let used = recorded.used();
        if !used.is_nothing() {
            let key = (at.day(), shelf.record.user.clone(), shelf.record.setup.agent.clone());
            let sum = self.days.entry(key).or_default();
            *sum = sum.plus(used);
        }
        if let Fact::ApprovalAsked(question) = fact {
            let approval = Approval {
                run,
                user: shelf.record.user.clone(),
                question: question.clone(),
                asked_at: at,
                votes: vec![],
                escalated: false,
                state: ApprovalState::Pending,
            };
            self.audit.append(AuditEntry::for_question(question, &approval.user, at));
            self.approvals.insert(approval.id(), approval);
        }
        self.apply_vote(at, fact);
        if let Fact::ApprovalAnswered { approval, answer, by, .. } = fact
            && let Some(held) = self.approvals.get_mut(approval)
        {
            held.state = ApprovalState::Answered { answer: answer.clone(), by: by.clone(), answered_at: at };
            let entry = AuditEntry::for_answer(*approval, answer, by, &held.user, at);
            self.audit.append(entry);
            self.keep_allowance(run, *approval, answer, by, at);
        }
        if let Some(tool) = tool_sent_to(fact) {
            self.keep_send(run, tool, at);
        }
        if let (Some(call), Some(change)) = (fact.call(), call_change(fact)) {
            self.change_call(run, at, call, change);
        }
    }

    fn apply_state(&mut self, batch: &Append) {
        let Some(shelf) = self.runs.get_mut(&batch.writer.run) else {
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
            place.keep_messages(at, batch.message.iter().cloned());
            if over && place.row.active_run == Some(batch.writer.run) {
                place.row.active_run = None;
            }
        }
        if over {
            let held = self.approvals.values_mut().filter(|held| held.run == batch.writer.run);
            for approval in held.filter(|held| held.state == ApprovalState::Pending) {
                approval.state = ApprovalState::Withdrawn;
            }
        }
    }
}
