//! A question of the model's on the command line: how it is shown, and how what a person types becomes a reply.

use anyhow::bail;
use helve_tool::{FieldProblem, TypedValue, check_reply, read_typed, reply_notice};
use helve_types::{FormField, FormOption, ReplyForm, TextFormat, UserQuestion};
use serde_json::Value;

use crate::client::{in_gutter, line};
use crate::i18n::{Language, language, tr};

/// A field that is typed on its own, with its place in the reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TypedField {
    pub(crate) place: String,
    /// Its label, behind those of the groups that it is in.
    label: String,
    field: FormField,
}

/// The fields of a form, one after the other.
pub(crate) fn typed_fields(form: &ReplyForm) -> Vec<TypedField> {
    let mut found = vec![];
    if let ReplyForm::Fields { fields } = form {
        collect_fields(fields, ("", ""), true, &mut found);
    }
    found
}

fn collect_fields(
    fields: &[FormField],
    (path, group): (&str, &str),
    group_required: bool,
    found: &mut Vec<TypedField>,
) {
    let below = |before: &str, between: &str, name: &str| {
        if before.is_empty() { name.to_owned() } else { format!("{before}{between}{name}") }
    };
    for field in fields {
        let place = below(path, ".", &field.name);
        let label = below(group, " / ", field.label());
        match &field.form {
            ReplyForm::Fields { fields } => {
                collect_fields(fields, (&place, &label), group_required && field.required, found);
            }
            _ => {
                // In a group that may be left out, everything may.
                let required = field.required && group_required;
                let field = FormField { required, ..field.clone() };
                found.push(TypedField { place, label, field });
            }
        }
    }
}

/// The question and what a reply is like, as lines that only Helve writes.
pub(crate) fn shown(asked: &UserQuestion) -> String {
    let mut text = format!("{}\n{}", tr!("the question"), in_gutter(&asked.question));
    match &asked.form {
        ReplyForm::Choice { options } | ReplyForm::Choices { options, .. } => {
            text += &format!("{}\n{}", tr!("options"), in_gutter(&numbered(options)));
        }
        form @ ReplyForm::Fields { .. } => {
            let fields: Vec<String> = typed_fields(form).iter().map(describe_field).collect();
            text += &format!("{}\n{}", tr!("fields"), in_gutter(&fields.join("\n")));
        }
        _ => {}
    }
    text + &format!("{}\n", tr!("The model reads the answer, and it is stored: no passwords or keys."))
}

fn numbered(options: &[FormOption]) -> String {
    let lines = options.iter().enumerate().map(|(at, option)| format!("{}  {}", at + 1, option.label()));
    lines.collect::<Vec<_>>().join("\n")
}

fn describe_field(field: &TypedField) -> String {
    let TypedField { place, label, field } = field;
    let must = if field.required { tr!("required") } else { tr!("optional") };
    let mut text = format!("{place}: {} ({must})", line(&kind_words(&field.form)));
    if place != label {
        text = format!("{label} — {text}");
    }
    if let Some(description) = &field.description {
        text += &format!(" — {description}");
    }
    text
}

/// What is typed into a field.
fn kind_words(form: &ReplyForm) -> String {
    let join = |options: &[FormOption]| {
        let labels: Vec<String> =
            options.iter().enumerate().map(|(at, option)| format!("{} {}", at + 1, option.label())).collect();
        labels.join(", ")
    };
    match form {
        ReplyForm::Text { format: Some(format), .. } => match format {
            TextFormat::Email => tr!("an e-mail address"),
            TextFormat::Uri => tr!("an address such as https://example.com/"),
            TextFormat::Date => tr!("a date such as 2026-03-29"),
            TextFormat::Time => tr!("a time such as 15:30"),
            TextFormat::DateTime => tr!("a moment such as 2026-03-29T15:30"),
        },
        ReplyForm::Text { .. } | ReplyForm::Fields { .. } => tr!("text"),
        ReplyForm::Number { whole: true, .. } => tr!("a whole number"),
        ReplyForm::Number { .. } => tr!("a number"),
        ReplyForm::Boolean => tr!("yes or no"),
        ReplyForm::Choice { options } => tr!("one of: {options}", options = join(options)),
        ReplyForm::Choices { options, .. } => tr!("some of: {options}", options = join(options)),
    }
}

