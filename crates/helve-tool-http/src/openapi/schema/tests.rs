//! Tables of translations.

use serde_json::{Value, json};

use super::*;

fn translated(edition: SchemaEdition, given: &Value) -> Value {
    let root = json!({"components": {"schemas": {
        "Pet": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
        "Kind": {"type": "string", "enum": ["cat", "dog"]}
    }}});
    let root: &'static Value = Box::leak(Box::new(root));
    let given: &'static Value = Box::leak(Box::new(given.clone()));
    let schemas = Schemas::new(Refs::new(root), edition);
    schemas.begin_translation(DETAILS[0]).translate(given).unwrap()
}

fn check(edition: SchemaEdition, table: &[(Value, Value)]) {
    for (given, expected) in table {
        assert_eq!(translated(edition, given), *expected, "{given}");
    }
}

fn pet(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

#[test]
fn what_3_0_says_in_its_own_way_is_said_in_json_schemas() {
    check(
        SchemaEdition::V30,
        &[
            (json!({"type": "string", "nullable": true}), json!({"type": ["string", "null"]})),
            (
                json!({"type": "string", "nullable": true, "enum": ["a"]}),
                json!({"type": ["string", "null"], "enum": ["a", null]}),
            ),
            (
                json!({"type": "integer", "minimum": 1, "exclusiveMinimum": true, "maximum": 9, "exclusiveMaximum": false}),
                json!({"type": "integer", "exclusiveMinimum": 1, "maximum": 9}),
            ),
            (json!({"type": "string", "example": "Tea"}), json!({"type": "string", "examples": ["Tea"]})),
            (json!({"type": "object", "example": {"a": 1}}), json!({"type": "object"})),
            (
                json!({"type": "string", "xml": {"name": "x"}, "externalDocs": {}, "x-own": 1, "discriminator": {"propertyName": "a"}}),
                json!({"type": "string"}),
            ),
            (json!({"type": "integer", "format": "int64"}), json!({"type": "integer"})),
            (
                json!({"type": "string", "format": "date-time"}),
                json!({"type": "string", "format": "date-time"}),
            ),
            (json!({"type": "array"}), json!({"type": "array", "items": {}})),
            (json!({"title": "A name"}), json!({"description": "A name"})),
        ],
    );
}

#[test]
fn what_belongs_to_answers_is_no_part_of_a_request() {
    let given = json!({
        "type": "object",
        "required": ["id", "name"],
        "properties": {
            "id": {"type": "integer", "readOnly": true},
            "name": {"type": "string"},
            "password": {"type": "string", "writeOnly": true}
        }
    });
    let expected = json!({
        "type": "object", "required": ["name"],
        "properties": {"name": {"type": "string"}, "password": {"type": "string"}}
    });
    check(SchemaEdition::V30, &[(given, expected)]);
    // Also where one part needs what another calls read-only.
    let given = json!({"allOf": [
        {"type": "object", "properties": {"id": {"type": "integer", "readOnly": true}}},
        {"type": "object", "required": ["id", "a"], "properties": {"a": {"type": "string"}}}
    ]});
    let expected = json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}});
    check(SchemaEdition::V30, &[(given, expected)]);
}

#[test]
fn pointers_become_what_they_point_to() {
    let whole = json!({"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}});
    let described = json!({"type": "string", "enum": ["cat", "dog"], "description": "Which."});
    check(
        SchemaEdition::V30,
        &[
            (pet("Pet"), whole.clone()),
            (json!({"$ref": "#/components/schemas/Kind", "description": "Which."}), described),
            (
                json!({"$ref": "#/components/schemas/Kind", "nullable": true}),
                json!({"type": ["string", "null"], "enum": ["cat", "dog", null]}),
            ),
        ],
    );
    check(
        SchemaEdition::V31,
        &[
            (
                json!({"$ref": "#/components/schemas/Pet", "required": ["age"], "properties": {"age": {"type": "integer"}}}),
                json!({
                    "type": "object", "required": ["age", "name"],
                    "properties": {"age": {"type": "integer"}, "name": {"type": "string"}}
                }),
            ),
            (
                json!({"$ref": "#/components/schemas/Kind", "maxLength": 3}),
                json!({"allOf": [{"type": "string", "enum": ["cat", "dog"]}, {"maxLength": 3}]}),
            ),
        ],
    );
}

#[test]
fn combinations_are_as_plain_as_they_can_be() {
    let either = json!({"anyOf": [{"type": "string"}, {"type": "integer"}]});
    check(
        SchemaEdition::V30,
        &[
            (json!({"oneOf": [{"type": "string"}, {"type": "integer"}, {"type": "string"}]}), either),
            (
                json!({"oneOf": [pet("Kind")], "description": "One."}),
                json!({"type": "string", "enum": ["cat", "dog"], "description": "One."}),
            ),
            (json!({"allOf": [pet("Kind")]}), json!({"type": "string", "enum": ["cat", "dog"]})),
            (
                json!({"allOf": [pet("Pet"), {"properties": {"age": {"type": "integer"}}}], "description": "A pet."}),
                json!({
                    "type": "object", "required": ["name"], "description": "A pet.",
                    "properties": {"age": {"type": "integer"}, "name": {"type": "string"}}
                }),
            ),
            // Parts that disagree stay apart.
            (
                json!({"allOf": [pet("Pet"), {"type": "object", "properties": {"name": {"type": "integer"}}}]}),
                json!({"allOf": [
                    {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
                    {"type": "object", "properties": {"name": {"type": "integer"}}}
                ]}),
            ),
            (
                json!({"nullable": true, "allOf": [pet("Pet")]}),
                json!({"type": ["object", "null"], "required": ["name"], "properties": {"name": {"type": "string"}}}),
            ),
        ],
    );
}

#[test]
fn what_3_1_says_stays_as_it_is() {
    for given in [
        json!({"type": ["string", "null"]}),
        json!({"type": "integer", "exclusiveMinimum": 3}),
        json!({"const": "fixed"}),
        json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]}),
        json!({"type": "object", "additionalProperties": {"type": "integer"}}),
        json!({"type": "object", "patternProperties": {"^x-": true}}),
        json!(true),
    ] {
        assert_eq!(translated(SchemaEdition::V31, &given), given);
    }
}

#[test]
fn less_detail_leaves_a_word_about_what_is_missing() {
    let given = json!({
        "type": "object",
        "description": "one two three four five six seven",
        "properties": {"a": {"type": "object", "properties": {"b": {"type": "string"}}}, "c": {"enum": [1, 2, 3]}}
    });
    let root = json!({});
    let schemas = Schemas::new(Refs::new(&root), SchemaEdition::V31);
    let mut walk = schemas.begin_translation(SchemaDetail { depth: 1, words: 12, fields: 9, values: 2 });
    let made = walk.translate(&given).unwrap();
    assert_eq!(
        made,
        json!({
            "type": "object",
            "description": "one two…",
            "properties": {
                "a": {"type": "object", "description": "(What is inside is not listed here.)"},
                "c": {"description": "(One of 3 values: 1, 2, …)"}
            }
        })
    );
    assert!(walk.left_out);
}
