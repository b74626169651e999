//! PostgreSQL: one connection for each question, in a read-only transaction that is always rolled back.
//!
//! The names in the question go by a list (`statement`, `allow`). It is prepared as it is, so that errors point into the model's own text; then it is asked as the inner part of
//! a SELECT that turns each value into JSON, so that every type of the server can be shown. Only as many rows are fetched
//! as may be given. When the caller waits no more the server is told to stop.

mod allow;
mod statement;

use std::error::Error as _;
use std::time::Duration;

use bytes::BytesMut;
use futures_util::StreamExt;
use helve_postgres_tls::{PostgresAddress, Rustls};
use helve_tool::ToolError;
use serde_json::Value;
use tokio::task::AbortHandle;
use tokio_postgres::error::{ErrorPosition, SqlState};
use tokio_postgres::types::{Format, IsNull, ToSql, Type};
use tokio_postgres::{CancelToken, Client, Error, NoTls, Row, Transaction};

use super::database::Database;
use super::table::{self, CELL_CHARS_MAX, Table};
use super::{COLUMNS_MAX, DatabaseRequest, too_slow_error};

const CONNECT_MAX: Duration = Duration::from_secs(5);
/// What a query begins with that can be the inner part of another one.
const READING: [&str; 4] = ["select", "with", "values", "table"];
/// How many rows are fetched at a time, so that no more than these come in vain.
const PAGE_ROWS: usize = 100;

const DESCRIBE: &str = "SELECT quote_ident(c.table_schema) AS schema, quote_ident(c.table_name) AS name, t.table_type AS kind,
        string_agg(quote_ident(c.column_name) || ' ' || c.data_type ||
            CASE c.is_nullable WHEN 'NO' THEN ' not null' ELSE '' END, ', ' ORDER BY c.ordinal_position) AS columns
    FROM information_schema.columns c
    JOIN information_schema.tables t USING (table_schema, table_name)
    WHERE c.table_schema NOT IN ('pg_catalog', 'information_schema')
    GROUP BY 1, 2, 3 ORDER BY 1, 2 LIMIT 200";

const POWERS: &str = "SELECT r.rolsuper AS is_superuser,
        pg_catalog.pg_has_role('pg_read_server_files', 'member') AS reads_files,
        pg_catalog.pg_has_role('pg_write_server_files', 'member') AS writes_files,
        pg_catalog.pg_has_role('pg_execute_server_program', 'member') AS runs_programs,
        (SELECT string_agg(DISTINCT p.proname::text, ', ') FROM pg_catalog.pg_proc p
            WHERE p.proname IN ('dblink', 'dblink_connect', 'dblink_connect_u', 'dblink_exec')
            AND has_function_privilege(p.oid, 'execute')) AS connects
    FROM pg_catalog.pg_roles r WHERE r.rolname = current_user";

pub(super) async fn run_query(
    database: &Database,
    address: &PostgresAddress,
    question: &DatabaseRequest,
) -> Result<Table, ToolError> {
    let DatabaseRequest::Select { sql, parameters } = question else {
        return Err(ToolError::Declined("there is no statement".into()));
    };
    let first =
        sql.trim_start_matches(['(', ' ', '\n', '\t']).split(|c: char| !c.is_ascii_alphabetic()).next();
    if !first.is_some_and(|word| READING.iter().any(|known| known.eq_ignore_ascii_case(word))) {
        return Err(ToolError::Declined("the database is read only: write a SELECT".into()));
    }
    let doubts = allow::find_unlisted(sql).map_err(ToolError::Declined)?;
    let mut session = Session::open(database, address).await?;
    session
        .within_time(database, async |transaction| {
            refuse_unlisted(transaction, database, &doubts).await?;
            run_statement(transaction, database, sql, parameters).await
        })
        .await
}

/// The tables and views that the role may read, a line each.
pub(super) async fn describe(
    database: &Database,
    address: &PostgresAddress,
) -> Result<Vec<String>, ToolError> {
    let mut session = Session::open(database, address).await?;
    let line = |row: Row| -> Result<String, Error> {
        let (schema, name): (String, String) = (row.try_get("schema")?, row.try_get("name")?);
        let (kind, columns): (String, String) = (row.try_get("kind")?, row.try_get("columns")?);
        let schema = if schema == "public" { String::new() } else { format!("{schema}.") };
        let mark = if kind == "VIEW" { "view " } else { "" };
        Ok(format!("{mark}{schema}{name}({columns})"))
    };
    session
        .within_time(database, async |transaction| {
            let rows =
                transaction.query(DESCRIBE, &[]).await.map_err(|error| query_error(database, &error))?;
            rows.into_iter()
                .map(line)
                .collect::<Result<_, _>>()
                .map_err(|error| query_error(database, &error))
        })
        .await
}

