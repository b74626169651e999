//! The keywords that hold no schema: which are kept, and how 3.0 says them.

use serde_json::{Map, Value, json};

use super::SchemaEdition;

/// Keywords with one schema inside.
pub(super) const ONE_INSIDE: &[&str] = &["items", "additionalProperties", "not", "contains", "propertyNames"];

const TYPES: &[&str] = &["array", "boolean", "integer", "null", "number", "object", "string"];

/// Formats that tell a model how to write a text; the others are about storage.
const FORMATS: &[&str] = &[
    "date",
    "date-time",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "time",
    "uri",
    "uri-reference",
    "uuid",
];

const NUMBERS: &[&str] = &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];

const COUNTS: &[&str] = &[
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "minContains",
    "maxContains",
];

/// Examples and defaults beyond this are documentation.
const SMALL_BYTES: usize = 160;

pub(super) fn is_type(kind: &Value) -> bool {
    kind.as_str().is_some_and(|kind| TYPES.contains(&kind))
}

pub(super) fn is_small(value: &Value) -> bool {
    super::byte_size(value) <= SMALL_BYTES
}

/// Whether a keyword beside a pointer makes it narrower.
pub(super) fn is_restricting(name: &str) -> bool {
    NUMBERS.contains(&name)
        || COUNTS.contains(&name)
        || ONE_INSIDE.contains(&name)
        || matches!(
            name,
            "type" | "enum" | "const" | "pattern" | "properties" | "required" | "allOf" | "anyOf" | "oneOf"
        )
}

/// Takes over what can be taken over as it is or nearly so. What has the wrong type is a mistake in the
/// document, and left out.
pub(super) fn copy_plain_keywords(
    members: &Map<String, Value>,
    edition: SchemaEdition,
    out: &mut Map<String, Value>,
) {
    let mut keep = |name: &str, value: Value| out.insert(name.to_owned(), value);
    if let Some(kind) = members.get("type").and_then(normalize_types) {
        keep("type", kind);
    }
    let format = members.get("format").and_then(Value::as_str).filter(|format| FORMATS.contains(format));
    if let Some(format) = format {
        keep("format", format.into());
    }
    for name in NUMBERS {
        if let Some(number) = members.get(*name).filter(|value| value.is_number()) {
            keep(name, number.clone());
        }
    }
    for name in COUNTS {
        if let Some(count) = members.get(*name).and_then(Value::as_u64) {
            keep(name, count.into());
        }
    }
    if let Some(step) = members.get("multipleOf").filter(|step| step.as_f64().is_some_and(|step| step > 0.0))
    {
        keep("multipleOf", step.clone());
    }
    for name in ["uniqueItems", "deprecated"] {
        if members.get(name) == Some(&Value::Bool(true)) {
            keep(name, true.into());
        }
    }
    if let Some(value) = members.get("const").filter(|value| is_small(value)) {
        keep("const", value.clone());
    }
    // Null stands for "none" in documents that were written by programs.
    if let Some(value) = members.get("default").filter(|value| is_small(value) && !value.is_null()) {
        keep("default", value.clone());
    }
    if let Some(examples) = copy_examples(members) {
        keep("examples", examples);
    }
    if edition == SchemaEdition::V30 {
        copy_exclusive_bound(members, out, "minimum", "exclusiveMinimum");
        copy_exclusive_bound(members, out, "maximum", "exclusiveMaximum");
    }
}

fn normalize_types(kind: &Value) -> Option<Value> {
    match kind {
        Value::String(_) => is_type(kind).then(|| kind.clone()),
        Value::Array(kinds) => {
            let mut known: Vec<&Value> = vec![];
            for kind in kinds.iter().filter(|kind| is_type(kind)) {
                if !known.contains(&kind) {
                    known.push(kind);
                }
            }
            match known[..] {
                [] => None,
                [one] => Some(one.clone()),
                _ => Some(json!(known)),
            }
        }
        _ => None,
    }
}

/// In 3.0 `exclusiveMinimum` says how `minimum` is meant.
fn copy_exclusive_bound(members: &Map<String, Value>, out: &mut Map<String, Value>, bound: &str, flag: &str) {
    if members.get(flag) == Some(&Value::Bool(true))
        && let Some(number) = out.remove(bound)
    {
        out.insert(flag.into(), number);
    }
}

/// `example` of 3.0 and `examples` of 3.1, where they are short; the sample of a whole object teaches little that its
/// fields do not.
fn copy_examples(members: &Map<String, Value>) -> Option<Value> {
    let fits = |value: &&Value| !value.is_object() && !value.is_null() && is_small(value);
    let one = members.get("example").filter(fits);
    let many = members.get("examples").and_then(Value::as_array).into_iter().flatten();
    let examples: Vec<&Value> = one.into_iter().chain(many.filter(fits)).take(2).collect();
    (!examples.is_empty()).then(|| json!(examples))
}

/// Says what a schema leaves to be guessed, and takes back what contradicts itself.
pub(super) fn add_missing_keywords(out: &mut Map<String, Value>) {
    if !out.contains_key("type") {
        if out.contains_key("properties") {
            out.insert("type".into(), "object".into());
        } else if out.contains_key("items") {
            out.insert("type".into(), "array".into());
        }
    }
    if out.get("type").is_some_and(|kind| kind == "array") && !out.contains_key("prefixItems") {
        out.entry("items").or_insert_with(|| json!({}));
    }
    // `type: string` with the values 1, 2 and 3 fits nothing.
    let values = out.get("enum").and_then(Value::as_array);
    if let (Some(kind), Some(values)) = (out.get("type"), values)
        && !values.iter().any(|value| is_of_type(value, kind))
    {
        out.remove("type");
    }
}

fn is_of_type(value: &Value, kind: &Value) -> bool {
    let fits = |kind: &str| match kind {
        "array" => value.is_array(),
        "boolean" => value.is_boolean(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "object" => value.is_object(),
        _ => value.is_string(),
    };
    match kind {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).any(fits),
        kind => kind.as_str().is_none_or(fits),
    }
}

/// What `nullable` means.
pub(super) fn allow_null(out: &mut Map<String, Value>) {
    if let Some(values) = out.get_mut("enum").and_then(Value::as_array_mut)
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    let branches = out.get_mut("anyOf").and_then(Value::as_array_mut);
    let has_branches = branches.is_some();
    branches.into_iter().for_each(|branches| branches.push(json!({"type": "null"})));
    match out.get("type").cloned() {
        Some(Value::String(kind)) if kind != "null" => {
            out.insert("type".into(), json!([kind, "null"]));
        }
        Some(Value::Array(mut kinds)) if !kinds.contains(&json!("null")) => {
            kinds.push("null".into());
            out.insert("type".into(), kinds.into());
        }
        None if !has_branches && (out.contains_key("allOf") || out.contains_key("const")) => {
            let description = out.remove("description");
            let whole = std::mem::take(out);
            out.extend(description.map(|text| ("description".to_owned(), text)));
            out.insert("anyOf".into(), json!([whole, {"type": "null"}]));
        }
        _ => {}
    }
}
