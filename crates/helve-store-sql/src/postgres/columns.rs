//! Between rows and records: numbers as BIGINT, enums as words, structures as JSON.

use std::borrow::Cow;
use std::error::Error as _;
use std::str::FromStr;

use deadpool_postgres::StatementCache;
use helve_store::StoreError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{FromSql, ToSql};
use tokio_postgres::{Client, Row};

pub(super) type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

/// A connection with its prepared statements, inside a transaction or not.
pub(super) struct Db<'a> {
    pub(super) client: &'a Client,
    pub(super) statements: &'a StatementCache,
}

impl Db<'_> {
    /// How many rows were changed.
    pub(super) async fn execute(&self, sql: &str, values: Values<'_>) -> Result<u64, StoreError> {
        let statement = self.statements.prepare(self.client, sql).await.map_err(unavailable)?;
        self.client.execute(&statement, values).await.map_err(unavailable)
    }

    pub(super) async fn all(&self, sql: &str, values: Values<'_>) -> Result<Vec<Row>, StoreError> {
        let statement = self.statements.prepare(self.client, sql).await.map_err(unavailable)?;
        self.client.query(&statement, values).await.map_err(unavailable)
    }

    /// The first row, if there is one.
    pub(super) async fn first(&self, sql: &str, values: Values<'_>) -> Result<Option<Row>, StoreError> {
        let statement = self.statements.prepare(self.client, sql).await.map_err(unavailable)?;
        self.client.query_opt(&statement, values).await.map_err(unavailable)
    }

    /// Waits until no other transaction that has named the same thing is open.
    pub(super) async fn lock(&self, name: &str) -> Result<(), StoreError> {
        let sql = "SELECT pg_advisory_xact_lock(hashtext(current_schema()), hashtext($1))";
        self.first(sql, &[&replace_nul(name)]).await?;
        Ok(())
    }
}

/// Conditions of a statement, put together from fixed pieces. Every value is bound: `{}` is where its number goes.
#[derive(Default)]
pub(super) struct Conditions<'a> {
    text: String,
    values: Vec<&'a (dyn ToSql + Sync)>,
}

impl<'a> Conditions<'a> {
    pub(super) fn add_condition(&mut self, clause: &str, values: &[&'a (dyn ToSql + Sync)]) {
        self.text.push_str(if self.text.is_empty() { " WHERE " } else { " AND " });
        self.push_clause(clause, values);
    }

    /// Ends the statement with what is no condition.
    pub(super) fn push_clause(&mut self, clause: &str, values: &[&'a (dyn ToSql + Sync)]) {
        let mut values = values.iter();
        for (number, piece) in clause.split("{}").enumerate() {
            if number > 0
                && let Some(value) = values.next()
            {
                self.values.push(*value);
                self.text.push_str(&format!("${}", self.values.len()));
            }
            self.text.push_str(piece);
        }
    }

    pub(super) fn append_to(&self, select: &str) -> String {
        format!("{select}{}", self.text)
    }

    pub(super) fn values(&self) -> Values<'_> {
        &self.values
    }
}

/// Text that comes from outside. No TEXT of PostgreSQL can hold U+0000, and a fact must not be lost for it: the log,
/// which is JSON, has the character; the row beside it has its replacement.
pub(super) fn replace_nul(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', "\u{FFFD}")) } else { Cow::Borrowed(text) }
}

/// A count as a BIGINT.
pub(super) fn to_bigint(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

pub(super) fn column<'a, T: FromSql<'a>>(row: &'a Row, name: &str) -> Result<T, StoreError> {
    row.try_get(name).map_err(unavailable)
}

pub(super) fn number<T: TryFrom<i64>>(row: &Row, name: &str) -> Result<T, StoreError> {
    let value: i64 = column(row, name)?;
    T::try_from(value).map_err(|_| damaged(name, &value))
}

pub(super) fn optional_number<T: TryFrom<i64>>(row: &Row, name: &str) -> Result<Option<T>, StoreError> {
    let value: Option<i64> = column(row, name)?;
    value.map(|value| T::try_from(value).map_err(|_| damaged(name, &value))).transpose()
}

/// A word that names a variant.
pub(super) fn word_column<T>(
    row: &Row,
    name: &str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<T, StoreError> {
    let text: &str = column(row, name)?;
    parse(text).ok_or_else(|| damaged(name, &text))
}

pub(super) fn text_id_column<T: FromStr>(row: &Row, name: &str) -> Result<T, StoreError> {
    word_column(row, name, |text| text.parse().ok())
}

pub(super) fn json_column<T: DeserializeOwned>(row: &Row, name: &str) -> Result<T, StoreError> {
    let text: &str = column(row, name)?;
    serde_json::from_str(text).map_err(|error| damaged(name, &error))
}

pub(super) fn to_json(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Unavailable(error.to_string()))
}

pub(super) fn damaged(column: &str, what: &dyn std::fmt::Display) -> StoreError {
    StoreError::Unavailable(format!("column `{column}` cannot be read: {what}"))
}

#[expect(clippy::needless_pass_by_value, reason = "used as a function for map_err")]
pub(super) fn unavailable(error: tokio_postgres::Error) -> StoreError {
    let full = error.code() == Some(&SqlState::DISK_FULL);
    let hint = if full { " (free some space on the database server; nothing is lost)" } else { "" };
    StoreError::Unavailable(format!("{}{hint}", describe(&error)))
}

/// What the server says, or why it says nothing. Neither names the password.
pub(super) fn describe(error: &tokio_postgres::Error) -> String {
    if let Some(said) = error.as_db_error() {
        return format!("PostgreSQL: {} ({})", said.message(), said.code().code());
    }
    let mut text = format!("PostgreSQL: {error}");
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}
