//! Whole documents: one of our own with everything in it, hostile ones, and anything at all.

use std::collections::BTreeSet;

use expect_test::{Expect, expect, expect_file};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn imported(root: Value) -> Import {
    let document = Document::of_value(root, None).unwrap();
    import(&document, &Options { server: Some("https://api.example.com".into()), ..Options::default() })
        .unwrap()
}

/// A document with one operation.
fn with_operation(version: &str, operation: Value, components: Value) -> Value {
    json!({"openapi": version, "paths": {"/x": {"post": operation}}, "components": components})
}

fn shop() -> Document {
    Document::read(include_bytes!("fixtures/shop.yaml"), None).unwrap()
}

#[test]
fn a_document_with_everything_becomes_what_it_should() {
    let import = import(&shop(), &Options::default()).unwrap();
    for made in &import.tools {
        helve_tool::check_schema(&made.definition.parameters).unwrap();
    }
    expect_file!["fixtures/shop.expected.json"].assert_eq(&format!("{:#}\n", json!(import)));
}

#[test]
fn selection_and_prefix_leave_names_as_they_are() {
    let selection = Selection { tags: vec!["goods".into()], ..Selection::default() };
    let options = Options { selection, prefix: Some("Shop".into()), ..Options::default() };
    let chosen = import(&shop(), &options).unwrap();
    let names: Vec<_> = chosen.tools.iter().map(|made| made.definition.name.as_str()).collect();
    assert_eq!(names, ["Shop_goods_list", "Shop_goods_create"]);
    assert_eq!(chosen.tag, "openapi:corner_shop:shop");
    assert_eq!(chosen.secrets[0].name, "shop_token");
    assert!(chosen.unselected.contains("Shop_search"));
    assert!(chosen.skipped.is_empty());
}

#[test]
fn without_a_server_there_is_nothing_to_call() {
    let root = json!({"openapi": "3.0.0", "paths": {"/x": {"get": {}}}});
    let document = Document::of_value(root, None).unwrap();
    let error = import(&document, &Options::default()).unwrap_err();
    assert!(matches!(&error, ImportError::Server(problem) if problem.contains("names no server")), "{error}");
    let wrong = Options { server: Some("api.example.com".into()), ..Options::default() };
    assert!(matches!(import(&document, &wrong), Err(ImportError::Server(_))));
}

mod again {
    use super::*;

    fn check(change: impl FnOnce(&mut Value), expected: Expect) {
        let document = shop();
        let before = import(&document, &Options::default()).unwrap();
        let mut rows: Vec<_> = before.tools.into_iter().map(|made| made.definition).collect();
        // What a person did to the rows since.
        rows[0].enabled = false;
        rows[0].tags.push("mine".into());
        rows[0].endpoint.timeout_ms = std::num::NonZeroU64::new(5000);
        let mut root = document.root;
        change(&mut root);
        let after = import(&Document::of_value(root, None).unwrap(), &Options::default()).unwrap();
        let diff = diff(&rows, &BTreeSet::from(["time".to_owned()]), &after);
        let mut shown = String::new();
        for (tool, change) in &diff.tools {
            if *change != Change::Unchanged {
                shown.push_str(&format!("{}: {}\n", tool.name, json!(change)));
            }
            if tool.name == "goods_list" {
                assert!(!tool.enabled && tool.tags.contains(&"mine".to_owned()));
                assert_eq!(tool.endpoint.timeout_ms, rows[0].endpoint.timeout_ms);
            }
        }
        shown.push_str(&format!("gone: {:?}", diff.gone));
        expected.assert_eq(&shown);
    }

    #[test]
    fn the_same_document_changes_nothing() {
        check(|_| {}, expect!["gone: []"]);
    }

