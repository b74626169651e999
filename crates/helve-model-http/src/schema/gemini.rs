//! Schemas for Gemini, which accepts a part of OpenAPI 3.0: every field has one type, no references, no choice but
//! `anyOf`, and enums only of text.

use serde_json::{Map, Value, json};

use super::flatten::{SchemaFlattener, list_strings, merge};
use super::{Adapted, add_to_description, json_type_of, read_types, words};

/// The keywords that a field of a type may have.
struct Type {
    name: &'static str,
    keywords: &'static [&'static str],
    formats: &'static [&'static str],
}

const TYPES: &[Type] = &[
    Type {
        name: "string",
        keywords: &["enum", "pattern", "minLength", "maxLength"],
        formats: &["date-time", "enum"],
    },
    Type { name: "integer", keywords: &["minimum", "maximum"], formats: &["int32", "int64"] },
    Type { name: "number", keywords: &["minimum", "maximum"], formats: &["float", "double"] },
    Type { name: "boolean", keywords: &[], formats: &[] },
    Type { name: "array", keywords: &["items", "minItems", "maxItems"], formats: &[] },
    Type {
        name: "object",
        keywords: &["properties", "required", "minProperties", "maxProperties"],
        formats: &[],
    },
];

/// The keywords of a field of any type, and beside a choice.
const NOTES: &[&str] = &["description", "title", "nullable"];

pub(crate) fn adapt_for_gemini(schema: &Value) -> Adapted {
    let mut notes = vec![];
    let root = SchemaFlattener::new(schema).flatten_root(&mut notes);
    let object = TYPES.iter().filter(|kind| kind.name == "object").collect::<Vec<_>>();
    // The schema's description becomes a note: the tool has a description of its own.
    let about = root.get("description").and_then(Value::as_str);
    notes.extend(about.map(str::to_owned));
    notes.extend(words::describe_unsupported(&root, &supported_keywords(&object, &root)));
    let made =
        object.iter().flat_map(|kind| typed_schema(&mut SchemaFlattener::new(schema), kind, &root)).collect();
    Adapted { schema: Value::Object(made), notes }
}

fn adapt_field(walk: &mut SchemaFlattener<'_>, schema: &Value) -> Value {
    walk.visit(schema, |walk, node| {
        let mut words = vec![];
        let mut made = match node {
            Some(node) => adapt_choice(walk, node, &mut words),
            None => {
                words.push("of a form that is too long to tell".to_owned());
                any_value_schema()
            }
        };
        add_to_description(&mut made, &words);
        Value::Object(made)
    })
}

/// Adapts a field with alternatives, or with a single form.
fn adapt_choice(
    walk: &mut SchemaFlattener<'_>,
    mut node: Map<String, Value>,
    words: &mut Vec<String>,
) -> Map<String, Value> {
    let forms = ["anyOf", "oneOf"].iter().find_map(|keyword| node.remove(*keyword));
    let Some(Value::Array(mut forms)) = forms else { return adapt_single(walk, node, words) };
    let count = forms.len();
    forms.retain(|form| form.get("type").is_none_or(|kind| kind != "null"));
    if forms.len() < count {
        node.insert("nullable".to_owned(), Value::Bool(true));
    }
    match &forms[..] {
        [] => adapt_single(walk, node, words),
        [form] => {
            // The form may be a choice itself.
            walk.visit(form, |walk, form| adapt_choice(walk, merge(node, form.unwrap_or_default()), words))
        }
        forms => {
            let mut made = note_keywords(&node);
            node.retain(|keyword, _| !NOTES.contains(&&**keyword));
            for keyword in ["default", "example", "examples"] {
                words.extend(node.remove(keyword).and_then(|value| words::describe_keyword(keyword, &value)));
            }
            // Gemini accepts only notes beside a choice, so the other keywords go into each form.
            let each = forms.iter().map(|form| adapt_field(walk, &json!({"allOf": [form, node]})));
            made.insert("anyOf".to_owned(), each.collect());
            made
        }
    }
}

/// Adapts a field of one type, or of several types with the same keywords.
fn adapt_single(
    walk: &mut SchemaFlattener<'_>,
    mut node: Map<String, Value>,
    words: &mut Vec<String>,
) -> Map<String, Value> {
    let (mut names, nullable) = read_types(&node);
    if nullable {
        node.insert("nullable".to_owned(), Value::Bool(true));
    }
    if node.get("type").is_some_and(|kind| kind == "null") {
        names.push("string".to_owned());
        words.push("always null".to_owned());
    }
    adapt_values(&mut node, &mut names, words);
    if names.is_empty() {
        names.extend(guess_type(&node).map(str::to_owned));
    }
    let types: Vec<&Type> = TYPES.iter().filter(|kind| names.iter().any(|name| name == kind.name)).collect();
    words.extend(words::describe_unsupported(&node, &supported_keywords(&types, &node)));
    let mut made = match types[..] {
        [] => any_value_schema(),
        [kind] => typed_schema(walk, kind, &node),
        _ => {
            let each = types.iter().map(|kind| Value::Object(typed_schema(walk, kind, &node)));
            Map::from_iter([("anyOf".to_owned(), each.collect())])
        }
    };
    made.extend(note_keywords(&node));
    made
}

