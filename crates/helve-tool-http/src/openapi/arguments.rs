//! The one object that a model fills in, gathered from wherever the document wants its fields.

use std::collections::{BTreeMap, BTreeSet};

use helve_types::BodyFormat;
use serde_json::{Map, Value, json};

use super::names::{NAME_CHARS_MAX, to_identifier};

/// A tool's parameters and where each of them goes, while they are being put together.
#[derive(Debug, Default)]
pub(super) struct ArgumentsDraft {
    pub(super) arguments: OperationArguments,
    /// The name in the document's path and the argument that stands for it.
    pub(super) path: BTreeMap<String, String>,
    pub(super) query: BTreeMap<String, String>,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Option<Value>,
    pub(super) body_format: BodyFormat,
    pub(super) notes: BTreeSet<String>,
}

#[derive(Debug, Default)]
pub(super) struct OperationArguments {
    properties: Map<String, Value>,
    required: BTreeSet<String>,
}

impl OperationArguments {
    /// Adds one under a name that models can say and that is not taken yet, and gives the name back.
    pub(super) fn add_argument(
        &mut self,
        wanted: &str,
        from: &str,
        mut schema: Value,
        needed: bool,
    ) -> String {
        let name = self.find_free_name(wanted, from);
        default_in_words(&mut schema);
        self.properties.insert(name.clone(), schema);
        if needed {
            self.required.insert(name.clone());
        }
        name
    }

    /// Whether a field could have its own name.
    pub(super) fn is_free(&self, wanted: &str) -> bool {
        !self.properties.contains_key(&provenance_note(wanted, ""))
    }

    fn find_free_name(&self, wanted: &str, from: &str) -> String {
        let plain = provenance_note(wanted, from);
        if !self.properties.contains_key(&plain) {
            return plain;
        }
        let with_place: String = format!("{from}_{plain}").chars().take(NAME_CHARS_MAX).collect();
        let short: String = plain.chars().take(NAME_CHARS_MAX - 8).collect();
        let numbered = (2..).map(|number: usize| format!("{short}_{number}"));
        let mut candidates = std::iter::once(with_place).chain(numbered);
        candidates.find(|name| !self.properties.contains_key(name)).unwrap_or(plain)
    }

    pub(super) fn into_schema(self) -> Value {
        let mut schema = json!({"type": "object", "properties": self.properties});
        if !self.required.is_empty() {
            schema["required"] = json!(self.required);
        }
        schema["additionalProperties"] = false.into();
        schema
    }
}

/// The default is what the other side assumes. A tool would send it, and a change that names one field would set all
/// others back; so it is told and not written as one.
fn default_in_words(schema: &mut Value) {
    let Some(schema) = schema.as_object_mut() else { return };
    if let Some(default) = schema.remove("default") {
        super::schema::append_note(schema, &format!("(Default: {default}.)"));
    }
}

fn provenance_note(wanted: &str, from: &str) -> String {
    let name = to_identifier(wanted);
    if !name.is_empty() {
        name
    } else if from.is_empty() {
        "value".into()
    } else {
        from.into()
    }
}

/// The placeholder that an argument is filled in for.
pub(super) fn placeholder(argument: &str) -> String {
    format!("{{{argument}}}")
}
