//! What was used up on a day, beside the log.

use helve_store::{DayUsed, Recorded, StoreError};
use helve_types::{RunId, Spent, Used, UserId};

use crate::postgres::columns::{Db, number, to_bigint};

/// Adds what an event used up to the sums of its day.
pub(in crate::postgres) async fn add_used(
    db: &Db<'_>,
    run: RunId,
    recorded: &Recorded,
) -> Result<(), StoreError> {
    let used = recorded.used();
    if used.is_nothing() {
        return Ok(());
    }
    // What is added is bounded and so is each sum, so no addition leaves the integers.
    db.execute(
        "INSERT INTO day_used (day, user_id, agent, cost_nanos, tokens, calls, active_ms)
         SELECT $2, user_id, agent, $3, $4, $5, $6 FROM runs WHERE id = $1
         ON CONFLICT (day, user_id, agent) DO UPDATE SET
             cost_nanos = least(day_used.cost_nanos + excluded.cost_nanos, $7),
             tokens = least(day_used.tokens + excluded.tokens, $7),
             calls = least(day_used.calls + excluded.calls, $7),
             active_ms = least(day_used.active_ms + excluded.active_ms, $7)",
        &[
            &run.0,
            &recorded.event.at.day(),
            &to_bigint(used.cost_nanos),
            &to_bigint(used.tokens),
            &to_bigint(used.calls),
            &to_bigint(used.active_ms),
            &to_bigint(Spent::MAX),
        ],
    )
    .await
    .map(drop)
}

pub(super) async fn usage_of_day(
    db: &Db<'_>,
    day: i64,
    user: &UserId,
    agent: &str,
) -> Result<DayUsed, StoreError> {
    Ok(DayUsed {
        user: sum_used(db, "user_id = $2", day, &user.0).await?,
        agent: sum_used(db, "agent = $2", day, agent).await?,
        all: sum_used(db, "$2::text IS NOT NULL", day, "").await?,
    })
}

async fn sum_used(db: &Db<'_>, condition: &str, day: i64, name: &str) -> Result<Used, StoreError> {
    let bounded = ["cost_nanos", "tokens", "calls", "active_ms"]
        .map(|column| format!("least(coalesce(sum({column}), 0), $3::bigint)::bigint AS {column}"));
    let sql = format!("SELECT {} FROM day_used WHERE day = $1 AND {condition}", bounded.join(", "));
    let Some(row) = db.first(&sql, &[&day, &name, &to_bigint(Spent::MAX)]).await? else {
        return Ok(Used::default());
    };
    Ok(Used {
        cost_nanos: number(&row, "cost_nanos")?,
        tokens: number(&row, "tokens")?,
        calls: number(&row, "calls")?,
        active_ms: number(&row, "active_ms")?,
    })
}
