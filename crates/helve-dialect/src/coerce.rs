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
    let says = schema.map_or(Says::Nothing, |schema| Says::of(schema, root, 0));
    let types = match says {
        Says::Types(types) => types,
        Says::Nothing => Types::STRING,
        Says::Unreadable => Types::OBJECT | Types::ARRAY | Types::STRING,
    };
    read(written, types).unwrap_or_else(|| quoted(written))
}

/// JSON text for what was written, where nothing is known about its type.
pub(crate) fn by_look(written: &str) -> String {
    match serde_json::from_str::<serde::de::IgnoredAny>(written) {
        Ok(_) => written.trim().to_owned(),
        Err(_) => quoted(written),
    }
}

/// Whether the schema allows nothing but text; `None` where it says nothing about the type.
pub(crate) fn is_text(schema: &Value, root: &Value) -> Option<bool> {
    match Says::of(schema, root, 0) {
        Says::Types(types) => Some(types & !Types::STRING == 0),
        Says::Nothing => None,
        Says::Unreadable => Some(false),
    }
}

/// A set of types, one bit each.
type Set = u8;

struct Types;

impl Types {
    const NULL: Set = 1;
    const INTEGER: Set = 2;
    const NUMBER: Set = 4;
    const BOOLEAN: Set = 8;
    const OBJECT: Set = 16;
    const ARRAY: Set = 32;
    const STRING: Set = 64;
}

/// What a schema says about the type.
#[derive(Clone, Copy, PartialEq)]
enum Says {
    Types(Set),
    Nothing,
    /// It does say something, but not in a way that is read here.
    Unreadable,
}

/// References may run in circles.
const REFERENCES_MAX: usize = 16;

impl Says {
    /// All keywords of a schema must hold at once.
    fn of(schema: &Value, root: &Value, depth: usize) -> Self {
        if depth > REFERENCES_MAX {
            return Self::Unreadable;
        }
        let Some(keywords) = schema.as_object() else { return Self::Nothing };
        let one = |member: &Value| Self::of(member, root, depth + 1);
        let either = |list: &[Value], says: fn(&Value) -> Self| {
            list.iter().map(says).reduce(Self::or).unwrap_or(Self::Unreadable)
        };
        let mut says = Self::Nothing;
        // What a container may hold tells its type only where nothing else does.
        let mut hint = Self::Nothing;
        for (keyword, value) in keywords {
            let list = value.as_array().map_or(&[][..], Vec::as_slice);
            let more = match keyword.as_str() {
                "type" if value.is_array() => either(list, named),
                "type" => named(value),
                "enum" => either(list, constant),
                "const" => constant(value),
                "anyOf" | "oneOf" => list.iter().map(one).reduce(Self::or).unwrap_or(Self::Nothing),
                "allOf" => list.iter().map(one).fold(Self::Nothing, Self::and),
                "$ref" => {
                    let target = value.as_str().and_then(|target| target.strip_prefix('#'));
                    target.and_then(|target| root.pointer(target)).map_or(Self::Unreadable, one)
                }
                "properties" => {
                    hint = Self::Types(Types::OBJECT);
                    continue;
                }
                "items" => {
                    hint = hint.and(Self::Types(Types::ARRAY));
                    continue;
                }
                "not" => {
                    hint = hint.and(Self::Unreadable);
                    continue;
                }
                _ => continue,
            };
            says = says.and(more);
        }
        if says == Self::Nothing { hint } else { says }
    }

    /// Both hold. Where they contradict each other, the text stays what it is.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Types(a), Self::Types(b)) if both(a, b) != 0 => Self::Types(both(a, b)),
            (Self::Types(_), Self::Types(_)) => Self::Types(Types::STRING),
            (Self::Types(a), _) => Self::Types(a),
            (Self::Nothing, other) => other,
            (Self::Unreadable, Self::Types(b)) => Self::Types(b),
            (Self::Unreadable, _) => Self::Unreadable,
        }
    }

    /// Either holds.
    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Types(a), Self::Types(b)) => Self::Types(a | b),
            _ => Self::Unreadable,
        }
    }
}

/// What two sets have in common: every integer is a number.
fn both(a: Set, b: Set) -> Set {
    let wide = |set: Set| if set & Types::NUMBER != 0 { set | Types::INTEGER } else { set };
    wide(a) & wide(b)
}

fn named(name: &Value) -> Says {
    let name = name.as_str().unwrap_or("");
    Says::Types(match name {
        "string" => Types::STRING,
        "integer" => Types::INTEGER,
        "number" => Types::NUMBER,
        "boolean" => Types::BOOLEAN,
        "object" => Types::OBJECT,
        "array" => Types::ARRAY,
        "null" => Types::NULL,
        _ => return nicknamed(&name.to_ascii_lowercase()),
    })
}

/// Besides JSON Schema's own, the names that database and Python people write.
fn nicknamed(name: &str) -> Says {
    Says::Types(match name {
        "null" | "none" => Types::NULL,
        "integer" | "long" | "short" | "unsigned" => Types::INTEGER,
        "double" => Types::NUMBER,
        "boolean" | "bool" => Types::BOOLEAN,
        "object" | "dict" => Types::OBJECT,
        "array" | "arr" | "list" | "sequence" => Types::ARRAY,
        "string" | "str" | "text" | "varchar" | "char" | "enum" => Types::STRING,
        "any" => return Says::Nothing,
        other if other.starts_with("int") || other.starts_with("uint") => Types::INTEGER,
        other if other.starts_with("float") || other.starts_with("num") => Types::NUMBER,
        _ => return Says::Unreadable,
    })
}

fn constant(value: &Value) -> Says {
    Says::Types(match value {
        Value::Null => Types::NULL,
        Value::Bool(_) => Types::BOOLEAN,
        Value::Number(n) if n.is_f64() => Types::NUMBER,
        Value::Number(_) => Types::INTEGER,
        Value::Array(_) => Types::ARRAY,
        Value::Object(_) => Types::OBJECT,
        Value::String(_) => Types::STRING,
    })
}

fn read(written: &str, types: Set) -> Option<String> {
    let text = written.trim();
    let may = |set: Set| types & set != 0;
    let null = || (may(Types::NULL) && text.eq_ignore_ascii_case("null")).then(|| "null".to_owned());
    let integer = || may(Types::INTEGER).then(|| integer(text)).flatten();
    let number = || may(Types::NUMBER).then(|| number(text)).flatten();
    let boolean = || may(Types::BOOLEAN).then(|| boolean(text)).flatten();
    let object = || may(Types::OBJECT).then(|| container(text, '{').filter(|json| is_object(json))).flatten();
    let array = || may(Types::ARRAY).then(|| container(text, '[')).flatten();
    null().or_else(integer).or_else(number).or_else(boolean).or_else(object).or_else(array)
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
            (&json!({"type": ["string", "null"], "const": "null"}), "null", r#""null""#),
            (
                &json!({"type": "string", "anyOf": [{"type": "string"}, {"type": "null"}]}),
                "null",
                r#""null""#,
            ),
            (&json!({"anyOf": [{"type": "null"}, {"$ref": "#nowhere"}]}), "null", r#""null""#),
            (&json!({"type": "unheard_of"}), "{'k': 1}", "{\"k\": 1}"),
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
