//! Who may do what.

pub(crate) mod tokens;

use helve_store::{Access, Allowance, AuditEntry, Scope, StoreFuture, Token, Wakeup};
use helve_types::{ApprovalId, Timestamp};

use super::SqliteStore;
use super::views::allowances;

impl Access for SqliteStore {
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
