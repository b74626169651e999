//! The process of one query: it confines itself, reads an order, opens the database and answers.
//!
//! The file is opened without the right to write, `query_only` is set, and `allow` says what a statement may use. The
//! read transaction begins before anything of the statement is looked at, and from then on no other file can be opened
//! (`confine`). The clock is looked at between the steps of the query. Where only some tables may be read, `model` is
//! asked first.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::hooks::AuthContext;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, ErrorCode, OpenFlags, Statement, params};
use serde_json::Value;

use super::wire::{ORDER_BYTES_MAX, WorkerAnswer, WorkerRequest};
use super::{allow, confine, model};
use crate::query_database::table::{self, Table};
use crate::query_database::{COLUMNS_MAX, DatabaseRequest, PARAMETERS_MAX};

/// The largest text or blob that a query may make.
const VALUE_BYTES_MAX: i32 = 4 << 20;
/// All that SQLite may hold. It sorts in memory, since it may make no files.
const HEAP_BYTES_MAX: i64 = 128 << 20;
/// How many steps of the machine pass between two looks at the clock.
const STEPS: i32 = 1_000;
const TABLES_MAX: usize = 200;

/// What `helve query-worker` does. What it says on standard error is for the operator.
pub fn run_query_worker() -> ExitCode {
    match handle_request() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::from(2)
        }
    }
}

fn handle_request() -> Result<(), String> {
    let limited = |error: io::Error| format!("the limits of the process cannot be set: {error}");
    confine::confine_process().map_err(limited)?;
    let mut order = vec![];
    let read = io::stdin().take(ORDER_BYTES_MAX).read_to_end(&mut order);
    read.map_err(|error| format!("the order cannot be read: {error}"))?;
    let order: WorkerRequest =
        serde_json::from_slice(&order).map_err(|error| format!("the order cannot be read: {error}"))?;
    confine::limit_time(Duration::from_millis(order.timeout_ms)).map_err(limited)?;
    let answer = match open_database(&order.path, Duration::from_millis(order.timeout_ms)) {
        Ok(mut connection) => {
            confine::confine_after_open().map_err(limited)?;
            answer_request(&mut connection, &order)
        }
        Err(error) => WorkerAnswer::NotOpened(error.to_string()),
    };
    let answer =
        serde_json::to_vec(&answer).map_err(|error| format!("the answer cannot be written: {error}"))?;
    let mut output = io::stdout().lock();
    output
        .write_all(&answer)
        .and_then(|()| output.flush())
        .map_err(|error| format!("the answer cannot be written: {error}"))
}

