//! Values written without a type, typed by the parameter's schema.
//!
//! The text is read as null, integer, number, boolean, object, array and string, in this order, and the first that the
//! schema admits wins. What fits none stays the string it is: a call is never lost over a type, and the pipeline's
//! check tells the model. So does a value that is too deep to be read again as part of the arguments. What a schema
//! admits is in `schema`.

mod pattern;
mod schema;

use serde_json::Value;

use crate::inspect::{fits_inside, is_object};
use crate::literal::{LiteralProgress, LiteralReader};
pub use schema::find_keyword;
use schema::{JsonType, SchemaReader, TypeVerdict, find_anywhere};

use crate::work::count_bytes;

/// The schema of one parameter, by its name or by what holds for others. That others are forbidden says nothing about
/// what they would be.
pub fn find_parameter<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    let named = |part: &'s Value| part.get("properties")?.get(name);
    let patterned = |part: &'s Value| pattern::find_matching(part.get("patternProperties")?, name);
    let other =
        |part: &'s Value| part.get("additionalProperties").filter(|schema| **schema != Value::Bool(false));
    named(schema)
        .or_else(|| find_anywhere(schema, named))
        .or_else(|| find_anywhere(schema, patterned))
        .or_else(|| find_anywhere(schema, other))
}

/// JSON text for what was written, by the types its schema allows.
pub fn coerce_by_schema(written: &str, schema: Option<&Value>, root: &Value) -> String {
    schema.and_then(|schema| coerce_typed(written, schema, root)).unwrap_or_else(|| quote_text(written))
}

/// The same; `None` where the schema says nothing about the type.
#[inline(never)]
pub fn coerce_typed(written: &str, schema: &Value, root: &Value) -> Option<String> {
    let says = SchemaReader::new(root).allowed_types(schema).filter(|says| !says.is_nothing())?;
    // Neither this nor `is_text_only` is made one with what reads the pieces of a value, which would be slower for it.
    Some(first_fitting_reading(written, says, schema, root).unwrap_or_else(|| quote_text(written)))
}

/// The first reading that the schema admits, if it is not text.
fn first_fitting_reading(written: &str, says: TypeVerdict, schema: &Value, root: &Value) -> Option<String> {
    let text = written.trim();
    let fits = |kind: JsonType, json: &str| {
        let value = serde_json::from_str(json).ok();
        value.is_some_and(|value| SchemaReader::new(root).judge_value(schema, kind, &value).admits(kind))
    };
    for kind in JsonType::LADDER.into_iter().filter(|kind| says.admits(*kind)) {
        let Some(json) = read_as(text, kind) else { continue };
        if !says.by_value || fits(kind, &json) {
            return Some(json);
        }
    }
    if says.admits(JsonType::String) && (!says.by_value || fits(JsonType::String, &quote_text(written))) {
        return None;
    }
    // No reading fits. What checks the call tells more if the type at least is the one that was asked for.
    let named = SchemaReader::new(root).named_types(schema).filter(|named| !named.is_nothing())?;
    let kinds = JsonType::LADDER.into_iter().filter(|kind| *kind != JsonType::Null && named.admits(*kind));
    kinds.filter_map(|kind| read_as(text, kind)).next()
}

/// JSON text for what was written, where nothing is known about its type.
pub fn coerce_untyped(written: &str) -> String {
    // Numbers that no machine can hold are no numbers.
    match is_json_argument(written) {
        true => written.trim().to_owned(),
        false => quote_text(written),
    }
}

/// JSON text for what was written, where it is said to be JSON. Python counts too where it begins with one of these
/// characters, which tell its kind.
pub fn coerce_declared_json(written: &str, python: &str) -> String {
    let text = written.trim();
    let json = match text {
        _ if !text.starts_with(|c| python.contains(c)) => None,
        "True" => Some("true".to_owned()),
        "False" => Some("false".to_owned()),
        "None" => Some("null".to_owned()),
        _ => text.chars().next().and_then(|open| read_container(text, open)),
    };
    json.unwrap_or_else(|| coerce_untyped(written))
}

