//! What is done about conversations that become too long for their model.

use std::num::NonZeroU64;

use helve_runtime::CompactionSettings;
use serde::Deserialize;

use super::file::names_of;
use super::models::ModelSettings;
use super::places::Places;
use crate::i18n::tr;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct CompactionTable {
    enabled: Option<bool>,
    at: Option<f64>,
    keep_recent_tokens: Option<NonZeroU64>,
    model: Option<String>,
}

pub(super) fn compaction(
    table: CompactionTable,
    models: &[ModelSettings],
    places: &Places,
) -> anyhow::Result<CompactionSettings> {
    let wrong = |key: &str, what: String| places.wrong(&["compaction", key], what);
    let default = CompactionSettings::default();
    let at = table.at.unwrap_or(default.at);
    if !(0.1..=1.0).contains(&at) {
        return Err(wrong("at", tr!("`{at}` is no share of what a model can read; use 0.1 to 1", at = at)));
    }
    if let Some(name) = &table.model
        && !models.iter().any(|model| model.name == *name)
    {
        let known = names_of(models);
        return Err(wrong(
            "model",
            tr!("there is no model `{name}`; the models are: {known}", name = name, known = known),
        ));
    }
    Ok(CompactionSettings {
        enabled: table.enabled.unwrap_or(default.enabled),
        at,
        keep_recent_tokens: table.keep_recent_tokens.map(NonZeroU64::get),
        model: table.model,
    })
}