/// A connection; dropping it stops what runs on it, here and on the server.
struct Session {
    client: Client,
    driver: AbortHandle,
    cancel: CancelToken,
    tls: Option<Rustls>,
    is_busy: bool,
}

impl Session {
    async fn open(database: &Database, address: &PostgresAddress) -> Result<Self, ToolError> {
        let opened = tokio::time::timeout(CONNECT_MAX, Self::connect(address)).await;
        let problem = match opened {
            Ok(Ok(session)) => return Ok(session),
            Ok(Err(problem)) => problem,
            Err(_) => "it did not answer in time".into(),
        };
        let name = &database.name;
        tracing::warn!(database = name, %problem, "database not reached");
        Err(ToolError::NotSent(format!(
            "the database `{name}` cannot be reached; the operator has to look at it"
        )))
    }

    async fn connect(address: &PostgresAddress) -> Result<Self, String> {
        let mut config = address.config.clone();
        config.application_name("helve");
        let (client, driver, tls) = if let Some(roots) = &address.tls {
            let tls = Rustls::new(roots)?;
            let (client, connection) =
                config.connect(tls.clone()).await.map_err(|error| format_error_chain(&error))?;
            (client, tokio::spawn(connection).abort_handle(), Some(tls))
        } else {
            let (client, connection) =
                config.connect(NoTls).await.map_err(|error| format_error_chain(&error))?;
            (client, tokio::spawn(connection).abort_handle(), None)
        };
        let cancel = client.cancel_token();
        Ok(Self { client, driver, cancel, tls, is_busy: false })
    }

