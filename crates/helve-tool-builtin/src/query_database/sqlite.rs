//! SQLite: every query in a process of its own, so that what breaks SQLite does not break Helve.
//!
//! `process` starts the worker and hears it, `wire` is what they say to each other, and `worker` is what happens inside,
//! under the limits of `confine` and by the lists of `allow` and `model`.

mod allow;
mod confine;
mod model;
mod process;
mod wire;
mod worker;

use std::path::Path;
use std::time::Duration;

use helve_tool::ToolError;

use self::process::ProcessEnd;
pub use self::process::QueryWorker;
use self::wire::{ANSWER_BYTES_MAX, WorkerAnswer, WorkerRequest};
pub use self::worker::run_query_worker;
use super::database::Database;
use super::table::Table;
use super::{DatabaseRequest, too_slow_error};

/// What a process has to start and to say that it was too slow. Then it is killed.
const GRACE: Duration = Duration::from_secs(5);

pub(super) async fn run_query(
    worker: &QueryWorker,
    database: &Database,
    path: &Path,
    question: DatabaseRequest,
) -> Result<Table, ToolError> {
    match ask_worker(worker, database, path, question).await? {
        WorkerAnswer::Table(table) => {
            let table = table.check_received(database.rows_max);
            table.ok_or_else(|| process_error(database, "gave a table that is none"))
        }
        _ => Err(process_error(database, "gave an answer that is none")),
    }
}

/// The tables and views, a line each: `orders(id INTEGER primary key, customer TEXT)`.
pub(super) async fn describe(
    worker: &QueryWorker,
    database: &Database,
    path: &Path,
) -> Result<Vec<String>, ToolError> {
    match ask_worker(worker, database, path, DatabaseRequest::Describe).await? {
        WorkerAnswer::Described(tables) => Ok(tables),
        _ => Err(process_error(database, "gave an answer that is none")),
    }
}

async fn ask_worker(
    worker: &QueryWorker,
    database: &Database,
    path: &Path,
    question: DatabaseRequest,
) -> Result<WorkerAnswer, ToolError> {
    let name = &database.name;
    let order = WorkerRequest {
        path: path.to_owned(),
        tables: database.tables.clone(),
        rows_max: database.rows_max,
        timeout_ms: u64::try_from(database.timeout.as_millis()).unwrap_or(u64::MAX),
        question,
    };
    let order = serde_json::to_vec(&order)
        .map_err(|error| ToolError::NotSent(format!("the database `{name}` cannot be asked: {error}")))?;
    let answer = worker.run_worker(&order, ANSWER_BYTES_MAX, database.timeout.saturating_add(GRACE)).await;
    let answer = match answer {
        Ok(answer) => answer,
        Err(ProcessEnd::TimedOut) => return Err(too_slow_error(database)),
        Err(death @ ProcessEnd::NotStarted(_)) => {
            tracing::error!(database = name, problem = %death, "query process not started");
            let told = format!("the database `{name}` cannot be asked: the process of the query {death}");
            return Err(ToolError::NotSent(told));
        }
        Err(death) => return Err(process_error(database, &death.to_string())),
    };
    match serde_json::from_slice(&answer) {
        Ok(WorkerAnswer::Declined(message)) => Err(ToolError::Declined(message)),
        Ok(WorkerAnswer::TooSlow) => Err(too_slow_error(database)),
        Ok(WorkerAnswer::NotOpened(problem)) => {
            tracing::warn!(database = name, %problem, "database not opened");
            Err(ToolError::NotSent(format!(
                "the database `{name}` cannot be opened; the operator has to look at it"
            )))
        }
        Ok(answer) => Ok(answer),
        Err(_) => Err(process_error(database, "gave an answer that is cut off or garbled")),
    }
}

/// Not sent again: what broke one process would break the next.
fn process_error(database: &Database, how: &str) -> ToolError {
    tracing::error!(database = database.name, how, "query process crashed");
    ToolError::Declined(format!(
        "the query was lost: its process {how}. Nothing was changed and nothing else is affected; ask in another way"
    ))
}
