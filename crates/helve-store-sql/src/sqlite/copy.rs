//! SQLite as one side of a copy.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use helve_types::Timestamp;
use rusqlite::types::{ToSql, ToSqlOutput, Value as Sql, ValueRef};
use rusqlite::{Connection, params_from_iter};
use uuid::Uuid;

use super::Syncs;
use super::layout::{migrate_database, read_layout};
use super::open::{check_if_left_open, connect, open_error};
use crate::copy::{
    BATCHES_WAITING, Batch, BatchSender, Batches, ColumnKind, CopyError, Row, StoredTable, TABLES, Value,
};
use crate::{DataDir, Layout};

/// A database with an open transaction, which is given up when this is dropped.
pub(crate) struct SqliteCopy {
    connection: Arc<Mutex<Connection>>,
    place: String,
    _dir: DataDir,
}

impl SqliteCopy {
    /// The database of a data directory that no server uses; nobody writes to it meanwhile.
    pub(crate) fn open_source(data: &Path) -> Result<Self, CopyError> {
        let place = data.display().to_string();
        if !data.join(crate::data_dir::DATABASE).exists() {
            return Err(CopyError::NoDatabase { place });
        }
        let dir = DataDir::lock(data)?;
        check_newest(&place, &read_layout(data)?)?;
        let connection = connect(&dir, Syncs::default())?;
        check_if_left_open(&connection, &dir.database())?;
        Self::begin(connection, dir, place)
    }

    /// An empty database, which is made if need be.
    pub(crate) fn open_target(data: &Path, now: Timestamp) -> Result<Self, CopyError> {
        let place = data.display().to_string();
        let dir = DataDir::lock(data)?;
        let layout = read_layout(data)?;
        if layout.is_new() {
            migrate_database(&dir, now)?;
        } else {
            check_newest(&place, &layout)?;
        }
        let connection = connect(&dir, Syncs::default())?;
        check_if_left_open(&connection, &dir.database())?;
        Self::begin(connection, dir, place)
    }

    fn begin(connection: Connection, dir: DataDir, place: String) -> Result<Self, CopyError> {
        let failed = |source| CopyError::Open(open_error(&dir.database(), source));
        connection.execute_batch("BEGIN IMMEDIATE").map_err(failed)?;
        Ok(Self { connection: Arc::new(Mutex::new(connection)), place, _dir: dir })
    }

    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// The first table that has rows.
    pub(crate) async fn find_rows(&self) -> Result<Option<&'static str>, String> {
        self.work(|connection| {
            for table in TABLES.iter().filter(|table| table.must_be_empty()) {
                let sql = format!("SELECT EXISTS (SELECT 1 FROM {})", quoted(table.name));
                if connection.query_row(&sql, [], |row| row.get(0)).map_err(problem)? {
                    return Ok(Some(table.name));
                }
            }
            Ok(None)
        })
        .await
    }

    pub(crate) async fn clear(&self, table: &'static StoredTable) -> Result<(), String> {
        let sql = format!("DELETE FROM {}", quoted(table.name));
        self.work(move |connection| connection.execute(&sql, []).map(drop).map_err(problem)).await
    }

    /// All rows in the order of the key.
    pub(crate) fn read_rows(&self, table: &'static StoredTable) -> Batches {
        let (sender, batches) = tokio::sync::mpsc::channel(BATCHES_WAITING);
        let connection = self.connection.clone();
        tokio::task::spawn_blocking(move || {
            if let Err(error) = send_rows(&lock(&connection), table, &sender) {
                _ = sender.blocking_send(Err(error));
            }
        });
        batches
    }

    pub(crate) async fn write_rows(&self, table: &'static StoredTable, rows: Vec<Row>) -> Result<(), String> {
        let names: Vec<String> = table.columns.iter().map(|column| quoted(column.name)).collect();
        let places = vec!["?"; names.len()].join(", ");
        let sql = format!("INSERT INTO {} ({}) VALUES ({places})", quoted(table.name), names.join(", "));
        self.work(move |connection| {
            let mut statement = connection.prepare_cached(&sql).map_err(problem)?;
            for row in &rows {
                statement.execute(params_from_iter(row)).map_err(problem)?;
            }
            Ok(())
        })
        .await
    }

    pub(crate) async fn commit(self) -> Result<(), String> {
        self.work(|connection| connection.execute_batch("COMMIT").map_err(problem)).await
    }

    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        let connection = self.connection.clone();
        let done = tokio::task::spawn_blocking(move || work(&lock(&connection)));
        done.await.unwrap_or_else(|error| Err(error.to_string()))
    }
}

