//! Two definitions side by side, field by field.

use std::collections::BTreeSet;

use helve_types::ToolDefinition;
use serde::Serialize;
use serde_json::{Value, json};

/// Differences that are shown of one tool.
const FIELDS_MAX: usize = 30;

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

/// What is not the same, in the order of the fields' names.
pub fn differences(was: &ToolDefinition, now: &ToolDefinition) -> Vec<FieldChange> {
    value_differences(&json!(was), &json!(now))
}

/// The same of any two definitions.
pub fn value_differences(was: &Value, now: &Value) -> Vec<FieldChange> {
    let mut found = vec![];
    compare("", was, now, &mut found);
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
