//! Describes schema keywords that a vendor does not support in words for the model.

use serde_json::{Map, Value};

/// The longest value in a description.
const SHOWN_MAX: usize = 300;

const NUMBER_FORMATS: &[&str] = &["int", "uint", "float", "double"];

/// Describes all keywords that a vendor does not support.
pub(super) fn describe_unsupported(node: &Map<String, Value>, known: &[&str]) -> Vec<String> {
    let unknown = node.iter().filter(|(keyword, _)| !known.contains(&keyword.as_str()));
    unknown.filter_map(|(keyword, value)| describe_keyword(keyword, value)).collect()
}

/// Describes a keyword; none if it does not restrict values.
pub(super) fn describe_keyword(keyword: &str, value: &Value) -> Option<String> {
    let shown = short_json(value);
    Some(match keyword {
        "minLength" | "minItems" | "minProperties" if value == 0 => return None,
        "minimum" => format!("at least {shown}"),
        "maximum" => format!("at most {shown}"),
        "exclusiveMinimum" => format!("greater than {shown}"),
        "exclusiveMaximum" => format!("less than {shown}"),
        "multipleOf" => format!("a multiple of {shown}"),
        "minLength" => format!("at least {shown} characters"),
        "maxLength" => format!("at most {shown} characters"),
        "pattern" => format!("matches the regular expression {shown}"),
        // The size of a number in a program means nothing to a model.
        "format" if NUMBER_FORMATS.iter().any(|known| shown.starts_with(known)) => return None,
        "format" => format!("format: {shown}"),
        "minItems" => format!("at least {shown} items"),
        "maxItems" => format!("at most {shown} items"),
        "uniqueItems" if value == true => "no item twice".to_owned(),
        "contains" => format!("one of the items fits {shown}"),
        "prefixItems" => format!("the items are, in this order: {shown}"),
        "minProperties" => format!("at least {shown} keys"),
        "maxProperties" => format!("at most {shown} keys"),
        "additionalProperties" if value.is_object() => {
            format!("further keys may be given; their values fit {shown}")
        }
        "patternProperties" => format!("keys that match a pattern have values that fit: {shown}"),
        "propertyNames" => format!("keys fit {shown}"),
        "dependentRequired" | "dependentSchemas" | "dependencies" => {
            format!("keys depend on each other: {shown}")
        }
        "enum" => format!("one of {}", format_list(value)),
        "const" => format!("always {shown}"),
        "default" if !value.is_null() => format!("default: {shown}"),
        "example" => format!("for example {shown}"),
        "examples" => format!("for example {}", format_list(value)),
        "not" => format!("must not fit {shown}"),
        "if" => format!("if it fits {shown}, `then` holds, and otherwise `else`"),
        "then" => format!("then: {shown}"),
        "else" => format!("else: {shown}"),
        "anyOf" | "oneOf" => format!("also fits one of {}", format_list(value)),
        "contentEncoding" => format!("encoded as {shown}"),
        "contentMediaType" => format!("contains {shown}"),
        _ => return None,
    })
}

fn short_json(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn format_list(value: &Value) -> String {
    match value.as_array() {
        Some(items) => {
            short_json(&Value::String(items.iter().map(Value::to_string).collect::<Vec<_>>().join(", ")))
        }
        None => short_json(value),
    }
}
