//! Documents that somebody wrote to do harm, or by a program that went wrong.

use super::*;

fn body(schema: Value) -> Value {
    json!({"requestBody": {"required": true, "content": {"application/json": {"schema": schema}}}})
}

fn parameters(root: Value) -> Value {
    let import = imported(root);
    assert_eq!(import.skipped, [], "{:?}", import.notes);
    let parameters = import.tools[0].definition.parameters.clone();
    helve_tool::check_schema(&parameters).unwrap();
    parameters
}

#[test]
fn circles_are_cut_where_they_close() {
    let components = json!({"schemas": {
        "A": {"type": "object", "properties": {"b": {"$ref": "#/components/schemas/B"}}},
        "B": {"type": "object", "properties": {"a": {"$ref": "#/components/schemas/A"}, "n": {"type": "integer"}}}
    }});
    let root = with_operation("3.0.0", body(json!({"$ref": "#/components/schemas/A"})), components);
    let field = &parameters(root)["properties"]["b"];
    assert_eq!(field["properties"]["a"], json!({"type": "object", "description": "(`A` again, as above.)"}));
    assert_eq!(field["properties"]["n"], json!({"type": "integer"}));
}

#[test]
fn a_pointer_to_itself_is_no_schema() {
    let components = json!({"schemas": {"A": {"$ref": "#/components/schemas/A"}, "B": {"allOf": [{"$ref": "#/components/schemas/B"}]}}});
    for name in ["A", "B"] {
        let schema = json!({"$ref": format!("#/components/schemas/{name}")});
        parameters(with_operation("3.1.0", body(schema), components.clone()));
    }
    let root = json!({"openapi": "3.0.0", "paths": {"/x": {"$ref": "#/paths/~1x"}}});
    assert!(imported(root).skipped[0].reason.contains("refers to itself"));
}

#[test]
fn pointers_that_double_at_every_step_stay_small() {
    let mut schemas = serde_json::Map::new();
    for level in 0..60 {
        let next = json!({"$ref": format!("#/components/schemas/S{}", level + 1)});
        let fields = json!({"left": next, "right": next, "middle": {"type": "array", "items": next}});
        schemas.insert(format!("S{level}"), json!({"type": "object", "properties": fields}));
    }
    schemas.insert("S60".into(), json!({"type": "string"}));
    let root = with_operation(
        "3.1.0",
        body(json!({"$ref": "#/components/schemas/S0"})),
        json!({"schemas": schemas}),
    );
    let import = imported(root);
    let made = &import.tools[0];
    assert!(made.definition.parameters.to_string().len() <= 32 << 10);
    assert!(made.notes.contains(&"its schema was too large and is shortened".to_owned()));
    assert!(made.definition.parameters.to_string().contains("is not listed here"));
}

#[test]
fn the_doubling_of_all_of_and_any_of_stays_small() {
    for combination in ["allOf", "anyOf", "oneOf"] {
        let mut schemas = serde_json::Map::new();
        for level in 0..40 {
            let next = json!({"$ref": format!("#/components/schemas/S{}", level + 1)});
            schemas.insert(
                format!("S{level}"),
                json!({combination: [next, next, {"description": level.to_string()}]}),
            );
        }
        schemas.insert("S40".into(), json!({"type": "object", "properties": {"x": {"type": "string"}}}));
        let root = with_operation(
            "3.1.0",
            body(json!({"$ref": "#/components/schemas/S0"})),
            json!({"schemas": schemas}),
        );
        let import = imported(root);
        assert_eq!(import.tools.len() + import.skipped.len(), 1, "{combination}");
    }
}

#[test]
fn a_hundred_thousand_fields_become_a_hundred() {
    let fields: serde_json::Map<_, _> =
        (0..100_000).map(|number| (format!("field{number:06}"), json!({"type": "string"}))).collect();
    let schema = json!({"type": "object", "properties": fields, "required": ["field099999"]});
    let root = with_operation("3.0.0", body(schema), json!({}));
    let parameters = parameters(root);
    let fields = parameters["properties"].as_object().unwrap();
    assert!((50..=200).contains(&fields.len()), "{}", fields.len());
    assert!(fields.contains_key("field099999"));
}

#[test]
fn a_deep_schema_is_cut() {
    let mut schema = json!({"type": "string"});
    for _ in 0..120 {
        schema = json!({"type": "array", "items": schema});
    }
    parameters(with_operation("3.0.0", body(schema), json!({})));
}

#[test]
fn a_pattern_that_cannot_be_matched_quickly_is_said_in_words() {
    let schema = json!({"type": "object", "properties": {
        "a": {"type": "string", "pattern": "^(?=.*[0-9])x$"},
        "b": {"type": "string", "pattern": "((a{1,1000}){1,1000}){1,1000}"},
        "c": {"type": "string", "pattern": "["},
        "d": {"type": "string", "pattern": "^[a-z]+$"}
    }});
    let parameters = parameters(with_operation("3.0.0", body(schema), json!({})));
    for name in ["a", "b", "c"] {
        let field = &parameters["properties"][name];
        assert!(
            field["pattern"].is_null() && field["description"].as_str().unwrap().contains("Must match"),
            "{field}"
        );
    }
    assert_eq!(parameters["properties"]["d"]["pattern"], "^[a-z]+$");
}

