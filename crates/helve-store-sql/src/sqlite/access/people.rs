//! Users and groups.
//!
//! What refuses a change looks before anything is written: a refusal is no reason to undo the other work of a batch.

use std::collections::{BTreeMap, BTreeSet};

use helve_store::{
    AuditEntry, GROUPS_MAX, GroupChange, GroupRecord, StoreError, USERS_MAX, UserChange, UserRecord,
};
use helve_types::UserId;
use rusqlite::{Connection, params};

use crate::sqlite::audit;
use crate::sqlite::columns::{all, column, execute, first, json_column, to_json};

pub(super) fn all_users(connection: &Connection) -> Result<Vec<UserRecord>, StoreError> {
    let mut groups: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let members = all(connection, "SELECT user, group_name FROM group_members", [], |row| {
        Ok((column::<String>(row, "user")?, column::<String>(row, "group_name")?))
    })?;
    for (user, group) in members {
        groups.entry(user).or_default().insert(group);
    }
    all(connection, "SELECT id, version, body FROM people ORDER BY id", [], |row| {
        let id: String = column(row, "id")?;
        let groups = groups.remove(&id).unwrap_or_default();
        Ok(UserRecord {
            version: column(row, "version")?,
            groups,
            id: UserId(id),
            ..json_column(row, "body")?
        })
    })
}

pub(super) fn all_groups(connection: &Connection) -> Result<Vec<GroupRecord>, StoreError> {
    all(connection, "SELECT name, version, body FROM user_groups ORDER BY name", [], |row| {
        let (name, version) = (column(row, "name")?, column(row, "version")?);
        Ok(GroupRecord { name, version, ..json_column(row, "body")? })
    })
}

fn version_of(connection: &Connection, sql: &str, id: &str) -> Result<Option<u32>, StoreError> {
    first(connection, sql, [id], |row| column(row, "version"))
}

fn user_version(connection: &Connection, id: &UserId) -> Result<Option<u32>, StoreError> {
    version_of(connection, "SELECT version FROM people WHERE id = ?1", &id.0)
}

fn group_version(connection: &Connection, name: &str) -> Result<Option<u32>, StoreError> {
    version_of(connection, "SELECT version FROM user_groups WHERE name = ?1", name)
}

fn count(connection: &Connection, sql: &str) -> Result<usize, StoreError> {
    Ok(first(connection, sql, [], |row| column(row, "count"))?.unwrap_or(0))
}

pub(super) fn save_user(connection: &Connection, change: &UserChange) -> Result<UserRecord, StoreError> {
    let UserChange { user, expected, ends_sessions, audit: line } = change;
    check_user(connection, user, *expected)?;
    let saved = UserRecord { version: expected + 1, ..user.clone() };
    execute(
        connection,
        "INSERT OR REPLACE INTO people (id, version, body) VALUES (?1, ?2, ?3)",
        params![saved.id.0, saved.version, to_json(&saved)?],
    )?;
    forget_belongings(connection, &saved.id)?;
    for identity in &saved.identities {
        execute(
            connection,
            "INSERT INTO user_identities (issuer, subject, user) VALUES (?1, ?2, ?3)",
            params![identity.issuer, identity.subject, saved.id.0],
        )?;
    }
    for group in &saved.groups {
        execute(
            connection,
            "INSERT INTO group_members (user, group_name) VALUES (?1, ?2)",
            params![saved.id.0, group],
        )?;
    }
    if *ends_sessions {
        execute(connection, "DELETE FROM page_sessions WHERE user = ?1", [&saved.id.0])?;
    }
    audit::append(connection, line)?;
    Ok(saved)
}

fn check_user(connection: &Connection, user: &UserRecord, expected: u32) -> Result<(), StoreError> {
    let now = user_version(connection, &user.id)?.unwrap_or(0);
    if now != expected {
        return Err(StoreError::Changed(now));
    }
    if now == 0 && count(connection, "SELECT count(*) AS count FROM people")? >= USERS_MAX {
        return Err(StoreError::Full("user"));
    }
    for identity in &user.identities {
        let sql = "SELECT user FROM user_identities WHERE issuer = ?1 AND subject = ?2 AND user <> ?3";
        let params = params![identity.issuer, identity.subject, user.id.0];
        if first(connection, sql, params, |_| Ok(()))?.is_some() {
            return Err(StoreError::Taken("identity"));
        }
    }
    for group in &user.groups {
        group_version(connection, group)?.ok_or(StoreError::NotFound("group"))?;
    }
    Ok(())
}

fn forget_belongings(connection: &Connection, id: &UserId) -> Result<(), StoreError> {
    execute(connection, "DELETE FROM user_identities WHERE user = ?1", [&id.0])?;
    execute(connection, "DELETE FROM group_members WHERE user = ?1", [&id.0])?;
    Ok(())
}

pub(super) fn delete_user(
    connection: &Connection,
    id: &UserId,
    expected: Option<u32>,
    line: &AuditEntry,
) -> Result<(), StoreError> {
    let now = user_version(connection, id)?;
    let token = "SELECT id FROM tokens WHERE user = ?1";
    if now.is_none() && first(connection, token, [&id.0], |_| Ok(()))?.is_none() {
        return Err(StoreError::NotFound("user"));
    }
    let now = now.unwrap_or(0);
    if expected.is_some_and(|expected| expected != now) {
        return Err(StoreError::Changed(now));
    }
    execute(connection, "DELETE FROM people WHERE id = ?1", [&id.0])?;
    execute(connection, "DELETE FROM page_sessions WHERE user = ?1", [&id.0])?;
    forget_belongings(connection, id)?;
    let revoke = "UPDATE tokens SET revoked_at = coalesce(revoked_at, ?2) WHERE user = ?1";
    execute(connection, revoke, params![id.0, line.at.0])?;
    audit::append(connection, line)
}

pub(super) fn save_group(connection: &Connection, change: &GroupChange) -> Result<GroupRecord, StoreError> {
    let GroupChange { group, expected, audit: line } = change;
    let now = group_version(connection, &group.name)?.unwrap_or(0);
    if now != *expected {
        return Err(StoreError::Changed(now));
    }
    if now == 0 && count(connection, "SELECT count(*) AS count FROM user_groups")? >= GROUPS_MAX {
        return Err(StoreError::Full("group"));
    }
    let saved = GroupRecord { version: now + 1, ..group.clone() };
    execute(
        connection,
        "INSERT OR REPLACE INTO user_groups (name, version, body) VALUES (?1, ?2, ?3)",
        params![saved.name, saved.version, to_json(&saved)?],
    )?;
    audit::append(connection, line)?;
    Ok(saved)
}

pub(super) fn delete_group(
    connection: &Connection,
    name: &str,
    expected: Option<u32>,
    line: &AuditEntry,
) -> Result<(), StoreError> {
    let now = group_version(connection, name)?.ok_or(StoreError::NotFound("group"))?;
    if expected.is_some_and(|expected| expected != now) {
        return Err(StoreError::Changed(now));
    }
    execute(connection, "DELETE FROM user_groups WHERE name = ?1", [name])?;
    execute(connection, "DELETE FROM group_members WHERE group_name = ?1", [name])?;
    audit::append(connection, line)
}
