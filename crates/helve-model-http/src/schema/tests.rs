//! What holds for every vendor; the tables are beside each of them.

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
fn a_schema_that_would_grow_without_bound_does_not() {
    // Each level refers twice to the next: 2^40 fields, if all of them were followed.
    let mut definitions = Map::new();
    for level in 0..40 {
        let next = json!({"$ref": format!("#/$defs/L{}", level + 1)});
        let level_of = json!({"type": "object", "properties": {"a": next, "b": next}});
        definitions.insert(format!("L{level}"), level_of);
    }
    definitions.insert("L40".into(), json!({"type": "string"}));
    let schema = json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/L0"}}, "$defs": definitions});
    let adapted = for_gemini(&schema);
    assert_plain(&adapted.schema);
    let size = adapted.schema.to_string().len();
    assert!(size < 2_000_000, "{size}");
    assert!(for_strict_openai(&schema).is_some(), "references stay");

    let mut deep = json!({"type": "string"});
    for _ in 0..500 {
        deep = json!({"type": "array", "items": deep});
    }
    let deep = json!({"type": "object", "properties": {"x": deep}});
    assert_plain(&for_gemini(&deep).schema);
    assert_eq!(for_strict_openai(&deep), None);
}

#[test]
fn notes_follow_the_description_of_the_tool() {
    assert_eq!(with_notes("Loads.", &[]), "Loads.");
    assert_eq!(with_notes("Loads.", &["where.".into(), "when".into()]), "Loads.\n\nArguments: where; when.");
    assert_eq!(with_notes("", &["where".into()]), "Arguments: where.");
}

#[test]
fn anthropic_takes_schemas_as_they_are_unless_the_root_is_a_choice() {
    let plain = json!({"type": "object", "properties": {"a": {"oneOf": [{"type": "string"}, {"type": "null"}]}}, "additionalProperties": false});
    assert!(
        matches!(for_anthropic(&plain), (Cow::Borrowed(same), notes) if *same == plain && notes.is_empty())
    );
    let (typeless, _) = for_anthropic(&Value::Bool(true));
    assert_eq!(*typeless, json!({"type": "object"}));
    let named = json!({"$ref": "#/$defs/A", "$defs": {"A": {"type": "object", "properties": {"b": {"$ref": "#/$defs/B"}}}, "B": {"type": "string"}}});
    let (found, _) = for_anthropic(&named);
    assert_eq!(found["properties"]["b"], json!({"$ref": "#/$defs/B"}));
    assert_eq!((found["$defs"]["B"].clone(), found.get("$ref")), (json!({"type": "string"}), None));
}
