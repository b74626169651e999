//! Users and groups.
//!
//! What refuses a change looks before anything is written: a refusal is no reason to undo the other work of a batch.

use std::collections::{BTreeMap, BTreeSet};

use helve_store::{
    AuditEntry, GROUPS_MAX, GroupChange, GroupRecord, StoreError, USERS_MAX, UserChange, UserRecord,
};
use helve_types::UserId;

use crate::postgres::audit;
use crate::postgres::columns::{Db, column, json_column, number, replace_nul, to_bigint, to_json};

/// Changes of people wait for each other: each looks at what the others wrote before it writes.
const LOCK: &str = "helve people";

pub(super) async fn all_users(db: &Db<'_>) -> Result<Vec<UserRecord>, StoreError> {
    let mut groups: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in db.all("SELECT user_id, group_name FROM group_members", &[]).await? {
        groups.entry(column(&row, "user_id")?).or_default().insert(column(&row, "group_name")?);
    }
    let rows = db.all("SELECT id, version, body FROM people ORDER BY id", &[]).await?;
    let users = rows.iter().map(|row| {
        let id: String = column(row, "id")?;
        let groups = groups.remove(&id).unwrap_or_default();
        Ok(UserRecord {
            version: number(row, "version")?,
            groups,
            id: UserId(id),
            ..json_column(row, "body")?
        })
    });
    users.collect()
}

pub(super) async fn all_groups(db: &Db<'_>) -> Result<Vec<GroupRecord>, StoreError> {
    let rows = db.all("SELECT name, version, body FROM user_groups ORDER BY name", &[]).await?;
    let groups = rows.iter().map(|row| {
        let (name, version) = (column(row, "name")?, number(row, "version")?);
        Ok(GroupRecord { name, version, ..json_column(row, "body")? })
    });
    groups.collect()
}

async fn version_of(db: &Db<'_>, sql: &str, id: &str) -> Result<Option<u32>, StoreError> {
    let row = db.first(sql, &[&replace_nul(id)]).await?;
    row.map(|row| number(&row, "version")).transpose()
}

async fn user_version(db: &Db<'_>, id: &UserId) -> Result<Option<u32>, StoreError> {
    version_of(db, "SELECT version FROM people WHERE id = $1", &id.0).await
}

async fn group_version(db: &Db<'_>, name: &str) -> Result<Option<u32>, StoreError> {
    version_of(db, "SELECT version FROM user_groups WHERE name = $1", name).await
}

async fn count(db: &Db<'_>, sql: &str) -> Result<usize, StoreError> {
    let row = db.first(sql, &[]).await?;
    row.map_or(Ok(0), |row| number(&row, "count"))
}

pub(super) async fn save_user(db: &Db<'_>, change: &UserChange) -> Result<UserRecord, StoreError> {
    let UserChange { user, expected, ends_sessions, audit: line } = change;
    db.lock(LOCK).await?;
    check_user(db, user, *expected).await?;
    let saved = UserRecord { version: expected + 1, ..user.clone() };
    db.execute(
        "INSERT INTO people (id, version, body) VALUES ($1, $2, $3)
         ON CONFLICT (id) DO UPDATE SET version = excluded.version, body = excluded.body",
        &[&saved.id.0, &to_bigint(saved.version), &to_json(&saved)?],
    )
    .await?;
    forget_belongings(db, &saved.id).await?;
    for identity in &saved.identities {
        db.execute(
            "INSERT INTO user_identities (issuer, subject, user_id) VALUES ($1, $2, $3)",
            &[&replace_nul(&identity.issuer), &replace_nul(&identity.subject), &saved.id.0],
        )
        .await?;
    }
    for group in &saved.groups {
        let sql = "INSERT INTO group_members (user_id, group_name) VALUES ($1, $2)";
        db.execute(sql, &[&saved.id.0, group]).await?;
    }
    if *ends_sessions {
        db.execute("DELETE FROM page_sessions WHERE user_id = $1", &[&saved.id.0]).await?;
    }
    audit::append(db, line).await?;
    Ok(saved)
}

