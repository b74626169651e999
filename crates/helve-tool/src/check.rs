//! From the model's text to arguments that fit the schema, or to an error that names the field.

use std::sync::Arc;

use helve_types::{Failure, FailureKind, Notice, canonical_json};
use serde_json::Value;

use crate::json::{self, JsonBounds};
use crate::link::{Given, LinkedArguments};
use crate::misfit::describe_misfit;
use crate::offload::run_on_pool;
use crate::registry::Registered;
use crate::schema::{CheckResult, STEPS_INLINE_MAX, Schema, format_shortened};

const BYTES_MAX: usize = 1 << 20;
/// Larger arguments are not even read between two other things.
const INLINE_BYTES_MAX: usize = 64 << 10;

/// Arguments that fit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Arguments {
    pub(crate) value: Value,
    /// One text for equal arguments: what is approved, cached and hashed.
    pub(crate) canonical: String,
    /// What had to be repaired.
    pub(crate) repair: Option<&'static str>,
    /// Whether values that the agent decides about were added.
    pub(crate) completed: bool,
}

/// What arguments have to be.
#[derive(Debug, Clone)]
pub(crate) struct Expected {
    pub(crate) tool: Arc<str>,
    pub(crate) schema: Arc<Schema>,
    pub(crate) json: JsonBounds,
    /// What an agent decides about.
    pub(crate) decided: Option<(Arc<LinkedArguments>, Given)>,
}

impl Expected {
    /// Arguments of this tool.
    pub(crate) fn of(tool: &Registered, given: Given) -> Self {
        Self {
            tool: tool.spec.name.as_str().into(),
            schema: tool.schema.clone(),
            json: tool.guarding.settings.json,
            decided: tool.arguments.clone().map(|decided| (decided, given)),
        }
    }

    /// The same, where an agent has nothing to say.
    pub(crate) fn undecided(tool: &Registered) -> Self {
        Self { decided: None, ..Self::of(tool, Given::Recorded) }
    }
}

/// Checks what a model wrote. What takes longer is done beside everybody else.
pub(crate) async fn check_arguments(expected: Expected, text: &str) -> Result<Arguments, Failure> {
    if text.len() <= INLINE_BYTES_MAX
        && let Some(checked) = check_within(&expected, text, STEPS_INLINE_MAX)
    {
        return checked;
    }
    let (tool, written) = (expected.tool.clone(), text.to_owned());
    let checked = run_on_pool(move || check_now(&expected, &written)).await;
    checked.unwrap_or_else(|| {
        let told = format!("the arguments for `{tool}` could not be checked; write them in another way");
        Err(bad_arguments(told, Notice::arguments_uncheckable()))
    })
}

/// The same at once, for those who have time.
pub(crate) fn check_now(expected: &Expected, text: &str) -> Result<Arguments, Failure> {
    check_within(expected, text, u64::MAX).unwrap_or_else(|| Err(too_much_work_failure(&expected.tool)))
}

/// None if it is more work than `steps_max`.
fn check_within(expected: &Expected, text: &str, steps_max: u64) -> Option<Result<Arguments, Failure>> {
    let Expected { tool, schema, json, decided } = expected;
    let read = parse_arguments(tool, *json, text).and_then(|(mut value, repair)| {
        let completed = match decided {
            Some((decided, given)) => decided.complete(tool, &mut value, *given)?,
            None => false,
        };
        Ok((value, repair, completed))
    });
    let (mut value, repair, completed) = match read {
        Ok(read) => read,
        Err(failure) => return Some(Err(failure)),
    };
    schema.count_steps(&value, steps_max)?;
    let fits = |value: Value| Arguments { canonical: canonical_json(&value), value, repair, completed };
    Some(match schema.check_value(&value) {
        CheckResult::Fits => Ok(fits(value)),
        CheckResult::TooMuchWork => Err(too_much_work_failure(tool)),
        CheckResult::Misfit if drop_misfit_nulls(&mut value, schema) => Ok(fits(value)),
        CheckResult::Misfit => Err(misfit_failure(tool, schema, &value)),
    })
}

