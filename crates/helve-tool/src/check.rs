//! From the model's text to arguments that fit the schema, or to an error that names the field.

use helve_types::{Failure, FailureKind, canonical_json};
use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use crate::json::{self, JsonBounds};

const BYTES_MAX: usize = 1 << 20;
const SCHEMA_BYTES_MAX: usize = 64 << 10;
const ERRORS_SHOWN: usize = 5;
/// More nulls than this are not what somebody left out.
const NULLS_MAX: usize = 256;

/// Arguments that fit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Arguments {
    pub(crate) value: Value,
    /// One text for equal arguments: what is approved, cached and hashed.
    pub(crate) canonical: String,
    /// What had to be repaired.
    pub(crate) repair: Option<&'static str>,
}

/// Compiles a tool's schema; patterns are matched in linear time, and nothing outside of it is fetched.
pub(crate) fn compile(schema: &Value) -> Result<Validator, String> {
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return Err("`parameters` must be a JSON Schema with `\"type\": \"object\"`".into());
    }
    let text = schema.to_string();
    if text.len() > SCHEMA_BYTES_MAX || JsonBounds::default().check(text.as_bytes()).is_err() {
        return Err("`parameters` is too large or too deeply nested".into());
    }
    jsonschema::options()
        .with_pattern_options(PatternOptions::regex())
        .offline()
        .build(schema)
        .map_err(|error| format!("`parameters` is not a valid JSON Schema: {error}"))
}

/// Whether a tool may have these `parameters`, for those who make definitions before there is a tool.
pub fn check_schema(schema: &Value) -> Result<(), String> {
    compile(schema).map(drop)
}

pub(crate) fn check(
    tool: &str,
    validator: &Validator,
    bounds: JsonBounds,
    text: &str,
) -> Result<Arguments, Failure> {
    let bad = |message: String| Failure::new(FailureKind::BadArguments, message);
    // Models write nothing at all for a tool that needs nothing.
    let text = if text.trim().is_empty() { "{}" } else { text };
    if text.len() > BYTES_MAX {
        return Err(bad(format!("the arguments for `{tool}` are larger than {BYTES_MAX} bytes; send less")));
    }
    bounds.check(text.as_bytes()).map_err(|what| bad(format!("the JSON for `{tool}` {what}; send less")))?;
    let (mut value, twice) = json::read(text.as_bytes()).map_err(|error| {
        bad(format!("the arguments for `{tool}` are not valid JSON ({error}); send one JSON object"))
    })?;
    if let Some(key) = twice.different {
        let what = format!(
            "the arguments for `{tool}` say the key `{key}` twice, with different values; send it once"
        );
        return Err(bad(what));
    }
    if validator.is_valid(&value) || without_nulls(&mut value, validator) {
        let repair = twice.same.map(|_| "keys that were written twice");
        return Ok(Arguments { canonical: canonical_json(&value), value, repair });
    }
    let mut problems: Vec<String> =
        validator.iter_errors(&value).take(ERRORS_SHOWN + 1).map(|error| problem(&error)).collect();
    if problems.len() > ERRORS_SHOWN {
        problems.truncate(ERRORS_SHOWN);
        problems.push("and more".into());
    }
    let problems = problems.join("; ");
    Err(bad(format!("the arguments for `{tool}` do not fit: {problems}; correct them and try again")))
}

/// Models send null for what they leave out, and a server that holds them to a schema makes them. Whether the
/// arguments fit without the nulls that do not fit, or without any; if so those are gone.
fn without_nulls(value: &mut Value, validator: &Validator) -> bool {
    let mut given = value.clone();
    let errors = validator.iter_errors(value).take(NULLS_MAX);
    let wrong: Vec<String> = errors.map(|error| error.instance_path().to_string()).collect();
    for path in wrong.iter().filter(|path| value.pointer(path).is_some_and(Value::is_null)) {
        let Some((parent, name)) = path.rsplit_once('/') else { continue };
        if let Some(members) = given.pointer_mut(parent).and_then(Value::as_object_mut) {
            members.remove(&name.replace("~1", "/").replace("~0", "~"));
        }
    }
    if !validator.is_valid(&given) {
        leave_out_nulls(&mut given);
    }
    let fits = given != *value && validator.is_valid(&given);
    if fits {
        *value = given;
    }
    fits
}

/// Depth is bounded.
fn leave_out_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(leave_out_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(leave_out_nulls),
        _ => {}
    }
}

