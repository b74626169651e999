//! What runs and conversations took, beside their rows.

use helve_store::StoreError;
use helve_types::{RunId, Spent, Usage};
use tokio_postgres::Row;

use crate::postgres::columns::{Db, number, optional_number, to_bigint};

/// Adds to the sums of a run and of its conversation.
pub(in crate::postgres) async fn add_spent(db: &Db<'_>, run: RunId, spent: &Spent) -> Result<(), StoreError> {
    let of_the_run =
        [("runs", "id = $1"), ("conversations", "id = (SELECT conversation FROM runs WHERE id = $1)")];
    for (table, which) in of_the_run {
        // `spent` is bounded and so is each sum, so no addition leaves the integers.
        let sql = format!(
            "UPDATE {table} SET
                 input_tokens = least(input_tokens + $2, $8),
                 output_tokens = least(output_tokens + $3, $8),
                 cached_tokens = least(cached_tokens + $4, $8),
                 cache_write_tokens = least(cache_write_tokens + $5, $8),
                 reasoning_tokens = least(reasoning_tokens + $6, $8),
                 cost_nanos = CASE WHEN $7::bigint IS NULL THEN cost_nanos
                     ELSE least(coalesce(cost_nanos, 0) + $7, $8) END
             WHERE {which}"
        );
        let usage = &spent.usage;
        db.execute(
            &sql,
            &[
                &run.0,
                &to_bigint(usage.input_tokens),
                &to_bigint(usage.output_tokens),
                &to_bigint(usage.cached_tokens),
                &to_bigint(usage.cache_write_tokens),
                &to_bigint(usage.reasoning_tokens),
                &spent.cost_nanos.map(to_bigint),
                &to_bigint(Spent::MAX),
            ],
        )
        .await?;
    }
    Ok(())
}

pub(super) fn read_spent(row: &Row) -> Result<Spent, StoreError> {
    Ok(Spent {
        usage: Usage {
            input_tokens: number(row, "input_tokens")?,
            output_tokens: number(row, "output_tokens")?,
            cached_tokens: number(row, "cached_tokens")?,
            cache_write_tokens: number(row, "cache_write_tokens")?,
            reasoning_tokens: number(row, "reasoning_tokens")?,
        },
        cost_nanos: optional_number(row, "cost_nanos")?,
    })
}
