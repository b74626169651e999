//! PostgreSQL as one side of a copy.

use std::pin::pin;
use std::sync::Arc;

use futures_util::TryStreamExt;
use helve_types::Timestamp;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, CopyInSink};
use uuid::Uuid;

use super::columns::describe;
use super::layout::{Session, apply_pending};
use super::{PostgresError, PostgresSettings, migrate};
use crate::copy::{
    BATCHES_WAITING, Batch, BatchSender, Batches, Column, ColumnKind, CopyError, Row, StoredTable, TABLES,
    Value,
};
use crate::sqlite::check_newest;

/// A copy is one transaction, however long it takes.
const PATIENCE: &str =
    "SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0; SET lock_timeout = '10s'";

/// A database with an open transaction, which is given up when this is dropped.
pub(crate) struct PostgresCopy {
    session: Arc<Session>,
    place: String,
}

impl PostgresCopy {
    /// A database that no server uses; nobody writes to it meanwhile.
    pub(crate) async fn open_source(settings: &PostgresSettings) -> Result<Self, CopyError> {
        let (source, layout) = Self::open(settings).await?;
        check_newest(&source.place, &layout)?;
        // Reads see the moment of the first one, which comes after the lock.
        source.begin("REPEATABLE READ").await?;
        Ok(source)
    }

    /// A database that a server may be writing to, as it is at one moment.
    pub(crate) async fn open_snapshot(settings: &PostgresSettings) -> Result<Self, CopyError> {
        let session = Session::open(settings).await?;
        let place = settings.to_string();
        let layout = migrate::read_layout(&session.client, &place).await?;
        let source = Self { session: Arc::new(session), place };
        check_newest(&source.place, &layout)?;
        let begun = async {
            source.client().batch_execute(PATIENCE).await?;
            source.client().batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await
        };
        let unusable =
            |error| PostgresError::Unusable { place: source.place.clone(), problem: describe(&error) };
        begun.await.map_err(|error| CopyError::Postgres(unusable(error)))?;
        Ok(source)
    }

    /// An empty database, whose tables are made if need be.
    pub(crate) async fn open_target(settings: &PostgresSettings, now: Timestamp) -> Result<Self, CopyError> {
        let (target, layout) = Self::open(settings).await?;
        if layout.is_new() {
            apply_pending(settings, now).await?;
        } else {
            check_newest(&target.place, &layout)?;
        }
        target.begin("READ COMMITTED").await?;
        Ok(target)
    }

    async fn open(settings: &PostgresSettings) -> Result<(Self, crate::Layout), CopyError> {
        let session = Session::open(settings).await?;
        session.lock_servers_out(settings).await?;
        let place = settings.to_string();
        let layout = migrate::read_layout(&session.client, &place).await?;
        Ok((Self { session: Arc::new(session), place }, layout))
    }

    /// Other sessions can read meanwhile.
    async fn begin(&self, isolation: &str) -> Result<(), CopyError> {
        let tables: Vec<String> = TABLES.iter().map(|table| quoted(table.name)).collect();
        let sql =
            format!("BEGIN ISOLATION LEVEL {isolation}; LOCK TABLE {} IN EXCLUSIVE MODE", tables.join(", "));
        let begun = async {
            self.client().batch_execute(PATIENCE).await?;
            self.client().batch_execute(&sql).await
        };
        let unusable =
            |error| PostgresError::Unusable { place: self.place.clone(), problem: describe(&error) };
        begun.await.map_err(|error| CopyError::Postgres(unusable(error)))
    }

    fn client(&self) -> &Client {
        &self.session.client
    }

    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// The first table that has rows.
    pub(crate) async fn find_rows(&self) -> Result<Option<&'static str>, String> {
        for table in TABLES.iter().filter(|table| table.must_be_empty()) {
            let sql = format!("SELECT EXISTS (SELECT 1 FROM {})", quoted(table.name));
            let row = self.client().query_one(&sql, &[]).await.map_err(problem)?;
            if row.try_get(0).map_err(problem)? {
                return Ok(Some(table.name));
            }
        }
        Ok(None)
    }

    pub(crate) async fn clear(&self, table: &'static StoredTable) -> Result<(), String> {
        let sql = format!("DELETE FROM {}", quoted(table.name));
        self.client().batch_execute(&sql).await.map_err(problem)
    }

    /// All rows in the order of the key.
    pub(crate) fn read_rows(&self, table: &'static StoredTable) -> Batches {
        let (sender, batches) = tokio::sync::mpsc::channel(BATCHES_WAITING);
        let session = self.session.clone();
        tokio::spawn(async move {
            if let Err(error) = send_rows(&session.client, table, &sender).await {
                _ = sender.send(Err(error)).await;
            }
        });
        batches
    }

    /// Takes the rows of one table.
    pub(crate) async fn table_writer(&self, table: &'static StoredTable) -> Result<TableWriter, String> {
        let names: Vec<String> = table.columns.iter().map(|column| quoted(column.postgres_name())).collect();
        let sql = format!("COPY {} ({}) FROM STDIN (FORMAT binary)", quoted(table.name), names.join(", "));
        let sink: CopyInSink<bytes::Bytes> = self.client().copy_in(&sql).await.map_err(problem)?;
        let types: Vec<Type> = table.columns.iter().map(|column| type_of(column.kind)).collect();
        Ok(TableWriter { writer: Box::pin(BinaryCopyInWriter::new(sink, &types)) })
    }

    /// The next row gets a number that none of the copied ones has.
    pub(crate) async fn set_next_number(&self, table: &'static StoredTable) -> Result<(), String> {
        let Some(column) = table.key_columns().next().filter(|_| table.is_numbered) else { return Ok(()) };
        let (name, column) = (table.name, column.postgres_name());
        let sql = format!(
            "SELECT setval(pg_get_serial_sequence('{name}', '{column}'), coalesce(max({column}), 0) + 1, false)
             FROM {}",
            quoted(name)
        );
        self.client().query_one(&sql, &[]).await.map(drop).map_err(problem)
    }

    pub(crate) async fn commit(self) -> Result<(), String> {
        self.client().batch_execute("COMMIT").await.map_err(problem)
    }
}