/// What the person is asked to type for a question without fields.
pub(crate) fn prompt(form: &ReplyForm) -> String {
    match form {
        ReplyForm::Choice { options } => {
            tr!("a number from 1 to {count}, or /decline: ", count = options.len())
        }
        ReplyForm::Choices { options, .. } => {
            tr!("numbers from 1 to {count} with commas between them, or /decline: ", count = options.len())
        }
        ReplyForm::Boolean => tr!("yes or no, or /decline: "),
        _ => tr!("your answer, or /decline: "),
    }
}

/// What the person is asked to type for a field.
pub(crate) fn field_prompt(field: &TypedField) -> String {
    let what = kind_words(&field.field.form);
    let label = format!("{}, {}", line(&field.label), line(&what));
    let default = field.field.default.as_ref().map(value_text);
    match (default, field.field.required) {
        (Some(default), _) => tr!("{field} (empty: {default}): ", field = label, default = line(&default)),
        (None, true) => tr!("{field}: ", field = label),
        (None, false) => tr!("{field} (empty: leave out): ", field = label),
    }
}

fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(value_text).collect::<Vec<_>>().join(", "),
        Value::Bool(true) => tr!("yes"),
        Value::Bool(false) => tr!("no"),
        other => other.to_string(),
    }
}

/// What was typed for a field, or what is wrong with it.
pub(crate) fn read_field(field: &TypedField, said: &str) -> Result<Vec<TypedValue>, String> {
    let default = field.field.default.as_ref().filter(|_| said.trim().is_empty());
    let texts = match (default, &field.field.form) {
        (Some(Value::Array(items)), _) => items.iter().map(value_text).collect(),
        (Some(Value::Bool(flag)), _) => vec![flag.to_string()],
        (Some(default), _) => vec![value_text(default)],
        (None, form) => split(form, said),
    };
    let typed = |place: &str| {
        let typed = texts.iter().map(|text| TypedValue { field: place.to_owned(), text: text.clone() });
        typed.collect::<Vec<_>>()
    };
    let alone = ReplyForm::Fields { fields: vec![field.field.clone()] };
    check(&alone, &read_typed(&alone, &typed(&field.field.name)))?;
    Ok(typed(&field.place))
}

/// The reply to a question without fields, or what is wrong with it.
pub(crate) fn read_only(form: &ReplyForm, said: &str) -> Result<Value, String> {
    let typed = split(form, said).into_iter().map(|text| TypedValue { field: String::new(), text });
    let value = read_typed(form, &typed.collect::<Vec<_>>());
    check(form, &value)?;
    Ok(value)
}

/// The reply of a form that was filled in, or what is wrong with it.
pub(crate) fn read_form(form: &ReplyForm, typed: &[TypedValue]) -> Result<Value, String> {
    let value = read_typed(form, typed);
    check(form, &value)?;
    Ok(value)
}

fn check(form: &ReplyForm, value: &Value) -> Result<(), String> {
    check_reply(form, value).map_err(|problems| problem_words(&problems))
}

/// What is wrong with a reply, in the reader's language.
fn problem_words(problems: &[FieldProblem]) -> String {
    let language = match language() {
        Language::English => helve_types::Language::English,
        Language::Chinese => helve_types::Language::Chinese,
    };
    let sentences = problems.iter().take(3).filter_map(|problem| problem.notice.sentence(language));
    let words = sentences.collect::<Vec<_>>().join("; ");
    if words.is_empty() { reply_notice(problems).code } else { words }
}

/// Several options are typed with commas between them, unless the line is an option as a whole.
fn split(form: &ReplyForm, said: &str) -> Vec<String> {
    match form {
        ReplyForm::Choices { options, .. } if options.iter().all(|option| option.label() != said.trim()) => {
            let parts = said.split([',', '，', '、', ';', '；']).map(str::trim);
            parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
        }
        _ if said.trim().is_empty() => vec![],
        _ => vec![said.to_owned()],
    }
}