/// The database, with a read transaction in which it has been read.
fn open_database(path: &Path, timeout: Duration) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    let until = Instant::now() + timeout;
    connection.busy_timeout(timeout)?;
    connection.progress_handler(STEPS, Some(move || Instant::now() >= until))?;
    for (setting, is_on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_CREATE, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_WRITE, false),
        // The WAL is its writers' business.
        (DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true),
    ] {
        connection.set_db_config(setting, is_on)?;
    }
    for (limit, most) in [
        (Limit::SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX),
        // Of a statement of the schema, too; one that is asked is shorter (`SQL_BYTES_MAX`).
        (Limit::SQLITE_LIMIT_SQL_LENGTH, 1_000_000),
        (Limit::SQLITE_LIMIT_EXPR_DEPTH, 1_000),
        (Limit::SQLITE_LIMIT_PARSER_DEPTH, 1_000),
        (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 200),
        (Limit::SQLITE_LIMIT_VDBE_OP, 250_000),
        (Limit::SQLITE_LIMIT_FUNCTION_ARG, 127),
        (Limit::SQLITE_LIMIT_ATTACHED, 0),
        (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1_000),
        (Limit::SQLITE_LIMIT_VARIABLE_NUMBER, 100),
        (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
        (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
    ] {
        connection.set_limit(limit, most)?;
    }
    connection.pragma_update(None, "query_only", true)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.pragma_update(None, "temp_store", "memory")?;
    connection.pragma_update(None, "mmap_size", 0)?;
    let _: i64 =
        connection.pragma_update_and_check(None, "hard_heap_limit", HEAP_BYTES_MAX, |row| row.get(0))?;
    // The last files that are opened: where chance comes from, the time zone, and what belongs to the database. Whether
    // it is a database at all shows with the first page.
    connection.query_row("SELECT random(), datetime('now', 'localtime')", [], |_| Ok(()))?;
    connection.execute_batch("BEGIN")?;
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(connection)
}

fn answer_request(connection: &mut Connection, order: &WorkerRequest) -> WorkerAnswer {
    let done = match &order.question {
        DatabaseRequest::Describe => {
            describe_tables(connection, order.tables.as_deref()).map(WorkerAnswer::Described)
        }
        DatabaseRequest::Select { sql, parameters } => match run_query(connection, order, sql, parameters) {
            Ok(table) => Ok(WorkerAnswer::Table(table)),
            Err(NoTable::Declined(message)) => Ok(WorkerAnswer::Declined(message)),
            Err(NoTable::Failed(error)) => Err(error),
        },
    };
    done.unwrap_or_else(|error| error_answer(&error))
}

enum NoTable {
    Declined(String),
    Failed(Error),
}

impl From<Error> for NoTable {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

fn run_query(
    connection: &mut Connection,
    order: &WorkerRequest,
    sql: &str,
    parameters: &[Value],
) -> Result<Table, NoTable> {
    allow::remove_other_functions(connection)?;
    let names = allow::NamesInUse::read(connection)?;
    if let Some(listed) = &order.tables {
        model::build_model(connection, &names, listed)?.prepare(sql).map(drop)?;
    }
    connection.authorizer(Some(move |asked: AuthContext<'_>| names.authorize(&asked)))?;
    let mut statement = connection.prepare(sql)?;
    let columns = statement.column_count();
    if !statement.readonly() || statement.is_explain() != 0 || columns == 0 {
        return Err(NoTable::Declined("the database is read only: write a SELECT".into()));
    }
    if columns > COLUMNS_MAX {
        return Err(NoTable::Declined(format!(
            "the query gives {columns} columns; ask for 1 to {COLUMNS_MAX}"
        )));
    }
    bind_parameters(&mut statement, parameters)?;
    let mut table = Table::new(statement.column_names());
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        let values =
            (0..columns).map(|column| row.get_ref(column).map(to_json_value)).collect::<Result<_, _>>();
        if !table.push_row(values?, order.rows_max) {
            break;
        }
    }
    Ok(table)
}

fn bind_parameters(statement: &mut Statement<'_>, parameters: &[Value]) -> Result<(), NoTable> {
    let wanted = statement.parameter_count();
    if wanted != parameters.len() {
        return Err(NoTable::Declined(format!(
            "`sql` has {wanted} placeholders and `parameters` has {} values",
            parameters.len()
        )));
    }
    debug_assert!(parameters.len() <= PARAMETERS_MAX);
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
        bound.map_err(|error| NoTable::Declined(format!("parameter {place}: {error}")))?;
    }
    Ok(())
}

fn to_json_value(held: ValueRef<'_>) -> Value {
    match held {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => table::integer_value(number),
        ValueRef::Real(number) => table::float_value(number),
        ValueRef::Text(text) => table::text_value(&String::from_utf8_lossy(text)),
        ValueRef::Blob(bytes) => table::bytes_value(bytes),
    }
}

/// The tables and views, a line each: `orders(id INTEGER primary key, customer TEXT)`.
fn describe_tables(connection: &Connection, only: Option<&[String]>) -> Result<Vec<String>, Error> {
    let readable = allow::NamesInUse::read(connection)?;
    let mut names = connection.prepare(
        "SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
         ORDER BY name LIMIT ?1",
    )?;
    let mut lines = vec![];
    let mut rows = names.query(params![TABLES_MAX])?;
    while let Some(row) = rows.next()? {
        let (name, kind): (String, String) = (row.get(0)?, row.get(1)?);
        let is_listed = only.is_none_or(|only| only.iter().any(|held| held.eq_ignore_ascii_case(&name)));
        if is_listed && readable.is_readable(&name) {
            let mark = if kind == "view" { "view " } else { "" };
            // A view may read what is not there any more; that is no reason to be silent about the others.
            let columns = columns(connection, &name);
            let columns = columns.unwrap_or_else(|error| format!("cannot be read: {}", error_text(&error)));
            lines.push(format!("{mark}{name}({columns})"));
        }
    }
    Ok(lines)
}

fn columns(connection: &Connection, table: &str) -> Result<String, Error> {
    let mut info = connection.prepare("SELECT name, type, \"notnull\", pk FROM pragma_table_info(?1)")?;
    let columns = info.query_map([table], |column| {
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
    Ok(columns.collect::<Result<Vec<_>, _>>()?.join(", "))
}

/// What the model is told: the database's own words, and where in the text they apply.
fn error_answer(error: &Error) -> WorkerAnswer {
    WorkerAnswer::Declined(match error.sqlite_error_code() {
        _ if matches!(error, Error::MultipleStatement) => "write one statement only".into(),
        Some(ErrorCode::OperationInterrupted) => return WorkerAnswer::TooSlow,
        Some(ErrorCode::OutOfMemory) => {
            "the query needs more memory than it may have; ask for less: fewer or smaller values, a narrower WHERE".into()
        }
        Some(ErrorCode::AuthorizationForStatementDenied) => {
            format!("the database is read only and this is not allowed: {}", error_text(error))
        }
        _ => error_text(error),
    })
}

fn error_text(error: &Error) -> String {
    match error {
        // One that was taken out SQLite still knows by name.
        Error::SqlInputError { msg, .. } if removed_function(msg).is_some() => {
            format!("no such function: {}", removed_function(msg).unwrap_or_default())
        }
        Error::SqlInputError { msg, offset, .. } if *offset >= 0 => format!("{msg}, at byte {offset}"),
        Error::SqliteFailure(_, Some(message)) => message.clone(),
        Error::SqlInputError { msg, .. } => msg.clone(),
        other => other.to_string(),
    }
}

fn removed_function(message: &str) -> Option<&str> {
    let name = message.strip_prefix("wrong number of arguments to function ")?.strip_suffix("()")?;
    (!allow::is_function(name)).then_some(name)
}
