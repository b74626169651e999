//! Definitions that people write and Helve keeps, each in all its versions.

use helve_types::{ModelProfile, ToolGrant};

use crate::{AuditEntry, StoreFuture, ToolGrantRow, ToolOffer, ToolRow};

/// Versioned definitions, with their offers, grants and switches.
pub trait Rows: Send + Sync + 'static {
    /// All tools as they are now, by their names.
    fn tools(&self) -> StoreFuture<'_, Vec<ToolRow>>;

    fn tool(&self, name: String) -> StoreFuture<'_, ToolRow>;

    /// Keeps a tool in place of its version `expected`, which is 0 for a new one, and returns it with its number: one
    /// more than any that its name ever had. With it goes the line of the audit.
    fn keep_tool(&self, row: ToolRow, expected: u32, audit: AuditEntry) -> StoreFuture<'_, ToolRow>;

    /// Forgets a tool, if it is at the version `expected` or none is given. Its versions stay.
    fn delete_tool(&self, name: String, expected: Option<u32>, audit: AuditEntry) -> StoreFuture<'_, ()>;

    /// Everything that tools of this name ever were, oldest first: runs go on with what they were started with.
    fn tool_versions(&self, name: String) -> StoreFuture<'_, Vec<ToolRow>>;

    /// Switches a tool that is no row on or off.
    fn switch_tool(&self, name: String, enabled: bool, audit: AuditEntry) -> StoreFuture<'_, ()>;

    /// Which of the tools that are no rows were switched, by their names.
    fn tool_switches(&self) -> StoreFuture<'_, Vec<(String, bool)>>;

    /// What tools from outside have become, by their names: none of it holds before a person agrees.
    fn tool_offers(&self) -> StoreFuture<'_, Vec<ToolOffer>>;

    /// Keeps what a tool has become, in the place of what was offered about it before.
    fn offer_tool(&self, offer: ToolOffer, audit: AuditEntry) -> StoreFuture<'_, ()>;

    /// Forgets what was offered about a tool.
    fn drop_offer(&self, name: String, audit: AuditEntry) -> StoreFuture<'_, ()>;

    /// As `keep_tool`, with what was offered about the tool, which is then no offer any more.
    fn take_offer(&self, row: ToolRow, expected: u32, audit: AuditEntry) -> StoreFuture<'_, ToolRow>;

    /// What the operator lets single tools have, by their names.
    fn tool_grants(&self) -> StoreFuture<'_, Vec<ToolGrantRow>>;

    /// As `keep_tool`, together with what the tool is allowed.
    fn keep_granted_tool(
        &self,
        row: ToolRow,
        expected: u32,
        audit: AuditEntry,
        grants: Vec<(ToolGrantRow, AuditEntry)>,
    ) -> StoreFuture<'_, ToolRow>;

    /// Lets a tool have something; it ends with the tool.
    fn grant_tool(&self, grant: ToolGrantRow, audit: AuditEntry) -> StoreFuture<'_, ()>;

    /// Takes back what a tool was allowed.
    fn revoke_tool_grant(&self, tool: String, grant: ToolGrant, audit: AuditEntry) -> StoreFuture<'_, ()>;

    /// Grows with every change of a tool, an offer, a grant or a switch, whoever makes it.
    fn tool_changes(&self) -> StoreFuture<'_, u64>;

    /// Keeps what a model was found to do, in place of what was known of the model with that name.
    fn keep_model_profile(&self, model: String, profile: ModelProfile) -> StoreFuture<'_, ()>;

    /// What is known of the models, by their names.
    fn model_profiles(&self) -> StoreFuture<'_, Vec<(String, ModelProfile)>>;
}
