//! What an import changes about the tools that are there.
//!
//! What a document says wins over what an earlier version of it said. What a person added to a tool, its guards, its
//! timeout, whether it is switched on, stays.

use std::collections::{BTreeMap, BTreeSet};

use helve_types::{Endpoint, ToolDefinition};
use serde::Serialize;
use serde_json::{Value, json};

use super::Import;

/// Differences that are shown of one tool.
const FIELDS_MAX: usize = 30;

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

/// One field that is not as it was.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FieldChange {
    /// `parameters.properties.limit.maximum`.
    pub field: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub was: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<Value>,
}

/// An import beside the tools that exist.
#[derive(Debug, Clone, Default)]
pub struct Diff {
    /// In the order of the import's tools: the definition to keep, and what it means.
    pub tools: Vec<(ToolDefinition, Change)>,
    /// Tools of an earlier import that the document no longer makes.
    pub gone: Vec<String>,
}

/// Compares an import with the rows that are there. `other_names` are tools that are no rows.
pub fn diff(rows: &[ToolDefinition], other_names: &BTreeSet<String>, import: &Import) -> Diff {
    let rows_by_name: BTreeMap<&str, &ToolDefinition> =
        rows.iter().map(|row| (row.name.as_str(), row)).collect();
    let ours = |row: &ToolDefinition| row.tags.contains(&import.tag);
    let compared = import.tools.iter().map(|made| {
        let new = &made.definition;
        match rows_by_name.get(new.name.as_str()) {
            Some(row) if ours(row) => {
                let merged = merged(row, new);
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
    Diff { gone: gone.collect(), tools }
}

/// The document's part from the new definition, the person's from the old one.
fn merged(row: &ToolDefinition, new: &ToolDefinition) -> ToolDefinition {
    let mut tags = new.tags.clone();
    tags.extend(row.tags.iter().filter(|tag| !new.tags.contains(tag)).cloned());
    // The same tags in another order are the same tags.
    let same = tags.len() == row.tags.len();
    ToolDefinition {
        name: new.name.clone(),
        display_name: new.display_name.clone(),
        description: new.description.clone(),
        category: new.category.clone(),
        parameters: new.parameters.clone(),
        effect: new.effect,
        tags: if same { row.tags.clone() } else { tags },
        endpoint: Endpoint {
            timeout_ms: row.endpoint.timeout_ms,
            redirects: row.endpoint.redirects,
            idempotency_header: row.endpoint.idempotency_header.clone(),
            busy_is_not_done: row.endpoint.busy_is_not_done,
            ..new.endpoint.clone()
        },
        ..row.clone()
    }
}

fn differences(was: &ToolDefinition, now: &ToolDefinition) -> Vec<FieldChange> {
    let mut found = vec![];
    compare("", &json!(was), &json!(now), &mut found);
    found
}

/// Definitions are no deeper than their schemas may be.
fn compare(field: &str, was: &Value, now: &Value, found: &mut Vec<FieldChange>) {
    if was == now || found.len() >= FIELDS_MAX {
        return;
    }
    if let (Value::Object(old), Value::Object(new)) = (was, now) {
        let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        for name in names {
            let inside = if field.is_empty() { name.clone() } else { format!("{field}.{name}") };
            match (old.get(name), new.get(name)) {
                (Some(was), Some(now)) => compare(&inside, was, now, found),
                (was, now) if found.len() < FIELDS_MAX => {
                    found.push(FieldChange { field: inside, was: was.cloned(), now: now.cloned() });
                }
                _ => {}
            }
        }
        return;
    }
    found.push(FieldChange { field: field.to_owned(), was: Some(was.clone()), now: Some(now.clone()) });
}
