//! Consent that outlives its call.

use helve_types::{Answer, ApprovalId, RunId, Timestamp, Within};

use super::{MemoryTables, page_of};
use crate::{Allowance, AllowanceFilter, AllowanceKey, AuditEntry, Circumstances, Page, Scope, StoreError};

impl MemoryTables {
    /// Keeps what an answer says beyond its own call.
    pub(super) fn keep_allowance(
        &mut self,
        run: RunId,
        approval: ApprovalId,
        answer: &Answer,
        by: &str,
        at: Timestamp,
    ) {
        let (Some(shelf), Some(held)) = (self.runs.get(&run), self.approvals.get(&approval)) else { return };
        let record = &shelf.record;
        let of = Circumstances {
            run,
            user: &record.user,
            agent: &record.setup.agent,
            conversation: record.conversation,
        };
        if let Some(said) = Allowance::from_answer(answer, &held.question, &of, by, at) {
            self.audit(said.audit_entry());
            self.allowances.insert(said.id, said);
        }
    }

    pub(super) fn allowances(&self, scope: &Scope, filter: AllowanceFilter, at: Page) -> Vec<Allowance> {
        let mut seen: Vec<_> = self.allowances.values().filter(|held| scope.sees(&held.user)).collect();
        seen.retain(|held| match filter {
            AllowanceFilter::InForce(now) => held.is_in_force(now) && !self.is_over(held),
            AllowanceFilter::All => true,
        });
        seen.sort_by_key(|held| std::cmp::Reverse((held.created_at, held.id)));
        page_of(seen.into_iter().cloned(), at)
    }

    /// Whether it reached no further than a run that has ended.
    fn is_over(&self, held: &Allowance) -> bool {
        held.within == Within::Run
            && self.runs.get(&held.run).is_none_or(|shelf| shelf.record.state.is_final())
    }

    pub(super) fn allowances_of(&self, key: &AllowanceKey, now: Timestamp) -> Vec<Allowance> {
        let is_meant = |held: &&Allowance| {
            held.is_in_force(now)
                && held.user == key.user
                && held.agent == key.agent
                && held.tool == key.tool
                && held.version == key.version
        };
        self.allowances.values().filter(is_meant).cloned().collect()
    }

    pub(super) fn revoke_allowance(
        &mut self,
        scope: &Scope,
        id: ApprovalId,
        audit: AuditEntry,
    ) -> Result<Allowance, StoreError> {
        let held = self.allowances.get_mut(&id).filter(|held| scope.sees(&held.user));
        let held = held.ok_or(StoreError::NotFound("allowance"))?;
        if held.revoked_at.is_none() {
            held.revoked_at = Some(audit.at);
            let held = held.clone();
            self.audit(audit);
            return Ok(held);
        }
        Ok(held.clone())
    }
}
