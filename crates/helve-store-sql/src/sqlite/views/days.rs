//! What was used up on a day, beside the log.

use helve_store::{DayUsed, Recorded, StoreError};
use helve_types::{RunId, Spent, Used, UserId};
use rusqlite::{Connection, Row, params};

use crate::sqlite::columns::{column, execute, first};

/// Adds what an event used up to the sums of its day.
pub(crate) fn add_used(connection: &Connection, run: RunId, recorded: &Recorded) -> Result<(), StoreError> {
    let used = recorded.used();
    if used.is_nothing() {
        return Ok(());
    }
    // What is added is bounded and so is each sum, so no addition leaves the integers.
    execute(
        connection,
        "INSERT INTO day_used (day, user, agent, cost_nanos, tokens, calls, active_ms)
         SELECT ?2, user, agent, ?3, ?4, ?5, ?6 FROM runs WHERE id = ?1
         ON CONFLICT (day, user, agent) DO UPDATE SET
             cost_nanos = min(cost_nanos + excluded.cost_nanos, ?7),
             tokens = min(tokens + excluded.tokens, ?7),
             calls = min(calls + excluded.calls, ?7),
             active_ms = min(active_ms + excluded.active_ms, ?7)",
        params![
            run.0.as_bytes(),
            recorded.event.at.day(),
            used.cost_nanos,
            used.tokens,
            used.calls,
            used.active_ms,
            Spent::MAX,
        ],
    )?;
    Ok(())
}

pub(crate) fn usage_of_day(
    connection: &Connection,
    day: i64,
    user: &UserId,
    agent: &str,
) -> Result<DayUsed, StoreError> {
    let sum = |condition: &str, name: &str| -> Result<Used, StoreError> {
        let bound = Spent::MAX;
        // `total` cannot overflow.
        let sql = format!(
            "SELECT CAST(min(total(cost_nanos), {bound}) AS INTEGER) AS cost_nanos,
                    CAST(min(total(tokens), {bound}) AS INTEGER) AS tokens,
                    CAST(min(total(calls), {bound}) AS INTEGER) AS calls,
                    CAST(min(total(active_ms), {bound}) AS INTEGER) AS active_ms
             FROM day_used WHERE day = ?1 AND {condition}"
        );
        Ok(first(connection, &sql, params![day, name], read_used)?.unwrap_or_default())
    };
    Ok(DayUsed {
        user: sum("user = ?2", &user.0)?,
        agent: sum("agent = ?2", agent)?,
        all: sum("?2 IS NOT NULL", "")?,
    })
}

fn read_used(row: &Row<'_>) -> Result<Used, StoreError> {
    Ok(Used {
        cost_nanos: column(row, "cost_nanos")?,
        tokens: column(row, "tokens")?,
        calls: column(row, "calls")?,
        active_ms: column(row, "active_ms")?,
    })
}
