//! What an import changes about the tools that are there.
//!
//! What a document says wins over what an earlier version of it said. What a person added to a tool, its guards, its
//! timeout, whether it is switched on, stays; so does an effect or a secret that no import would have given it.

use std::collections::{BTreeMap, BTreeSet};

use helve_tool::{FieldChange, differences};
use helve_types::{Effect, Endpoint, ToolDefinition};
use serde::Serialize;
use serde_json::json;

use super::Import;
use super::operation::method_effect;

/// What becomes of one tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Change {
    Added,
    Changed {
        fields: Vec<FieldChange>,
    },
    Unchanged,
    /// The name belongs to a tool that no import of this document made.
    Taken,
}

/// An import beside the tools that exist.
#[derive(Debug, Clone, Default)]
pub struct Diff {
    /// In the order of the import's tools: the definition to keep, and what it means.
    pub tools: Vec<(ToolDefinition, Change)>,
    /// Tools of an earlier import that the document no longer makes.
    pub gone: Vec<String>,
    /// By the tool's name: what a person chose and what stays although the document says otherwise.
    pub stays: BTreeMap<String, Vec<String>>,
}

/// Compares an import with the rows that are there. `other_names` are tools that are no rows.
pub fn compare_import(rows: &[ToolDefinition], other_names: &BTreeSet<String>, import: &Import) -> Diff {
    let rows_by_name: BTreeMap<&str, &ToolDefinition> =
        rows.iter().map(|row| (row.name.as_str(), row)).collect();
    let ours = |row: &ToolDefinition| row.tags.contains(&import.tag);
    let mut stays = BTreeMap::new();
    let compared = import.tools.iter().map(|made| {
        let new = &made.definition;
        match rows_by_name.get(new.name.as_str()) {
            Some(row) if ours(row) => {
                let (merged, kept) = merge_definitions(row, new, &import.secrets_of);
                if !kept.is_empty() {
                    stays.insert(new.name.clone(), kept);
                }
                let fields = differences(row, &merged);
                let change = if fields.is_empty() { Change::Unchanged } else { Change::Changed { fields } };
                (merged, change)
            }
            Some(_) => (new.clone(), Change::Taken),
            None if other_names.contains(&new.name) => (new.clone(), Change::Taken),
            None => (new.clone(), Change::Added),
        }
    });
    let tools: Vec<_> = compared.collect();
    let made: BTreeSet<&str> = import.tools.iter().map(|made| made.definition.name.as_str()).collect();
    let gone = rows
        .iter()
        .filter(|row| {
            ours(row) && !made.contains(row.name.as_str()) && !import.unselected.contains(&row.name)
        })
        .map(|row| row.name.clone());
    Diff { gone: gone.collect(), tools, stays }
}

/// The document's part from the new definition, the person's from the old one; and what of the document's was therefore
/// left out.
fn merge_definitions(
    row: &ToolDefinition,
    new: &ToolDefinition,
    secrets_of: &str,
) -> (ToolDefinition, Vec<String>) {
    let mut kept = vec![];
    let own_effect = own_effect(row, new);
    if let Some(own) = own_effect {
        let (own, said) = (json!(own), json!(new.effect()));
        kept.push(format!("its effect stays {own}, as it was chosen; the document says {said}"));
    }
    let keeps_auth = has_own_secret(row, secrets_of) && row.endpoint.auth != new.endpoint.auth;
    if keeps_auth {
        kept.push("its `auth` stays, since it was given a secret of its own".into());
    }
    let mut tags = new.tags.clone();
    tags.extend(row.tags.iter().filter(|tag| !new.tags.contains(tag)).cloned());
    // The same tags in another order are the same tags.
    let same = tags.len() == row.tags.len();
    let auth = if keeps_auth { &row.endpoint.auth } else { &new.endpoint.auth };
    let merged = ToolDefinition {
        name: new.name.clone(),
        display_name: new.display_name.clone(),
        description: new.description.clone(),
        category: new.category.clone(),
        parameters: new.parameters.clone(),
        effect: own_effect.or(new.effect),
        tags: if same { row.tags.clone() } else { tags },
        endpoint: Endpoint {
            timeout_ms: row.endpoint.timeout_ms,
            redirects: row.endpoint.redirects,
            idempotency_header: row.endpoint.idempotency_header.clone(),
            caller: row.endpoint.caller.clone(),
            busy_is_not_done: row.endpoint.busy_is_not_done,
            auth: auth.clone(),
            ..new.endpoint.clone()
        },
        ..row.clone()
    };
    (merged, kept)
}

/// The effect that a person gave the row, if it is to stay. An import goes by the method alone, so that another effect is
/// the operator's; for another method that is no reason to make it lighter.
fn own_effect(row: &ToolDefinition, new: &ToolDefinition) -> Option<Effect> {
    let (own, said) = (row.effect(), new.effect());
    let is_own = own != method_effect(row.endpoint.method);
    let stays = row.endpoint.method == new.endpoint.method || effect_weight(own) > effect_weight(said);
    (is_own && stays && own != said).then_some(own)
}

fn effect_weight(effect: Effect) -> u8 {
    match effect {
        Effect::Read => 0,
        Effect::Idempotent => 1,
        Effect::NonIdempotent => 2,
    }
}

/// Whether the row has a secret that no import of this document would name.
fn has_own_secret(row: &ToolDefinition, secrets_of: &str) -> bool {
    let Some((secret, _)) = row.endpoint.auth.secret() else { return false };
    let of_import = secret.strip_prefix(secrets_of);
    !of_import.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
}
