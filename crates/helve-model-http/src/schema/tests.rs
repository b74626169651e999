//! Tests for all vendors; each vendor's tables are beside its file.

use serde_json::json;

use super::gemini::assert_plain;
use super::*;

/// The schema of the one field `x`, and the notes.
pub(super) fn show(adapted: &Adapted) -> String {
    let mut text = match adapted.schema["properties"].get("x") {
        Some(field) => field.to_string(),
        None => adapted.schema.to_string(),
    };
    for note in &adapted.notes {
        text.push_str(&format!("\nnote: {note}"));
    }
    text
}

#[test]
fn a_schema_that_doubles_on_each_level_stays_bounded() {
    // Each level refers twice to the next: 2^40 fields if all were followed.
    let mut definitions = Map::new();
    for level in 0..40 {
        let next = json!({"$ref": format!("#/$defs/L{}", level + 1)});
        let level_of = json!({"type": "object", "properties": {"a": next, "b": next}});
        definitions.insert(format!("L{level}"), level_of);
    }
    definitions.insert("L40".into(), json!({"type": "string"}));
    let schema = json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/L0"}}, "$defs": definitions});
    let adapted = adapt_for_gemini(&schema);
    assert_plain(&adapted.schema);
    let size = adapted.schema.to_string().len();
    assert!(size < 2_000_000, "{size}");
    assert!(adapt_for_strict_openai(&schema).is_some(), "references stay");

    let mut deep = json!({"type": "string"});
    for _ in 0..500 {
        deep = json!({"type": "array", "items": deep});
    }
    let deep = json!({"type": "object", "properties": {"x": deep}});
    assert_plain(&adapt_for_gemini(&deep).schema);
    assert_eq!(adapt_for_strict_openai(&deep), None);
}

#[test]
fn notes_follow_the_description_of_the_tool() {
    assert_eq!(append_notes("Loads.", &[]), "Loads.");
    assert_eq!(
        append_notes("Loads.", &["where.".into(), "when".into()]),
        "Loads.\n\nArguments: where; when."
    );
    assert_eq!(append_notes("", &["where".into()]), "Arguments: where.");
}

#[test]
fn anthropic_schemas_are_unchanged_unless_the_root_is_a_choice() {
    let plain = json!({"type": "object", "properties": {"a": {"oneOf": [{"type": "string"}, {"type": "null"}]}}, "additionalProperties": false});
    assert!(
        matches!(adapt_for_anthropic(&plain), (Cow::Borrowed(same), notes) if *same == plain && notes.is_empty())
    );
    let (typeless, _) = adapt_for_anthropic(&Value::Bool(true));
    assert_eq!(*typeless, json!({"type": "object"}));
    let named = json!({"$ref": "#/$defs/A", "$defs": {"A": {"type": "object", "properties": {"b": {"$ref": "#/$defs/B"}}}, "B": {"type": "string"}}});
    let (found, _) = adapt_for_anthropic(&named);
    assert_eq!(found["properties"]["b"], json!({"$ref": "#/$defs/B"}));
    assert_eq!((found["$defs"]["B"].clone(), found.get("$ref")), (json!({"type": "string"}), None));
}

/// A random number generator with a fixed seed.
struct SeededRng(u64);

impl SeededRng {
    fn below(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }

    fn schema(&mut self, depth: usize) -> Value {
        let mut node = Map::new();
        for _ in 0..self.below(5) {
            let (keyword, value) = self.keyword(depth);
            node.insert(keyword.to_owned(), value);
        }
        match self.below(12) {
            0 => Value::Bool(true),
            1 => json!("no schema"),
            _ => Value::Object(node),
        }
    }

