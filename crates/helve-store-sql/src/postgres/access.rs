//! Who may do what.

pub(super) mod tokens;

use helve_store::{Access, Allowance, AuditEntry, Scope, StoreFuture, Token, Wakeup};
use helve_types::{ApprovalId, Timestamp};

use super::PostgresStore;
use super::views::allowances;

impl Access for PostgresStore {
    fn create_token(&self, token: Token) -> StoreFuture<'_, ()> {
        self.write_and_wake(Wakeup::Access, token, |db, token| Box::pin(tokens::create(db, token)))
    }

    fn tokens(&self) -> StoreFuture<'_, Vec<Token>> {
        self.read((), |db, ()| Box::pin(tokens::all_tokens(db)))
    }

    fn revoke_token(&self, id: String, at: Timestamp) -> StoreFuture<'_, ()> {
        self.write_and_wake(Wakeup::Access, (id, at), |db, (id, at)| Box::pin(tokens::revoke(db, id, *at)))
    }

    fn end_session(&self, token: String, issued_at: Timestamp) -> StoreFuture<'_, ()> {
        self.write_and_wake(Wakeup::Access, (token, issued_at), |db, (token, issued_at)| {
            Box::pin(tokens::end_session(db, token, *issued_at))
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

    fn record_audit(&self, entry: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_now(entry, |db, entry| Box::pin(tokens::audit(db, entry)))
    }
}
