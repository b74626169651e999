//! What does not fit in arguments: for the model in the validator's words, for people as notices.

use helve_types::{Notice, Reason};
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{JsonType, ValidationError};
use serde_json::Value;

use crate::schema::format_shortened;

const ERRORS_SHOWN: usize = 5;

/// The violations that were found, of which only the first few are named.
pub(crate) fn describe_misfit(errors: &[ValidationError<'_>]) -> Reason {
    let mut problems: Vec<Reason> = errors.iter().take(ERRORS_SHOWN).map(describe_error).collect();
    if errors.is_empty() {
        problems.push(Reason::new("they are too large to say where", Notice::misfit_somewhere()));
    } else if errors.len() > ERRORS_SHOWN {
        problems.push(Reason::new("and more", Notice::misfit_more()));
    }
    let (texts, notices): (Vec<_>, Vec<_>) =
        problems.into_iter().map(|problem| (problem.text, problem.notice)).unzip();
    Reason::new(texts.join("; "), Notice::arguments_do_not_fit(notices))
}

/// One violation, with the field it is in.
fn describe_error(error: &ValidationError<'_>) -> Reason {
    let path = error.instance_path().as_str();
    let field = format_shortened(&path.trim_start_matches('/').replace('/', "."));
    let (said, notice) = (format_shortened(error), misfit_notice(error));
    if field.is_empty() {
        return Reason::new(said, notice);
    }
    let notice = match error.kind() {
        Kind::Required { property } => {
            Notice::misfit_missing(&format!("{field}.{}", shorten_value(property)))
        }
        _ => Notice::misfit_in_field(&field, notice),
    };
    Reason::new(format!("field `{field}`: {said}"), notice)
}

fn misfit_notice(error: &ValidationError<'_>) -> Notice {
    match error.kind() {
        Kind::Type { kind: TypeKind::Single(expected) } => Notice::misfit_type(vec![type_notice(*expected)]),
        Kind::Type { kind: TypeKind::Multiple(expected) } => {
            Notice::misfit_type(expected.iter().map(type_notice).collect())
        }
        Kind::Required { property } => Notice::misfit_missing(&shorten_value(property)),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            Notice::misfit_unexpected(&join_shortened(unexpected.iter().map(String::as_str)))
        }
        Kind::Enum { options } => match &**options {
            Value::Array(options) => {
                Notice::misfit_options(&join_shortened(options.iter().map(shorten_value)))
            }
            only => Notice::misfit_options(&shorten_value(only)),
        },
        Kind::Constant { expected_value } => Notice::misfit_options(&shorten_value(expected_value)),
        Kind::Maximum { limit } => Notice::misfit_maximum(limit.clone()),
        Kind::Minimum { limit } => Notice::misfit_minimum(limit.clone()),
        Kind::ExclusiveMaximum { limit } => Notice::misfit_below(limit.clone()),
        Kind::ExclusiveMinimum { limit } => Notice::misfit_above(limit.clone()),
        Kind::MultipleOf { multiple_of } => Notice::misfit_multiple(*multiple_of),
        Kind::MaxLength { limit } => Notice::misfit_longest(*limit),
        Kind::MinLength { limit } => Notice::misfit_shortest(*limit),
        Kind::MaxItems { limit } => Notice::misfit_most_items(*limit),
        Kind::MinItems { limit } => Notice::misfit_fewest_items(*limit),
        Kind::MaxProperties { limit } => Notice::misfit_most_fields(*limit),
        Kind::MinProperties { limit } => Notice::misfit_fewest_fields(*limit),
        Kind::UniqueItems => Notice::misfit_repeated(),
        Kind::Pattern { pattern } => Notice::misfit_pattern(pattern),
        Kind::Format { format } => Notice::misfit_format(format),
        Kind::AnyOf { .. } | Kind::OneOfNotValid { .. } => Notice::misfit_alternatives(),
        Kind::PropertyNames { error } => misfit_notice(error),
        _ => Notice::misfit_otherwise(),
    }
}

fn type_notice(expected: JsonType) -> Notice {
    match expected {
        JsonType::Null => Notice::type_null(),
        JsonType::Boolean => Notice::type_boolean(),
        JsonType::Integer => Notice::type_integer(),
        JsonType::Number => Notice::type_number(),
        JsonType::String => Notice::type_string(),
        JsonType::Array => Notice::type_array(),
        JsonType::Object => Notice::type_object(),
    }
}

/// More values than this are not listed.
const LISTED_MAX: usize = 20;

fn join_shortened(values: impl Iterator<Item = impl AsRef<str>>) -> String {
    let mut joined = String::new();
    for (n, value) in values.take(LISTED_MAX + 1).enumerate() {
        if n > 0 {
            joined.push_str(", ");
        }
        if n == LISTED_MAX {
            joined.push('…');
        } else {
            joined.push_str(&format_shortened(&value.as_ref()));
        }
    }
    joined
}

/// A text without its quotes, anything else as JSON.
fn shorten_value(value: &Value) -> String {
    value.as_str().map_or_else(|| format_shortened(value), |text| format_shortened(&text))
}

#[cfg(test)]
mod tests {
    use helve_types::Language;
    use serde_json::json;

    use super::*;
    use crate::CompileBudget;
    use crate::schema::Schema;