    fn keyword(&mut self, depth: usize) -> (&'static str, Value) {
        const TYPES: &[&str] =
            &["string", "integer", "number", "boolean", "array", "object", "null", "strange"];
        const REFERENCES: &[&str] =
            &["#", "#/$defs/a", "#/$defs/b", "#/properties/x", "https://example.org", ""];
        let deeper = |dice: &mut Self| if depth == 0 { json!({}) } else { dice.schema(depth - 1) };
        match self.below(22) {
            0 | 1 => ("type", TYPES[self.below(TYPES.len())].into()),
            2 => ("type", json!([TYPES[self.below(TYPES.len())], TYPES[self.below(TYPES.len())]])),
            3 | 4 => ("properties", json!({"x": deeper(self), "y": deeper(self)})),
            5 => ("required", json!(["x", "gone", 7])),
            6 => ("items", deeper(self)),
            7 => ("items", json!([deeper(self)])),
            8 => ("anyOf", json!([deeper(self), deeper(self)])),
            9 => ("oneOf", json!([deeper(self), {"type": "null"}])),
            10 => ("allOf", json!([deeper(self), deeper(self)])),
            11 | 12 => ("$ref", REFERENCES[self.below(REFERENCES.len())].into()),
            13 => ("enum", json!(["a", "", 1, null, {"b": 2}])),
            14 => ("enum", json!(["a", "b", null])),
            15 => ("const", json!(1.5)),
            16 => ("format", json!("email")),
            17 => ("minimum", json!("not a number")),
            18 => ("additionalProperties", deeper(self)),
            19 => ("prefixItems", json!([deeper(self)])),
            20 => ("description", json!(["not a text"])),
            _ => ("nullable", json!(true)),
        }
    }
}

#[test]
fn every_generated_schema_is_adapted_to_what_each_vendor_accepts() {
    let mut dice = SeededRng(4);
    let mut strict = 0;
    for _ in 0..4_000 {
        let mut schema = dice.schema(3);
        if let Some(members) = schema.as_object_mut() {
            members.insert("$defs".into(), json!({"a": dice.schema(2), "b": dice.schema(2)}));
            if dice.below(2) == 0 {
                members.insert("type".into(), "object".into());
            }
        }
        let adapted = adapt_for_gemini(&schema);
        assert_eq!(adapted.schema["type"], "object", "{schema}");
        assert_plain(&adapted.schema);
        let (found, _) = adapt_for_anthropic(&schema);
        assert_eq!(found["type"], "object", "{schema}");
        if let Some(adapted) = adapt_for_strict_openai(&schema) {
            strict += 1;
            let members = adapted.schema["properties"].as_object().unwrap();
            assert_eq!(adapted.schema["required"].as_array().unwrap().len(), members.len(), "{schema}");
        }
    }
    assert!(strict > 20, "{strict}");
}

/// The size of a schema in a request: its values and its text.
fn size(value: &Value) -> usize {
    value.to_string().len()
}

#[test]
fn references_to_combinations_of_references_are_followed_within_a_bound() {
    // Each of two thousand fields combines 600 schemas that contradict each other, which needs words: without a bound the
    // result would have hundreds of megabytes.
    let parts: Vec<_> = (0..600).map(|n| json!({"$ref": format!("#/$defs/p{n}")})).collect();
    let mut definitions: Map<_, _> =
        (0..600).map(|n| (format!("p{n}"), json!({"pattern": format!("^some pattern {n}$")}))).collect();
    definitions.insert("all".into(), json!({"type": "string", "allOf": parts}));
    let one = json!({"$ref": "#/$defs/all"});
    let fields: Map<_, _> = (0..2_000).map(|n| (format!("f{n}"), one.clone())).collect();
    let schema = json!({"type": "object", "properties": fields, "$defs": definitions});
    let adapted = adapt_for_gemini(&schema);
    assert_plain(&adapted.schema);
    assert!(size(&adapted.schema) < 2_000_000, "{}", size(&adapted.schema));
    if let Some(strict) = adapt_for_strict_openai(&schema) {
        assert!(size(&strict.schema) < 2_000_000, "{}", size(&strict.schema));
    }

    let choice = json!({"type": "object", "anyOf": vec![one; 500], "$defs": schema["$defs"]});
    let (made, notes) = adapt_for_anthropic(&choice);
    assert!(size(&made) < 500_000 && append_notes("d", &notes).len() < 3_000, "{}", size(&made));
}

#[test]
fn long_lists_in_combinations_are_compared_within_a_bound() {
    let names: Vec<_> = (0..5_000).map(|n| format!("n{n}")).collect();
    let part = json!({"type": "string", "enum": names, "required": names});
    let parts = vec![json!({"$ref": "#/$defs/p"}), part.clone(), part.clone(), part.clone()];
    let schema = json!({"type": "object", "properties": {"x": {"allOf": parts}}, "$defs": {"p": part}});
    let adapted = adapt_for_gemini(&schema);
    assert_plain(&adapted.schema);
    assert!(size(&adapted.schema) < 500_000, "{}", size(&adapted.schema));
    assert!(adapted.schema.to_string().contains("too long to tell"), "it is said");
}
