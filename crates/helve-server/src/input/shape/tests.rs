//! What fits the shape of a body and what does not.

use helve_types::Answer;
use serde::Deserialize;
use serde_json::json;

use super::*;

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Purchase {
    name: String,
    count: Option<u32>,
    #[serde(default)]
    parts: Vec<Part>,
    choice: Option<Choice>,
    #[serde(default)]
    anything: Value,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Part {
    size: f64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Choice {
    Small,
    Large,
}

fn told<T: JsonSchema + 'static>(value: Value) -> String {
    let findings = compare(&schema_of::<T>(), &value);
    let mut told: Vec<String> = findings.misfit.into_iter().map(|misfit| misfit.detail).collect();
    told.extend(findings.unknown.into_iter().map(|unknown| match unknown.meant {
        Some(meant) => format!("?{} ~{meant}", unknown.field),
        None => format!("?{}", unknown.field),
    }));
    told.join("; ")
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Link {
    #[serde(alias = "tool_id")]
    #[schemars(extend("x-aliases" = ["tool_id"]))]
    #[expect(dead_code, reason = "only its shape is looked at")]
    name: String,
}

#[test]
fn a_field_that_is_needed_may_be_given_by_its_other_name() {
    assert_eq!(told::<Link>(json!({"tool_id": "a"})), "");
    assert_eq!(told::<Link>(json!({"tool_id": 1})), "`tool_id` must be a string, not a number");
    assert_eq!(told::<Link>(json!({})), "`name` is missing");
}

#[test]
fn what_does_not_fit_is_told_by_its_path_in_the_words_of_json() {
    for (value, expected) in [
        (json!({"name": "a"}), ""),
        (
            json!({"name": "a", "count": 3, "parts": [{"size": 1}], "choice": "small", "anything": {"a": [1]}}),
            "",
        ),
        (json!({"name": "a", "count": null, "choice": null}), ""),
        (json!([1, 2]), "the body must be an object, not an array"),
        (json!({}), "`name` is missing"),
        (json!({"name": 5}), "`name` must be a string, not a number"),
        (json!({"name": "a", "count": "3"}), "`count` must be a whole number or null, not a string"),
        (json!({"name": "a", "count": 1.5}), "`count` must be a whole number or null, not a number"),
        (json!({"name": "a", "count": -1}), "`count` must be 0 or more, not -1"),
        (
            json!({"name": "a", "count": 5_000_000_000_u64}),
            "`count` must be 4294967295 or less, not 5000000000",
        ),
        (json!({"name": "a", "parts": {}}), "`parts` must be an array, not an object"),
        (json!({"name": "a", "parts": [{"size": 1}, {}]}), "`parts[1].size` is missing"),
        (json!({"name": "a", "choice": "big"}), "`choice` must be `small` or `large`"),
        (json!({"nam": "a"}), "`name` is missing; ?nam ~name"),
        (
            json!({"name": "a", "parts": [{"size": 1, "Size": 2, "colour": 3}]}),
            "?parts[0].Size ~size; ?parts[0].colour",
        ),
    ] {
        assert_eq!(told::<Purchase>(value.clone()), expected, "{value}");
    }
}

#[test]
fn the_fields_of_an_answer_are_those_of_its_decision() {
    for (value, expected) in [
        (json!({"decision": "approve", "arguments": "{}"}), ""),
        (json!({"decision": "approve", "argument": "{}"}), "?argument ~arguments"),
        (json!({"decision": "approve", "Arguments": "{}"}), "?Arguments ~arguments"),
        (json!({"decision": "approve", "reason": "no"}), "?reason"),
        (json!({"decision": "reject", "arguments": "{}"}), "?arguments"),
        (json!({"decision": "approve", "always": {"within": "run", "day": 1}}), "?always.day ~days"),
        (
            json!({"decision": "aprove"}),
            "`decision` must be `approve`, `reject`, `respond`, `outcome`, `reply`, `decline` or `expire`",
        ),
        (
            json!({}),
            "`decision` is missing: it must be `approve`, `reject`, `respond`, `outcome`, `reply`, `decline` or `expire`",
        ),
    ] {
        assert_eq!(told::<Answer>(value.clone()), expected, "{value}");
    }
}

#[test]
fn a_crowd_of_unknown_fields_with_long_names_is_cut() {
    let fields: Map<String, Value> =
        (0..1_000).map(|n| (format!("{}{n}", "x".repeat(10_000)), json!(1))).collect();
    let findings = compare(&schema_of::<Purchase>(), &Value::Object(fields));
    assert_eq!(findings.unknown.len(), UNKNOWN_MAX);
    assert!(findings.unknown.iter().all(|unknown| unknown.field.len() < 100));
}
