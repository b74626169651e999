//! What models were found to do.

use helve_store::StoreError;
use helve_types::ModelProfile;
use rusqlite::{Connection, params};

use crate::sqlite::columns::{all, column, execute, json_column, to_json};

pub(crate) fn save(connection: &Connection, model: &str, profile: &ModelProfile) -> Result<(), StoreError> {
    execute(
        connection,
        "INSERT OR REPLACE INTO model_profiles (model, at, body) VALUES (?1, ?2, ?3)",
        params![model, profile.at.0, to_json(profile)?],
    )?;
    Ok(())
}

pub(crate) fn all_profiles(connection: &Connection) -> Result<Vec<(String, ModelProfile)>, StoreError> {
    all(connection, "SELECT * FROM model_profiles ORDER BY model", [], |row| {
        Ok((column(row, "model")?, json_column(row, "body")?))
    })
}
