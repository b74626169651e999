//! Schemas adapted for Gemini.

use expect_test::{Expect, expect};

use super::*;
use crate::schema::tests::show;

fn check(field: Value, expected: Expect) {
    check_root(json!({"type": "object", "properties": {"x": field}}), expected);
}

fn check_root(schema: Value, expected: Expect) {
    let adapted = adapt_for_gemini(&schema);
    assert_plain(&adapted.schema);
    expected.assert_eq(&show(&adapted));
}

/// Asserts that a schema has only keywords that Gemini supports, at positions where it supports them.
pub(in crate::schema) fn assert_plain(node: &Value) {
    const KNOWN: &[&str] = &[
        "type",
        "format",
        "title",
        "description",
        "nullable",
        "enum",
        "items",
        "minItems",
        "maxItems",
        "properties",
        "required",
        "minProperties",
        "maxProperties",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "pattern",
        "anyOf",
    ];
    let members = node.as_object().unwrap();
    for (keyword, value) in members {
        assert!(KNOWN.contains(&keyword.as_str()), "{keyword} in {node}");
        match keyword.as_str() {
            "properties" => value.as_object().unwrap().values().for_each(assert_plain),
            "items" => assert_plain(value),
            "anyOf" => value.as_array().unwrap().iter().for_each(assert_plain),
            "type" => assert!(value.is_string(), "{node}"),
            "enum" => assert!(value.as_array().unwrap().iter().all(Value::is_string), "{node}"),
            "nullable" => assert!(value.is_boolean(), "{node}"),
            "description" | "title" | "format" | "pattern" => assert!(value.is_string(), "{node}"),
            "required" => {
                assert!(
                    list_strings(Some(value)).all(|name| node["properties"].get(name).is_some()),
                    "{node}"
                )
            }
            _ => assert!(value.is_number(), "{node}"),
        }
    }
    let is = |kind: &str| members.get("type").is_some_and(|found| found == kind);
    assert!(members.contains_key("type") || members.contains_key("anyOf"), "no type: {node}");
    assert!(
        is("object") || !(members.contains_key("properties") || members.contains_key("required")),
        "{node}"
    );
    assert_eq!(is("array"), members.contains_key("items"), "{node}");
}

