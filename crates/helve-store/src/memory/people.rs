//! Users, groups and the sessions of the page.

use helve_types::UserId;

use super::MemoryTables;
use crate::{
    AuditEntry, GROUPS_MAX, GroupChange, GroupRecord, SessionRecord, SessionsToEnd, StoreError,
    USER_SESSIONS_MAX, USERS_MAX, UserChange, UserRecord,
};

/// Fails unless the version is the one that is expected.
fn check_version(expected: Option<u32>, now: u32) -> Result<(), StoreError> {
    if expected.is_some_and(|expected| expected != now) { Err(StoreError::Changed(now)) } else { Ok(()) }
}

impl MemoryTables {
    pub(super) fn save_user(&mut self, change: UserChange) -> Result<UserRecord, StoreError> {
        let UserChange { mut user, expected, ends_sessions, audit } = change;
        let now = self.users.get(&user.id).map_or(0, |user| user.version);
        check_version(Some(expected), now)?;
        if now == 0 && self.users.len() >= USERS_MAX {
            return Err(StoreError::Full("user"));
        }
        let others = || self.users.values().filter(|other| other.id != user.id);
        if user.identities.iter().any(|of| others().any(|other| other.has_identity(&of.issuer, &of.subject)))
        {
            return Err(StoreError::Taken("identity"));
        }
        if !user.groups.iter().all(|name| self.groups.contains_key(name)) {
            return Err(StoreError::NotFound("group"));
        }
        user.version = now + 1;
        if ends_sessions {
            self.sessions.retain(|session| session.user != user.id);
        }
        self.users.insert(user.id.clone(), user.clone());
        self.audit(audit);
        Ok(user)
    }

    pub(super) fn delete_user(
        &mut self,
        id: &UserId,
        expected: Option<u32>,
        audit: AuditEntry,
    ) -> Result<(), StoreError> {
        let row = self.users.get(id).map(|user| user.version);
        if row.is_none() && !self.tokens.values().any(|token| token.user == *id) {
            return Err(StoreError::NotFound("user"));
        }
        check_version(expected, row.unwrap_or(0))?;
        self.users.remove(id);
        self.sessions.retain(|session| session.user != *id);
        for token in self.tokens.values_mut().filter(|token| token.user == *id) {
            token.revoked_at.get_or_insert(audit.at);
        }
        self.audit(audit);
        Ok(())
    }

    pub(super) fn save_group(&mut self, change: GroupChange) -> Result<GroupRecord, StoreError> {
        let GroupChange { mut group, expected, audit } = change;
        let now = self.groups.get(&group.name).map_or(0, |group| group.version);
        check_version(Some(expected), now)?;
        if now == 0 && self.groups.len() >= GROUPS_MAX {
            return Err(StoreError::Full("group"));
        }
        group.version = now + 1;
        self.groups.insert(group.name.clone(), group.clone());
        self.audit(audit);
        Ok(group)
    }

    pub(super) fn delete_group(
        &mut self,
        name: &str,
        expected: Option<u32>,
        audit: AuditEntry,
    ) -> Result<(), StoreError> {
        let now = self.groups.get(name).ok_or(StoreError::NotFound("group"))?.version;
        check_version(expected, now)?;
        self.groups.remove(name);
        for user in self.users.values_mut() {
            user.groups.remove(name);
        }
        self.audit(audit);
        Ok(())
    }

    pub(super) fn create_session(&mut self, session: SessionRecord, audit: AuditEntry) {
        self.sessions.retain(|kept| kept.expires_at > session.started_at);
        let user = session.user.clone();
        self.sessions.push(session);
        self.sessions.sort_by_key(|kept| (kept.started_at, kept.secret_hash));
        let count = self.sessions.iter().filter(|kept| kept.user == user).count();
        let mut excess = count.saturating_sub(USER_SESSIONS_MAX);
        self.sessions.retain(|kept| {
            let ends = kept.user == user && excess > 0;
            excess -= usize::from(ends);
            !ends
        });
        self.audit(audit);
    }

    pub(super) fn end_sessions(&mut self, which: &SessionsToEnd, audit: AuditEntry) -> u64 {
        let before = self.sessions.len();
        self.sessions.retain(|session| !which.include(session));
        self.audit(audit);
        (before - self.sessions.len()) as u64
    }
}
