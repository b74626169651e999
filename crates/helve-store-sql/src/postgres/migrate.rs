//! Brings a database to the newest layout, one process at a time, and looks at what it promises.

use deadpool_postgres::Object;
use helve_store::StoreError;
use tokio_postgres::Client;

use super::audit;
use super::columns::{Db, describe};
use super::{PostgresError, VERSION_MIN};
use crate::layout::Layout;
use crate::migrate::{AUDIT_CHAIN, MigrateError, Migration, checksum_of, list_pending};

/// Never edited after a release; a change of the layout is a new file, with the same number on SQLite.
pub(crate) const POSTGRES: &[Migration] = &[
    Migration { number: 1, name: "layout", sql: include_str!("../../migrations/postgres/0001_layout.sql") },
    Migration {
        number: 19,
        name: "user_bytes",
        sql: include_str!("../../migrations/postgres/0019_user_bytes.sql"),
    },
    Migration { number: 20, name: "people", sql: include_str!("../../migrations/postgres/0020_people.sql") },
    Migration {
        number: AUDIT_CHAIN,
        name: "audit_and_approvers",
        sql: include_str!("../../migrations/postgres/0021_audit_and_approvers.sql"),
    },
    Migration {
        number: 23,
        name: "subagents",
        sql: include_str!("../../migrations/postgres/0023_subagents.sql"),
    },
    Migration {
        number: 24,
        name: "definition_files",
        sql: include_str!("../../migrations/postgres/0024_definition_files.sql"),
    },
];

/// What a database promises, and how it was left.
pub(super) struct ServerState {
    pub(super) was_closed: bool,
    pub(super) durability_problem: Option<String>,
}

/// All or none: a crash leaves the old layout. Processes that start at once wait for each other.
pub(super) async fn migrate(connection: &mut Object, place: &str, now_ms: i64) -> Result<(), PostgresError> {
    let failed = |error: tokio_postgres::Error| PostgresError::Unusable {
        place: place.to_owned(),
        problem: describe(&error),
    };
    let transaction = connection.build_transaction().start().await.map_err(failed)?;
    check_server(transaction.client(), place).await?;
    transaction
        .batch_execute(
            "SELECT pg_advisory_xact_lock(hashtext(current_schema()), hashtext('helve migrations'))",
        )
        .await
        .map_err(failed)?;
    transaction
        .batch_execute(
            "CREATE TABLE IF NOT EXISTS migrations (
                 number BIGINT PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, at BIGINT NOT NULL
             )",
        )
        .await
        .map_err(failed)?;
    let applied = list_applied(transaction.client()).await.map_err(failed)?;
    let new = list_pending(&applied, POSTGRES).map_err(|error| refuse_layout(place, &error))?;
    for Migration { number, name, sql } in new {
        transaction.batch_execute(sql).await.map_err(|error| PostgresError::Failed {
            place: place.to_owned(),
            number: *number,
            name,
            problem: describe(&error),
        })?;
        if *number == AUDIT_CHAIN {
            let db = Db { client: transaction.client(), statements: &transaction.statement_cache };
            audit::chain_old_entries(&db).await.map_err(|error| PostgresError::Failed {
                place: place.to_owned(),
                number: *number,
                name,
                problem: error.to_string(),
            })?;
        }
        transaction
            .execute(
                "INSERT INTO migrations (number, name, checksum, at) VALUES ($1, $2, $3, $4)",
                &[&i64::from(*number), name, &checksum_of(sql), &now_ms],
            )
            .await
            .map_err(failed)?;
    }
    transaction.commit().await.map_err(failed)
}

fn refuse_layout(place: &str, error: &MigrateError) -> PostgresError {
    let place = place.to_owned();
    match *error {
        MigrateError::Newer(number) => PostgresError::Newer { place, number },
        MigrateError::Changed { number } => PostgresError::Changed { place, number },
        ref other => PostgresError::Unusable { place, problem: other.to_string() },
    }
}

/// How far a database is, without changing it.
pub(super) async fn read_layout(db: &Client, place: &str) -> Result<Layout, PostgresError> {
    let failed = |error: tokio_postgres::Error| PostgresError::Unusable {
        place: place.to_owned(),
        problem: describe(&error),
    };
    check_server(db, place).await?;
    let sql = "SELECT to_regclass('migrations') IS NOT NULL";
    let has_list: bool = db.query_one(sql, &[]).await.and_then(|row| row.try_get(0)).map_err(failed)?;
    let applied = if has_list { list_applied(db).await.map_err(failed)? } else { vec![] };
    Layout::new(&applied, POSTGRES).map_err(|error| refuse_layout(place, &error))
}

async fn list_applied(db: &Client) -> Result<Vec<(u32, String)>, tokio_postgres::Error> {
    let rows = db.query("SELECT number, checksum FROM migrations ORDER BY number", &[]).await?;
    rows.iter()
        .map(|row| Ok((u32::try_from(row.try_get::<_, i64>(0)?).unwrap_or(u32::MAX), row.try_get(1)?)))
        .collect()
}

async fn check_server(db: &Client, place: &str) -> Result<(), PostgresError> {
    let sql = "SELECT current_setting('server_version_num')::bigint, current_setting('server_version'),
                      current_setting('server_encoding')";
    let looked = async {
        let row = db.query_one(sql, &[]).await?;
        Ok::<(i64, String, String), tokio_postgres::Error>((
            row.try_get(0)?,
            row.try_get(1)?,
            row.try_get(2)?,
        ))
    };
    let place = place.to_owned();
    match looked.await {
        Err(error) => Err(PostgresError::Unusable { place, problem: describe(&error) }),
        Ok((number, found, _)) if number < VERSION_MIN => Err(PostgresError::Old { place, found }),
        Ok((_, _, found)) if found != "UTF8" => Err(PostgresError::Encoding { place, found }),
        Ok(_) => Ok(()),
    }
}

/// How the database was left; from now on it counts as not closed if a server opens it.
pub(super) async fn inspect_server(
    connection: &Object,
    is_server: bool,
) -> Result<ServerState, tokio_postgres::Error> {
    let row = connection
        .query_one(
            "SELECT coalesce((SELECT value FROM settings WHERE name = 'closed'), 'yes') = 'yes',
                    current_setting('synchronous_commit') = 'off', current_setting('fsync') = 'off'",
            &[],
        )
        .await?;
    if is_server {
        let sql = "INSERT INTO settings (name, value) VALUES ('closed', 'no')
                   ON CONFLICT (name) DO UPDATE SET value = excluded.value";
        connection.execute(sql, &[]).await?;
    }
    let off: [(&str, bool); 2] = [("synchronous_commit", row.try_get(1)?), ("fsync", row.try_get(2)?)];
    let off: Vec<&str> = off.into_iter().filter_map(|(name, is_off)| is_off.then_some(name)).collect();
    let durability_problem =
        (!off.is_empty()).then(|| format!("PostgreSQL runs with {} = off", off.join(" = off and ")));
    Ok(ServerState { was_closed: row.try_get(0)?, durability_problem })
}

pub(super) async fn set_closed(db: &Db<'_>, closed: bool) -> Result<(), StoreError> {
    let sql = "INSERT INTO settings (name, value) VALUES ('closed', $1)
               ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    db.execute(sql, &[&if closed { "yes" } else { "no" }]).await.map(drop)
}
