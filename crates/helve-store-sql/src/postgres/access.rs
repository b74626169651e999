//! Who may do what.

pub(super) mod tokens;

use helve_store::{Access, Allowance, AuditEntry, Scope, StoreFuture, Token, Wakeup};
use helve_types::{ApprovalId, Timestamp};

use super::PostgresStore;
use super::views::allowances;

impl Access for PostgresStore {
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
