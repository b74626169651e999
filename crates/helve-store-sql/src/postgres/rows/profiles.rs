//! What models were found to do.

use helve_store::StoreError;
use helve_types::ModelProfile;

use crate::postgres::columns::{Db, column, json_column, replace_nul, to_json};

pub(super) async fn save(db: &Db<'_>, model: &str, profile: &ModelProfile) -> Result<(), StoreError> {
    db.execute(
        "INSERT INTO model_profiles (model, at, body) VALUES ($1, $2, $3)
         ON CONFLICT (model) DO UPDATE SET at = excluded.at, body = excluded.body",
        &[&replace_nul(model), &profile.at.0, &to_json(profile)?],
    )
    .await
    .map(drop)
}

pub(super) async fn all_profiles(db: &Db<'_>) -> Result<Vec<(String, ModelProfile)>, StoreError> {
    let rows = db.all("SELECT * FROM model_profiles ORDER BY model", &[]).await?;
    rows.iter().map(|row| Ok((column(row, "model")?, json_column(row, "body")?))).collect()
}
