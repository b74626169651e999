//! Users' own plans.

use helve_store::{PLANS_MAX, Page, PlanBody, PlanChange, PlanRecord, Plans, StoreError, StoreFuture};
use helve_types::{CallId, Timestamp, UserId};
use rusqlite::{Connection, Row, params};

use super::SqliteStore;
use crate::sqlite::columns::{all, column, execute, first, json_column, to_json};
use crate::sqlite::views::runs::limit_and_offset;

impl Plans for SqliteStore {
    fn create_plan(
        &self,
        user: UserId,
        by: CallId,
        body: PlanBody,
        at: Timestamp,
    ) -> StoreFuture<'_, PlanRecord> {
        self.write_now(move |connection| insert_plan(connection, &user, &by, &body, at))
    }

    fn change_plan(&self, user: UserId, change: PlanChange) -> StoreFuture<'_, PlanRecord> {
        self.write_now(move |connection| apply_change(connection, &user, &change))
    }

    fn plan(&self, user: UserId, number: u32) -> StoreFuture<'_, PlanRecord> {
        self.read(move |connection| read_plan(connection, &user, number))
    }

    fn plans(&self, user: UserId, page: Page) -> StoreFuture<'_, Vec<PlanRecord>> {
        self.read(move |connection| list_plans(connection, &user, page))
    }
}

fn insert_plan(
    connection: &Connection,
    user: &UserId,
    by: &CallId,
    body: &PlanBody,
    at: Timestamp,
) -> Result<PlanRecord, StoreError> {
    let made = "SELECT * FROM plans WHERE user = ?1 AND made_by = ?2";
    if let Some(plan) = first(connection, made, params![user.0, by.to_string()], read)? {
        return Ok(plan);
    }
    let body = to_json(body)?;
    let last = "SELECT coalesce(max(number), 0) AS number FROM plans WHERE user = ?1";
    let last: Option<u32> = first(connection, last, params![user.0], |row| column(row, "number"))?;
    if last.is_some_and(|last| last >= PLANS_MAX) {
        return Err(StoreError::Full("plan"));
    }
    first(
        connection,
        "INSERT INTO plans (user, number, version, body, made_by, created_at, updated_at)
         SELECT ?1, coalesce(max(number), 0) + 1, 1, ?3, ?2, ?4, ?4 FROM plans WHERE user = ?1
         RETURNING *",
        params![user.0, by.to_string(), body, at.0],
        read,
    )?
    .ok_or(StoreError::NotFound("plan"))
}

fn apply_change(
    connection: &Connection,
    user: &UserId,
    change: &PlanChange,
) -> Result<PlanRecord, StoreError> {
    let held = read_plan(connection, user, change.number)?;
    if held.changed_by.as_ref() == Some(&change.by) {
        return Ok(held);
    }
    if held.version != change.over {
        return Err(StoreError::Changed(held.version));
    }
    execute(
        connection,
        "UPDATE plans SET version = version + 1, body = ?3, changed_by = ?4, updated_at = ?5
         WHERE user = ?1 AND number = ?2",
        params![user.0, change.number, to_json(&change.body)?, change.by.to_string(), change.at.0],
    )?;
    read_plan(connection, user, change.number)
}

fn read_plan(connection: &Connection, user: &UserId, number: u32) -> Result<PlanRecord, StoreError> {
    let sql = "SELECT * FROM plans WHERE user = ?1 AND number = ?2";
    first(connection, sql, params![user.0, number], read)?.ok_or(StoreError::NotFound("plan"))
}

fn list_plans(connection: &Connection, user: &UserId, page: Page) -> Result<Vec<PlanRecord>, StoreError> {
    let (limit, offset) = limit_and_offset(page);
    all(
        connection,
        "SELECT * FROM plans WHERE user = ?1 ORDER BY updated_at DESC, number DESC LIMIT ?2 OFFSET ?3",
        params![user.0, limit, offset],
        read,
    )
}

fn read(row: &Row<'_>) -> Result<PlanRecord, StoreError> {
    Ok(PlanRecord {
        number: column(row, "number")?,
        version: column(row, "version")?,
        body: json_column(row, "body")?,
        changed_by: column::<Option<String>>(row, "changed_by")?.and_then(|id| id.parse().ok()),
        created_at: Timestamp(column(row, "created_at")?),
        updated_at: Timestamp(column(row, "updated_at")?),
    })
}