#[test]
fn keywords_of_the_wrong_type_are_left_out() {
    let schema = json!({"type": "object", "required": true, "properties": {
        "a": {"type": "file", "minLength": -1, "maximum": "9", "enum": [], "multipleOf": 0, "format": 7},
        "b": {"type": ["string", "string", "any"], "items": 3, "required": true, "pattern": 5},
        "c": null, "d": "string", "e": {"type": "string", "enum": [1, 2, 2]}, "f": {"properties": [], "allOf": {}}
    }});
    let parameters = parameters(with_operation("3.0.0", body(schema), json!({})));
    assert_eq!(parameters["properties"]["a"], json!({}));
    assert_eq!(parameters["properties"]["b"], json!({"type": "string"}));
    assert_eq!(parameters["properties"]["e"], json!({"enum": [1, 2]}));
}

#[test]
fn nothing_outside_of_the_document_is_asked_for() {
    for outside in ["http://169.254.169.254/latest", "file:///etc/passwd", "other.yaml#/X"] {
        let import = imported(with_operation("3.1.0", body(json!({"$ref": outside})), json!({})));
        let reason = &import.skipped[0].reason;
        assert!(reason.contains(outside) && reason.contains("outside of the document"), "{reason}");
    }
}

#[test]
fn too_many_operations_are_too_many() {
    let paths: serde_json::Map<_, _> =
        (0..6000).map(|number| (format!("/{number}"), json!({"get": {}}))).collect();
    let document = Document::from_value(json!({"openapi": "3.0.0", "paths": paths}), None).unwrap();
    assert!(matches!(import_tools(&document, &Options::default()), Err(ImportError::Document(_))));
}

/// Operations with the same body, as short as they can be written.
fn operations(count: usize, schemas: Value) -> Value {
    let operation = json!({"requestBody": {"$ref": "#/components/requestBodies/b"}});
    let paths: serde_json::Map<_, _> =
        (0..count).map(|n| (format!("/{n}"), json!({"post": operation}))).collect();
    let body = json!({"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/d0"}}}});
    json!({"openapi": "3.1.0", "paths": paths, "components": {"schemas": schemas, "requestBodies": {"b": body}}})
}

#[test]
fn the_patterns_of_all_tools_of_a_document_have_one_budget() {
    let fields: serde_json::Map<_, _> = (0..5)
        .map(|n| (format!("f{n}"), json!({"type": "string", "pattern": format!("\\p{{L}}{{20}}{n}")})))
        .collect();
    let import = imported(operations(40, json!({"d0": {"type": "object", "properties": fields}})));
    assert_eq!(import.tools.len(), 40);
    let all: Vec<&Value> = import
        .tools
        .iter()
        .flat_map(|made| made.definition.parameters["properties"].as_object().unwrap().values())
        .collect();
    assert_eq!(all.len(), 200);
    let patterns = all.iter().filter_map(|field| field.get("pattern")?.as_str());
    let units: Vec<u64> = patterns.map(|pattern| helve_tool::pattern_units(pattern).unwrap()).collect();
    assert!(!units.is_empty() && units.iter().sum::<u64>() <= 500_000, "{units:?}");
    let told = all.iter().filter(|field| field.to_string().contains("p{L}")).count();
    assert_eq!(told, 200, "what is no pattern is said in words");
}

#[test]
fn a_small_document_that_is_expanded_for_each_of_many_operations_is_read_within_one_budget() {
    let mut schemas = serde_json::Map::new();
    for level in 0..12 {
        let next = json!({"$ref": format!("#/components/schemas/d{}", level + 1)});
        let fields: serde_json::Map<_, _> = (0..8).map(|n| (format!("f{level}_{n}"), next.clone())).collect();
        schemas.insert(
            format!("d{level}"),
            json!({"type": "object", "allOf": [next, next, {"properties": fields}]}),
        );
    }
    schemas.insert("d12".into(), json!({"type": "object", "properties": {"x": {"type": "integer"}}}));
    let root = operations(190, schemas.into());
    assert!(root.to_string().len() < 20_000, "{}", root.to_string().len());
    let import = imported(root);
    assert_eq!(import.tools.len() + import.skipped.len(), 190);
    let refused: Vec<bool> =
        import.skipped.iter().map(|skipped| skipped.reason.contains("takes too much work")).collect();
    assert!(!refused[0], "the first ones are looked at");
    assert_eq!(refused.last(), Some(&true), "the last ones are not, since the first have used up the work");
}
