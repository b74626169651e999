//! Whole documents: one of our own with everything in it, hostile ones, and anything at all.

mod hostile;

use std::collections::BTreeSet;

use expect_test::{Expect, expect, expect_file};
use helve_types::{Auth, Effect, Selection, ToolDefinition};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn imported(root: Value) -> Import {
    let document = Document::from_value(root, None).unwrap();
    import_tools(&document, &Options { server: Some("https://api.example.com".into()), ..Options::default() })
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
    let import = import_tools(&shop(), &Options::default()).unwrap();
    for made in &import.tools {
        helve_tool::check_schema(&made.definition.parameters).unwrap();
    }
    expect_file!["fixtures/shop.expected.json"].assert_eq(&format!("{:#}\n", json!(import)));
}

#[test]
fn selection_and_prefix_leave_names_as_they_are() {
    let selection = Selection { tags: vec!["goods".into()], ..Selection::default() };
    let options = Options { selection, prefix: Some("Shop".into()), ..Options::default() };
    let chosen = import_tools(&shop(), &options).unwrap();
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
    let document = Document::from_value(root, None).unwrap();
    let error = import_tools(&document, &Options::default()).unwrap_err();
    assert!(matches!(&error, ImportError::Server(problem) if problem.contains("names no server")), "{error}");
    let wrong = Options { server: Some("api.example.com".into()), ..Options::default() };
    assert!(matches!(import_tools(&document, &wrong), Err(ImportError::Server(_))));
}

#[test]
fn a_documents_own_tags_cannot_be_taken_for_the_operators() {
    let operation = json!({"operationId": "x", "tags": ["trusted", "openapi:shop", " "]});
    let tags = imported(with_operation("3.1.0", operation, json!({}))).tools.remove(0).definition.tags;
    assert_eq!(tags, ["api:trusted", "api:openapi:shop", "openapi:document"]);
}

mod again {
    use super::*;

    fn check(change: impl FnOnce(&mut Value), expected: Expect) {
        let document = shop();
        let before = import_tools(&document, &Options::default()).unwrap();
        let mut rows: Vec<_> = before.tools.into_iter().map(|made| made.definition).collect();
        // What a person did to the rows since.
        rows[0].enabled = false;
        rows[0].tags.push("mine".into());
        rows[0].endpoint.timeout_ms = std::num::NonZeroU64::new(5000);
        let mut root = document.root;
        change(&mut root);
        let after = import_tools(&Document::from_value(root, None).unwrap(), &Options::default()).unwrap();
        let diff = compare_import(&rows, &BTreeSet::from(["time".to_owned()]), &after);
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

    /// The tool after an import of the same operation, but with another method, and what is said about it.
    fn again(change: impl FnOnce(&mut ToolDefinition), method: &str) -> (ToolDefinition, Vec<String>) {
        let document = |method: &str| {
            let operation = json!({"operationId": "leave", "security": [{"key": []}]});
            let mut root = with_operation(
                "3.1.0",
                json!({}),
                json!({
                    "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}
                }),
            );
            root["paths"] = json!({"/unsubscribe": {method: operation}});
            imported(root)
        };
        let mut row = document("get").tools.remove(0).definition;
        assert_eq!(row.effect(), Effect::Read);
        change(&mut row);
        let mut diff = compare_import(&[row], &BTreeSet::new(), &document(method));
        (diff.tools.remove(0).0, diff.stays.remove("leave").unwrap_or_default())
    }

    #[test]
    fn an_effect_that_a_person_chose_stays() {
        let graver = |row: &mut ToolDefinition| row.effect = Some(Effect::NonIdempotent);
        let (tool, said) = again(graver, "get");
        assert_eq!(tool.effect(), Effect::NonIdempotent);
        assert_eq!(
            said,
            ["its effect stays \"non_idempotent\", as it was chosen; the document says \"read\""]
        );
        // Another method may be graver than what was chosen for the former, and never lighter.
        assert_eq!(again(graver, "put").0.effect(), Effect::NonIdempotent);
        let lighter = |row: &mut ToolDefinition| row.effect = Some(Effect::Idempotent);
        assert_eq!(again(lighter, "post").0.effect(), Effect::NonIdempotent);
        assert_eq!((again(|_| {}, "put").0.effect(), again(|_| {}, "put").1), (Effect::Idempotent, vec![]));
    }

    #[test]
    fn a_secret_that_a_person_chose_stays() {
        let own = Auth::Bearer { secret: "shared".into(), env: None };
        let (tool, said) = again(|row| row.endpoint.auth = own.clone(), "get");
        assert_eq!(tool.endpoint.auth, own);
        assert_eq!(said, ["its `auth` stays, since it was given a secret of its own"]);
        let (tool, said) = again(|row| row.endpoint.auth = Auth::None, "get");
        assert!(matches!(tool.endpoint.auth, Auth::Bearer { .. }) && said.is_empty());
    }

    #[test]
    fn what_was_not_asked_for_is_not_gone() {
        let whole = import_tools(&shop(), &Options::default()).unwrap();
        let rows: Vec<_> = whole.tools.into_iter().map(|made| made.definition).collect();
        let selection = Selection { operations: vec!["search".into()], ..Selection::default() };
        let part = import_tools(&shop(), &Options { selection, ..Options::default() }).unwrap();
        let diff = compare_import(&rows, &BTreeSet::new(), &part);
        assert_eq!(diff.gone, Vec::<String>::new());
        assert_eq!(diff.tools.len(), 1);
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
        let again = compare_import(&rows, &BTreeSet::new(), &import);
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