#[test]
fn gemini_fields_have_one_type_and_nullable() {
    check(json!({"type": "string"}), expect![[r#"{"type":"string"}"#]]);
    check(
        json!({"type": ["integer", "null"], "minimum": 1}),
        expect![[r#"{"minimum":1,"nullable":true,"type":"integer"}"#]],
    );
    check(
        json!({"type": ["string", "array"], "items": {"type": "integer"}, "minLength": 2, "description": "one or many"}),
        expect![[
            r#"{"anyOf":[{"minLength":2,"type":"string"},{"items":{"type":"integer"},"type":"array"}],"description":"one or many"}"#
        ]],
    );
    check(
        json!({"anyOf": [{"type": "string"}, {"type": "null"}], "description": "a name"}),
        expect![[r#"{"description":"a name","nullable":true,"type":"string"}"#]],
    );
    check(
        json!({"oneOf": [{"type": "string", "maxLength": 3}, {"type": "object", "properties": {"a": {"const": "b"}}, "required": ["a", "gone"]}], "default": "x"}),
        expect![[
            r#"{"anyOf":[{"maxLength":3,"type":"string"},{"properties":{"a":{"enum":["b"],"type":"string"}},"required":["a"],"type":"object"}],"description":"default: x"}"#
        ]],
    );
    check(
        json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
        expect![[
            r#"{"anyOf":[{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a"],"type":"object"},{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["b"],"type":"object"}]}"#
        ]],
    );
    check(json!({"type": "string", "nullable": true}), expect![[r#"{"nullable":true,"type":"string"}"#]]);
    check(
        json!({}),
        expect![[
            r#"{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"},{"items":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"}]},"type":"array"}]}"#
        ]],
    );
    check(
        json!(true),
        expect![[
            r#"{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"},{"items":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"}]},"type":"array"}]}"#
        ]],
    );
    check(
        json!({"type": "null"}),
        expect![[r#"{"description":"always null","nullable":true,"type":"string"}"#]],
    );
    check(
        json!({"anyOf": []}),
        expect![[
            r#"{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"},{"items":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"}]},"type":"array"}]}"#
        ]],
    );
    check(
        json!({"type": "strange"}),
        expect![[
            r#"{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"},{"items":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"}]},"type":"array"}]}"#
        ]],
    );
}

#[test]
fn gemini_gets_values_as_an_enum_of_text_or_in_words() {
    check(json!({"enum": ["a", "b"]}), expect![[r#"{"enum":["a","b"],"type":"string"}"#]]);
    check(
        json!({"type": ["string", "null"], "enum": ["a", null]}),
        expect![[r#"{"enum":["a"],"nullable":true,"type":"string"}"#]],
    );
    check(json!({"const": "a"}), expect![[r#"{"enum":["a"],"type":"string"}"#]]);
    check(json!({"const": 3}), expect![[r#"{"description":"always 3","type":"integer"}"#]]);
    check(
        json!({"type": "integer", "enum": [1, 2]}),
        expect![[r#"{"description":"one of 1, 2","type":"integer"}"#]],
    );
    check(
        json!({"enum": ["a", 1, true]}),
        expect![[
            r#"{"anyOf":[{"type":"string"},{"type":"integer"},{"type":"boolean"}],"description":"one of \"a\", 1, true"}"#
        ]],
    );
    check(
        json!({"type": "string", "enum": ["", "a"]}),
        expect![[r#"{"description":"one of \"\", \"a\"","type":"string"}"#]],
    );
    check(json!({"type": "string", "enum": "no list"}), expect![[r#"{"type":"string"}"#]]);
}

#[test]
fn gemini_gets_unsupported_keywords_in_words() {
    check(
        json!({"type": "string", "format": "email", "pattern": "^.+@"}),
        expect![[r#"{"description":"format: email","pattern":"^.+@","type":"string"}"#]],
    );
    check(
        json!({"type": "integer", "format": "uint8", "minimum": 0}),
        expect![[r#"{"minimum":0,"type":"integer"}"#]],
    );
    check(
        json!({"type": "string", "format": "date-time"}),
        expect![[r#"{"format":"date-time","type":"string"}"#]],
    );
    check(
        json!({"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5, "description": "A price.", "default": 1.5}),
        expect![[
            r#"{"description":"A price. (default: 1.5; greater than 0; a multiple of 0.5)","type":"number"}"#
        ]],
    );
    check(
        json!({"type": "array", "uniqueItems": true, "items": {"type": "string"}}),
        expect![[r#"{"description":"no item twice","items":{"type":"string"},"type":"array"}"#]],
    );
    check(
        json!({"type": "array"}),
        expect![[
            r#"{"items":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"},{"items":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"}]},"type":"array"}]},"type":"array"}"#
        ]],
    );
    check(
        json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]}),
        expect![[
            r#"{"description":"the items are, in this order: [{\"type\":\"string\"},{\"type\":\"integer\"}]","items":{"anyOf":[{"type":"string"},{"type":"integer"}]},"type":"array"}"#
        ]],
    );
    check(
        json!({"type": "object", "additionalProperties": {"type": "string"}}),
        expect![[
            r#"{"description":"further keys may be given; their values fit {\"type\":\"string\"}","type":"object"}"#
        ]],
    );
    check(
        json!({"type": "object", "patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": false}),
        expect![[
            r#"{"description":"keys that match a pattern have values that fit: {\"^x-\":{\"type\":\"string\"}}","type":"object"}"#
        ]],
    );
    check(
        json!({"type": "string", "properties": {"a": {}}, "required": ["a"]}),
        expect![[r#"{"type":"string"}"#]],
    );
    check(
        json!({"type": "object", "properties": {"a": true}, "dependentRequired": {"a": ["b"]}, "if": {"required": ["a"]}, "then": {"minProperties": 2}, "$comment": "no", "x-own": 1, "deprecated": true}),
        expect![[
            r#"{"description":"keys depend on each other: {\"a\":[\"b\"]}; if it fits {\"required\":[\"a\"]}, `then` holds, and otherwise `else`; then: {\"minProperties\":2}","properties":{"a":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"},{"items":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"}]},"type":"array"}]}},"type":"object"}"#
        ]],
    );
    check(
        json!({"allOf": [{"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]}, {"properties": {"a": {"type": "integer", "minimum": 3}, "b": {"type": "string"}}, "required": ["b"], "minProperties": 2}], "description": "both"}),
        expect![[
            r#"{"description":"both","minProperties":2,"properties":{"a":{"minimum":3,"type":"integer"},"b":{"type":"string"}},"required":["a","b"],"type":"object"}"#
        ]],
    );
    check(
        json!({"allOf": [{"type": "string", "pattern": "^a"}, {"type": "string", "pattern": "z$"}]}),
        expect![[r#"{"description":"matches the regular expression z$","pattern":"^a","type":"string"}"#]],
    );
}

#[test]
fn gemini_schemas_have_no_references_and_end_recursion() {
    check_root(
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/Name", "description": "whose"}, "b": {"$ref": "https://example.org/x"}, "c": {"$ref": "#/$defs/Gone"}},
            "required": ["a"],
            "$defs": {"Name": {"type": "string", "minLength": 1, "description": "a name"}},
        }),
        expect![[
            r#"{"properties":{"a":{"description":"whose","minLength":1,"type":"string"},"b":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"},{"items":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"}]},"type":"array"}],"description":"fits https://example.org/x"},"c":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"},{"items":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"}]},"type":"array"}],"description":"fits #/$defs/Gone"}},"required":["a"],"type":"object"}"#
        ]],
    );
    check_root(
        json!({
            "type": "object",
            "properties": {"tree": {"$ref": "#/$defs/Tree"}},
            "$defs": {"Tree": {"type": "object", "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}}},
        }),
        expect![[
            r#"{"properties":{"tree":{"properties":{"children":{"items":{"properties":{"children":{"items":{"description":"and so on, in the same form","type":"object"},"type":"array"},"name":{"type":"string"}},"type":"object"},"type":"array"},"name":{"type":"string"}},"type":"object"}},"type":"object"}"#
        ]],
    );
    check_root(
        json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}}),
        expect![[
            r#"{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"},{"items":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"}]},"type":"array"}],"description":"and so on, in the same form"}"#
        ]],
    );
}

#[test]
fn gemini_always_gets_an_object_at_the_root() {
    check_root(json!({}), expect![[r#"{"type":"object"}"#]]);
    check_root(json!(true), expect![[r#"{"type":"object"}"#]]);
    check_root(
        json!({"type": "object", "description": "Where.", "additionalProperties": {"type": "string"}, "minProperties": 1}),
        expect![[r#"
            {"minProperties":1,"type":"object"}
            note: Where.
            note: further keys may be given; their values fit {"type":"string"}"#]],
    );
    check_root(
        json!({"$ref": "#/$defs/Args", "$defs": {"Args": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}}}),
        expect![[r#"{"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}"#]],
    );
    check_root(
        json!({
            "properties": {"at": {"type": "string"}},
            "oneOf": [
                {"title": "A file", "properties": {"kind": {"const": "file"}, "path": {"type": "string"}}, "required": ["kind", "path"]},
                {"properties": {"kind": {"const": "page"}, "url": {"type": "string"}}, "required": ["kind", "url"]},
            ],
        }),
        expect![[r#"
            {"properties":{"at":{"type":"string"},"kind":{"anyOf":[{"enum":["file"],"type":"string"},{"enum":["page"],"type":"string"}]},"path":{"type":"string"},"url":{"type":"string"}},"required":["kind"],"type":"object"}
            note: they take one of these forms: A file (`kind` = "file", `path`); or `kind` = "page", `url`"#]],
    );
}