/// Whether the schema allows nothing but text; `None` where it says nothing about the type.
#[inline(never)]
pub fn is_text_only(schema: &Value, root: &Value) -> Option<bool> {
    let says = SchemaReader::new(root).allowed_types(schema)?;
    if says.is_nothing() { None } else { Some(says.is_text()) }
}

/// Whether the schema admits this very text; `None` where that does not depend on it.
pub fn may_be_text(text: &str, schema: &Value, root: &Value) -> Option<bool> {
    let says = SchemaReader::new(root).allowed_types(schema)?;
    let text = Value::from(text);
    says.by_value.then(|| {
        SchemaReader::new(root).judge_value(schema, JsonType::String, &text).admits(JsonType::String)
    })
}

/// The text as a value of this kind, if it is one. Whatever it is, it is text.
fn read_as(text: &str, kind: JsonType) -> Option<String> {
    count_bytes(text.len());
    match kind {
        JsonType::Null => text.eq_ignore_ascii_case("null").then(|| "null".to_owned()),
        JsonType::Integer => read_integer(text),
        JsonType::Number => read_number(text),
        JsonType::Boolean => read_boolean(text),
        JsonType::Object => read_container(text, '{').filter(|json| is_object(json)),
        JsonType::Array => read_container(text, '['),
        JsonType::String => None,
    }
}

