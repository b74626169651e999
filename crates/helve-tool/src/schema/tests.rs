//! Schemas, patterns and arguments that somebody wrote to do harm: each is refused or served within its budget.
//!
//! Work is counted, so none of this depends on how fast the machine is.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::budget::CHECK_STEPS_MAX;
use super::{COMPILE_UNITS_MAX, CheckResult, CompileBudget, ERRORS_MAX, STEPS_TOLD_MAX, Schema, hostile};

fn compile(schema: &Value) -> Result<Arc<Schema>, String> {
    Schema::compile(schema, &mut CompileBudget::default())
}

fn object(fields: Value) -> Value {
    json!({"type": "object", "properties": fields})
}

fn refused(schema: &Value, because: &str) {
    let problem = compile(schema).expect_err(because);
    assert!(problem.contains(because), "{problem}");
    assert!(problem.len() < 1000, "{problem}");
}

/// `$defs` in which each refers twice to the next; the last is `end`.
fn doubling(levels: usize, each: impl Fn(Value) -> Value, end: Value) -> Value {
    let mut defs = Map::new();
    for level in 0..levels {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        defs.insert(format!("d{level}"), each(next));
    }
    defs.insert(format!("d{levels}"), end);
    json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": defs})
}

#[test]
fn references_that_double_at_every_level_are_refused_when_the_schema_is_made() {
    for keyword in ["anyOf", "allOf", "oneOf"] {
        let schema = doubling(22, |next| json!({keyword: [next, next]}), json!({"type": "integer"}));
        assert!(schema.to_string().len() < 2000);
        refused(&schema, "one value is compared with more than 10000 schemas");
    }
    let few = doubling(5, |next| json!({"anyOf": [next, next]}), json!({"type": "integer"}));
    let few = compile(&few).unwrap();
    assert_eq!(few.check_value(&json!({"x": 1})), CheckResult::Fits);
    assert_eq!(few.check_value(&json!({"x": "no"})), CheckResult::Misfit);
}

#[test]
fn doubling_that_goes_down_with_the_value_is_refused_when_the_value_is_deep() {
    let each = |next: Value| json!({"anyOf": [{"properties": {"x": next}}, {"properties": {"x": next}}]});
    let schema = compile(&doubling(40, each, json!({"type": "integer"}))).unwrap();
    assert_eq!(schema.check_value(&json!({"x": {"x": {"x": 1}}})), CheckResult::Fits);
    let mut deep = json!("no");
    for _ in 0..40 {
        deep = json!({"x": deep});
    }
    assert_eq!(schema.check_value(&deep), CheckResult::TooMuchWork);
    assert!(schema.list_errors(&deep).is_empty());
}

