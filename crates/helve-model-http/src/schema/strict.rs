//! For OpenAI's strict mode: every field required, nothing besides them, and the server holds the model to it.
//!
//! What may be left out is null instead. A schema with keys that are not known beforehand cannot be held to and is
//! none of ours: its tool is declared as always.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::flat::{Flat, names};
use super::{Adapted, describe, kind_of, kinds, words};

/// What has a place of its own below.
const KNOWN: &[&str] = &[
    "type",
    "title",
    "enum",
    "const",
    "anyOf",
    "oneOf",
    "$ref",
    "properties",
    "required",
    "items",
    "additionalProperties",
];

/// What strict mode understands as it stands.
const PASSED: &[&str] = &[
    "description",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
];

const FORMATS: &[&str] =
    &["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

/// Keys that are not known beforehand, and places in a list.
const BEYOND: &[&str] = &["patternProperties", "prefixItems"];

/// How deep; the vendor allows ten levels.
const DEPTH_MAX: usize = 10;

/// How many fields; more than any tool has.
const FIELDS_MAX: usize = 2_000;

/// None where strict mode cannot say what the schema says.
pub(crate) fn for_strict_openai(schema: &Value) -> Option<Adapted> {
    let is_choice = ["anyOf", "oneOf", "$ref"].iter().any(|keyword| schema.get(keyword).is_some());
    if is_choice || schema.get("type").is_none_or(|kind| kind != "object") {
        return None;
    }
    let mut walk = Walk { flat: Flat::new(schema), depth: 0, fields: 0 };
    let mut notes = vec![];
    let mut made = walk.node(schema, &mut notes)?;
    for key in ["$defs", "definitions"] {
        let Some(definitions) = schema.get(key).and_then(Value::as_object) else { continue };
        let mut adapted = Map::new();
        for (name, definition) in definitions {
            adapted.insert(name.clone(), walk.field(definition)?);
        }
        made.insert(key.to_owned(), Value::Object(adapted));
    }
    Some(Adapted { schema: Value::Object(made), notes })
}

struct Walk<'a> {
    /// One for all combinations, so that they have one bound together.
    flat: Flat<'a>,
    depth: usize,
    fields: usize,
}

