//! Who may do what.

mod people;
mod sessions;
pub(super) mod tokens;

use helve_store::{
    Access, Allowance, AuditEntry, GroupChange, GroupRecord, Scope, SessionRecord, SessionsToEnd,
    StoreFuture, Token, UserChange, UserRecord, Wakeup,
};
use helve_types::{ApprovalId, Timestamp, UserId};

use super::PostgresStore;
use super::views::allowances;

impl Access for PostgresStore {
    fn users(&self) -> StoreFuture<'_, Vec<UserRecord>> {
        self.read((), |db, ()| Box::pin(people::all_users(db)))
    }

    fn save_user(&self, change: UserChange) -> StoreFuture<'_, UserRecord> {
        self.write_and_wake(Wakeup::Access, change, |db, change| Box::pin(people::save_user(db, change)))
    }

    fn delete_user(&self, id: UserId, expected: Option<u32>, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_and_wake(Wakeup::Access, (id, expected, audit), |db, (id, expected, audit)| {
            Box::pin(people::delete_user(db, id, *expected, audit))
        })
    }

    fn groups(&self) -> StoreFuture<'_, Vec<GroupRecord>> {
        self.read((), |db, ()| Box::pin(people::all_groups(db)))
    }

    fn save_group(&self, change: GroupChange) -> StoreFuture<'_, GroupRecord> {
        self.write_and_wake(Wakeup::Access, change, |db, change| Box::pin(people::save_group(db, change)))
    }

    fn delete_group(&self, name: String, expected: Option<u32>, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_and_wake(Wakeup::Access, (name, expected, audit), |db, (name, expected, audit)| {
            Box::pin(people::delete_group(db, name, *expected, audit))
        })
    }

    fn create_session(&self, session: SessionRecord, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_and_wake(Wakeup::Access, (session, audit), |db, (session, audit)| {
            Box::pin(sessions::create(db, session, audit))
        })
    }

    fn sessions(&self) -> StoreFuture<'_, Vec<SessionRecord>> {
        self.read((), |db, ()| Box::pin(sessions::all_sessions(db)))
    }

    fn end_sessions(&self, which: SessionsToEnd, audit: AuditEntry) -> StoreFuture<'_, u64> {
        self.write_and_wake(Wakeup::Access, (which, audit), |db, (which, audit)| {
            Box::pin(sessions::end(db, which, audit))
        })
    }

    fn create_token(&self, token: Token, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_and_wake(Wakeup::Access, (token, audit), |db, (token, audit)| {
            Box::pin(tokens::create(db, token, audit))
        })
    }

    fn tokens(&self) -> StoreFuture<'_, Vec<Token>> {
        self.read((), |db, ()| Box::pin(tokens::all_tokens(db)))
    }

    fn revoke_token(&self, id: String, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_and_wake(Wakeup::Access, (id, audit), |db, (id, audit)| {
            Box::pin(tokens::revoke(db, id, audit))
        })
    }

    fn end_session(&self, token: String, issued_at: Timestamp, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_and_wake(Wakeup::Access, (token, issued_at, audit), |db, (token, issued_at, audit)| {
            Box::pin(tokens::end_session(db, token, *issued_at, audit))
        })
    }

    fn ended_sessions(&self) -> StoreFuture<'_, Vec<(String, Timestamp)>> {
        self.read((), |db, ()| Box::pin(tokens::ended_sessions(db)))
    }

    fn signing_key(&self, fresh: [u8; 32]) -> StoreFuture<'_, [u8; 32]> {
        self.write_now(fresh, |db, fresh| Box::pin(tokens::signing_key(db, *fresh)))
    }

    fn revoke_allowance(
        &self,
        scope: Scope,
        id: ApprovalId,
        audit: AuditEntry,
    ) -> StoreFuture<'_, Allowance> {
        self.write_now((scope, id, audit), |db, (scope, id, audit)| {
            Box::pin(allowances::revoke(db, scope, *id, audit))
        })
    }
}