pub(crate) struct TableWriter {
    writer: std::pin::Pin<Box<BinaryCopyInWriter>>,
}

impl TableWriter {
    pub(crate) async fn write_rows(&mut self, rows: &[Row]) -> Result<(), String> {
        for row in rows {
            let values: Vec<&(dyn ToSql + Sync)> =
                row.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
            self.writer.as_mut().write(&values).await.map_err(problem)?;
        }
        Ok(())
    }

    pub(crate) async fn finish(mut self) -> Result<(), String> {
        self.writer.as_mut().finish().await.map(drop).map_err(problem)
    }
}

async fn send_rows(client: &Client, table: &'static StoredTable, sender: &BatchSender) -> Result<(), String> {
    let columns: Vec<String> = table.columns.iter().map(|column| quoted(column.postgres_name())).collect();
    let key: Vec<String> = table.key_columns().map(in_order).collect();
    let sql =
        format!("SELECT {} FROM {} ORDER BY {}", columns.join(", "), quoted(table.name), key.join(", "));
    // Rows come as they are taken: the connection reads no further than that.
    let none: [&(dyn ToSql + Sync); 0] = [];
    let mut found = pin!(client.query_raw(&sql, none).await.map_err(problem)?);
    let mut batch = Batch::default();
    while let Some(row) = found.try_next().await.map_err(problem)? {
        let mut values = Row::with_capacity(table.columns.len());
        for (place, column) in table.columns.iter().enumerate() {
            values.push(
                read_value(column.kind, &row, place)
                    .map_err(|what| format!("column `{}`: {what}", column.postgres_name()))?,
            );
        }
        if let Some(full) = batch.push(values)
            && sender.send(Ok(full)).await.is_err()
        {
            return Ok(());
        }
    }
    _ = sender.send(Ok(batch.take())).await;
    Ok(())
}

/// As SQLite orders it: text by its bytes.
fn in_order(column: &Column) -> String {
    let name = quoted(column.postgres_name());
    if column.kind == ColumnKind::Text { format!("{name} COLLATE \"C\"") } else { name }
}

fn read_value(kind: ColumnKind, row: &tokio_postgres::Row, place: usize) -> Result<Value, String> {
    let value = match kind {
        ColumnKind::Number => row.try_get::<_, Option<i64>>(place).map_err(problem)?.map(Value::Number),
        ColumnKind::Flag => row.try_get::<_, Option<bool>>(place).map_err(problem)?.map(Value::Flag),
        ColumnKind::Text => row.try_get::<_, Option<String>>(place).map_err(problem)?.map(Value::Text),
        ColumnKind::RawText => {
            let bytes: Option<Vec<u8>> = row.try_get(place).map_err(problem)?;
            let text = bytes.map(String::from_utf8).transpose().map_err(|error| error.to_string())?;
            text.map(Value::Text)
        }
        ColumnKind::Bytes => row.try_get::<_, Option<Vec<u8>>>(place).map_err(problem)?.map(Value::Bytes),
        ColumnKind::Id => row.try_get::<_, Option<Uuid>>(place).map_err(problem)?.map(Value::Id),
    };
    Ok(value.unwrap_or(Value::Null))
}

fn type_of(kind: ColumnKind) -> Type {
    match kind {
        ColumnKind::Number => Type::INT8,
        ColumnKind::Flag => Type::BOOL,
        ColumnKind::Text => Type::TEXT,
        ColumnKind::RawText | ColumnKind::Bytes => Type::BYTEA,
        ColumnKind::Id => Type::UUID,
    }
}

fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

#[expect(clippy::needless_pass_by_value, reason = "used as a function for map_err")]
fn problem(error: tokio_postgres::Error) -> String {
    describe(&error)
}
