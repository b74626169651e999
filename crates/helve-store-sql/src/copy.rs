//! Copies a database, from SQLite to PostgreSQL and back: every row of every table, in one transaction of the target.
//!
//! Before that transaction is committed both sides are read again in the order of their keys, and every column of every
//! row is compared. A difference, an error or the end of the process leaves the target as empty as it was. Rows are read
//! in batches, so memory does not grow with the database.

mod tables;
mod value;

use std::path::PathBuf;

use helve_types::Timestamp;

pub(crate) use self::tables::{Column, ColumnKind, StoredTable, TABLES};
pub(crate) use self::value::{BATCHES_WAITING, Batch, BatchSender, Batches, Row, Value};
use self::value::{Rows, replace_nul};
use crate::postgres::PostgresCopy;
use crate::sqlite::SqliteCopy;
use crate::{DataDirError, OpenError, PostgresError, PostgresSettings};

/// So many rows are compared before the progress is told again.
const COMPARED_TOLD: u64 = 500;

/// Where a database is.
#[derive(Debug, Clone)]
pub enum DatabasePlace {
    /// The data directory that holds it.
    Sqlite(PathBuf),
    Postgres(Box<PostgresSettings>),
}

#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    #[error("there is no database in `{place}`")]
    NoDatabase { place: String },

    #[error(
        "the database `{place}` has the layout of an older Helve; bring it up to date with `helve db migrate`"
    )]
    Behind { place: String },

    #[error("the database `{place}` is not empty: its table `{table}` has rows; copy to a new one")]
    NotEmpty { place: String, table: &'static str },

    #[error("the table `{table}` cannot be read from `{place}`: {problem}")]
    Read { place: String, table: &'static str, problem: String },

    #[error("the table `{table}` cannot be written to `{place}`, and nothing was kept: {problem}")]
    Write { place: String, table: &'static str, problem: String },

    #[error("the copy differs in the table `{table}`, row {row}, column `{column}`; nothing was kept")]
    Differs { table: &'static str, row: String, column: &'static str },

    #[error(
        "the copy has another number of rows in the table `{table}`, from row {row} on; nothing was kept"
    )]
    OtherRows { table: &'static str, row: String },

    #[error(
        "the copy cannot be committed to `{place}`, and nothing was kept unless the connection broke just then: {problem}"
    )]
    Commit { place: String, problem: String },

    #[error(transparent)]
    DataDir(#[from] DataDirError),

    #[error(transparent)]
    Open(#[from] OpenError),

    #[error(transparent)]
    Postgres(#[from] PostgresError),
}

/// What is being done to a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyStep {
    Copying,
    Comparing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyProgress {
    pub step: CopyStep,
    pub table: &'static str,
    /// So far.
    pub rows: u64,
    /// The step is over for this table.
    pub is_done: bool,
}

/// What was copied and compared.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct CopyReport {
    pub tables: Vec<TableRows>,
    /// Values in which U+0000, which PostgreSQL cannot hold, became U+FFFD.
    pub replaced: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct TableRows {
    pub table: &'static str,
    pub rows: u64,
}

impl CopyReport {
    pub fn rows(&self) -> u64 {
        self.tables.iter().map(|table| table.rows).sum()
    }
}

/// Copies all rows to an empty database. No server may use either.
pub async fn copy_database(
    from: &DatabasePlace,
    to: &DatabasePlace,
    now: Timestamp,
    tell: impl FnMut(CopyProgress),
) -> Result<CopyReport, CopyError> {
    let source = match from {
        DatabasePlace::Sqlite(data) => Side::Sqlite(SqliteCopy::open_source(data)?),
        DatabasePlace::Postgres(settings) => Side::Postgres(PostgresCopy::open_source(settings).await?),
    };
    copy_between(source, to, now, tell).await
}

/// Copies what one moment had to a new database of SQLite, while a server may be writing to the original.
pub async fn snapshot_postgres(
    from: &PostgresSettings,
    to: PathBuf,
    now: Timestamp,
    tell: impl FnMut(CopyProgress),
) -> Result<CopyReport, CopyError> {
    let source = Side::Postgres(PostgresCopy::open_snapshot(from).await?);
    copy_between(source, &DatabasePlace::Sqlite(to), now, tell).await
}

async fn copy_between(
    source: Side,
    to: &DatabasePlace,
    now: Timestamp,
    mut tell: impl FnMut(CopyProgress),
) -> Result<CopyReport, CopyError> {
    let target = match to {
        DatabasePlace::Sqlite(data) => Side::Sqlite(SqliteCopy::open_target(data, now)?),
        DatabasePlace::Postgres(settings) => Side::Postgres(PostgresCopy::open_target(settings, now).await?),
    };
    target.check_empty().await?;
    let mut copying = Copying { source, target, replaced: 0 };
    let mut report = CopyReport { tables: vec![], replaced: 0 };
    for table in TABLES {
        let rows = copying.copy_table(table, &mut tell).await?;
        report.tables.push(TableRows { table: table.name, rows });
    }
    report.replaced = copying.replaced;
    for table in TABLES {
        copying.compare_table(table, &mut tell).await?;
    }
    copying.target.commit().await?;
    Ok(report)
}

enum Side {
    Sqlite(SqliteCopy),
    Postgres(PostgresCopy),
}

impl Side {
    fn place(&self) -> String {
        match self {
            Self::Sqlite(side) => side.place(),
            Self::Postgres(side) => side.place(),
        }
        .to_owned()
    }

    async fn check_empty(&self) -> Result<(), CopyError> {
        let found = match self {
            Self::Sqlite(side) => side.find_rows().await,
            Self::Postgres(side) => side.find_rows().await,
        };
        match found.map_err(|problem| self.cannot_read(TABLES[0].name, problem))? {
            Some(table) => Err(CopyError::NotEmpty { place: self.place(), table }),
            None => Ok(()),
        }
    }

    async fn clear(&self, table: &'static StoredTable) -> Result<(), String> {
        match self {
            Self::Sqlite(side) => side.clear(table).await,
            Self::Postgres(side) => side.clear(table).await,
        }
    }

    fn read_rows(&self, table: &'static StoredTable) -> Batches {
        match self {
            Self::Sqlite(side) => side.read_rows(table),
            Self::Postgres(side) => side.read_rows(table),
        }
    }

    async fn commit(self) -> Result<(), CopyError> {
        let place = self.place();
        let committed = match self {
            Self::Sqlite(side) => side.commit().await,
            Self::Postgres(side) => side.commit().await,
        };
        committed.map_err(|problem| CopyError::Commit { place, problem })
    }

    fn cannot_read(&self, table: &'static str, problem: String) -> CopyError {
        CopyError::Read { place: self.place(), table, problem }
    }

    fn cannot_write(&self, table: &'static str, problem: String) -> CopyError {
        CopyError::Write { place: self.place(), table, problem }
    }
}

struct Copying {
    source: Side,
    target: Side,
    replaced: u64,
}

impl Copying {
    /// How many rows the table has.
    async fn copy_table(
        &mut self,
        table: &'static StoredTable,
        tell: &mut impl FnMut(CopyProgress),
    ) -> Result<u64, CopyError> {
        let cannot_write = |problem| self.target.cannot_write(table.name, problem);
        if !table.must_be_empty() {
            self.target.clear(table).await.map_err(cannot_write)?;
        }
        let mut progress =
            CopyProgress { step: CopyStep::Copying, table: table.name, rows: 0, is_done: false };
        tell(progress);
        let mut writer = match &self.target {
            Side::Sqlite(_) => None,
            Side::Postgres(side) => Some(side.table_writer(table).await.map_err(cannot_write)?),
        };
        let mut batches = self.source.read_rows(table);
        while let Some(batch) = batches.recv().await {
            let mut rows = batch.map_err(|problem| self.source.cannot_read(table.name, problem))?;
            progress.rows += rows.len() as u64;
            let written = match (&self.target, &mut writer) {
                (Side::Postgres(_), Some(writer)) => {
                    self.replaced += rows.iter_mut().map(|row| replace_nul(table, row)).sum::<u64>();
                    writer.write_rows(&rows).await
                }
                (Side::Sqlite(side), _) => side.write_rows(table, rows).await,
                (Side::Postgres(_), None) => Ok(()),
            };
            written.map_err(cannot_write)?;
            tell(progress);
        }
        if let (Side::Postgres(side), Some(writer)) = (&self.target, writer) {
            writer.finish().await.map_err(cannot_write)?;
            side.set_next_number(table).await.map_err(cannot_write)?;
        }
        tell(CopyProgress { is_done: true, ..progress });
        Ok(progress.rows)
    }

    /// Reads both sides again and compares every column.
    async fn compare_table(
        &self,
        table: &'static StoredTable,
        tell: &mut impl FnMut(CopyProgress),
    ) -> Result<(), CopyError> {
        let mut progress =
            CopyProgress { step: CopyStep::Comparing, table: table.name, rows: 0, is_done: false };
        tell(progress);
        let mut originals = Rows::new(self.source.read_rows(table));
        let mut copies = Rows::new(self.target.read_rows(table));
        loop {
            let original = originals.next().await;
            let mut original = original.map_err(|problem| self.source.cannot_read(table.name, problem))?;
            let copy = copies.next().await;
            let copy = copy.map_err(|problem| self.target.cannot_read(table.name, problem))?;
            if let (Side::Postgres(_), Some(row)) = (&self.target, &mut original) {
                replace_nul(table, row);
            }
            match (original, copy) {
                (Some(original), Some(copy)) => compare_rows(table, &original, &copy)?,
                (None, None) => break,
                (Some(row), None) | (None, Some(row)) => {
                    return Err(CopyError::OtherRows { table: table.name, row: table.show_key(&row) });
                }
            }
            progress.rows += 1;
            if progress.rows.is_multiple_of(COMPARED_TOLD) {
                tell(progress);
            }
        }
        tell(CopyProgress { is_done: true, ..progress });
        Ok(())
    }
}

fn compare_rows(table: &'static StoredTable, original: &Row, copy: &Row) -> Result<(), CopyError> {
    let columns = table.columns.iter().zip(original.iter().zip(copy));
    for (column, (one, other)) in columns {
        if one == other {
            continue;
        }
        let row = table.show_key(original);
        return Err(if table.key.contains(&column.name) {
            CopyError::OtherRows { table: table.name, row }
        } else {
            CopyError::Differs { table: table.name, row, column: column.name }
        });
    }
    Ok(())
}

impl StoredTable {
    /// Before a copy. Settings are replaced: whoever opens a database leaves some.
    pub(crate) fn must_be_empty(&self) -> bool {
        self.name != tables::SETTINGS
    }

    /// The values of the key, for people.
    fn show_key(&self, row: &Row) -> String {
        let is_key = |name: &&str| self.key.contains(name);
        let columns = self.columns.iter().zip(row).filter(|(column, _)| is_key(&column.name));
        let values: Vec<String> = columns.map(|(_, value)| value.to_string()).collect();
        values.join(", ")
    }
}
