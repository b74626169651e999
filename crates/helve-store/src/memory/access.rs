//! Who may do what.

use std::collections::BTreeSet;

use helve_types::{ApprovalId, Timestamp, UserId};

use super::MemoryStore;
use crate::{
    Access, Allowance, AuditEntry, ENDED_SESSIONS_MAX, GroupChange, GroupRecord, Scope, SessionRecord,
    SessionsToEnd, StoreError, StoreFuture, Token, UserChange, UserRecord, Wakeup,
};

impl Access for MemoryStore {
    fn users(&self) -> StoreFuture<'_, Vec<UserRecord>> {
        self.with_tables(|all| Ok(all.users.values().cloned().collect()))
    }

    fn save_user(&self, change: UserChange) -> StoreFuture<'_, UserRecord> {
        self.write_and_wake(Wakeup::Access, |all| all.save_user(change))
    }

    fn delete_user(&self, id: UserId, expected: Option<u32>, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_and_wake(Wakeup::Access, |all| all.delete_user(&id, expected, audit))
    }

    fn groups(&self) -> StoreFuture<'_, Vec<GroupRecord>> {
        self.with_tables(|all| Ok(all.groups.values().cloned().collect()))
    }

    fn save_group(&self, change: GroupChange) -> StoreFuture<'_, GroupRecord> {
        self.write_and_wake(Wakeup::Access, |all| all.save_group(change))
    }

    fn delete_group(&self, name: String, expected: Option<u32>, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_and_wake(Wakeup::Access, |all| all.delete_group(&name, expected, audit))
    }

    fn create_session(&self, session: SessionRecord, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_and_wake(Wakeup::Access, |all| {
            all.create_session(session, audit);
            Ok(())
        })
    }

    fn sessions(&self) -> StoreFuture<'_, Vec<SessionRecord>> {
        self.with_tables(|all| Ok(all.sessions.clone()))
    }

    fn end_sessions(&self, which: SessionsToEnd, audit: AuditEntry) -> StoreFuture<'_, u64> {
        self.write_and_wake(Wakeup::Access, |all| Ok(all.end_sessions(&which, audit)))
    }

    fn create_token(&self, token: Token, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_and_wake(Wakeup::Access, |all| {
            all.audit(audit);
            all.tokens.insert(token.id.clone(), token);
            Ok(())
        })
    }

    fn tokens(&self) -> StoreFuture<'_, Vec<Token>> {
        self.with_tables(|all| Ok(all.tokens.values().cloned().collect()))
    }

    fn revoke_token(&self, id: String, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_and_wake(Wakeup::Access, |all| {
            let token = all.tokens.get_mut(&id).ok_or(StoreError::NotFound("token"))?;
            token.revoked_at.get_or_insert(audit.at);
            all.audit(audit);
            Ok(())
        })
    }

    fn end_session(&self, token: String, issued_at: Timestamp, audit: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_and_wake(Wakeup::Access, |all| {
            all.audit(audit);
            let ended = all.ended_sessions.entry(token).or_default();
            ended.insert(issued_at);
            if ended.len() > ENDED_SESSIONS_MAX {
                ended.pop_first();
            }
            Ok(())
        })
    }

    fn ended_sessions(&self) -> StoreFuture<'_, Vec<(String, Timestamp)>> {
        self.with_tables(|all| {
            let of = |(token, ended): (&String, &BTreeSet<Timestamp>)| {
                ended.iter().map(|at| (token.clone(), *at)).collect::<Vec<_>>()
            };
            Ok(all.ended_sessions.iter().flat_map(of).collect())
        })
    }

    fn signing_key(&self, fresh: [u8; 32]) -> StoreFuture<'_, [u8; 32]> {
        self.with_tables(|all| Ok(*all.signing_key.get_or_insert(fresh)))
    }

    fn revoke_allowance(
        &self,
        scope: Scope,
        id: ApprovalId,
        audit: AuditEntry,
    ) -> StoreFuture<'_, Allowance> {
        self.with_tables(|all| all.revoke_allowance(&scope, id, audit))
    }
}