pub(crate) fn check_newest(place: &str, layout: &Layout) -> Result<(), CopyError> {
    match layout.number {
        _ if layout.is_newest() => Ok(()),
        None => Err(CopyError::NoDatabase { place: place.to_owned() }),
        Some(_) => Err(CopyError::Behind { place: place.to_owned() }),
    }
}

fn lock(connection: &Mutex<Connection>) -> MutexGuard<'_, Connection> {
    connection.lock().unwrap_or_else(PoisonError::into_inner)
}

fn send_rows(connection: &Connection, table: &StoredTable, sender: &BatchSender) -> Result<(), String> {
    let columns: Vec<String> = table.columns.iter().map(|column| quoted(column.name)).collect();
    let key: Vec<String> = table.key.iter().map(|name| quoted(name)).collect();
    let sql =
        format!("SELECT {} FROM {} ORDER BY {}", columns.join(", "), quoted(table.name), key.join(", "));
    let mut statement = connection.prepare(&sql).map_err(problem)?;
    let mut found = statement.query([]).map_err(problem)?;
    let mut batch = Batch::default();
    while let Some(row) = found.next().map_err(problem)? {
        let mut values = Row::with_capacity(table.columns.len());
        for (place, column) in table.columns.iter().enumerate() {
            let value = row.get_ref(place).map_err(problem)?;
            values.push(
                read_value(column.kind, value).map_err(|what| format!("column `{}`: {what}", column.name))?,
            );
        }
        if let Some(full) = batch.push(values)
            && sender.blocking_send(Ok(full)).is_err()
        {
            return Ok(());
        }
    }
    _ = sender.blocking_send(Ok(batch.take()));
    Ok(())
}

fn read_value(kind: ColumnKind, value: ValueRef<'_>) -> Result<Value, String> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(|error| error.to_string());
    match (kind, value) {
        (_, ValueRef::Null) => Ok(Value::Null),
        (ColumnKind::Number, ValueRef::Integer(number)) => Ok(Value::Number(number)),
        (ColumnKind::Flag, ValueRef::Integer(number @ (0 | 1))) => Ok(Value::Flag(number == 1)),
        (ColumnKind::Text | ColumnKind::RawText, ValueRef::Text(bytes)) => text(bytes).map(Value::Text),
        (ColumnKind::Bytes, ValueRef::Blob(bytes)) => Ok(Value::Bytes(bytes.to_vec())),
        (ColumnKind::Id, ValueRef::Blob(bytes)) => {
            Uuid::from_slice(bytes).map(Value::Id).map_err(|error| error.to_string())
        }
        (_, other) => Err(format!("{} is not what belongs there", other.data_type())),
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null => ToSqlOutput::Owned(Sql::Null),
            Self::Number(number) => ToSqlOutput::Owned(Sql::Integer(*number)),
            Self::Flag(flag) => ToSqlOutput::Owned(Sql::Integer((*flag).into())),
            Self::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            Self::Bytes(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
            Self::Id(id) => ToSqlOutput::Borrowed(ValueRef::Blob(id.as_bytes())),
        })
    }
}

fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

#[expect(clippy::needless_pass_by_value, reason = "used as a function for map_err")]
fn problem(error: rusqlite::Error) -> String {
    error.to_string()
}