impl Walk<'_> {
    fn field(&mut self, schema: &Value) -> Option<Value> {
        if self.depth >= DEPTH_MAX || self.fields >= FIELDS_MAX {
            return None;
        }
        self.depth += 1;
        self.fields += 1;
        let mut words = vec![];
        let made = self.node(schema, &mut words);
        self.depth -= 1;
        let mut made = made?;
        describe(&mut made, &words);
        // A reference stands alone.
        if made.len() > 1
            && let Some(reference) = made.remove("$ref")
        {
            made.insert("anyOf".to_owned(), json!([{"$ref": reference}]));
        }
        Some(Value::Object(made))
    }

    fn node(&mut self, schema: &Value, words: &mut Vec<String>) -> Option<Map<String, Value>> {
        if BEYOND.iter().any(|keyword| schema.get(keyword).is_some()) {
            return None;
        }
        let given = match schema.get("allOf") {
            None => Cow::Borrowed(schema.as_object()?),
            Some(_) => Cow::Owned(self.flat.enter(schema, |_, whole| whole)?),
        };
        let format = given.get("format").filter(|format| FORMATS.iter().any(|known| *format == known));
        let told = KNOWN.iter().chain(PASSED).copied().chain(format.map(|_| "format")).collect::<Vec<_>>();
        words.extend(words::untold(&given, &told));
        let passed = PASSED.iter().filter_map(|keyword| Some((*keyword, given.get(*keyword)?)));
        let passed = passed.chain(format.map(|format| ("format", format)));
        let mut made: Map<_, _> = passed.map(|(key, value)| (key.to_owned(), value.clone())).collect();
        made.extend(self.form(&given)?);
        Some(made)
    }

    /// A reference, a choice, or values of some types.
    fn form(&mut self, given: &Map<String, Value>) -> Option<Map<String, Value>> {
        let mut made = Map::new();
        if let Some(reference) = given.get("$ref") {
            let known = reference.as_str()?;
            if known != "#" && !known.starts_with("#/$defs/") && !known.starts_with("#/definitions/") {
                return None;
            }
            made.insert("$ref".to_owned(), reference.clone());
            return Some(made);
        }
        if let Some(forms) = given.get("anyOf").or(given.get("oneOf")) {
            // What holds for all of them besides has no place here.
            if ["properties", "items", "enum", "const"].iter().any(|keyword| given.contains_key(*keyword)) {
                return None;
            }
            let forms = forms.as_array()?.iter().map(|form| self.field(form));
            made.insert("anyOf".to_owned(), Value::Array(forms.collect::<Option<_>>()?));
            return Some(made);
        }
        let (mut kinds, mut null) = kinds(given);
        let allowed = given.get("enum").cloned().or_else(|| Some(json!([given.get("const")?])));
        for value in
            allowed.iter().filter_map(Value::as_array).flatten().filter(|_| given.get("type").is_none())
        {
            match kind_of(value) {
                "null" => null = true,
                kind if kinds.iter().any(|known| known == kind) => {}
                kind => kinds.push(kind.to_owned()),
            }
        }
        if kinds.is_empty() && !null {
            return None;
        }
        made.extend(allowed.map(|allowed| ("enum".to_owned(), allowed)));
        made.extend(kind(&kinds, null).map(|kind| ("type".to_owned(), kind)));
        if kinds.iter().any(|kind| kind == "array") {
            made.insert("items".to_owned(), self.field(given.get("items")?)?);
        }
        if kinds.iter().any(|kind| kind == "object") {
            made.extend(self.object(given)?);
        }
        Some(made)
    }

    /// All fields, all of them required, and no others.
    fn object(&mut self, given: &Map<String, Value>) -> Option<Map<String, Value>> {
        let none = Map::new();
        let fields = given.get("properties").and_then(Value::as_object).unwrap_or(&none);
        let free = match given.get("additionalProperties") {
            Some(Value::Object(_)) => true,
            // Without any field it is a map, whatever it says; only a tool may have no arguments.
            Some(Value::Bool(true)) | None => fields.is_empty() && self.depth > 0,
            _ => false,
        };
        if free {
            return None;
        }
        let required: Vec<&str> = names(given.get("required")).collect();
        let mut made = Map::new();
        for (name, schema) in fields {
            let mut field = self.field(schema)?;
            if !required.contains(&name.as_str()) {
                or_null(&mut field);
            }
            made.insert(name.clone(), field);
        }
        let all: Vec<&String> = fields.keys().collect();
        Some(Map::from_iter([
            ("required".to_owned(), json!(all)),
            ("additionalProperties".to_owned(), Value::Bool(false)),
            ("properties".to_owned(), Value::Object(made)),
        ]))
    }
}

fn kind(kinds: &[String], null: bool) -> Option<Value> {
    let mut named: Vec<&str> = kinds.iter().map(String::as_str).collect();
    if null {
        named.push("null");
    }
    match named[..] {
        [] => None,
        [only] => Some(Value::from(only)),
        _ => Some(Value::from(named)),
    }
}

/// Null stands for what is left out.
fn or_null(field: &mut Value) {
    let nothing = json!({"type": "null"});
    let Some(node) = field.as_object_mut() else { return };
    if node.contains_key("$ref") {
        *field = json!({"anyOf": [field.take(), nothing]});
        return;
    }
    if let Some(Value::Array(forms)) = node.get_mut("anyOf") {
        if !forms.contains(&nothing) {
            forms.push(nothing);
        }
        return;
    }
    if let Some(Value::Array(allowed)) = node.get_mut("enum")
        && !allowed.contains(&Value::Null)
    {
        allowed.push(Value::Null);
    }
    let (kinds, _) = kinds(node);
    if !kinds.is_empty() {
        node.extend(kind(&kinds, true).map(|kind| ("type".to_owned(), kind)));
    }
}

#[cfg(test)]
mod tests;