#[test]
fn a_reference_that_leads_back_to_itself_is_refused_and_one_that_goes_deeper_is_served() {
    refused(&json!({"type": "object", "$ref": "#"}), "leads back to where it stands");
    let circle = json!({"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"not": {"$ref": "#/$defs/a"}}});
    refused(
        &json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": circle}),
        "leads back",
    );
    let tree =
        json!({"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}});
    let tree = compile(&tree).unwrap();
    assert_eq!(tree.check_value(&json!({"children": [{"children": []}]})), CheckResult::Fits);
    assert_eq!(tree.check_value(&json!({"children": [{"children": 1}]})), CheckResult::Misfit);
}

#[test]
fn patterns_pay_for_what_they_become() {
    let dear =
        |n: usize| (0..n).map(|n| (format!("f{n}"), json!({"pattern": format!("\\p{{L}}{{150}}{n}")})));
    let fields: Map<_, _> = dear(100).collect();
    refused(&object(fields.into()), "too much work to make ready");
    let one: Map<_, _> = dear(1).collect();
    compile(&object(one.into())).unwrap();
    let many: Map<_, _> =
        (0..101).map(|n| (format!("f{n}"), json!({"pattern": format!("^a{n}$")}))).collect();
    refused(&object(many.into()), "101 patterns");
    let keyed: Map<_, _> = (0..101).map(|n| (format!("^a{n}"), json!({}))).collect();
    refused(&json!({"type": "object", "patternProperties": keyed}), "101 patterns");
}

#[test]
fn all_schemas_of_a_request_spend_from_one_budget() {
    let mut budget = CompileBudget::default();
    let schema = |n: usize| object(json!({"x": {"pattern": format!("\\p{{L}}{{90}}{n}")}}));
    assert!(Schema::compile(&schema(1), &mut budget).is_ok());
    let second = Schema::compile(&schema(2), &mut budget).unwrap_err();
    assert!(second.contains("too much work"), "{second}");
    // Whether it was made before makes no difference.
    assert!(Schema::compile(&schema(1), &mut budget).is_err());
}

#[test]
fn size_and_depth_have_a_bound() {
    let large = object(json!({"x": {"description": "x".repeat(70_000)}}));
    refused(&large, "65536 are the most");
    let mut deep = json!({"type": "string"});
    for _ in 0..20 {
        deep = json!({"type": "array", "items": deep});
    }
    compile(&object(json!({"x": deep}))).unwrap();
    for _ in 0..12 {
        deep = json!({"type": "array", "items": deep});
    }
    refused(&object(json!({"x": deep})), "deeper than 32 levels");
}

#[test]
fn what_is_not_in_the_schema_is_not_referred_to() {
    for outside in
        ["http://169.254.169.254/x", "file:///etc/passwd", "other.json#/a", "#/nowhere", "#nowhere"]
    {
        refused(&object(json!({"x": {"$ref": outside}})), "which is not in this schema");
    }
    let own = json!({"$id": "https://example.com/a", "type": "object", "properties": {"x": {"$ref": "#/$defs/y"}}, "$defs": {"y": {"type": "integer"}}});
    assert_eq!(compile(&own).unwrap().check_value(&json!({"x": "no"})), CheckResult::Misfit);
    refused(&object(json!({"x": {"$id": "https://example.com/b", "$ref": "#/a"}})), "stands inside of it");
}

#[test]
fn the_work_of_a_check_grows_with_schema_and_value_and_has_a_bound() {
    let branches: Vec<_> = (0..500).map(|n| json!({"properties": {"k": {"const": n}}})).collect();
    let wide = object(json!({"x": {"type": "array", "items": {"anyOf": branches}}}));
    let wide = compile(&wide).unwrap();
    assert_eq!(wide.check_value(&json!({"x": [{"k": 1}]})), CheckResult::Fits);
    let many: Vec<_> = (0..5000).map(|_| json!({"k": "no"})).collect();
    assert_eq!(wide.check_value(&json!({"x": many})), CheckResult::TooMuchWork);

    let plain = object(
        json!({"x": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "integer"}}}}}),
    );
    let plain = compile(&plain).unwrap();
    let rows: Vec<_> = (0..40_000).map(|n| json!({"a": n})).collect();
    assert_eq!(
        plain.check_value(&json!({"x": rows})),
        CheckResult::Fits,
        "what is large and simple is served"
    );

    let keyed: Map<_, _> = (0..100).map(|n| (format!("[a-z]{n}"), json!({"type": "string"}))).collect();
    let keyed = compile(&json!({"type": "object", "patternProperties": keyed})).unwrap();
    let members: Map<_, _> = (0..20_000).map(|n| (format!("a{n}"), json!("x"))).collect();
    assert_eq!(keyed.check_value(&members.into()), CheckResult::TooMuchWork);

    let unique = compile(&object(json!({"x": {"uniqueItems": true}}))).unwrap();
    let items: Vec<_> = (0..90_000).collect();
    assert_eq!(unique.check_value(&json!({"x": items})), CheckResult::TooMuchWork);

    let dear = compile(&object(json!({"x": {"pattern": "\\p{L}{100}N"}}))).unwrap();
    assert_eq!(dear.check_value(&json!({"x": "a".repeat(200)})), CheckResult::Misfit);
    assert_eq!(dear.check_value(&json!({"x": "a".repeat(900_000)})), CheckResult::TooMuchWork);
}

