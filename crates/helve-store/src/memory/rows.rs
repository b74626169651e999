//! Definitions.

use helve_types::{ModelProfile, ToolGrant};

use super::MemoryStore;
use crate::{AuditEntry, Rows, StoreError, StoreFuture, ToolGrantRow, ToolOffer, ToolRow};

impl Rows for MemoryStore {
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

    fn keep_model_profile(&self, model: String, profile: ModelProfile) -> StoreFuture<'_, ()> {
        self.with(|all| {
            all.profiles.insert(model, profile);
            Ok(())
        })
    }

    fn model_profiles(&self) -> StoreFuture<'_, Vec<(String, ModelProfile)>> {
        self.with(|all| Ok(all.profiles.clone().into_iter().collect()))
    }
}
