//! Schemas adapted for strict mode.

use expect_test::{Expect, expect};

use super::*;
use crate::schema::tests::show;

fn check(field: Value, expected: Expect) {
    check_root(json!({"type": "object", "properties": {"x": field}, "required": ["x"]}), expected);
}

fn check_root(schema: Value, expected: Expect) {
    expected.assert_eq(&adapt_for_strict_openai(&schema).as_ref().map_or("none".into(), show));
}

#[test]
fn strict_mode_requires_every_field_and_allows_null_for_optional_ones() {
    check_root(
        json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer", "default": 5}, "c": {"enum": ["x"]}, "d": {"$ref": "#/$defs/D", "description": "d"}, "e": {"$ref": "#/$defs/D"}, "f": {"oneOf": [{"type": "string"}, {"type": "number"}]}}, "required": ["a", "e"], "$schema": "s", "$defs": {"D": {"type": "object", "properties": {"again": {"$ref": "#/$defs/D"}}}}}),
        expect![[
            r##"{"$defs":{"D":{"additionalProperties":false,"properties":{"again":{"anyOf":[{"$ref":"#/$defs/D"},{"type":"null"}]}},"required":["again"],"type":"object"}},"additionalProperties":false,"properties":{"a":{"type":"string"},"b":{"description":"default: 5","type":["integer","null"]},"c":{"enum":["x",null],"type":["string","null"]},"d":{"anyOf":[{"$ref":"#/$defs/D"},{"type":"null"}],"description":"d"},"e":{"$ref":"#/$defs/D"},"f":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"null"}]}},"required":["a","b","c","d","e","f"],"type":"object"}"##
        ]],
    );
    check_root(
        json!({"type": "object", "properties": {}, "minProperties": 0}),
        expect![[r#"{"additionalProperties":false,"properties":{},"required":[],"type":"object"}"#]],
    );
    check_root(
        json!({"type": "object"}),
        expect![[r#"{"additionalProperties":false,"properties":{},"required":[],"type":"object"}"#]],
    );
}

#[test]
fn strict_mode_gets_unsupported_keywords_in_words() {
    check(
        json!({"type": "string", "minLength": 1, "maxLength": 9, "pattern": "^a", "format": "email"}),
        expect![[
            r#"{"description":"at most 9 characters; at least 1 characters","format":"email","pattern":"^a","type":"string"}"#
        ]],
    );
    check(
        json!({"type": "string", "format": "uri", "description": "Where."}),
        expect![[r#"{"description":"Where. (format: uri)","type":"string"}"#]],
    );
    check(json!({"type": ["string", "null"]}), expect![[r#"{"type":["string","null"]}"#]]);
    check(json!({"const": 3}), expect![[r#"{"enum":[3],"type":"integer"}"#]]);
    check(
        json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true, "minItems": 1}),
        expect![[r#"{"description":"no item twice","items":{"type":"string"},"minItems":1,"type":"array"}"#]],
    );
    check(
        json!({"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}}, {"properties": {"b": {"type": "string"}}, "required": ["b"]}]}),
        expect![[
            r#"{"additionalProperties":false,"properties":{"a":{"type":["string","null"]},"b":{"type":"string"}},"required":["a","b"],"type":"object"}"#
        ]],
    );
    check(
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "not": {"required": ["a"]}}),
        expect![[
            r#"{"additionalProperties":false,"description":"must not fit {\"required\":[\"a\"]}","properties":{"a":{"type":["string","null"]}},"required":["a"],"type":"object"}"#
        ]],
    );
}

#[test]
fn strict_mode_is_not_used_for_schemas_that_it_cannot_express() {
    check(
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "anyOf": [{"type": "object", "properties": {"b": {"type": "string"}}}]}),
        expect!["none"],
    );
    check(json!({"type": "object", "additionalProperties": {"type": "string"}}), expect!["none"]);
    check(json!({"type": "object"}), expect!["none"]);
    check(json!({"type": "object", "patternProperties": {"^x": {}}}), expect!["none"]);
    check(json!({}), expect!["none"]);
    check(json!({"type": "array"}), expect!["none"]);
    check(json!({"$ref": "https://example.org/x"}), expect!["none"]);
    check(json!({"type": "array", "prefixItems": [{"type": "string"}], "items": false}), expect!["none"]);
}

#[test]
fn strict_mode_is_not_used_if_the_root_is_a_choice() {
    for root in [json!({"anyOf": [{"type": "object"}]}), json!({}), json!(true), json!({"$ref": "#/$defs/A"})]
    {
        assert_eq!(adapt_for_strict_openai(&root), None, "{root}");
    }
}