/// The keywords that need no words for these types.
fn supported_keywords(types: &[&Type], node: &Map<String, Value>) -> Vec<&'static str> {
    let mut keywords: Vec<&str> = types.iter().flat_map(|kind| kind.keywords).copied().collect();
    if types.iter().any(|kind| supported_format(kind, node).is_some()) {
        keywords.push("format");
    }
    keywords
}

fn supported_format<'a>(kind: &Type, node: &'a Map<String, Value>) -> Option<&'a Value> {
    node.get("format").filter(|format| kind.formats.iter().any(|known| *format == known))
}

fn note_keywords(node: &Map<String, Value>) -> Map<String, Value> {
    let notes = NOTES.iter().filter_map(|keyword| Some((*keyword, node.get(*keyword)?)));
    let sound = |keyword: &str, value: &Value| {
        if keyword == "nullable" { value.is_boolean() } else { value.is_string() }
    };
    let notes = notes.filter(|(keyword, value)| sound(keyword, value));
    notes.map(|(keyword, value)| (keyword.to_owned(), value.clone())).collect()
}

/// A field of this type with the keywords that the type may have.
fn typed_schema(
    walk: &mut SchemaFlattener<'_>,
    kind: &Type,
    node: &Map<String, Value>,
) -> Map<String, Value> {
    let mut made = Map::from_iter([("type".to_owned(), Value::from(kind.name))]);
    made.extend(supported_format(kind, node).map(|format| ("format".to_owned(), format.clone())));
    let fields = node.get("properties").and_then(Value::as_object);
    for keyword in kind.keywords {
        let value = match *keyword {
            "properties" => fields.map(|fields| {
                let fields = fields.iter().map(|(name, schema)| (name.clone(), adapt_field(walk, schema)));
                Value::Object(fields.collect())
            }),
            "required" => {
                let known = |name: &&str| fields.is_some_and(|fields| fields.contains_key(*name));
                Some(list_strings(node.get("required")).filter(known).collect())
            }
            "items" => Some(adapt_field(walk, &item_schema(node))),
            "enum" => node.get("enum").cloned(),
            "pattern" => node.get("pattern").filter(|pattern| pattern.is_string()).cloned(),
            // Bounds.
            _ => node.get(*keyword).filter(|bound| bound.is_number()).cloned(),
        };
        let empty = |value: &Value| {
            value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
        };
        made.extend(value.filter(|value| !empty(value)).map(|value| ((*keyword).to_owned(), value)));
    }
    made
}

/// The schema of an item; any of the schemas if each position has its own.
fn item_schema(node: &Map<String, Value>) -> Value {
    match (node.get("items"), node.get("prefixItems")) {
        (_, Some(places)) | (Some(places @ Value::Array(_)), None) => json!({"anyOf": places}),
        (Some(items), None) => items.clone(),
        (None, None) => Value::Bool(true),
    }
}

/// Writes the allowed values as an enum if they are text, and in words if not.
fn adapt_values(node: &mut Map<String, Value>, kinds: &mut Vec<String>, words: &mut Vec<String>) {
    let listed = node.remove("enum").and_then(|listed| listed.as_array().cloned());
    let Some(allowed) = node.remove("const").map(|only| vec![only]).or(listed) else { return };
    let (nulls, allowed): (Vec<_>, Vec<_>) = allowed.into_iter().partition(Value::is_null);
    if !nulls.is_empty() {
        node.insert("nullable".to_owned(), Value::Bool(true));
    }
    let text = allowed.iter().all(Value::is_string) && !allowed.is_empty();
    if text && (kinds.is_empty() || kinds.iter().any(|kind| kind == "string")) {
        *kinds = vec!["string".to_owned()];
        // Gemini accepts no empty text in an enum, and an enum without it would exclude it.
        if allowed.iter().any(|value| value == "") {
            words.extend(words::describe_keyword("enum", &Value::Array(allowed)));
        } else {
            node.insert("enum".to_owned(), Value::Array(allowed));
        }
        return;
    }
    if kinds.is_empty() {
        kinds.extend(allowed.iter().map(|value| json_type_of(value).to_owned()));
    }
    match &allowed[..] {
        [] => words.push("always null".to_owned()),
        [only] => words.extend(words::describe_keyword("const", only)),
        _ => words.extend(words::describe_keyword("enum", &Value::Array(allowed))),
    }
}

/// Guesses the type of a field without `type` by its keywords.
fn guess_type(node: &Map<String, Value>) -> Option<&'static str> {
    const TELLING: &[(&str, &str)] = &[
        ("properties", "object"),
        ("required", "object"),
        ("additionalProperties", "object"),
        ("patternProperties", "object"),
        ("items", "array"),
        ("prefixItems", "array"),
        ("pattern", "string"),
        ("minLength", "string"),
        ("maxLength", "string"),
        ("minimum", "number"),
        ("maximum", "number"),
    ];
    TELLING.iter().find(|(keyword, _)| node.contains_key(*keyword)).map(|(_, kind)| *kind)
}

/// A schema for any value, since Gemini accepts no field without a type.
fn any_value_schema() -> Map<String, Value> {
    let plain = ["string", "number", "boolean", "object"].map(|kind| json!({"type": kind}));
    let list = json!({"type": "array", "items": {"anyOf": plain}});
    Map::from_iter([("anyOf".to_owned(), plain.into_iter().chain([list]).collect())])
}

#[cfg(test)]
pub(super) use self::tests::assert_plain;

#[cfg(test)]
mod tests;
