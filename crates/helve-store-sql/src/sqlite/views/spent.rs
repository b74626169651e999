//! What runs and conversations took, beside their rows.

use helve_store::StoreError;
use helve_types::{RunId, Spent, Usage};
use rusqlite::{Connection, Row, params};

use crate::sqlite::columns::{column, execute};

/// Adds to the sums of a run and of its conversation.
pub(crate) fn add_spent(connection: &Connection, run: RunId, spent: &Spent) -> Result<(), StoreError> {
    let of_the_run =
        [("runs", "id = ?1"), ("conversations", "id = (SELECT conversation FROM runs WHERE id = ?1)")];
    for (table, which) in of_the_run {
        // `spent` is bounded and so is each sum, so no addition leaves the integers.
        let sql = format!(
            "UPDATE {table} SET
                 input_tokens = min(input_tokens + ?2, ?8),
                 output_tokens = min(output_tokens + ?3, ?8),
                 cached_tokens = min(cached_tokens + ?4, ?8),
                 cache_write_tokens = min(cache_write_tokens + ?5, ?8),
                 reasoning_tokens = min(reasoning_tokens + ?6, ?8),
                 cost_nanos = coalesce(min(cost_nanos + ?7, ?8), cost_nanos, ?7)
             WHERE {which}"
        );
        let usage = &spent.usage;
        let values = params![
            run.0.as_bytes(),
            usage.input_tokens,
            usage.output_tokens,
            usage.cached_tokens,
            usage.cache_write_tokens,
            usage.reasoning_tokens,
            spent.cost_nanos,
            Spent::MAX,
        ];
        execute(connection, &sql, values)?;
    }
    Ok(())
}

pub(crate) fn read_spent(row: &Row<'_>) -> Result<Spent, StoreError> {
    Ok(Spent {
        usage: Usage {
            input_tokens: column(row, "input_tokens")?,
            output_tokens: column(row, "output_tokens")?,
            cached_tokens: column(row, "cached_tokens")?,
            cache_write_tokens: column(row, "cache_write_tokens")?,
            reasoning_tokens: column(row, "reasoning_tokens")?,
        },
        cost_nanos: column(row, "cost_nanos")?,
    })
}