    /// Does the work in a transaction that leaves nothing behind.
    async fn within_time<T>(
        &mut self,
        database: &Database,
        work: impl AsyncFnOnce(&Transaction<'_>) -> Result<T, ToolError>,
    ) -> Result<T, ToolError> {
        self.is_busy = true;
        let timeout = database.timeout;
        let Self { client, is_busy, .. } = self;
        let work = async {
            let building = client.build_transaction().read_only(true);
            let transaction = building.start().await.map_err(|error| query_error(database, &error))?;
            // The first query also takes the snapshot, after which no transaction can be made writable. What a quote is
            // must be the same to the server as to `statement`.
            let limits = format!(
                "SELECT pg_catalog.set_config('statement_timeout', '{}', true), \
                 pg_catalog.set_config('idle_in_transaction_session_timeout', '60000', true), \
                 pg_catalog.set_config('standard_conforming_strings', 'on', true)",
                timeout.as_millis().max(1)
            );
            transaction.batch_execute(&limits).await.map_err(|error| query_error(database, &error))?;
            let done = work(&transaction).await;
            // What cannot be rolled back ends with the connection, which is as good.
            _ = transaction.rollback().await;
            done
        };
        let done = tokio::time::timeout(timeout + Duration::from_secs(1), work).await;
        let done = done.map_err(|_| too_slow_error(database))?;
        *is_busy = false;
        done
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.driver.abort();
        if !self.is_busy {
            return;
        }
        // The caller gave up: the server would work on in vain.
        let (cancel, tls) = (self.cancel.clone(), self.tls.clone());
        tokio::spawn(async move {
            let asked = async {
                match tls {
                    Some(tls) => cancel.cancel_query(tls).await,
                    None => cancel.cancel_query(NoTls).await,
                }
            };
            if !matches!(tokio::time::timeout(CONNECT_MAX, asked).await, Ok(Ok(()))) {
                tracing::warn!("abandoned query not stopped: its time limit stops it");
            }
        });
    }
}

/// Refuses functions that are not on the list, if the database has them.
async fn refuse_unlisted(
    transaction: &Transaction<'_>,
    database: &Database,
    doubts: &allow::UnlistedNames,
) -> Result<(), ToolError> {
    let found = transaction
        .query(allow::UNLISTED, &[&doubts.called, &doubts.behind_dots, &doubts.listed])
        .await
        .map_err(|error| query_error(database, &error))?;
    let Some(first) = found.first() else { return Ok(()) };
    let name: String = first.try_get(0).map_err(|error| query_error(database, &error))?;
    Err(ToolError::Declined(allow::unlisted_message(&name)))
}

async fn run_statement(
    transaction: &Transaction<'_>,
    database: &Database,
    sql: &str,
    parameters: &[Value],
) -> Result<Table, ToolError> {
    let failed = |error: Error| query_error(database, &error);
    let plain = transaction.prepare(sql).await.map_err(failed)?;
    let (wanted, count) = (plain.params().len(), plain.columns().len());
    if wanted != parameters.len() {
        return Err(ToolError::Declined(format!(
            "`sql` has {wanted} placeholders and `parameters` has {} values",
            parameters.len()
        )));
    }
    if count == 0 || count > COLUMNS_MAX {
        return Err(ToolError::Declined(format!(
            "the query gives {count} columns; ask for 1 to {COLUMNS_MAX}"
        )));
    }
    let statement =
        transaction.prepare_typed(&wrap_as_json(sql, count), plain.params()).await.map_err(failed)?;
    let bound: Vec<TextValue> = parameters.iter().map(TextValue::from).collect();
    let bound: Vec<&(dyn ToSql + Sync)> = bound.iter().map(|value| value as _).collect();
    let portal = transaction.bind(&statement, &bound).await.map_err(failed)?;
    let page = i32::try_from(database.rows_max.saturating_add(1).min(PAGE_ROWS)).unwrap_or(i32::MAX);
    let mut table = Table::new(plain.columns().iter().map(tokio_postgres::Column::name));
    let mut has_room = true;
    while has_room {
        let rows = transaction.query_portal_raw(&portal, page).await.map_err(failed)?;
        let mut rows = std::pin::pin!(rows);
        let mut fetched = 0;
        while let Some(row) = rows.next().await {
            let row = row.map_err(failed)?;
            fetched += 1;
            if has_room {
                let values =
                    (0..count).map(|place| row.try_get(place).map(parse_value)).collect::<Result<_, _>>();
                has_room = table.push_row(values.map_err(failed)?, database.rows_max);
            }
        }
        if fetched < page {
            break;
        }
    }
    Ok(table)
}

/// Each value as JSON text of a bounded length, whatever its type. Columns are renamed, since two may have one name.
fn wrap_as_json(sql: &str, count: usize) -> String {
    let names: Vec<String> = (1..=count).map(|n| format!("c{n}")).collect();
    let values: Vec<String> =
        names.iter().map(|name| format!("left(to_json(q.{name})::text, {})", CELL_CHARS_MAX + 1)).collect();
    // A line of its own, since the text may end with a comment.
    format!("SELECT {} FROM (\n{sql}\n) AS q({})", values.join(", "), names.join(", "))
}

fn parse_value(json: Option<String>) -> Value {
    let Some(json) = json else { return Value::Null };
    if json.chars().count() > CELL_CHARS_MAX {
        return format!("{}… (cut)", json.trim_start_matches('"')).into();
    }
    match table::json_value(&json) {
        Ok(Value::String(text)) => table::text_value(&text),
        Ok(value) => value,
        Err(_) => json.into(),
    }
}

/// A value as text, which the server reads as whatever type it wants in that place.
#[derive(Debug)]
struct TextValue(Option<String>);

impl From<&Value> for TextValue {
    fn from(value: &Value) -> Self {
        Self(match value {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        })
    }
}

impl ToSql for TextValue {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        let Some(text) = &self.0 else { return Ok(IsNull::Yes) };
        out.extend_from_slice(text.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    tokio_postgres::types::to_sql_checked!();
}

/// What the model is told: the database's own words, and where in the text they apply.
fn query_error(database: &Database, error: &Error) -> ToolError {
    let Some(said) = error.as_db_error() else {
        return if error.is_closed() {
            ToolError::Lost("the connection to the database broke off".into())
        } else {
            ToolError::Declined(format_error_chain(error))
        };
    };
    if *said.code() == SqlState::QUERY_CANCELED {
        return too_slow_error(database);
    }
    let mut message = said.message().to_owned();
    if let Some(ErrorPosition::Original(position)) = said.position() {
        message.push_str(&format!(", at character {position}"));
    }
    if let Some(hint) = said.hint() {
        message.push_str(&format!(" ({hint})"));
    }
    ToolError::Declined(message)
}

/// What the role may do that a role for reading should not be able to, whatever is refused here.
pub(super) async fn list_dangerous_rights(
    database: &Database,
    address: &PostgresAddress,
) -> Result<Vec<String>, ToolError> {
    let failed = |error: Error| query_error(database, &error);
    let mut session = Session::open(database, address).await?;
    session
        .within_time(database, async |transaction| {
            let row = transaction.query_one(POWERS, &[]).await.map_err(failed)?;
            if row.try_get("is_superuser").map_err(failed)? {
                return Ok(vec!["its role is a superuser".into()]);
            }
            let mut powers = vec![];
            for (column, power) in [
                ("reads_files", "its role has pg_read_server_files: it reads files of the database's server"),
                (
                    "writes_files",
                    "its role has pg_write_server_files: it writes files of the database's server",
                ),
                (
                    "runs_programs",
                    "its role has pg_execute_server_program: it runs programs on the database's server",
                ),
            ] {
                if row.try_get(column).map_err(failed)? {
                    powers.push(power.into());
                }
            }
            let connects: Option<String> = row.try_get("connects").map_err(failed)?;
            powers.extend(connects.map(|names| format!("its role may connect elsewhere with {names}")));
            Ok(powers)
        })
        .await
}

/// An error with what is behind it.
fn format_error_chain(error: &Error) -> String {
    error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {source}"))
}