    #[test]
    fn what_changed_is_shown_field_by_field() {
        let change = |root: &mut Value| {
            root["paths"]["/goods"]["get"]["parameters"][0]["schema"]["maximum"] = json!(500);
            root["paths"]["/goods"]["get"]["summary"] = json!("List all goods");
        };
        check(
            change,
            expect![[r#"
            goods_list: {"change":"changed","fields":[{"field":"description","now":"List all goods\n\nGoods in stock, newest first.","was":"List goods\n\nGoods in stock, newest first."},{"field":"display_name","now":"List all goods","was":"List goods"},{"field":"parameters.properties.limit.maximum","now":500,"was":100}]}
            gone: []"#]],
        );
    }

    #[test]
    fn what_is_new_and_what_is_gone_is_shown() {
        let change = |root: &mut Value| {
            let search = root["paths"]["/search"].take();
            root["paths"].as_object_mut().unwrap().remove("/search");
            root["paths"]["/find"] = search;
            root["paths"]["/find"]["post"]["operationId"] = json!("time");
            root["paths"]["/fresh"] = json!({"get": {"operationId": "fresh", "summary": "Fresh"}});
        };
        check(
            change,
            expect![[r#"
            time: {"change":"taken"}
            fresh: {"change":"added"}
            gone: ["search"]"#]],
        );
    }

    #[test]
    fn what_was_not_asked_for_is_not_gone() {
        let whole = import(&shop(), &Options::default()).unwrap();
        let rows: Vec<_> = whole.tools.into_iter().map(|made| made.definition).collect();
        let selection = Selection { operations: vec!["search".into()], ..Selection::default() };
        let part = import(&shop(), &Options { selection, ..Options::default() }).unwrap();
        let diff = diff(&rows, &BTreeSet::new(), &part);
        assert_eq!(diff.gone, Vec::<String>::new());
        assert_eq!(diff.tools.len(), 1);
    }
}

mod hostile {
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
        assert_eq!(
            field["properties"]["a"],
            json!({"type": "object", "description": "(`A` again, as above.)"})
        );
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
        let document = Document::of_value(json!({"openapi": "3.0.0", "paths": paths}), None).unwrap();
        assert!(matches!(import(&document, &Options::default()), Err(ImportError::Document(_))));
    }
}

/// Anything that JSON can say, with the words that documents use.
fn anything() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "$ref",
        "type",
        "properties",
        "items",
        "allOf",
        "anyOf",
        "oneOf",
        "required",
        "enum",
        "nullable",
        "readOnly",
        "pattern",
        "schema",
        "parameters",
        "in",
        "name",
        "path",
        "query",
        "header",
        "cookie",
        "style",
        "deepObject",
        "form",
        "explode",
        "requestBody",
        "content",
        "application/json",
        "application/x-www-form-urlencoded",
        "get",
        "post",
        "put",
        "security",
        "servers",
        "url",
        "variables",
        "default",
        "description",
        "summary",
        "operationId",
        "tags",
        "string",
        "object",
        "array",
        "integer",
        "#/components/schemas/A",
        "#/paths",
        "#",
        "/a/{b}",
        "{",
        "}",
        "https://x.example.com",
        "responses",
        "200",
        "additionalProperties",
        "not",
        "minimum",
        "exclusiveMinimum",
        "format",
        "const",
        "prefixItems",
        "encoding",
        "b",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-5i64..50).prop_map(Value::from),
        word.clone().prop_map(Value::from),
        "\\PC{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(word.clone().prop_map(str::to_owned), inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_a_document_says_its_tools_are_valid(
        item in anything(),
        operation in anything(),
        schema in anything(),
        parameter in anything(),
        new in any::<bool>(),
    ) {
        let mut operation = operation;
        if let Value::Object(members) = &mut operation {
            members.insert("parameters".into(), json!([parameter, {"name": "q", "in": "query", "schema": schema}]));
            members.entry("requestBody").or_insert_with(|| json!({"content": {"application/json": {"schema": schema}}}));
        }
        let root = json!({
            "openapi": if new { "3.1.0" } else { "3.0.3" },
            "paths": {"/a/{b}": {"post": operation, "put": {"requestBody": {"content": {"application/x-www-form-urlencoded": {"schema": schema}}}}}, "/c": item},
            "components": {"schemas": {"A": schema}}
        });
        let import = imported(root);
        for made in &import.tools {
            let checked = helve_tool::check_schema(&made.definition.parameters);
            prop_assert!(checked.is_ok(), "{checked:?} {}", made.definition.parameters);
        }
        // What was made from the same document again is the same.
        let rows: Vec<_> = import.tools.iter().map(|made| made.definition.clone()).collect();
        let again = diff(&rows, &BTreeSet::new(), &import);
        prop_assert!(again.tools.iter().all(|(_, change)| *change == Change::Unchanged));
        // A schema that cannot be understood is simplified, never a reason to have no tool.
        for skipped in &import.skipped {
            prop_assert!(!skipped.reason.contains("not a valid JSON Schema"), "{skipped:?}");
        }
    }

    #[test]
    fn bytes_of_any_kind_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), text in "\\PC{0,200}") {
        _ = Document::read(&bytes, None);
        _ = Document::read(text.as_bytes(), None);
        _ = Document::read(format!("openapi: 3.0.0\n{text}").as_bytes(), None);
    }
}
