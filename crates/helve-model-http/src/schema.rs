//! Adapts a tool's schema to the part of JSON Schema that a vendor accepts.
//!
//! Keywords that the vendor supports stay, others are rewritten if possible. The rest is put into words: in the description
//! of the field, or, if it is about all arguments, as a note for the description of the tool. Arguments are always checked
//! against the original schema. Pure; knows nothing of tools or requests.

mod flatten;
mod gemini;
mod strict;
mod words;

use std::borrow::Cow;

use serde_json::{Map, Value};

pub(crate) use self::gemini::adapt_for_gemini;
pub(crate) use self::strict::adapt_for_strict_openai;

/// A schema that a vendor accepts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Adapted {
    pub(crate) schema: Value,
    /// What the schema cannot express about the arguments as a whole.
    pub(crate) notes: Vec<String>,
}

/// Anthropic accepts any schema of an object whose root is not a choice.
pub(crate) fn adapt_for_anthropic(schema: &Value) -> (Cow<'_, Value>, Vec<String>) {
    let is_choice = ["anyOf", "oneOf", "allOf", "$ref"].iter().any(|key| schema.get(key).is_some());
    if !is_choice && schema.get("type").is_some_and(|kind| kind == "object") {
        return (Cow::Borrowed(schema), vec![]);
    }
    let mut notes = vec![];
    let mut root = flatten::SchemaFlattener::new(schema).flatten_root(&mut notes);
    // Nested references point to the definitions.
    for key in ["$defs", "definitions"] {
        if let Some(definitions) = schema.get(key) {
            root.insert(key.to_owned(), definitions.clone());
        }
    }
    (Cow::Owned(Value::Object(root)), notes)
}

/// The description of a tool with the notes on its schema.
pub(crate) fn append_notes<'a>(description: &'a str, notes: &[String]) -> Cow<'a, str> {
    if notes.is_empty() {
        return Cow::Borrowed(description);
    }
    let notes = truncate(notes.iter().map(|note| note.trim_end_matches('.')).collect::<Vec<_>>().join("; "));
    Cow::Owned(if description.is_empty() {
        format!("Arguments: {notes}.")
    } else {
        format!("{description}\n\nArguments: {notes}.")
    })
}

/// Appends words to the description of a field.
fn add_to_description(node: &mut Map<String, Value>, words: &[String]) {
    if words.is_empty() {
        return;
    }
    let words = truncate(words.join("; "));
    let text = match node.get("description").and_then(Value::as_str).unwrap_or_default() {
        "" => words,
        description => format!("{description} ({words})"),
    };
    node.insert("description".to_owned(), Value::String(text));
}

/// A model does not profit from longer descriptions.
const WORDS_BYTES_MAX: usize = 2_000;

fn truncate(mut words: String) -> String {
    if words.len() > WORDS_BYTES_MAX {
        words.truncate(words.floor_char_boundary(WORDS_BYTES_MAX));
        words.push('…');
    }
    words
}

/// The types of a schema without `null`, and whether `null` is among them.
fn read_types(node: &Map<String, Value>) -> (Vec<String>, bool) {
    let named: Vec<&str> = match node.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => vec![],
    };
    let null = named.contains(&"null") || node.get("nullable") == Some(&Value::Bool(true));
    (named.into_iter().filter(|kind| *kind != "null").map(str::to_owned).collect(), null)
}

fn json_type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::String(_) => "string",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::Bool(_) => "boolean",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests;