/// One violation, with the field it is in.
fn problem(error: &jsonschema::ValidationError<'_>) -> String {
    let path = error.instance_path().as_str();
    let field = path.trim_start_matches('/').replace('/', ".");
    if field.is_empty() { error.to_string() } else { format!("field `{field}`: {error}") }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn check_text(text: &str, expected: Expect) {
        let schema = json!({
            "type": "object",
            "properties": {
                "query": {"type": "string", "minLength": 1},
                "max_results": {"type": "integer", "minimum": 1, "maximum": 20},
                "filter": {"type": "object", "properties": {"lang": {"enum": ["en", "zh"]}}}
            },
            "required": ["query"],
            "additionalProperties": false
        });
        let validator = compile(&schema).unwrap();
        expected.assert_eq(&match check("search_web", &validator, JsonBounds::default(), text) {
            Ok(arguments) => arguments.canonical,
            Err(failure) => failure.message,
        });
    }

    #[test]
    fn arguments_that_fit_are_put_in_canonical_form() {
        check_text(
            r#" {"query": "rust",  "max_results": 3.0} "#,
            expect![[r#"{"max_results":3,"query":"rust"}"#]],
        );
    }

    #[test]
    fn the_error_names_the_field() {
        check_text(
            r#"{"query": "rust", "max_results": 50}"#,
            expect![
                "the arguments for `search_web` do not fit: field `max_results`: 50 is greater than the maximum of 20; correct them and try again"
            ],
        );
        check_text(
            r#"{"query": "x", "filter": {"lang": "de"}}"#,
            expect![[
                r#"the arguments for `search_web` do not fit: field `filter.lang`: "de" is not one of "en" or "zh"; correct them and try again"#
            ]],
        );
        check_text(
            "",
            expect![[
                r#"the arguments for `search_web` do not fit: "query" is a required property; correct them and try again"#
            ]],
        );
    }

    #[test]
    fn null_for_what_may_be_left_out_is_left_out() {
        check_text(r#"{"query": "rust", "max_results": null}"#, expect![[r#"{"query":"rust"}"#]]);
        check_text(
            r#"{"query": null}"#,
            expect![[
                r#"the arguments for `search_web` do not fit: field `query`: null is not of type "string"; correct them and try again"#
            ]],
        );
    }

    #[test]
    fn null_is_left_out_at_any_depth_unless_it_means_something() {
        check_text(
            r#"{"query": "rust", "filter": {"lang": null}, "max_results": null}"#,
            expect![[r#"{"filter":{},"query":"rust"}"#]],
        );
        check_text(r#"{"query": "rust", "invented": null}"#, expect![[r#"{"query":"rust"}"#]]);
        let schema = json!({
            "type": "object",
            "properties": {
                "parent": {"type": ["string", "null"]},
                "a/b": {"type": "integer"},
                "list": {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "object", "properties": {"x": {"type": "integer"}}}]}}
            }
        });
        let validator = compile(&schema).unwrap();
        let checked = |text: &str| {
            check("t", &validator, JsonBounds::default(), text).map(|arguments| arguments.canonical)
        };
        assert_eq!(checked(r#"{"parent": null, "a/b": null}"#).unwrap(), r#"{"parent":null}"#);
        assert_eq!(checked(r#"{"list": [{"x": null}, 1]}"#).unwrap(), r#"{"list":[{},1]}"#);
        // An item has its place and is never left out.
        assert!(checked(r#"{"list": [null]}"#).is_err());
    }

    #[test]
    fn a_key_that_is_written_twice_counts_only_if_it_says_the_same() {
        check_text(
            r#"{"query": "a", "max_results": 3, "max_results": 5}"#,
            expect![
                "the arguments for `search_web` say the key `max_results` twice, with different values; send it once"
            ],
        );
        check_text(
            r#"{"query": "a", "filter": {"lang": "en", "lang": "zh"}}"#,
            expect![
                "the arguments for `search_web` say the key `filter.lang` twice, with different values; send it once"
            ],
        );
        check_text(
            r#"{"query": "a", "max_results": 3, "query": "a"}"#,
            expect![[r#"{"max_results":3,"query":"a"}"#]],
        );
        // However a key is written, it is the same key.
        check_text(
            r#"{"query": "a", "\u0071uery": "b"}"#,
            expect![
                "the arguments for `search_web` say the key `query` twice, with different values; send it once"
            ],
        );
    }

    #[test]
    fn text_that_is_not_json_is_told_so() {
        check_text(
            r#"{"query": "ru"#,
            expect![
                "the arguments for `search_web` are not valid JSON (EOF while parsing a string at line 1 column 13); send one JSON object"
            ],
        );
    }

    #[test]
    fn a_bomb_of_brackets_is_refused_before_it_is_parsed() {
        let bomb = format!("{{\"query\": {}", "[".repeat(100_000));
        check_text(&bomb, expect!["the JSON for `search_web` is nested deeper than 64 levels; send less"]);
        let wide = format!("{{\"query\": [{}0]}}", "0,".repeat(100_000));
        check_text(&wide, expect!["the JSON for `search_web` has more than 100000 values; send less"]);
    }

    #[test]
    fn a_schema_that_is_no_object_or_points_elsewhere_is_refused() {
        assert!(compile(&json!({"type": "string"})).is_err());
        assert!(compile(&json!({"type": "object", "properties": {"a": {"type": "wat"}}})).is_err());
        let outside = json!({"type": "object", "properties": {"a": {"$ref": "http://169.254.169.254/x"}}});
        assert!(compile(&outside).is_err());
    }
}
