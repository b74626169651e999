//! Rows on their way from one database to another.

use std::error::Error;
use std::fmt;

use bytes::BytesMut;
use tokio::sync::mpsc::{Receiver, Sender};
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use uuid::Uuid;

use super::tables::{ColumnKind, StoredTable};

/// How much is read before it is passed on.
const BATCH_ROWS: usize = 500;
const BATCH_BYTES: usize = 1 << 20;
/// How many batches wait for whoever takes them.
pub(crate) const BATCHES_WAITING: usize = 2;

/// The value of a column, whichever database it is kept in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Null,
    Number(i64),
    Flag(bool),
    Text(String),
    Bytes(Vec<u8>),
    Id(Uuid),
}

pub(crate) type Row = Vec<Value>;

/// What reads a table sends; the text says why it cannot be read on.
pub(crate) type Batches = Receiver<Result<Vec<Row>, String>>;

/// As it is shown to people who look for a row.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Text(text) => f.write_str(text),
            Self::Bytes(bytes) => write!(f, "{} bytes", bytes.len()),
            Self::Id(id) => write!(f, "{id}"),
        }
    }
}

impl Value {
    fn bytes(&self) -> usize {
        let beside = match self {
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
            _ => 0,
        };
        beside + size_of::<Self>()
    }
}

impl ToSql for Value {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Number(number) => number.to_sql(kind, out),
            Self::Flag(flag) => flag.to_sql(kind, out),
            Self::Text(text) if *kind == Type::BYTEA => text.as_bytes().to_sql(kind, out),
            Self::Text(text) => text.to_sql(kind, out),
            Self::Bytes(bytes) => bytes.to_sql(kind, out),
            Self::Id(id) => id.to_sql(kind, out),
        }
    }

    /// The types are those of the description of the table.
    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// Replaces what no TEXT of PostgreSQL can hold, as its store does when it writes a row. How many values were changed.
pub(super) fn replace_nul(table: &StoredTable, row: &mut Row) -> u64 {
    let mut replaced = 0;
    for (column, value) in table.columns.iter().zip(row) {
        if let (ColumnKind::Text, Value::Text(text)) = (column.kind, value)
            && text.contains('\0')
        {
            *text = text.replace('\0', "\u{FFFD}");
            replaced += 1;
        }
    }
    replaced
}

/// Gathers rows, and says when there are enough.
#[derive(Default)]
pub(crate) struct Batch {
    rows: Vec<Row>,
    bytes: usize,
}

impl Batch {
    /// The rows so far, once they are enough to be passed on.
    pub(crate) fn push(&mut self, row: Row) -> Option<Vec<Row>> {
        self.bytes += row.iter().map(Value::bytes).sum::<usize>();
        self.rows.push(row);
        (self.rows.len() >= BATCH_ROWS || self.bytes >= BATCH_BYTES).then(|| self.take())
    }

    pub(crate) fn take(&mut self) -> Vec<Row> {
        self.bytes = 0;
        std::mem::take(&mut self.rows)
    }
}

pub(crate) type BatchSender = Sender<Result<Vec<Row>, String>>;

/// Gives the rows one by one.
pub(super) struct Rows {
    batches: Batches,
    batch: std::vec::IntoIter<Row>,
}

impl Rows {
    pub(super) fn new(batches: Batches) -> Self {
        Self { batches, batch: vec![].into_iter() }
    }

    pub(super) async fn next(&mut self) -> Result<Option<Row>, String> {
        loop {
            if let Some(row) = self.batch.next() {
                return Ok(Some(row));
            }
            match self.batches.recv().await {
                Some(batch) => self.batch = batch?.into_iter(),
                None => return Ok(None),
            }
        }
    }
}
