//! Who may do what: tokens, sessions, keys and consents.

use helve_types::{ApprovalId, Timestamp};

use crate::{Allowance, AuditEntry, Scope, StoreFuture, Token};

/// So many ended sessions of one token are kept; those that were begun before the first of them count as ended too.
pub const ENDED_SESSIONS_MAX: usize = 100;

/// Who may do what. Each change is one transaction with its entry of the audit log.
pub trait Access: Send + Sync + 'static {
    fn create_token(&self, token: Token, audit: AuditEntry) -> StoreFuture<'_, ()>;

    fn tokens(&self) -> StoreFuture<'_, Vec<Token>>;

    /// Revokes a token at the time of the audit entry.
    fn revoke_token(&self, id: String, audit: AuditEntry) -> StoreFuture<'_, ()>;

    /// Ends the session that a token was traded for at a time. Of one token the last `ENDED_SESSIONS_MAX` are kept.
    fn end_session(&self, token: String, issued_at: Timestamp, audit: AuditEntry) -> StoreFuture<'_, ()>;

    /// The sessions that were ended, with their tokens.
    fn ended_sessions(&self) -> StoreFuture<'_, Vec<(String, Timestamp)>>;

    /// The installation's own key: the one that is kept, or else this one, which is kept from now on.
    fn signing_key(&self, fresh: [u8; 32]) -> StoreFuture<'_, [u8; 32]>;

    /// Takes a consent back, with the audit's line; one that was taken back before stays as it is.
    fn revoke_allowance(&self, scope: Scope, id: ApprovalId, audit: AuditEntry)
    -> StoreFuture<'_, Allowance>;
}