/// A whole number in decimal digits; `5.0` counts, digits beyond any machine type are kept.
fn read_integer(text: &str) -> Option<String> {
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
fn read_number(text: &str) -> Option<String> {
    if let Some(whole) = read_integer(text) {
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

fn read_boolean(text: &str) -> Option<String> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" => Some("true".to_owned()),
        "false" | "0" => Some("false".to_owned()),
        _ => None,
    }
}

/// An object or array in JSON, or else in Python.
fn read_container(text: &str, open: char) -> Option<String> {
    if !text.starts_with(open) {
        return None;
    }
    if is_json_argument(text) {
        return Some(text.to_owned());
    }
    count_bytes(text.len());
    let mut literal = LiteralReader::for_python();
    let mut out = String::new();
    let whole = match literal.feed(text, 0, &mut out) {
        LiteralProgress::All => true,
        LiteralProgress::UpTo(at) => at == text.len(),
        LiteralProgress::Bad(_) => false,
    };
    (whole && literal.finish(false, &mut out) && is_json_argument(&out)).then_some(out)
}

/// Whether the text is JSON that may stand among arguments, which are an object themselves.
fn is_json_argument(text: &str) -> bool {
    count_bytes(text.len());
    serde_json::from_str::<Value>(text).is_ok() && fits_inside(text, 1)
}

/// The text as a JSON string.
pub fn quote_text(text: &str) -> String {
    count_bytes(text.len());
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
            (&json!({"type": "unheard_of"}), "{'k': 1}", "{\"k\": 1}"),
            (&json!({"type": "string", "nullable": true}), "null", "null"),
            (&json!({"type": "string", "nullable": true}), "x", r#""x""#),
            (&json!({"enum": ["a"], "nullable": true}), "null", "null"),
            (&json!({"type": "string", "nullable": false}), "null", r#""null""#),
            (&sizes, "2", "2"),
            (&sizes, "many", r#""many""#),
        ];
        for (schema, written, json) in cases {
            assert_eq!(coerce_by_schema(written, Some(schema), schema), json, "{schema} {written}");
        }
    }

    /// What becomes of the text as the value of a parameter with this schema.
    fn argument(written: &str, schema: Value) -> String {
        let root = json!({
            "properties": {"p": schema},
            "$defs": {
                "Nullable": {"type": ["string", "null"]},
                "Bad~2": {"type": ["string", "null"]},
                "Slash/Tilde~": {"type": ["integer", "null"]},
                "caf\u{e9} name": {"type": "null"},
                "Named": {"$anchor": "named", "type": "integer"},
                "Scoped": {"$id": "nested", "$ref": "#/$defs/Label", "$defs": {"Label": {"type": "integer"}}},
                "CycleA": {"$ref": "#/$defs/CycleB"},
                "CycleB": {"anyOf": [{"$ref": "#/$defs/CycleA"}, {"$ref": "#/$defs/CycleA"}]},
                "False": false,
                "NoSchema": null,
            },
        });
        coerce_by_schema(written, find_parameter(&root, "p"), &root)
    }

    /// `null` is a word too: it is taken for null only where the schema surely admits that.
    #[test]
    fn all_keywords_hold_at_once() {
        let nullable = || json!({"type": ["string", "null"]});
        let with = |keyword: &str, value: Value| {
            let mut schema = nullable();
            schema[keyword] = value;
            schema
        };
        let nothing = || json!({"type": "null"});
        let missing = || json!({"$ref": "#/$defs/Missing"});
        let behind = |reference: &str| json!({"$ref": reference});
        for schema in [
            nullable(),
            json!({"anyOf": [missing(), nothing()]}),
            json!({"anyOf": [nothing(), missing()]}),
            json!({"not": {"oneOf": [nothing(), nothing(), missing()]}}),
            json!({"not": {"type": "string"}}),
            with("not", json!({"const": "null"})),
            with("if", json!({"type": "string"})),
            with("then", json!(false)),
            json!({"type": ["string", "null"], "if": {"type": "string"}, "then": false}),
            behind("#/$defs/Nullable"),
            behind("#/$defs/Slash~1Tilde~0"),
            behind("#/$defs/caf%C3%A9%20name"),
        ] {
            assert_eq!(argument("null", schema.clone()), "null", "{schema}");
        }
        for schema in [
            with("not", nothing()),
            json!({"oneOf": [nullable(), nothing()]}),
            json!({"oneOf": [nothing(), nothing()]}),
            json!({"oneOf": [nothing(), {"$ref": "#anchor"}]}),
            json!({"allOf": [nullable(), missing()]}),
            with("not", missing()),
            with("not", json!({"anyOf": [nothing(), missing()]})),
            json!({"not": {"anyOf": [{"type": "string"}, missing()]}}),
            json!({"type": ["string", "null"], "if": nothing(), "then": false}),
            json!({"type": ["string", "null"], "if": {"type": "string"}, "else": false}),
            json!(false),
            json!({"$dynamicRef": "#node"}),
            behind("#/$defs/Bad~2"),
            behind("#/$defs/False"),
            behind("#/$defs/NoSchema"),
            behind("#/$defs/CycleA"),
            behind("#/$defs/Scoped/$defs/Label"),
            behind("#/$defs/%zz"),
            behind("https://example.com/schema"),
        ] {
            assert_eq!(argument("null", schema.clone()), r#""null""#, "{schema}");
        }
    }

    #[test]
    fn what_holds_for_null_holds_for_all() {
        let cases = [
            (json!({"type": ["string", "integer"], "not": {"type": "integer"}}), "5", r#""5""#),
            (json!({"oneOf": [{"type": ["string", "integer"]}, {"type": "integer"}]}), "5", r#""5""#),
            (json!({"oneOf": [{"type": "integer"}, {"type": "number"}]}), "5", "5"),
            (json!({"oneOf": [{"type": "integer"}, {"type": "integer", "minimum": 3}]}), "5", "5"),
            (json!({"type": ["string", "boolean"], "not": {"const": false}}), "false", r#""false""#),
            (json!({"type": ["string", "boolean"], "not": {"const": false}}), "true", "true"),
            (json!({"enum": ["5", 6]}), "5", r#""5""#),
            (json!({"enum": ["5", 6]}), "6.0", "6"),
            (json!({"enum": [1, 2]}), "5", "5"),
            (json!({"enum": ["{}", {"a": 1}]}), "{\"a\": 1}", "{\"a\": 1}"),
            (json!({"enum": ["{}", {"a": 1}]}), "{}", r#""{}""#),
            (json!({"type": "object", "not": {"required": ["a"]}}), "{}", "{}"),
            (json!({"not": {"properties": {"a": {}}}}), "5", r#""5""#),
            (json!({"anyOf": [{"properties": {"a": {}}}, {"type": "null"}]}), "{}", "{}"),
            (json!({"$ref": "#named"}), "5", "5"),
            (json!({"$ref": "nested"}), "5", "5"),
            (json!({"$ref": "#/$defs/Scoped"}), "5", "5"),
            (json!({"$ref": "#/$defs/Missing"}), "{'a': 1}", "{\"a\": 1}"),
            (json!({"type": "string", "$ref": "#/$defs/Missing"}), "{}", r#""{}""#),
        ];
        for (schema, written, json) in cases {
            assert_eq!(argument(written, schema.clone()), json, "{schema} {written}");
        }
    }

    #[test]
    fn a_parameter_is_found_wherever_the_schema_has_it() {
        let integer = json!({"type": "integer"});
        for root in [
            json!({"$ref": "#/$defs/A", "$defs": {"A": {"properties": {"n": integer}}}}),
            json!({"allOf": [{"properties": {"m": {}}}, {"properties": {"n": integer}}]}),
            json!({"properties": {"m": {}}, "allOf": [{"$ref": "#/$defs/A"}], "$defs": {"A": {"properties": {"n": integer}}}}),
            json!({"patternProperties": {"^m$": {"type": "string"}, "^n": integer}}),
            json!({"properties": {}, "patternProperties": {"^[a-z]$": integer}}),
            json!({"additionalProperties": integer}),
            json!({"patternProperties": {"^m": {"type": "string"}}, "additionalProperties": integer}),
            json!({"allOf": [{"$ref": "#"}, {"properties": {"n": integer}}]}),
        ] {
            assert_eq!(find_parameter(&root, "n"), Some(&integer), "{root}");
        }
        let circle = json!({"allOf": [{"$ref": "#"}, {"$ref": "#"}]});
        assert_eq!(find_parameter(&circle, "n"), None);
    }

    #[test]
    fn that_others_are_forbidden_says_nothing_about_them() {
        let root = json!({"properties": {}, "additionalProperties": false});
        assert_eq!(find_parameter(&root, "other"), None);
    }

    #[test]
    fn references_are_followed_and_circles_end() {
        let root = json!({
            "properties": {"n": {"$ref": "#/$defs/n"}, "c": {"$ref": "#/properties/c"}},
            "$defs": {"n": {"type": "integer"}},
        });
        assert_eq!(coerce_by_schema("7", find_parameter(&root, "n"), &root), "7");
        assert_eq!(coerce_by_schema("7", find_parameter(&root, "c"), &root), r#""7""#);
        assert_eq!(coerce_by_schema("7", find_parameter(&root, "other"), &root), r#""7""#);
    }

    #[test]
    fn without_a_schema_json_is_json() {
        assert_eq!(coerce_untyped("[1, 2]"), "[1, 2]");
        assert_eq!(coerce_untyped("plain"), r#""plain""#);
        assert_eq!(coerce_untyped("12345678901234567890123"), "12345678901234567890123");
        assert_eq!(coerce_untyped("1e999"), r#""1e999""#);
        assert_eq!(coerce_untyped("[1e999]"), r#""[1e999]""#);
    }

    /// Arguments as deep as JSON may be here are read by every reader; deeper ones would be by none.
    #[test]
    fn what_is_too_deep_to_be_an_argument_stays_text() {
        let lists = |depth: usize| format!("{}\"[\"{}", "[".repeat(depth), "]".repeat(depth));
        let schema = json!({"type": "array"});
        for depth in [1, 125, 126, 127, 128, 200, 100_000] {
            let (written, python) = (lists(depth), lists(depth).replace('"', "'"));
            let expected = if depth <= 125 { written.clone() } else { quote_text(&written) };
            assert_eq!(coerce_untyped(&written), expected, "{depth}");
            assert_eq!(coerce_by_schema(&written, Some(&schema), &schema), expected, "{depth}");
            let expected = if depth <= 120 { written.clone() } else { quote_text(&python) };
            assert_eq!(coerce_by_schema(&python, Some(&schema), &schema), expected, "{depth}");
        }
    }
}
