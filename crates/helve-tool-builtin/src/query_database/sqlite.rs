//! SQLite: the file is opened read-only, and only reading statements can be prepared.
//!
//! Three locks, each of which would do: the file is opened without the right to write, `query_only` is set, and an
//! authorizer refuses everything but reading tables. It runs on a thread that may block; its clock is looked at
//! between the steps of the query, and when nobody waits any more it stops. Where only some tables may be read, `model`
//! is asked first.

mod model;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use helve_tool::ToolError;
use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags, Statement, params};
use serde_json::Value;

use super::database::Database;
use super::table::{self, Table};
use super::too_slow;

/// The largest text or blob that a query may make.
const VALUE_BYTES_MAX: i32 = 4 << 20;
/// How many steps of the machine pass between two looks at the clock.
const STEPS: i32 = 1_000;
const TABLES_MAX: usize = 200;

pub(super) async fn select(
    database: &Database,
    path: &Path,
    sql: String,
    parameters: Vec<Value>,
) -> Result<Table, ToolError> {
    let of = database.clone();
    on_a_thread(database, path, move |mut connection| {
        if let Some(tables) = &of.tables {
            let tried = model::of(&mut connection, tables).and_then(|model| model.prepare(&sql).map(drop));
            tried.map_err(|error| failed_to_prepare(&of, error))?;
        }
        connection.authorizer(Some(judge)).map_err(|error| told(&of, &error))?;
        ask(&connection, &of, &sql, &parameters)
    })
    .await
}

/// The tables and views, a line each: `orders(id INTEGER primary key, customer TEXT)`.
pub(super) async fn describe(database: &Database, path: &Path) -> Result<Vec<String>, ToolError> {
    let of = database.clone();
    on_a_thread(database, path, move |connection| {
        tables(&connection, of.tables.as_deref()).map_err(|error| told(&of, &error))
    })
    .await
}

/// Runs the work where it may block. If nobody waits for it any more, it is told to stop.
async fn on_a_thread<T: Send + 'static>(
    database: &Database,
    path: &Path,
    work: impl FnOnce(Connection) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let stop = StopOnDrop(Arc::new(AtomicBool::new(false)));
    let (of, path, stopped) = (database.clone(), path.to_owned(), stop.0.clone());
    let done = tokio::task::spawn_blocking(move || {
        let connection = open(&of, &path, stopped)?;
        work(connection)
    });
    done.await.unwrap_or_else(|_| Err(ToolError::Lost("the query broke down".into())))
}

struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn open(database: &Database, path: &PathBuf, stopped: Arc<AtomicBool>) -> Result<Connection, ToolError> {
    let name = &database.name;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(path, flags).and_then(|mut connection| {
        let until = Instant::now() + database.timeout;
        connection.busy_timeout(database.timeout)?;
        connection.pragma_update(None, "query_only", true)?;
        connection.pragma_update(None, "trusted_schema", false)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX)?;
        let is_over = move || stopped.load(Ordering::Relaxed) || Instant::now() >= until;
        connection.progress_handler(STEPS, Some(is_over))?;
        // Whether it is a database at all shows with the first page.
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(connection)
    });
    opened.map_err(|error| {
        tracing::warn!(database = name, %error, "a database cannot be opened");
        ToolError::NotSent(format!("the database `{name}` cannot be opened; the operator has to look at it"))
    })
}

/// Whether a part of a statement may be prepared: reading, and nothing else.
fn judge(asked: AuthContext<'_>) -> Authorization {
    let may = match asked.action {
        AuthAction::Select | AuthAction::Recursive | AuthAction::Read { .. } => true,
        AuthAction::Function { function_name } => !function_name.eq_ignore_ascii_case("load_extension"),
        _ => false,
    };
    if may { Authorization::Allow } else { Authorization::Deny }
}

