//! Users' own plans.

use helve_store::{PLANS_MAX, Page, PlanBody, PlanChange, PlanRecord, Plans, StoreError, StoreFuture};
use helve_types::{CallId, Timestamp, UserId};
use tokio_postgres::Row;

use super::PostgresStore;
use super::columns::{Db, column, json_column, number, to_bigint, to_json};
use super::views::runs::limit_and_offset;

impl Plans for PostgresStore {
    fn create_plan(
        &self,
        user: UserId,
        by: CallId,
        body: PlanBody,
        at: Timestamp,
    ) -> StoreFuture<'_, PlanRecord> {
        self.write_now((user, by, body, at), |db, (user, by, body, at)| {
            Box::pin(insert_plan(db, user, by, body, *at))
        })
    }

    fn change_plan(&self, user: UserId, change: PlanChange) -> StoreFuture<'_, PlanRecord> {
        self.write_now((user, change), |db, (user, change)| Box::pin(apply_change(db, user, change)))
    }

    fn plan(&self, user: UserId, number: u32) -> StoreFuture<'_, PlanRecord> {
        self.read((user, number), |db, (user, number)| Box::pin(read_plan(db, user, *number)))
    }

    fn plans(&self, user: UserId, page: Page) -> StoreFuture<'_, Vec<PlanRecord>> {
        self.read((user, page), |db, (user, page)| Box::pin(list_plans(db, user, *page)))
    }
}

/// Numbers of one user's plans are given one after the other.
async fn lock(db: &Db<'_>, user: &UserId) -> Result<(), StoreError> {
    db.lock(&format!("plans {}", user.0)).await
}

async fn insert_plan(
    db: &Db<'_>,
    user: &UserId,
    by: &CallId,
    body: &PlanBody,
    at: Timestamp,
) -> Result<PlanRecord, StoreError> {
    lock(db, user).await?;
    let by = by.to_string();
    let made = "SELECT * FROM plans WHERE user_id = $1 AND made_by = $2";
    if let Some(plan) = db.first(made, &[&user.0, &by]).await? {
        return read(&plan);
    }
    let body = to_json(body)?;
    let last = "SELECT coalesce(max(number), 0)::bigint AS number FROM plans WHERE user_id = $1";
    let last = db.first(last, &[&user.0]).await?;
    let last = last.map_or(Ok(0), |row| number::<u32>(&row, "number"))?;
    if last >= PLANS_MAX {
        return Err(StoreError::Full("plan"));
    }
    let sql = "INSERT INTO plans (user_id, number, version, body, made_by, created_at, updated_at)
               VALUES ($1, $2, 1, $4, $3, $5, $5) RETURNING *";
    let row = db.first(sql, &[&user.0, &i64::from(last + 1), &by, &body, &at.0]).await?;
    read(&row.ok_or(StoreError::NotFound("plan"))?)
}

async fn apply_change(db: &Db<'_>, user: &UserId, change: &PlanChange) -> Result<PlanRecord, StoreError> {
    lock(db, user).await?;
    let held = read_plan(db, user, change.number).await?;
    if held.changed_by.as_ref() == Some(&change.by) {
        return Ok(held);
    }
    if held.version != change.over {
        return Err(StoreError::Changed(held.version));
    }
    let (body, by) = (to_json(&change.body)?, change.by.to_string());
    db.execute(
        "UPDATE plans SET version = version + 1, body = $3, changed_by = $4, updated_at = $5
         WHERE user_id = $1 AND number = $2",
        &[&user.0, &to_bigint(change.number), &body, &by, &change.at.0],
    )
    .await?;
    read_plan(db, user, change.number).await
}

async fn read_plan(db: &Db<'_>, user: &UserId, number: u32) -> Result<PlanRecord, StoreError> {
    let sql = "SELECT * FROM plans WHERE user_id = $1 AND number = $2";
    read(&db.first(sql, &[&user.0, &to_bigint(number)]).await?.ok_or(StoreError::NotFound("plan"))?)
}

async fn list_plans(db: &Db<'_>, user: &UserId, page: Page) -> Result<Vec<PlanRecord>, StoreError> {
    let (limit, offset) = limit_and_offset(page);
    let sql =
        "SELECT * FROM plans WHERE user_id = $1 ORDER BY updated_at DESC, number DESC LIMIT $2 OFFSET $3";
    db.all(sql, &[&user.0, &limit, &offset]).await?.iter().map(read).collect()
}

fn read(row: &Row) -> Result<PlanRecord, StoreError> {
    Ok(PlanRecord {
        number: number(row, "number")?,
        version: number(row, "version")?,
        body: json_column(row, "body")?,
        changed_by: column::<Option<String>>(row, "changed_by")?.and_then(|id| id.parse().ok()),
        created_at: Timestamp(column(row, "created_at")?),
        updated_at: Timestamp(column(row, "updated_at")?),
    })
}