/// The reply that a command line gives: a text, options, fields as `name=value`, or one JSON object.
pub(crate) fn read_words(form: &ReplyForm, given: &[String]) -> anyhow::Result<Value> {
    let example = "name=value";
    let value = match (form, given) {
        (ReplyForm::Fields { .. }, [json]) if json.trim_start().starts_with('{') => {
            match serde_json::from_str(json) {
                Ok(value) => value,
                Err(error) => bail!(tr!("the answer is not JSON: {error}", error = error)),
            }
        }
        (ReplyForm::Fields { .. }, given) => {
            let mut typed = vec![];
            for word in given {
                let Some((field, text)) = word.split_once('=') else {
                    bail!(tr!(
                        "a form is answered with {example} for each field, or with one JSON object",
                        example = example
                    ));
                };
                typed.push(TypedValue { field: field.trim().to_owned(), text: text.to_owned() });
            }
            read_typed(form, &typed)
        }
        (ReplyForm::Choices { .. }, given) => {
            let typed: Vec<_> =
                given.iter().map(|text| TypedValue { field: String::new(), text: text.clone() }).collect();
            read_typed(form, &typed)
        }
        (form, given) => read_typed(form, &[TypedValue { field: String::new(), text: given.join(" ") }]),
    };
    if let Err(problem) = check(form, &value) {
        bail!("{}", line(&problem));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use helve_tool::{WrittenQuestion, read_question};
    use serde_json::json;

    use super::*;

    fn form() -> ReplyForm {
        let schema = json!({
            "type": "object",
            "properties": {
                "day": {"type": "string", "format": "date"},
                "seats": {"type": "integer", "minimum": 1, "default": 2},
                "food": {"type": "array", "items": {"enum": ["soup", "fish, fried"]}},
                "who": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
            },
            "required": ["day"]
        });
        let written = WrittenQuestion { question: "?", form: Some(&schema), ..WrittenQuestion::default() };
        read_question(written).unwrap().form
    }

    fn options(several: bool) -> ReplyForm {
        let options = ["Small", "Large", "3"].map(str::to_owned);
        let written =
            WrittenQuestion { question: "?", options: Some(&options), several, ..WrittenQuestion::default() };
        read_question(written).unwrap().form
    }

    #[test]
    fn an_option_is_typed_by_its_number_or_its_words() {
        assert_eq!(read_only(&options(false), "2"), Ok(json!("Large")));
        assert_eq!(read_only(&options(false), " small "), Ok(json!("Small")));
        // Its words come before its number.
        assert_eq!(read_only(&options(false), "3"), Ok(json!("3")));
        assert_eq!(read_only(&options(true), "1, Large"), Ok(json!(["Small", "Large"])));
        for wrong in ["4", "", "0", "huge"] {
            assert!(read_only(&options(false), wrong).is_err(), "{wrong}");
        }
        assert!(read_only(&options(true), "1, 4").unwrap_err().contains("Small"));
    }

    #[test]
    fn a_form_is_typed_field_by_field_and_what_is_left_empty_is_left_out() {
        let form = form();
        let fields = typed_fields(&form);
        let places: Vec<&str> = fields.iter().map(|field| field.place.as_str()).collect();
        assert_eq!(places, ["day", "food", "seats", "who.name"]);
        assert!(read_field(&fields[0], "tomorrow").unwrap_err().contains("2026-03-29"));
        assert!(read_field(&fields[0], "").is_err());
        let mut typed = vec![];
        for (field, said) in fields.iter().zip(["2026-04-01", "2", "", ""]) {
            typed.extend(read_field(field, said).unwrap());
        }
        let reply = read_form(&form, &typed);
        assert_eq!(reply, Ok(json!({"day": "2026-04-01", "food": ["fish, fried"], "seats": 2})));
    }

    #[test]
    fn a_command_line_answers_with_words_fields_or_json() {
        let words = |given: &[&str]| given.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let day = json!({"day": "2026-04-01", "who": {"name": "Mei"}});
        assert_eq!(read_words(&form(), &words(&["day=2026-04-01", "who.name=Mei"])).unwrap(), day);
        assert_eq!(read_words(&form(), &[day.to_string()]).unwrap(), day);
        assert!(read_words(&form(), &words(&["2026-04-01"])).is_err());
        let strange = read_words(&form(), &words(&["day=2026-04-01", "colour=red"])).unwrap_err();
        assert!(strange.to_string().contains("colour"), "{strange}");
        assert_eq!(read_words(&options(true), &words(&["Small", "2"])).unwrap(), json!(["Small", "Large"]));
    }
}
