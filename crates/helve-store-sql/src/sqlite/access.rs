//! Who may do what.

mod people;
mod sessions;
pub(crate) mod tokens;

use helve_store::{
    Access, Allowance, AuditEntry, GroupChange, GroupRecord, Scope, SessionRecord, SessionsToEnd,
    StoreFuture, Token, UserChange, UserRecord, Wakeup,
};
use helve_types::{ApprovalId, Timestamp, UserId};

use super::SqliteStore;
use super::views::allowances;

impl Access for SqliteStore {
    fn users(&self) -> StoreFuture<'_, Vec<UserRecord>> {
        self.read(people::all_users)
    }

    fn save_user(&self, change: UserChange) -> StoreFuture<'_, UserRecord> {
        self.write_and_wake(Wakeup::Access, move |connection| people::save_user(connection, &change))
    }

    fn delete_user(&self, id: UserId, expected: Option<u32>, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_and_wake(Wakeup::Access, move |connection| {
            people::delete_user(connection, &id, expected, &audit)
        })
    }

    fn groups(&self) -> StoreFuture<'_, Vec<GroupRecord>> {
        self.read(people::all_groups)
    }

    fn save_group(&self, change: GroupChange) -> StoreFuture<'_, GroupRecord> {
        self.write_and_wake(Wakeup::Access, move |connection| people::save_group(connection, &change))
    }

    fn delete_group(&self, name: String, expected: Option<u32>, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_and_wake(Wakeup::Access, move |connection| {
            people::delete_group(connection, &name, expected, &audit)
        })
    }

    fn create_session(&self, session: SessionRecord, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_and_wake(Wakeup::Access, move |connection| sessions::create(connection, &session, &audit))
    }

    fn sessions(&self) -> StoreFuture<'_, Vec<SessionRecord>> {
        self.read(sessions::all_sessions)
    }

    fn end_sessions(&self, which: SessionsToEnd, audit: AuditEntry) -> StoreFuture<'_, u64> {
        self.write_and_wake(Wakeup::Access, move |connection| sessions::end(connection, &which, &audit))
    }

    fn create_token(&self, token: Token, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_and_wake(Wakeup::Access, move |connection| tokens::create(connection, &token, &audit))
    }

    fn tokens(&self) -> StoreFuture<'_, Vec<Token>> {
        self.read(tokens::all_tokens)
    }

    fn revoke_token(&self, id: String, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_and_wake(Wakeup::Access, move |connection| tokens::revoke(connection, &id, &audit))
    }

    fn end_session(&self, token: String, issued_at: Timestamp, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_and_wake(Wakeup::Access, move |connection| {
            tokens::end_session(connection, &token, issued_at, &audit)
        })
    }

    fn ended_sessions(&self) -> StoreFuture<'_, Vec<(String, Timestamp)>> {
        self.read(tokens::ended_sessions)
    }

    fn signing_key(&self, fresh: [u8; 32]) -> StoreFuture<'_, [u8; 32]> {
        self.write_now(move |connection| tokens::signing_key(connection, fresh))
    }

    fn revoke_allowance(
        &self,
        scope: Scope,
        id: ApprovalId,
        audit: AuditEntry,
    ) -> StoreFuture<'_, Allowance> {
        self.write_now(move |connection| allowances::revoke(connection, &scope, id, &audit))
    }
}