    /// What people read about the arguments `{"x": value}` where `x` has this schema.
    fn sentences(of_x: &Value, value: &Value) -> [String; 2] {
        let schema = json!({"type": "object", "properties": {"x": of_x}, "required": ["x"]});
        let schema = Schema::compile(&schema, &mut CompileBudget::default()).unwrap();
        let arguments = if value == "nothing" { json!({}) } else { json!({"x": value}) };
        let notice = describe_misfit(&schema.list_errors(&arguments)).notice;
        [Language::English, Language::Chinese].map(|language| {
            let nested = Notice::call_cannot_be_made(notice.clone());
            assert!(nested.sentence(language).is_some(), "{nested:?} is nested too deep");
            let sentence = notice.sentence(language).unwrap_or_else(|| panic!("{notice:?} has no sentence"));
            sentence.split_once([':', '：']).unwrap().1.trim().to_owned()
        })
    }

    #[test]
    fn each_kind_of_misfit_has_a_sentence_in_both_languages() {
        let cases = [
            (json!({}), json!("nothing"), ["“x” is missing", "缺少“x”"]),
            (json!({"type": "integer"}), json!("a"), ["“x” must be a whole number", "“x”应为整数"]),
            (
                json!({"type": ["string", "null"]}),
                json!(1),
                ["“x” must be null or a text", "“x”应为空值或文本"],
            ),
            (json!({"enum": ["en", 1]}), json!("de"), ["“x” must be one of: en, 1", "“x”只能是：en, 1"]),
            (json!({"const": "en"}), json!("de"), ["“x” must be one of: en", "“x”只能是：en"]),
            (json!({"maximum": 20}), json!(50), ["“x” must not be greater than 20", "“x”不能大于 20"]),
            (json!({"minimum": 1.5}), json!(1), ["“x” must not be less than 1.5", "“x”不能小于 1.5"]),
            (json!({"exclusiveMaximum": 5}), json!(5), ["“x” must be less than 5", "“x”必须小于 5"]),
            (json!({"exclusiveMinimum": 5}), json!(5), ["“x” must be greater than 5", "“x”必须大于 5"]),
            (json!({"multipleOf": 2.5}), json!(3), ["“x” must be a multiple of 2.5", "“x”必须是 2.5 的倍数"]),
            (
                json!({"maxLength": 1}),
                json!("ab"),
                ["“x” must not be longer than 1 character", "“x”不能超过 1 个字符"],
            ),
            (
                json!({"minLength": 3}),
                json!("ab"),
                ["“x” must not be shorter than 3 characters", "“x”不能少于 3 个字符"],
            ),
            (
                json!({"maxItems": 1}),
                json!([1, 2]),
                ["“x” must not have more than 1 item", "“x”不能多于 1 项"],
            ),
            (
                json!({"minItems": 2}),
                json!([1]),
                ["“x” must not have fewer than 2 items", "“x”不能少于 2 项"],
            ),
            (
                json!({"maxProperties": 0}),
                json!({"a": 1}),
                ["“x” must not have more than 0 fields", "“x”不能多于 0 个字段"],
            ),
            (
                json!({"minProperties": 1}),
                json!({}),
                ["“x” must not have fewer than 1 field", "“x”不能少于 1 个字段"],
            ),
            (
                json!({"uniqueItems": true}),
                json!([1, 1]),
                ["“x” must not repeat an item", "“x”中的项不能重复"],
            ),
            (
                json!({"pattern": "^[0-9]+$"}),
                json!("ab"),
                ["“x” must have this form: ^[0-9]+$", "“x”必须符合这个格式：^[0-9]+$"],
            ),
            (
                json!({"anyOf": [{"type": "null"}, {"type": "boolean"}]}),
                json!(1),
                ["“x” has none of the forms that are possible here", "“x”不符合任何一种可用的形式"],
            ),
            (
                json!({"properties": {"w": {}}, "additionalProperties": false}),
                json!({"y": 1, "z": 2}),
                ["“x” must not have: y, z", "“x”不应包含：y, z"],
            ),
            (json!({"not": {}}), json!(1), ["“x” does not fit the tool’s definition", "“x”不符合工具的定义"]),
        ];
        for (schema, value, expected) in cases {
            assert_eq!(sentences(&schema, &value), expected, "{schema} {value}");
        }
    }

    #[test]
    fn a_misfit_of_all_arguments_names_no_field() {
        let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
        let schema = Schema::compile(&schema, &mut CompileBudget::default()).unwrap();
        let notice = describe_misfit(&schema.list_errors(&json!({"y": 1}))).notice;
        let sentence = notice.sentence(Language::Chinese).unwrap();
        assert_eq!(sentence, "参数不符合工具的要求：不应包含：y");
    }

    #[test]
    fn only_the_first_misfits_are_named_and_each_is_short() {
        let options: Vec<_> = (0..50).map(|n| format!("{}{n}", "o".repeat(1_000))).collect();
        let schema = json!({"type": "object", "additionalProperties": {"enum": options}});
        let schema = Schema::compile(&schema, &mut CompileBudget::default()).unwrap();
        let arguments: serde_json::Map<_, _> =
            (0..50).map(|n| (format!("{}{n}", "k".repeat(1_000)), json!(n))).collect();
        let arguments = Value::Object(arguments);
        let reason = describe_misfit(&schema.list_errors(&arguments));
        assert_eq!(reason.notice.params["problems"].as_array().unwrap().len(), ERRORS_SHOWN + 1);
        let sentence = reason.notice.sentence(Language::English).unwrap();
        assert!(sentence.ends_with("; and more"), "{sentence}");
        assert!(sentence.len() < 5_000, "{}", sentence.len());
    }
}