/// The value, and what had to be repaired in it.
fn parse_arguments(
    tool: &str,
    json: JsonBounds,
    text: &str,
) -> Result<(Value, Option<&'static str>), Failure> {
    // Models write nothing at all for a tool that needs nothing.
    let text = if text.trim().is_empty() { "{}" } else { text };
    if text.len() > BYTES_MAX {
        let told = format!("the arguments for `{tool}` are larger than {BYTES_MAX} bytes; send less");
        return Err(bad_arguments(told, Notice::arguments_too_large()));
    }
    json.check(text.as_bytes()).map_err(|what| {
        bad_arguments(format!("the JSON for `{tool}` {what}; send less"), Notice::arguments_too_large())
    })?;
    let (value, twice) = json::parse_and_find_duplicates(text.as_bytes()).map_err(|error| {
        let told = format!("the arguments for `{tool}` are not valid JSON ({error}); send one JSON object");
        bad_arguments(told, Notice::arguments_not_json())
    })?;
    if let Some(key) = twice.different {
        let key = format_shortened(&key);
        let what = format!(
            "the arguments for `{tool}` say the key `{key}` twice, with different values; send it once"
        );
        return Err(bad_arguments(what, Notice::arguments_ambiguous(&key)));
    }
    Ok((value, twice.same.map(|_| "keys that were written twice")))
}

fn bad_arguments(message: String, notice: Notice) -> Failure {
    Failure::new(FailureKind::BadArguments, message).with_notice(notice)
}

fn too_much_work_failure(tool: &str) -> Failure {
    let told = format!(
        "the arguments for `{tool}` are too large for its `parameters`: to check them would take too much work; send less"
    );
    bad_arguments(told, Notice::arguments_too_large())
}

fn misfit_failure(tool: &str, schema: &Schema, value: &Value) -> Failure {
    let misfit = describe_misfit(&schema.list_errors(value));
    let told = format!("the arguments for `{tool}` do not fit: {misfit}; correct them and try again");
    bad_arguments(told, misfit.notice)
}

/// Models send null for what they leave out, and a server that holds them to a schema makes them. Whether the
/// arguments fit without the nulls that do not fit, or without any; if so those are gone.
fn drop_misfit_nulls(value: &mut Value, schema: &Schema) -> bool {
    let mut given = value.clone();
    let wrong: Vec<String> =
        schema.list_errors(value).iter().map(|error| error.instance_path().to_string()).collect();
    for path in wrong.iter().filter(|path| value.pointer(path).is_some_and(Value::is_null)) {
        let Some((parent, name)) = path.rsplit_once('/') else { continue };
        if let Some(members) = given.pointer_mut(parent).and_then(Value::as_object_mut) {
            members.remove(&name.replace("~1", "/").replace("~0", "~"));
        }
    }
    if schema.check_value(&given) != CheckResult::Fits {
        remove_all_nulls(&mut given);
    }
    let fits = given != *value && schema.check_value(&given) == CheckResult::Fits;
    if fits {
        *value = given;
    }
    fits
}

/// Depth is bounded.
fn remove_all_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(remove_all_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_all_nulls),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;
    use crate::CompileBudget;

    fn compile(schema: &Value) -> Result<Arc<Schema>, String> {
        Schema::compile(schema, &mut CompileBudget::default())
    }

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
        let schema = compile(&schema).unwrap();
        let arguments =
            Expected { tool: "search_web".into(), schema, json: JsonBounds::default(), decided: None };
        expected.assert_eq(&match check_now(&arguments, text) {
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
        let schema = compile(&schema).unwrap();
        let expected = Expected { tool: "t".into(), schema, json: JsonBounds::default(), decided: None };
        let checked = |text: &str| check_now(&expected, text).map(|arguments| arguments.canonical);
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
