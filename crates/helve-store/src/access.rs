//! Who may do what: users and groups, tokens, sessions, keys and consents.

use helve_types::{ApprovalId, Timestamp, UserId};

use crate::{
    Allowance, AuditEntry, GroupChange, GroupRecord, Scope, SessionRecord, SessionsToEnd, StoreFuture, Token,
    UserChange, UserRecord,
};

/// So many ended sessions of one token are kept; those that were begun before the first of them count as ended too.
pub const ENDED_SESSIONS_MAX: usize = 100;

/// Who may do what. Each change is one transaction with its entry of the audit log.
pub trait Access: Send + Sync + 'static {
    /// The users that have rows, by their ids.
    fn users(&self) -> StoreFuture<'_, Vec<UserRecord>>;

    /// Saves a user in place of its version `expected` and returns it with its number. Fails if one of its identities
    /// is another user's, or one of its groups is not there.
    fn save_user(&self, change: UserChange) -> StoreFuture<'_, UserRecord>;

    /// Deletes a user's row with its memberships, identities and sessions, and revokes its tokens, if the row is at
    /// the version `expected` or none is given. A user without a row that has tokens is found as well.
    fn delete_user(&self, id: UserId, expected: Option<u32>, audit: AuditEntry) -> StoreFuture<'_, ()>;

    /// The groups, by their names.
    fn groups(&self) -> StoreFuture<'_, Vec<GroupRecord>>;

    /// Saves a group in place of its version `expected` and returns it with its number.
    fn save_group(&self, change: GroupChange) -> StoreFuture<'_, GroupRecord>;

    /// Deletes a group; no user is its member any more.
    fn delete_group(&self, name: String, expected: Option<u32>, audit: AuditEntry) -> StoreFuture<'_, ()>;

    /// Begins a session of the page. Those that have expired are deleted, and of the user's the last
    /// `USER_SESSIONS_MAX` are kept.
    fn create_session(&self, session: SessionRecord, audit: AuditEntry) -> StoreFuture<'_, ()>;

    /// The sessions that were not ended, by their start; some may have expired.
    fn sessions(&self) -> StoreFuture<'_, Vec<SessionRecord>>;

    /// Returns how many there were.
    fn end_sessions(&self, which: SessionsToEnd, audit: AuditEntry) -> StoreFuture<'_, u64>;

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
