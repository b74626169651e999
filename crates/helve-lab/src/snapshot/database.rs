//! PostgreSQL: one transaction that sees one moment, and the checks of tables and indexes that its extension `amcheck` has.

use helve_types::RunId;
use tokio_postgres::Client;

use super::{APPROVALS, Approval, CALLS, EVENTS, KEYS, Key, MESSAGES, RunColumns, Snapshot, select_runs};

/// What is damaged, in words.
const DAMAGE: &str = "
    SELECT msg FROM pg_class, LATERAL verify_heapam(oid)
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace LIMIT 3";
/// Fails if an index does not fit its table.
const INDEXES: &str = "
    SELECT bt_index_check(pg_class.oid, true) FROM pg_class JOIN pg_am ON pg_am.oid = relam
    WHERE relkind = 'i' AND amname = 'btree' AND relnamespace = 'public'::regnamespace";

/// Everything that is kept there.
pub(crate) async fn read_database(db: &Client) -> anyhow::Result<Snapshot> {
    db.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
    let has_tables: bool = db.query_one("SELECT to_regclass('runs') IS NOT NULL", &[]).await?.try_get(0)?;
    if !has_tables {
        return Ok(Snapshot { integrity: "ok".into(), ..Snapshot::default() });
    }
    let mut snapshot = Snapshot { integrity: inspect(db).await?, ..Snapshot::default() };
    if snapshot.integrity != "ok" {
        return Ok(snapshot);
    }
    for row in db.query(&select_runs("user_id"), &[]).await? {
        snapshot.add_run(RunColumns {
            id: row.try_get(0)?,
            state: row.try_get(1)?,
            ended: row.try_get::<_, Option<i64>>(2)?.is_some(),
            conversation: row.try_get(3)?,
            history: row.try_get(4)?,
            setup: row.try_get(5)?,
            user: row.try_get(6)?,
        })?;
    }
    for row in db.query(EVENTS, &[]).await? {
        snapshot.add_event(row.try_get(0)?, row.try_get(1)?, row.try_get(2)?, row.try_get(3)?)?;
    }
    for row in db.query(CALLS, &[]).await? {
        snapshot.add_call(row.try_get(0)?, row.try_get(1)?, row.try_get(2)?, row.try_get(3)?)?;
    }
    for row in db.query(APPROVALS, &[]).await? {
        let approval = Approval { state: row.try_get(1)?, answer: row.try_get(2)? };
        snapshot.approvals.insert(row.try_get(0)?, approval);
    }
    for row in db.query(KEYS, &[]).await? {
        snapshot.keys.push(Key { key: row.try_get(0)?, run: RunId(row.try_get(1)?) });
    }
    for row in db.query(MESSAGES, &[]).await? {
        snapshot.add_message(row.try_get(0)?, row.try_get(1)?)?;
    }
    Ok(snapshot)
}

/// `ok`, or what is damaged.
async fn inspect(db: &Client) -> anyhow::Result<String> {
    let found = db.query(DAMAGE, &[]).await?;
    if !found.is_empty() {
        let lines: Result<Vec<String>, _> = found.iter().map(|row| row.try_get(0)).collect();
        return Ok(lines?.join("; "));
    }
    Ok(match db.query(INDEXES, &[]).await {
        Ok(_) => "ok".into(),
        Err(error) if error.as_db_error().is_some() => format!("an index: {error:?}"),
        Err(error) => return Err(error.into()),
    })
}