fn ask(
    connection: &Connection,
    database: &Database,
    sql: &str,
    parameters: &[Value],
) -> Result<Table, ToolError> {
    let failed = |error: rusqlite::Error| told(database, &error);
    let mut statement = connection.prepare(sql).map_err(|error| failed_to_prepare(database, error))?;
    if !statement.readonly() || statement.column_count() == 0 {
        return Err(ToolError::Declined("the database is read only: write a SELECT".into()));
    }
    bind(&mut statement, parameters)?;
    let mut table = Table::new(statement.column_names());
    let columns = statement.column_count();
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next().map_err(failed)? {
        let values = (0..columns).map(|column| row.get_ref(column).map(value)).collect::<Result<_, _>>();
        if !table.take(values.map_err(failed)?, database.rows_max) {
            break;
        }
    }
    Ok(table)
}

fn failed_to_prepare(database: &Database, error: rusqlite::Error) -> ToolError {
    match error {
        rusqlite::Error::MultipleStatement => ToolError::Declined("write one statement only".into()),
        other => told(database, &other),
    }
}

fn bind(statement: &mut Statement<'_>, parameters: &[Value]) -> Result<(), ToolError> {
    let wanted = statement.parameter_count();
    if wanted != parameters.len() {
        return Err(ToolError::Declined(format!(
            "`sql` has {wanted} placeholders and `parameters` has {} values",
            parameters.len()
        )));
    }
    for (place, value) in (1..).zip(parameters) {
        let bound = match value {
            Value::Null => statement.raw_bind_parameter(place, rusqlite::types::Null),
            Value::Bool(flag) => statement.raw_bind_parameter(place, flag),
            Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(whole), _) => statement.raw_bind_parameter(place, whole),
                (None, real) => statement.raw_bind_parameter(place, real),
            },
            Value::String(text) => statement.raw_bind_parameter(place, text),
            other => statement.raw_bind_parameter(place, other.to_string()),
        };
        bound.map_err(|error| ToolError::Declined(format!("parameter {place}: {error}")))?;
    }
    Ok(())
}

fn value(held: ValueRef<'_>) -> Value {
    match held {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) => table::text(&String::from_utf8_lossy(text)),
        ValueRef::Blob(bytes) => table::bytes(bytes),
    }
}

fn tables(connection: &Connection, only: Option<&[String]>) -> Result<Vec<String>, rusqlite::Error> {
    let mut names = connection.prepare(
        "SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
         ORDER BY name LIMIT ?1",
    )?;
    let mut lines = vec![];
    let mut rows = names.query(params![TABLES_MAX])?;
    while let Some(row) = rows.next()? {
        let (name, kind): (String, String) = (row.get(0)?, row.get(1)?);
        if only.is_some_and(|only| !only.iter().any(|held| held.eq_ignore_ascii_case(&name))) {
            continue;
        }
        let mut info = connection.prepare("SELECT name, type, \"notnull\", pk FROM pragma_table_info(?1)")?;
        let columns = info.query_map([&name], |column| {
            let (name, kind): (String, String) = (column.get(0)?, column.get(1)?);
            let (not_null, key): (bool, i64) = (column.get(2)?, column.get(3)?);
            let gap = if kind.is_empty() { "" } else { " " };
            let remark = if key > 0 {
                " primary key"
            } else if not_null {
                " not null"
            } else {
                ""
            };
            Ok(format!("{name}{gap}{kind}{remark}"))
        })?;
        let columns = columns.collect::<Result<Vec<_>, _>>()?.join(", ");
        let mark = if kind == "view" { "view " } else { "" };
        lines.push(format!("{mark}{name}({columns})"));
    }
    Ok(lines)
}

/// What the model is told: the database's own words, and where in the text they apply.
fn told(database: &Database, error: &rusqlite::Error) -> ToolError {
    if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) {
        return too_slow(database);
    }
    if error.sqlite_error_code() == Some(ErrorCode::AuthorizationForStatementDenied) {
        return ToolError::Declined(format!(
            "the database is read only and this is not allowed: {}",
            said(error)
        ));
    }
    ToolError::Declined(said(error))
}

fn said(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqlInputError { msg, offset, .. } if *offset >= 0 => {
            format!("{msg}, at byte {offset}")
        }
        rusqlite::Error::SqliteFailure(_, Some(message)) => message.clone(),
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        other => other.to_string(),
    }
}
