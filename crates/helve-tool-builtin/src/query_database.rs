//! `query_database`: reads a database that the operator has configured.
//!
//! Read only for real, in each kind's own way: `sqlite` asks in a process of its own, which opens the file read-only and
//! lets only reading statements be prepared; `postgres` runs in a read-only transaction that is always rolled back. In
//! both, functions and tables go by a list of what is allowed. Both take one statement, stop at the time limit and read
//! no more rows than they may. `table` makes text and values of what they found.
//!
//! The addresses are the operator's configuration and no model can change them, so connections do not pass the guard of
//! outgoing requests (`helve-egress`), which is there for addresses that models and rows give.

mod database;
mod postgres;
mod sqlite;
mod table;

use std::sync::Arc;
use std::time::Duration;

use helve_tool::{
    CallContext, Guards, LimitSettings, Limits, Request, Tool, ToolError, ToolFuture, schema_of,
};
use helve_types::{Effect, Example, Flow, Notice, OnUnknown, ToolOutput, ToolSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::database::DatabaseKind;
pub use self::database::{Database, DatabasePlace};
pub use self::sqlite::{QueryWorker, run_query_worker};

const SQL_BYTES_MAX: usize = 20_000;
const PARAMETERS_MAX: usize = 100;
/// Of all parameters together, as JSON.
const PARAMETERS_BYTES_MAX: usize = 256 << 10;
const COLUMNS_MAX: usize = 200;
/// Of what is told about one table, …
const TABLE_CHARS_MAX: usize = 8_000;
/// … and about all.
const DESCRIBED_BYTES_MAX: usize = 256 << 10;
/// What is left over for connecting and for telling the database to stop.
const GRACE: Duration = Duration::from_secs(10);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Which database; may be left out if there is only one.
    database: Option<String>,
    /// True gives the tables and their columns instead of asking anything.
    describe: Option<bool>,
    /// One SELECT.
    #[schemars(length(min = 1, max = 20000))]
    sql: Option<String>,
    /// Values for the placeholders, in order: `?1`, `?2` in SQLite and `$1`, `$2` in PostgreSQL.
    #[serde(default)]
    #[schemars(schema_with = "values_schema")]
    parameters: Option<Vec<Value>>,
}

fn values_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "array",
        "items": {"type": ["string", "number", "boolean", "null"]},
        "maxItems": 100
    })
}

/// What is asked of a database.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum DatabaseRequest {
    Describe,
    Select { sql: String, parameters: Vec<Value> },
}

struct QueryDatabase {
    spec: ToolSpec,
    databases: Vec<Database>,
    worker: QueryWorker,
}

/// None where no database is configured.
pub(crate) fn tool(databases: &[Database], worker: &QueryWorker) -> Option<(Arc<dyn Tool>, Guards)> {
    if databases.is_empty() {
        return None;
    }
    let longest = databases.iter().map(|database| database.timeout).max().unwrap_or_default();
    let tool = QueryDatabase { spec: spec(databases), databases: databases.to_vec(), worker: worker.clone() };
    Some((Arc::new(tool), guards(longest)))
}

impl Tool for QueryDatabase {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn preview(&self, request: Request<'_>, _: &CallContext) -> Option<String> {
        let arguments: Arguments = request.parse().ok()?;
        let database = self.find_database(arguments.database.as_deref()).ok()?;
        let place = format!("{}, {}", database.name, database.kind.name());
        Some(match build_request(arguments).ok()? {
            DatabaseRequest::Describe => format!("{place}: its tables and their columns"),
            DatabaseRequest::Select { sql, parameters } if parameters.is_empty() => {
                format!("{place}\n\n{sql}")
            }
            DatabaseRequest::Select { sql, parameters } => {
                format!("{place}\n\n{sql}\n\nparameters: {}", Value::Array(parameters))
            }
        })
    }

    fn call<'a>(&'a self, request: Request<'a>, _: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move {
            let arguments: Arguments = request.parse()?;
            let database = self.find_database(arguments.database.as_deref()).map_err(ToolError::Declined)?;
            let question = build_request(arguments).map_err(ToolError::Declined)?;
            self.ask(database, question).await.map_err(|error| match error {
                ToolError::Declined(_) => error.with_notice(Notice::query_refused(&database.name)),
                other => other,
            })
        })
    }
}

impl QueryDatabase {
    async fn ask(&self, database: &Database, question: DatabaseRequest) -> Result<ToolOutput, ToolError> {
        match question {
            DatabaseRequest::Describe => {
                let tables = match &database.kind {
                    DatabaseKind::Sqlite(path) => sqlite::describe(&self.worker, database, path).await?,
                    DatabaseKind::Postgres(address) => postgres::describe(database, address).await?,
                };
                Ok(describe_tables(database, &tables))
            }
            question @ DatabaseRequest::Select { .. } => {
                let table = match &database.kind {
                    DatabaseKind::Sqlite(path) => {
                        sqlite::run_query(&self.worker, database, path, question).await?
                    }
                    DatabaseKind::Postgres(address) => {
                        postgres::run_query(database, address, &question).await?
                    }
                };
                Ok(table.into_output(&database.name))
            }
        }
    }

    fn find_database(&self, name: Option<&str>) -> Result<&Database, String> {
        let known = || self.databases.iter().map(|held| held.name.as_str()).collect::<Vec<_>>().join(", ");
        match (name.map(str::trim), &self.databases[..]) {
            (None | Some(""), [only]) => Ok(only),
            (None | Some(""), _) => Err(format!("say which `database`: {}", known())),
            (Some(name), all) => {
                let found = all.iter().find(|held| held.name == name);
                found.ok_or_else(|| format!("there is no database `{name}`; there is: {}", known()))
            }
        }
    }
}