#[test]
fn what_was_not_evaluated_is_counted_with_what_stands_beside_it() {
    let mut schema = json!({"properties": {"a": {"type": "integer"}}});
    for _ in 0..9 {
        schema = json!({"allOf": [schema], "unevaluatedProperties": false});
    }
    let schema =
        compile(&json!({"type": "object", "allOf": [schema], "unevaluatedProperties": false})).unwrap();
    let steps = schema.count_steps(&json!({"a": 1}), CHECK_STEPS_MAX).unwrap();
    assert!(steps > 3_u64.pow(9), "{steps}");
}

#[test]
fn the_same_schema_is_made_once() {
    let schema = object(json!({"once": {"type": "string", "pattern": "^only here$"}}));
    let (one, other) = (compile(&schema).unwrap(), compile(&schema).unwrap());
    assert!(Arc::ptr_eq(&one, &other));
}

#[test]
fn an_error_is_told_shortly_whatever_it_quotes() {
    let schema = compile(&object(json!({"x": {"type": "integer"}}))).unwrap();
    let value = json!({"x": "y".repeat(900_000)});
    let errors = schema.list_errors(&value);
    let told = super::format_shortened(&errors[0]);
    assert!(told.len() < 510 && told.ends_with('…'), "{} bytes", told.len());
}

#[test]
fn errors_are_not_looked_for_where_each_would_hold_a_copy_of_a_large_value() {
    let mut nested = json!({"type": "integer"});
    for _ in 0..9 {
        nested = json!({"anyOf": [nested, nested]});
    }
    let schema = compile(&object(json!({"x": nested}))).unwrap();
    let large = json!({"x": (0..60_000).collect::<Vec<_>>()});
    // A thousand copies of sixty thousand numbers are gigabytes, although it takes few steps to see that they do not fit.
    assert!(schema.count_steps(&large, STEPS_TOLD_MAX).is_some());
    assert_eq!(schema.check_value(&large), CheckResult::Misfit);
    assert!(schema.list_errors(&large).is_empty());
    assert!(!schema.list_errors(&json!({"x": "no"})).is_empty());
    assert!(schema.list_errors(&json!({"x": "y".repeat(900_000)})).is_empty());
}

#[test]
fn each_of_the_kept_schemas_is_refused_or_its_work_is_within_the_budget() {
    let mut deep = json!("no");
    for _ in 0..55 {
        deep = json!({"x": deep});
    }
    let wide: Map<_, _> = (0..5_000).map(|n| (format!("k{n}"), json!(n))).collect();
    let list: Vec<_> = (0..20_000).collect();
    let values = [json!({"x": "a".repeat(100_000)}), json!({"x": list}), deep, wide.into()];
    let (all, mut made) = (hostile::all(), 0);
    assert!(all.len() >= 200, "{}", all.len());
    for (name, schema) in &all {
        let mut budget = CompileBudget::default();
        let ready = match Schema::compile(schema, &mut budget) {
            Ok(ready) => ready,
            Err(problem) => {
                assert!(problem.len() < 1000, "{name}: {problem}");
                continue;
            }
        };
        made += 1;
        assert_eq!(budget.remaining(), COMPILE_UNITS_MAX - ready.measure.units, "{name} is paid for");
        for value in &values {
            let is_little = ready.count_steps(value, CHECK_STEPS_MAX).is_some();
            assert_eq!(ready.check_value(value) != CheckResult::TooMuchWork, is_little, "{name}");
            assert!(ready.list_errors(value).len() <= ERRORS_MAX, "{name}");
        }
    }
    assert!(made >= 40 && made <= all.len() - 60, "{made} of {} were taken", all.len());
}
