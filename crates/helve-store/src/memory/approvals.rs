//! Questions to people, as they are looked for.

use helve_types::{ApprovalId, Fact, Timestamp, Vote};

use super::{MemoryTables, page_of};
use crate::{Approval, ApprovalFilter, ApprovalState, AuditEntry, EXPIRED_MAX, Scope, StoreError};

impl MemoryTables {
    pub(super) fn approval(&self, scope: &Scope, approval: ApprovalId) -> Result<Approval, StoreError> {
        let held = self.approvals.get(&approval).filter(|held| scope.sees(&held.user));
        held.cloned().ok_or(StoreError::NotFound("approval"))
    }

    pub(super) fn approvals(&self, scope: &Scope, filter: ApprovalFilter) -> Vec<Approval> {
        let mut seen: Vec<_> = self.approvals.values().filter(|held| scope.sees(&held.user)).collect();
        seen.sort_by_key(|held| (held.asked_at, held.id()));
        match filter {
            ApprovalFilter::Pending(at) => {
                page_of(seen.into_iter().filter(|held| held.state == ApprovalState::Pending).cloned(), at)
            }
            ApprovalFilter::PendingOf(run) => {
                let waits = |held: &&&Approval| held.run == run && held.state == ApprovalState::Pending;
                seen.iter().filter(waits).map(|held| (*held).clone()).collect()
            }
            ApprovalFilter::WithApprovers(at) => {
                let waits = |held: &&Approval| {
                    held.question.approvers.is_some() && held.state == ApprovalState::Pending
                };
                page_of(seen.into_iter().filter(waits).cloned(), at)
            }
            ApprovalFilter::All(at) => page_of(seen.into_iter().rev().cloned(), at),
        }
    }

    /// Brings a question that approvers answer up to date with a fact.
    pub(super) fn apply_vote(&mut self, at: Timestamp, fact: &Fact) {
        match fact {
            Fact::ApprovalVoted { approval, answer, by } => {
                let Some(held) = self.approvals.get_mut(approval) else { return };
                let entry = AuditEntry::for_vote(*approval, answer, by, &held.user, at);
                held.votes.push(Vote { by: by.clone(), answer: answer.clone(), at });
                self.audit(entry);
            }
            Fact::ApprovalReminded { approval } => _ = self.reminded.insert(*approval),
            Fact::ApprovalEscalated { approval } => {
                if let Some(held) = self.approvals.get_mut(approval) {
                    held.escalated = true;
                }
            }
            _ => {}
        }
    }

    pub(super) fn approvals_to_notify(&self, now: Timestamp) -> Vec<Approval> {
        let pending = self.approvals.values().filter(|held| held.state == ApprovalState::Pending);
        let is_due = |held: &&Approval| {
            let Some(approvers) = &held.question.approvers else { return false };
            let is_past = |at: Option<Timestamp>| at.is_some_and(|at| at <= now);
            (is_past(approvers.remind_at(held.asked_at)) && !self.reminded.contains(&held.id()))
                || (is_past(approvers.escalate_at(held.asked_at)) && !held.escalated)
        };
        pending.filter(is_due).take(EXPIRED_MAX).cloned().collect()
    }

    pub(super) fn expired_approvals(&self, now: Timestamp) -> Vec<Approval> {
        let pending = self.approvals.values().filter(|held| held.state == ApprovalState::Pending);
        pending.filter(|held| held.question.expires_at <= now).take(EXPIRED_MAX).cloned().collect()
    }
}
