//! Tables of another program, read whole: each row as JSON, whatever its columns are.

use serde_json::Value;

use super::columns::describe;
use super::layout::Session;
use super::{PostgresError, PostgresSettings};

/// No row is larger as JSON.
const ROW_BYTES_MAX: i32 = 16 << 20;

/// The rows of those of the tables that the database has, in the order of their ids where they have some. Nothing is
/// written.
pub async fn read_foreign_tables(
    settings: &PostgresSettings,
    tables: &[&'static str],
    rows_max: usize,
) -> Result<Vec<(&'static str, Vec<Value>)>, PostgresError> {
    let session = Session::open(settings).await?;
    let place = settings.to_string();
    let unusable = |problem| PostgresError::Unusable { place: place.clone(), problem };
    let failed = |error: tokio_postgres::Error| unusable(describe(&error));
    let begin = "SET statement_timeout = '60s'; BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
    session.client.batch_execute(begin).await.map_err(failed)?;
    let mut found = vec![];
    for table in tables {
        let known = session.client.query_one("SELECT to_regclass($1::text)::text", &[table]).await;
        let name: Option<String> = known.and_then(|row| row.try_get(0)).map_err(failed)?;
        let Some(name) = name else { continue };
        let limit = rows_max.saturating_add(1);
        let sql = format!(
            "SELECT to_jsonb(held)::text AS row, octet_length(to_jsonb(held)::text) > {ROW_BYTES_MAX} AS large
             FROM {name} AS held ORDER BY to_jsonb(held) ->> 'id' COLLATE \"C\" LIMIT {limit}"
        );
        let rows = session.client.query(&sql, &[]).await.map_err(failed)?;
        if rows.len() > rows_max {
            return Err(unusable(format!("the table `{table}` has more than {rows_max} rows")));
        }
        let mut items = vec![];
        for row in rows {
            if row.try_get::<_, bool>("large").map_err(failed)? {
                return Err(unusable(format!("a row of the table `{table}` is too large")));
            }
            let text: String = row.try_get("row").map_err(failed)?;
            let value = serde_json::from_str(&text).map_err(|error| unusable(error.to_string()))?;
            items.push(value);
        }
        found.push((*table, items));
    }
    Ok(found)
}