fn build_request(arguments: Arguments) -> Result<DatabaseRequest, String> {
    let Arguments { describe, sql, parameters, .. } = arguments;
    if describe == Some(true) {
        return Ok(DatabaseRequest::Describe);
    }
    let sql = sql.unwrap_or_default();
    // One at the end means nothing; one inside would begin a second statement.
    let sql = sql.trim().trim_end_matches(';').trim_end();
    if sql.is_empty() {
        return Err("`sql` is missing; write one SELECT, or `describe: true` to see the tables".into());
    }
    if sql.len() > SQL_BYTES_MAX {
        return Err(format!("`sql` has more than {SQL_BYTES_MAX} bytes; put values into `parameters`"));
    }
    // SQLite would stop reading there.
    if sql.contains('\0') {
        return Err("`sql` has a NUL character in it; put values into `parameters`".into());
    }
    let parameters = parameters.unwrap_or_default();
    if parameters.len() > PARAMETERS_MAX {
        return Err(format!("`parameters` has {} values; {PARAMETERS_MAX} are the most", parameters.len()));
    }
    let bytes: usize = parameters.iter().map(|value| value.to_string().len()).sum();
    if bytes > PARAMETERS_BYTES_MAX {
        return Err(format!("`parameters` has {bytes} bytes; {PARAMETERS_BYTES_MAX} are the most"));
    }
    Ok(DatabaseRequest::Select { sql: sql.to_owned(), parameters })
}

/// Looks whether a database can be asked, and what about it should be put right; the error says why it cannot be asked.
pub async fn describe_database(database: &Database, worker: &QueryWorker) -> Result<Vec<String>, String> {
    let found = match &database.kind {
        DatabaseKind::Sqlite(path) => sqlite::describe(worker, database, path).await.map(|_| vec![]),
        DatabaseKind::Postgres(address) => postgres::list_dangerous_rights(database, address).await,
    };
    found.map_err(|error| error.to_string())
}

/// The tables of a database, a line each.
fn describe_tables(database: &Database, tables: &[String]) -> ToolOutput {
    let mut room = DESCRIBED_BYTES_MAX;
    let tables = tables.iter().map(|table| table::shorten(table, TABLE_CHARS_MAX));
    let tables: Vec<String> = tables
        .take_while(|table| {
            room = room.saturating_sub(table.len());
            room > 0
        })
        .collect();
    let mut lines = vec![format!("{} is {}.", database.name, database.kind.sql_hint())];
    lines.extend(tables.iter().cloned());
    if tables.is_empty() {
        lines.push("It has no tables that may be read.".into());
    }
    let count = tables.len();
    let title = format!("{}: {count} table{}", database.name, if count == 1 { "" } else { "s" });
    ToolOutput::text(lines.join("\n"))
        .with_headline(title, Notice::tables_listed(&database.name, count as u64))
        .with_data(json!({"tables": tables}))
}

fn spec(databases: &[Database]) -> ToolSpec {
    let mut description = include_str!("query_database.md").trim().to_owned();
    description.push_str(" The databases:");
    for database in databases {
        let about = if database.description.is_empty() { "" } else { ": " };
        description.push_str(&format!(
            "\n- {} ({}){about}{}",
            database.name,
            database.kind.name(),
            database.description
        ));
    }
    let mut parameters = schema_of::<Arguments>();
    let names: Vec<&str> = databases.iter().map(|database| database.name.as_str()).collect();
    parameters["properties"]["database"]["enum"] = json!(names);
    ToolSpec {
        title: Some("Database".into()),
        tags: vec!["database".into()],
        examples: examples(&databases[0].name),
        on_unknown: OnUnknown::TellModel,
        // Who fills the database is known to the operator, who can say otherwise.
        flow: Flow { private: true, place: data_origin(databases), ..Flow::default() },
        ..ToolSpec::new("query_database", description, parameters, Effect::Read)
    }
}

/// Which one it is from, where that is not the model's choice. No host is called so.
fn data_origin(databases: &[Database]) -> Option<String> {
    match databases {
        [only] => Some(format!("database {}", only.name)),
        _ => None,
    }
}

fn examples(name: &str) -> Vec<Example> {
    vec![
        Example {
            question: "What do we have in the database?".into(),
            arguments: json!({"database": name, "describe": true}),
            result: "orders(id INTEGER primary key, customer TEXT, total REAL, day TEXT)".into(),
            answer: "There is one table, **orders**, with customer, total and day of each order.".into(),
        },
        Example {
            question: "三月份一共有多少订单？".into(),
            arguments: json!({
                "database": name,
                "sql": "SELECT count(*) AS n FROM orders WHERE day LIKE '2026-03-%'"
            }),
            result: "n\n---\n128\n(1 row)".into(),
            answer: "三月份一共有 **128** 个订单。".into(),
        },
    ]
}

/// A few at a time: what a model asks for can be heavy. Never cached: rows change without a notice.
fn guards(longest: Duration) -> Guards {
    Guards {
        timeout: longest + GRACE,
        attempts: 2,
        limits: Limits {
            tool: Some(LimitSettings {
                concurrent: Some(8),
                wait: Duration::from_secs(10),
                ..LimitSettings::default()
            }),
            user: None,
        },
        ..Guards::default()
    }
}

/// What a model reads when its question took too long.
fn too_slow_error(database: &Database) -> ToolError {
    ToolError::Declined(format!(
        "the query was stopped after {} ms; ask for less: a narrower WHERE, fewer joins, no endless recursion",
        database.timeout.as_millis()
    ))
    .with_notice(Notice::query_too_slow(u64::try_from(database.timeout.as_millis()).unwrap_or(u64::MAX)))
}
