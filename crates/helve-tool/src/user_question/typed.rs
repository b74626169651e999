//! A reply that was typed: on a command line, in a terminal, or in a form of plain HTML. What cannot be read stays the text
//! that it is, so that checking it says what is wrong with it.

use helve_types::{FormField, FormOption, ReplyForm};
use serde_json::{Map, Number, Value};

/// A text that was typed for a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypedValue {
    /// The names of the fields with dots between them; empty where the reply has no fields.
    pub field: String,
    pub text: String,
}

/// The reply that was typed. A field that several texts are typed for is one in which several options are chosen; a field
/// that is typed empty is left out.
pub fn read_typed(form: &ReplyForm, typed: &[TypedValue]) -> Value {
    match form {
        ReplyForm::Fields { fields } => read_fields(fields, typed, ""),
        form => {
            let texts: Vec<&str> = typed.iter().map(|typed| typed.text.as_str()).collect();
            read_value(form, &texts).unwrap_or_else(|| match form {
                ReplyForm::Choices { .. } => Value::Array(vec![]),
                _ => "".into(),
            })
        }
    }
}

fn read_fields(fields: &[FormField], typed: &[TypedValue], path: &str) -> Value {
    let mut reply = Map::new();
    for field in fields {
        let place = if path.is_empty() { field.name.clone() } else { format!("{path}.{}", field.name) };
        let value = match &field.form {
            ReplyForm::Fields { fields } => {
                // A group that may be left out and in which nothing is typed is left out.
                let group = read_fields(fields, typed, &place);
                let is_empty = group.as_object().is_some_and(Map::is_empty);
                (field.required || !is_empty).then_some(group)
            }
            form => {
                let texts = typed.iter().filter(|typed| typed.field == place);
                let texts: Vec<&str> = texts.map(|typed| typed.text.as_str()).collect();
                read_value(form, &texts)
            }
        };
        if let Some(value) = value {
            reply.insert(field.name.clone(), value);
        }
    }
    // What is typed for no field is told as such.
    let strange = typed.iter().filter(|_| path.is_empty()).filter(|typed| !has_field(fields, &typed.field));
    for typed in strange {
        reply.insert(typed.field.clone(), typed.text.clone().into());
    }
    reply.into()
}

fn has_field(fields: &[FormField], place: &str) -> bool {
    let (name, rest) = place.split_once('.').map_or((place, None), |(name, rest)| (name, Some(rest)));
    let field = fields.iter().find(|field| field.name == name);
    match (field.map(|field| &field.form), rest) {
        (Some(ReplyForm::Fields { fields }), Some(rest)) => has_field(fields, rest),
        (field, rest) => field.is_some() && rest.is_none(),
    }
}

fn read_value(form: &ReplyForm, texts: &[&str]) -> Option<Value> {
    if let ReplyForm::Choices { options, .. } = form {
        let chosen = texts.iter().filter(|text| !text.trim().is_empty());
        let chosen: Vec<Value> = chosen.map(|text| read_option(options, text).into()).collect();
        return (!texts.is_empty()).then(|| chosen.into());
    }
    let text = texts.last()?;
    if let ReplyForm::Text { multiline, .. } = form {
        // Browsers send the ends of lines as two characters.
        let text = if *multiline { text.replace("\r\n", "\n") } else { text.trim().to_owned() };
        return (!text.trim().is_empty()).then(|| text.into());
    }
    let text = text.trim();
    if text.is_empty() {
        return None;
    }
    Some(match form {
        ReplyForm::Number { .. } => read_number(text).map_or_else(|| text.into(), Value::Number),
        ReplyForm::Boolean => read_boolean(text).map_or_else(|| text.into(), Value::Bool),
        ReplyForm::Choice { options } => read_option(options, text).into(),
        ReplyForm::Text { .. } | ReplyForm::Choices { .. } | ReplyForm::Fields { .. } => text.into(),
    })
}

fn read_number(text: &str) -> Option<Number> {
    let number: Number = serde_json::from_str(text.trim_start_matches('+')).ok()?;
    // As people write it where the number must be a whole one.
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 1e15 => {
            Some((float as i64).into())
        }
        _ => Some(number),
    }
}

fn read_boolean(text: &str) -> Option<bool> {
    match text.to_lowercase().as_str() {
        "true" | "yes" | "y" | "是" | "对" => Some(true),
        "false" | "no" | "n" | "否" | "不" => Some(false),
        _ => None,
    }
}

/// An option by its value, its title or its number.
fn read_option(options: &[FormOption], text: &str) -> String {
    let text = text.trim();
    let by_number = || {
        let number: usize = text.parse().ok()?;
        options.get(number.checked_sub(1)?)
    };
    let by_text = |option: &&FormOption| option.value == text || option.label() == text;
    let by_case = |option: &&FormOption| option.label().to_lowercase() == text.to_lowercase();
    let found = options.iter().find(by_text).or_else(|| options.iter().find(by_case)).or_else(by_number);
    found.map_or_else(|| text.to_owned(), |option| option.value.clone())
}
