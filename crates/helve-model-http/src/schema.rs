//! A tool's schema as each vendor can take it, without losing what it says.
//!
//! Every vendor knows a part of JSON Schema and refuses the rest. What it knows is kept, what can be said in another
//! way is said so, and what remains is told in words: in the description of the field, or, where it is about all of
//! the arguments, as a note for the description of the tool. Arguments are always checked against the schema as it
//! was. Pure; knows nothing of tools or requests.

mod flat;
mod gemini;
mod strict;
mod words;

use std::borrow::Cow;

use serde_json::{Map, Value};

pub(crate) use self::gemini::for_gemini;
pub(crate) use self::strict::for_strict_openai;

/// A schema that a vendor takes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Adapted {
    pub(crate) schema: Value,
    /// What it could not say about the arguments as a whole.
    pub(crate) notes: Vec<String>,
}

/// Anthropic takes any schema of an object that is not a choice between several.
pub(crate) fn for_anthropic(schema: &Value) -> (Cow<'_, Value>, Vec<String>) {
    let is_choice = ["anyOf", "oneOf", "allOf", "$ref"].iter().any(|key| schema.get(key).is_some());
    if !is_choice && schema.get("type").is_some_and(|kind| kind == "object") {
        return (Cow::Borrowed(schema), vec![]);
    }
    let mut notes = vec![];
    let mut root = flat::Flat::new(schema).object(&mut notes);
    // Nested references still point there.
    for key in ["$defs", "definitions"] {
        if let Some(definitions) = schema.get(key) {
            root.insert(key.to_owned(), definitions.clone());
        }
    }
    (Cow::Owned(Value::Object(root)), notes)
}

/// A tool's description, and what its schema could not say.
pub(crate) fn with_notes<'a>(description: &'a str, notes: &[String]) -> Cow<'a, str> {
    if notes.is_empty() {
        return Cow::Borrowed(description);
    }
    let notes = cut(notes.iter().map(|note| note.trim_end_matches('.')).collect::<Vec<_>>().join("; "));
    Cow::Owned(if description.is_empty() {
        format!("Arguments: {notes}.")
    } else {
        format!("{description}\n\nArguments: {notes}.")
    })
}

/// Puts words behind the description of a field.
fn describe(node: &mut Map<String, Value>, words: &[String]) {
    if words.is_empty() {
        return;
    }
    let words = cut(words.join("; "));
    let text = match node.get("description").and_then(Value::as_str).unwrap_or_default() {
        "" => words,
        said => format!("{said} ({words})"),
    };
    node.insert("description".to_owned(), Value::String(text));
}

/// More words about one field than this help nobody.
const WORDS_BYTES_MAX: usize = 2_000;

fn cut(mut words: String) -> String {
    if words.len() > WORDS_BYTES_MAX {
        words.truncate(words.floor_char_boundary(WORDS_BYTES_MAX));
        words.push('…');
    }
    words
}

/// The types that a schema names, without `null`, and whether it named that, too.
fn kinds(node: &Map<String, Value>) -> (Vec<String>, bool) {
    let named: Vec<&str> = match node.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => vec![],
    };
    let null = named.contains(&"null") || node.get("nullable") == Some(&Value::Bool(true));
    (named.into_iter().filter(|kind| *kind != "null").map(str::to_owned).collect(), null)
}

fn kind_of(value: &Value) -> &'static str {
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