async fn check_user(db: &Db<'_>, user: &UserRecord, expected: u32) -> Result<(), StoreError> {
    let now = user_version(db, &user.id).await?.unwrap_or(0);
    if now != expected {
        return Err(StoreError::Changed(now));
    }
    if now == 0 && count(db, "SELECT count(*) AS count FROM people").await? >= USERS_MAX {
        return Err(StoreError::Full("user"));
    }
    for identity in &user.identities {
        let sql = "SELECT user_id FROM user_identities WHERE issuer = $1 AND subject = $2 AND user_id <> $3";
        let (issuer, subject) = (replace_nul(&identity.issuer), replace_nul(&identity.subject));
        if db.first(sql, &[&issuer, &subject, &user.id.0]).await?.is_some() {
            return Err(StoreError::Taken("identity"));
        }
    }
    for group in &user.groups {
        group_version(db, group).await?.ok_or(StoreError::NotFound("group"))?;
    }
    Ok(())
}

async fn forget_belongings(db: &Db<'_>, id: &UserId) -> Result<(), StoreError> {
    db.execute("DELETE FROM user_identities WHERE user_id = $1", &[&id.0]).await?;
    db.execute("DELETE FROM group_members WHERE user_id = $1", &[&id.0]).await.map(drop)
}

pub(super) async fn delete_user(
    db: &Db<'_>,
    id: &UserId,
    expected: Option<u32>,
    line: &AuditEntry,
) -> Result<(), StoreError> {
    db.lock(LOCK).await?;
    let now = user_version(db, id).await?;
    let token = "SELECT id FROM tokens WHERE user_id = $1 LIMIT 1";
    if now.is_none() && db.first(token, &[&replace_nul(&id.0)]).await?.is_none() {
        return Err(StoreError::NotFound("user"));
    }
    let now = now.unwrap_or(0);
    if expected.is_some_and(|expected| expected != now) {
        return Err(StoreError::Changed(now));
    }
    db.execute("DELETE FROM people WHERE id = $1", &[&id.0]).await?;
    db.execute("DELETE FROM page_sessions WHERE user_id = $1", &[&id.0]).await?;
    forget_belongings(db, id).await?;
    let revoke = "UPDATE tokens SET revoked_at = coalesce(revoked_at, $2) WHERE user_id = $1";
    db.execute(revoke, &[&id.0, &line.at.0]).await?;
    audit::append(db, line).await
}

pub(super) async fn save_group(db: &Db<'_>, change: &GroupChange) -> Result<GroupRecord, StoreError> {
    let GroupChange { group, expected, audit: line } = change;
    db.lock(LOCK).await?;
    let now = group_version(db, &group.name).await?.unwrap_or(0);
    if now != *expected {
        return Err(StoreError::Changed(now));
    }
    if now == 0 && count(db, "SELECT count(*) AS count FROM user_groups").await? >= GROUPS_MAX {
        return Err(StoreError::Full("group"));
    }
    let saved = GroupRecord { version: now + 1, ..group.clone() };
    db.execute(
        "INSERT INTO user_groups (name, version, body) VALUES ($1, $2, $3)
         ON CONFLICT (name) DO UPDATE SET version = excluded.version, body = excluded.body",
        &[&saved.name, &to_bigint(saved.version), &to_json(&saved)?],
    )
    .await?;
    audit::append(db, line).await?;
    Ok(saved)
}

pub(super) async fn delete_group(
    db: &Db<'_>,
    name: &str,
    expected: Option<u32>,
    line: &AuditEntry,
) -> Result<(), StoreError> {
    db.lock(LOCK).await?;
    let now = group_version(db, name).await?.ok_or(StoreError::NotFound("group"))?;
    if expected.is_some_and(|expected| expected != now) {
        return Err(StoreError::Changed(now));
    }
    db.execute("DELETE FROM user_groups WHERE name = $1", &[&name]).await?;
    db.execute("DELETE FROM group_members WHERE group_name = $1", &[&name]).await?;
    audit::append(db, line).await
}
