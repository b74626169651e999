//! Values written without a type, typed by the parameter's schema.
//!
//! The types a schema allows are collected over unions, enums and references, then tried in a fixed order: null,
//! integer, number, boolean, object, array, string. The first that fits wins. What fits none stays the string it
//! is: a call is never lost over a type, and the pipeline's check tells the model.

use serde_json::Value;

use crate::json::is_object;
use crate::literal::{Literal, Taken};

/// The schema of one parameter.
pub(crate) fn parameter<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    schema.get("properties")?.get(name).or_else(|| schema.get("additionalProperties"))
}

/// What a schema says under this keyword, behind references and in whichever member of a union says it.
pub(crate) fn inside<'s>(schema: &'s Value, root: &'s Value, keyword: &str) -> Option<&'s Value> {
    fn find<'s>(schema: &'s Value, root: &'s Value, keyword: &str, depth: usize) -> Option<&'s Value> {
        if depth > 8 {
            return None;
        }
        let unions = ["anyOf", "oneOf", "allOf"].into_iter();
        let members = unions.filter_map(|union| schema.get(union)?.as_array()).flatten();
        let target = schema.get("$ref").and_then(Value::as_str).and_then(|r| r.strip_prefix('#'));
        let referred = target.and_then(|target| root.pointer(target));
        let mut others = members.chain(referred);
        schema.get(keyword).or_else(|| others.find_map(|other| find(other, root, keyword, depth + 1)))
    }
    find(schema, root, keyword, 0)
}

/// JSON text for what was written, by the types its schema allows.
pub(crate) fn by_schema(written: &str, schema: Option<&Value>, root: &Value) -> String {
    let mut types = Types::default();
    if let Some(schema) = schema {
        types.collect(schema, root, 0);
    }
    types.read(written).unwrap_or_else(|| quoted(written))
}

/// JSON text for what was written, where nothing is known about its type.
pub(crate) fn by_look(written: &str) -> String {
    match serde_json::from_str::<serde::de::IgnoredAny>(written) {
        Ok(_) => written.trim().to_owned(),
        Err(_) => quoted(written),
    }
}

/// Whether the schema allows nothing but text; `None` where it names no type at all.
pub(crate) fn is_text(schema: &Value, root: &Value) -> Option<bool> {
    let mut types = Types::default();
    types.collect(schema, root, 0);
    let other = types.null || types.integer || types.number || types.boolean || types.object || types.array;
    (other || types.string).then_some(!other)
}

#[derive(Default)]
struct Types {
    string: bool,
    null: bool,
    integer: bool,
    number: bool,
    boolean: bool,
    object: bool,
    array: bool,
}

impl Types {
    fn collect(&mut self, schema: &Value, root: &Value, depth: usize) {
        // References may run in circles.
        if depth > 8 {
            return;
        }
        match schema.get("type") {
            Some(Value::String(name)) => self.allow(name),
            Some(Value::Array(names)) => {
                names.iter().filter_map(Value::as_str).for_each(|name| self.allow(name))
            }
            _ => {}
        }
        let constants = schema.get("enum").and_then(Value::as_array);
        for constant in constants.into_iter().flatten().chain(schema.get("const")) {
            match constant {
                Value::Null => self.null = true,
                Value::Bool(_) => self.boolean = true,
                Value::Number(n) if n.is_f64() => self.number = true,
                Value::Number(_) => self.integer = true,
                Value::Array(_) => self.array = true,
                Value::Object(_) => self.object = true,
                Value::String(_) => self.string = true,
            }
        }
        for union in ["anyOf", "oneOf", "allOf"] {
            for member in schema.get(union).and_then(Value::as_array).into_iter().flatten() {
                self.collect(member, root, depth + 1);
            }
        }
        if let Some(target) = schema.get("$ref").and_then(Value::as_str).and_then(|r| r.strip_prefix('#'))
            && let Some(target) = root.pointer(target)
        {
            self.collect(target, root, depth + 1);
        }
        if schema.get("type").is_none() {
            self.object |= schema.get("properties").is_some();
            self.array |= schema.get("items").is_some();
        }
    }

    /// Besides JSON Schema's own, the names that database and Python people write.
    fn allow(&mut self, name: &str) {
        match name.to_ascii_lowercase().as_str() {
            "null" | "none" => self.null = true,
            "integer" | "int" | "long" | "short" | "unsigned" => self.integer = true,
            "number" | "double" => self.number = true,
            "boolean" | "bool" => self.boolean = true,
            "object" | "dict" => self.object = true,
            "array" | "arr" | "list" | "sequence" => self.array = true,
            other if other.starts_with("int") || other.starts_with("uint") => self.integer = true,
            other if other.starts_with("float") || other.starts_with("num") => self.number = true,
            _ => self.string = true,
        }
    }

