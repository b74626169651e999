//! Schemas for OpenAI's strict mode, in which the server enforces the schema: every field is required, and no others are
//! allowed.
//!
//! Optional fields become nullable. Strict mode cannot express objects with arbitrary keys; a tool with such a schema is
//! declared without it.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::flatten::{SchemaFlattener, list_strings};
use super::{Adapted, add_to_description, json_type_of, read_types, words};

/// Keywords that the functions below adapt.
const ADAPTED: &[&str] = &[
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

/// Keywords that strict mode supports unchanged.
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

/// Keywords that strict mode cannot express: arbitrary keys, and items by position.
const INEXPRESSIBLE: &[&str] = &["patternProperties", "prefixItems"];

/// The vendor's limit of nesting.
const DEPTH_MAX: usize = 10;

/// The most fields; no tool has more.
const FIELDS_MAX: usize = 2_000;

/// The schema for strict mode; none if strict mode cannot express it.
pub(crate) fn adapt_for_strict_openai(schema: &Value) -> Option<Adapted> {
    let is_choice = ["anyOf", "oneOf", "$ref"].iter().any(|keyword| schema.get(keyword).is_some());
    if is_choice || schema.get("type").is_none_or(|kind| kind != "object") {
        return None;
    }
    let mut walk = Walk { flat: SchemaFlattener::new(schema), depth: 0, fields: 0 };
    let mut notes = vec![];
    let mut made = walk.adapt_node(schema, &mut notes)?;
    for key in ["$defs", "definitions"] {
        let Some(definitions) = schema.get(key).and_then(Value::as_object) else { continue };
        let mut adapted = Map::new();
        for (name, definition) in definitions {
            adapted.insert(name.clone(), walk.adapt_field(definition)?);
        }
        made.insert(key.to_owned(), Value::Object(adapted));
    }
    Some(Adapted { schema: Value::Object(made), notes })
}

struct Walk<'a> {
    /// Shared by all `allOf` combinations, so that one bound limits their total work.
    flat: SchemaFlattener<'a>,
    depth: usize,
    fields: usize,
}

impl Walk<'_> {
    fn adapt_field(&mut self, schema: &Value) -> Option<Value> {
        if self.depth >= DEPTH_MAX || self.fields >= FIELDS_MAX {
            return None;
        }
        self.depth += 1;
        self.fields += 1;
        let mut words = vec![];
        let made = self.adapt_node(schema, &mut words);
        self.depth -= 1;
        let mut made = made?;
        add_to_description(&mut made, &words);
        // A reference may have no keywords beside it.
        if made.len() > 1
            && let Some(reference) = made.remove("$ref")
        {
            made.insert("anyOf".to_owned(), json!([{"$ref": reference}]));
        }
        Some(Value::Object(made))
    }

    fn adapt_node(&mut self, schema: &Value, words: &mut Vec<String>) -> Option<Map<String, Value>> {
        if INEXPRESSIBLE.iter().any(|keyword| schema.get(keyword).is_some()) {
            return None;
        }
        let given = match schema.get("allOf") {
            None => Cow::Borrowed(schema.as_object()?),
            Some(_) => Cow::Owned(self.flat.visit(schema, |_, flattened| flattened)?),
        };
        let format = given.get("format").filter(|format| FORMATS.iter().any(|known| *format == known));
        let supported =
            ADAPTED.iter().chain(PASSED).copied().chain(format.map(|_| "format")).collect::<Vec<_>>();
        words.extend(words::describe_unsupported(&given, &supported));
        let passed = PASSED.iter().filter_map(|keyword| Some((*keyword, given.get(*keyword)?)));
        let passed = passed.chain(format.map(|format| ("format", format)));
        let mut made: Map<_, _> = passed.map(|(key, value)| (key.to_owned(), value.clone())).collect();
        made.extend(self.adapt_type(&given)?);
        Some(made)
    }

    /// Adapts a reference, a choice, or the types of a value.
    fn adapt_type(&mut self, given: &Map<String, Value>) -> Option<Map<String, Value>> {
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
            // Strict mode has no place for restrictions beside a choice.
            if ["properties", "items", "enum", "const"].iter().any(|keyword| given.contains_key(*keyword)) {
                return None;
            }
            let forms = forms.as_array()?.iter().map(|form| self.adapt_field(form));
            made.insert("anyOf".to_owned(), Value::Array(forms.collect::<Option<_>>()?));
            return Some(made);
        }
        let (mut kinds, mut null) = read_types(given);
        let allowed = given.get("enum").cloned().or_else(|| Some(json!([given.get("const")?])));
        for value in
            allowed.iter().filter_map(Value::as_array).flatten().filter(|_| given.get("type").is_none())
        {
            match json_type_of(value) {
                "null" => null = true,
                kind if kinds.iter().any(|known| known == kind) => {}
                kind => kinds.push(kind.to_owned()),
            }
        }
        if kinds.is_empty() && !null {
            return None;
        }
        made.extend(allowed.map(|allowed| ("enum".to_owned(), allowed)));
        made.extend(type_value(&kinds, null).map(|kind| ("type".to_owned(), kind)));
        if kinds.iter().any(|kind| kind == "array") {
            made.insert("items".to_owned(), self.adapt_field(given.get("items")?)?);
        }
        if kinds.iter().any(|kind| kind == "object") {
            made.extend(self.adapt_object(given)?);
        }
        Some(made)
    }

    /// Adapts an object: all fields required, no others allowed.
    fn adapt_object(&mut self, given: &Map<String, Value>) -> Option<Map<String, Value>> {
        let none = Map::new();
        let fields = given.get("properties").and_then(Value::as_object).unwrap_or(&none);
        let free = match given.get("additionalProperties") {
            Some(Value::Object(_)) => true,
            // An object without fields is a map, except at the root: a tool may have no arguments.
            Some(Value::Bool(true)) | None => fields.is_empty() && self.depth > 0,
            _ => false,
        };
        if free {
            return None;
        }
        let required: Vec<&str> = list_strings(given.get("required")).collect();
        let mut made = Map::new();
        for (name, schema) in fields {
            let mut field = self.adapt_field(schema)?;
            if !required.contains(&name.as_str()) {
                allow_null(&mut field);
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

fn type_value(kinds: &[String], null: bool) -> Option<Value> {
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

/// Makes an optional field nullable.
fn allow_null(field: &mut Value) {
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
    let (kinds, _) = read_types(node);
    if !kinds.is_empty() {
        node.extend(type_value(&kinds, true).map(|kind| ("type".to_owned(), kind)));
    }
}

#[cfg(test)]
mod tests;
