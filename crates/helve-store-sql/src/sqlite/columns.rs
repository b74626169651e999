//! Between rows and records: ids as blobs, enums as words, structures as JSON.

use std::str::FromStr;

use helve_store::StoreError;
use rusqlite::types::FromSqlError;
use rusqlite::{CachedStatement, Connection, Params, Row};
use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use super::unavailable;

pub(super) fn prepare<'a>(connection: &'a Connection, sql: &str) -> Result<CachedStatement<'a>, StoreError> {
    connection.prepare_cached(sql).map_err(unavailable)
}

pub(super) fn execute(connection: &Connection, sql: &str, params: impl Params) -> Result<usize, StoreError> {
    prepare(connection, sql)?.execute(params).map_err(unavailable)
}

/// The first row, if there is one.
pub(super) fn first<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnOnce(&Row<'_>) -> Result<T, StoreError>,
) -> Result<Option<T>, StoreError> {
    let mut statement = prepare(connection, sql)?;
    let mut rows = statement.query(params).map_err(unavailable)?;
    rows.next().map_err(unavailable)?.map(read).transpose()
}

pub(super) fn all<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    mut read: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut statement = prepare(connection, sql)?;
    let mut rows = statement.query(params).map_err(unavailable)?;
    let mut found = vec![];
    while let Some(row) = rows.next().map_err(unavailable)? {
        found.push(read(row)?);
    }
    Ok(found)
}

pub(super) fn column<T: rusqlite::types::FromSql>(row: &Row<'_>, name: &str) -> Result<T, StoreError> {
    row.get(name).map_err(unavailable)
}

/// An id that is stored as 16 bytes.
pub(super) fn id_column<T>(row: &Row<'_>, name: &str, make: fn(Uuid) -> T) -> Result<T, StoreError> {
    let bytes: [u8; 16] = column(row, name)?;
    Ok(make(Uuid::from_bytes(bytes)))
}

pub(super) fn optional_id_column<T>(
    row: &Row<'_>,
    name: &str,
    make: fn(Uuid) -> T,
) -> Result<Option<T>, StoreError> {
    let bytes: Option<[u8; 16]> = column(row, name)?;
    Ok(bytes.map(|bytes| make(Uuid::from_bytes(bytes))))
}

/// A word that names a variant.
pub(super) fn word_column<T>(
    row: &Row<'_>,
    name: &str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<T, StoreError> {
    let text = row.get_ref(name).map_err(unavailable)?;
    let text = text.as_str().map_err(|error: FromSqlError| damaged(name, &error))?;
    parse(text).ok_or_else(|| damaged(name, &text))
}

pub(super) fn text_id_column<T: FromStr>(row: &Row<'_>, name: &str) -> Result<T, StoreError> {
    word_column(row, name, |text| text.parse().ok())
}

pub(super) fn json_column<T: DeserializeOwned>(row: &Row<'_>, name: &str) -> Result<T, StoreError> {
    let text = row.get_ref(name).map_err(unavailable)?;
    let text = text.as_str().map_err(|error: FromSqlError| damaged(name, &error))?;
    serde_json::from_str(text).map_err(|error| damaged(name, &error))
}

pub(super) fn to_json(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Unavailable(error.to_string()))
}

fn damaged(column: &str, what: &dyn std::fmt::Display) -> StoreError {
    StoreError::Unavailable(format!("column `{column}` cannot be read: {what}"))
}
