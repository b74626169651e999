//! What passes between the server and the process of a query: one order in, one answer out, both JSON.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::query_database::DatabaseRequest;
use crate::query_database::table::Table;

/// The largest order that a worker reads; statement and parameters have smaller bounds of their own.
pub(super) const ORDER_BYTES_MAX: u64 = 4 << 20;
/// The largest answer that the server reads. A table has less than this however its text is escaped.
pub(super) const ANSWER_BYTES_MAX: usize = 8 << 20;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkerRequest {
    pub(super) path: PathBuf,
    /// The only tables that may be read; all if there is no list.
    pub(super) tables: Option<Vec<String>>,
    pub(super) rows_max: usize,
    pub(super) timeout_ms: u64,
    pub(super) question: DatabaseRequest,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub(super) enum WorkerAnswer {
    Table(Table),
    /// The tables and their columns, a line each.
    Described(Vec<String>),
    /// What the model is told.
    Declined(String),
    TooSlow,
    /// What the operator is told: the file cannot be opened or is no database.
    NotOpened(String),
}
