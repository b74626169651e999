//! Questions to people, as they are looked for.

use helve_types::{ApprovalId, Timestamp};

use super::{MemoryTables, page_of};
use crate::{Approval, ApprovalFilter, ApprovalState, EXPIRED_MAX, Scope, StoreError};

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
            ApprovalFilter::All(at) => page_of(seen.into_iter().rev().cloned(), at),
        }
    }

    pub(super) fn expired_approvals(&self, now: Timestamp) -> Vec<Approval> {
        let pending = self.approvals.values().filter(|held| held.state == ApprovalState::Pending);
        pending.filter(|held| held.question.expires_at <= now).take(EXPIRED_MAX).cloned().collect()
    }
}