    fn read(&self, written: &str) -> Option<String> {
        let text = written.trim();
        let null = || (self.null && text.eq_ignore_ascii_case("null")).then(|| "null".to_owned());
        let integer = || self.integer.then(|| integer(text)).flatten();
        let number = || self.number.then(|| number(text)).flatten();
        let boolean = || self.boolean.then(|| boolean(text)).flatten();
        let object = || self.object.then(|| container(text, '{').filter(|json| is_object(json))).flatten();
        let array = || self.array.then(|| container(text, '[')).flatten();
        null().or_else(integer).or_else(number).or_else(boolean).or_else(object).or_else(array)
    }
}

/// A whole number in decimal digits; `5.0` counts, digits beyond any machine type are kept.
fn integer(text: &str) -> Option<String> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() || !whole.bytes().all(|b| b.is_ascii_digit()) || !fraction.bytes().all(|b| b == b'0')
    {
        return None;
    }
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        whole => whole,
    };
    let minus = if text.starts_with('-') && whole != "0" { "-" } else { "" };
    Some(format!("{minus}{whole}"))
}

/// A finite number, written whole where it is whole.
fn number(text: &str) -> Option<String> {
    if let Some(whole) = integer(text) {
        return Some(whole);
    }
    let starts_like_one = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'));
    let float: f64 = text.parse().ok().filter(|f: &f64| f.is_finite())?;
    if !starts_like_one {
        return None;
    }
    let number = serde_json::Number::from_f64(float)?;
    Some(if float.fract() == 0.0 && float.abs() < 1e15 { format!("{float:.0}") } else { number.to_string() })
}

fn boolean(text: &str) -> Option<String> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" => Some("true".to_owned()),
        "false" | "0" => Some("false".to_owned()),
        _ => None,
    }
}

/// An object or array in JSON, or else in Python.
fn container(text: &str, open: char) -> Option<String> {
    if !text.starts_with(open) {
        return None;
    }
    if serde_json::from_str::<Value>(text).is_ok() {
        return Some(text.to_owned());
    }
    let mut literal = Literal::python();
    let mut out = String::new();
    let whole = match literal.feed(text, 0, &mut out) {
        Taken::All => true,
        Taken::UpTo(at) => at == text.len(),
        Taken::Bad(_) => false,
    };
    (whole && literal.finish(false, &mut out) && serde_json::from_str::<Value>(&out).is_ok()).then_some(out)
}

/// The text as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_type_that_fits_wins() {
        let integer = json!({"type": "integer"});
        let number = json!({"type": "number"});
        let string = json!({"type": "string"});
        let flag = json!({"type": ["boolean", "null"]});
        let object = json!({"type": "object"});
        let union = json!({"anyOf": [{"type": "integer"}, {"type": "string"}]});
        let sizes = json!({"enum": [1, 2, "many"]});
        let cases = [
            (&integer, "5", "5"),
            (&integer, "5.0", "5"),
            (&integer, "-007", "-7"),
            (&integer, "12345678901234567890123", "12345678901234567890123"),
            (&integer, "2026-01-15", r#""2026-01-15""#),
            (&number, "3.0", "3"),
            (&number, "2.5", "2.5"),
            (&number, "1e999", r#""1e999""#),
            (&number, "nan", r#""nan""#),
            (&string, "02134", r#""02134""#),
            (&string, "null", r#""null""#),
            (&string, "1e5", r#""1e5""#),
            (&flag, "False", "false"),
            (&flag, "null", "null"),
            (&flag, "maybe", r#""maybe""#),
            (&object, "{\"k\": 1}", "{\"k\": 1}"),
            (&object, "{'k': True}", "{\"k\": true}"),
            (&object, "[1]", r#""[1]""#),
            (&union, "5", "5"),
            (&union, "five", r#""five""#),
            (&sizes, "2", "2"),
            (&sizes, "many", r#""many""#),
        ];
        for (schema, written, json) in cases {
            assert_eq!(by_schema(written, Some(schema), schema), json, "{schema} {written}");
        }
    }

    #[test]
    fn references_are_followed_and_circles_end() {
        let root = json!({
            "properties": {"n": {"$ref": "#/$defs/n"}, "c": {"$ref": "#/properties/c"}},
            "$defs": {"n": {"type": "integer"}},
        });
        assert_eq!(by_schema("7", parameter(&root, "n"), &root), "7");
        assert_eq!(by_schema("7", parameter(&root, "c"), &root), r#""7""#);
        assert_eq!(by_schema("7", parameter(&root, "other"), &root), r#""7""#);
    }

    #[test]
    fn without_a_schema_json_is_json() {
        assert_eq!(by_look("[1, 2]"), "[1, 2]");
        assert_eq!(by_look("plain"), r#""plain""#);
    }
}
