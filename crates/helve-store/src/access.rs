//! Who may do what: tokens, sessions, keys, consents, and the audit.

use helve_types::{ApprovalId, Timestamp};

use crate::{Allowance, AuditEntry, Scope, StoreFuture, Token};

/// So many ended sessions of one token are kept; those that were begun before the first of them count as ended too.
pub const ENDED_SESSIONS_MAX: usize = 100;

/// Who may do what, and what was done with such rights.
pub trait Access: Send + Sync + 'static {
    fn create_token(&self, token: Token) -> StoreFuture<'_, ()>;

    fn tokens(&self) -> StoreFuture<'_, Vec<Token>>;

    fn revoke_token(&self, id: String, at: Timestamp) -> StoreFuture<'_, ()>;

    /// Ends the session that a token was traded for at a time. Of one token the last `ENDED_SESSIONS_MAX` are kept.
    fn end_session(&self, token: String, issued_at: Timestamp) -> StoreFuture<'_, ()>;

    /// The sessions that were ended, with their tokens.
    fn ended_sessions(&self) -> StoreFuture<'_, Vec<(String, Timestamp)>>;

    /// The installation's own key: the one that is kept, or else this one, which is kept from now on.
    fn signing_key(&self, fresh: [u8; 32]) -> StoreFuture<'_, [u8; 32]>;

    /// Takes a consent back, with the audit's line; one that was taken back before stays as it is.
    fn revoke_allowance(&self, scope: Scope, id: ApprovalId, audit: AuditEntry)
    -> StoreFuture<'_, Allowance>;

    /// Adds to the record of what people with rights did.
    fn record_audit(&self, entry: AuditEntry) -> StoreFuture<'_, ()>;
}
