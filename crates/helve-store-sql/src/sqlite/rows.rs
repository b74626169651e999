//! Definitions.

pub(crate) mod grants;
pub(crate) mod offers;
pub(crate) mod profiles;
pub(crate) mod tools;

use helve_store::{AuditEntry, Rows, StoreFuture, ToolGrantRow, ToolOffer, ToolRow};
use helve_types::{ModelProfile, ToolGrant};

use super::SqliteStore;

impl Rows for SqliteStore {
    fn tools(&self) -> StoreFuture<'_, Vec<ToolRow>> {
        self.read(tools::all_tools)
    }

    fn tool(&self, name: String) -> StoreFuture<'_, ToolRow> {
        self.read(move |connection| tools::tool(connection, &name))
    }

    fn keep_tool(&self, row: ToolRow, expected: u32, audit: AuditEntry) -> StoreFuture<'_, ToolRow> {
        self.write_now(move |connection| tools::keep(connection, &row, expected, &audit))
    }

    fn delete_tool(&self, name: String, expected: Option<u32>, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_now(move |connection| tools::delete(connection, &name, expected, &audit))
    }

    fn tool_versions(&self, name: String) -> StoreFuture<'_, Vec<ToolRow>> {
        self.read(move |connection| tools::versions(connection, &name))
    }

    fn switch_tool(&self, name: String, enabled: bool, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_now(move |connection| tools::switch(connection, &name, enabled, &audit))
    }

    fn tool_switches(&self) -> StoreFuture<'_, Vec<(String, bool)>> {
        self.read(tools::switches)
    }

    fn tool_offers(&self) -> StoreFuture<'_, Vec<ToolOffer>> {
        self.read(offers::all_offers)
    }

    fn offer_tool(&self, offer: ToolOffer, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_now(move |connection| offers::put(connection, &offer, &audit))
    }

    fn drop_offer(&self, name: String, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_now(move |connection| offers::drop(connection, &name, &audit))
    }

    fn take_offer(&self, row: ToolRow, expected: u32, audit: AuditEntry) -> StoreFuture<'_, ToolRow> {
        self.write_now(move |connection| offers::take(connection, &row, expected, &audit))
    }

    fn tool_grants(&self) -> StoreFuture<'_, Vec<ToolGrantRow>> {
        self.read(grants::all_grants)
    }

    fn keep_granted_tool(
        &self,
        row: ToolRow,
        expected: u32,
        audit: AuditEntry,
        grants: Vec<(ToolGrantRow, AuditEntry)>,
    ) -> StoreFuture<'_, ToolRow> {
        self.write_now(move |connection| grants::keep_tool(connection, &row, expected, &audit, &grants))
    }

    fn grant_tool(&self, grant: ToolGrantRow, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_now(move |connection| grants::put(connection, &grant, &audit))
    }

    fn revoke_tool_grant(&self, tool: String, grant: ToolGrant, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_now(move |connection| grants::revoke(connection, &tool, &grant, &audit))
    }

    fn tool_changes(&self) -> StoreFuture<'_, u64> {
        self.read(tools::changes)
    }

    fn keep_model_profile(&self, model: String, profile: ModelProfile) -> StoreFuture<'_, ()> {
        self.write_now(move |connection| profiles::keep(connection, &model, &profile))
    }

    fn model_profiles(&self) -> StoreFuture<'_, Vec<(String, ModelProfile)>> {
        self.read(profiles::all_profiles)
    }
}
