//! What templates see of tools, calls and results. JSON comes as text, ready to be put in place.

use std::borrow::Cow;

use helve_types::{Example, ToolSpec};
use serde::Serialize;
use serde_json::Value;

use super::marks::Marks;
use super::search::{frame_result, is_search_result};
use helve_json::coerce::quote_text;

/// A call to be rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallView<'a> {
    pub id: &'a str,
    pub name: &'a str,
    /// JSON text.
    pub arguments: &'a str,
}

/// A result to be rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultView<'a> {
    /// The id of the call it answers.
    pub id: &'a str,
    pub name: &'a str,
    pub text: &'a str,
    pub is_error: bool,
}

#[derive(Serialize)]
pub(super) struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    /// The first sentence of the description.
    purpose: &'a str,
    /// The names of the parameters.
    members: String,
    /// The schema.
    parameters: String,
    /// Name, description and schema in one object.
    json: String,
    examples: Vec<Worked<'a>>,
}

#[derive(Serialize)]
struct Worked<'a> {
    question: &'a str,
    /// The call as this profile writes it.
    call: String,
    result: &'a str,
    answer: &'a str,
}

impl<'a> Tool<'a> {
    pub(super) fn new(tool: &'a ToolSpec, examples: Vec<(&'a Example, String)>) -> Self {
        let (name, description) = (quote_text(&tool.name), quote_text(tool.description.trim()));
        let parameters = tool.parameters.to_string();
        // By hand, because models expect the name first.
        let json = format!(r#"{{"name": {name}, "description": {description}, "parameters": {parameters}}}"#);
        let examples = examples.into_iter().map(|(example, call)| Worked {
            question: &example.question,
            call,
            result: &example.result,
            answer: &example.answer,
        });
        Self {
            name: &tool.name,
            description: tool.description.trim(),
            purpose: first_sentence(tool.description.trim()),
            members: member_names(&tool.parameters),
            parameters,
            json,
            examples: examples.collect(),
        }
    }
}

pub(super) fn first_sentence(description: &str) -> &str {
    let stops = [(". ", 1), (".\n", 1), ("。", 3), ("\n", 0)];
    let end = stops.iter().filter_map(|(stop, kept)| Some(description.find(stop)? + kept)).min();
    &description[..end.unwrap_or(description.len())]
}

fn member_names(schema: &Value) -> String {
    let properties = schema.get("properties").and_then(Value::as_object);
    let names = properties.into_iter().flat_map(|properties| properties.keys().map(String::as_str));
    names.collect::<Vec<_>>().join(", ")
}

#[derive(Serialize)]
pub(super) struct Call<'a> {
    id: &'a str,
    name: &'a str,
    arguments: &'a str,
    /// The arguments one by one, for profiles that do not write them as JSON.
    members: Vec<Member>,
}

#[derive(Serialize)]
struct Member {
    name: String,
    /// The value as it is where it is text, and as JSON where not.
    text: String,
    /// The value as a Python literal.
    python: String,
}

impl<'a> Call<'a> {
    pub(super) fn new(call: &CallView<'a>) -> Self {
        let arguments = if call.arguments.trim().is_empty() { "{}" } else { call.arguments };
        let members: serde_json::Map<String, Value> = serde_json::from_str(arguments).unwrap_or_default();
        let members = members.into_iter().map(|(name, value)| Member {
            name,
            text: value.as_str().map_or_else(|| value.to_string(), str::to_owned),
            python: to_python(&value),
        });
        Self { id: call.id, name: call.name, arguments, members: members.collect() }
    }
}

pub(super) fn to_python(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(_) | Value::String(_) => value.to_string(),
        Value::Array(items) => format!("[{}]", items.iter().map(to_python).collect::<Vec<_>>().join(", ")),
        Value::Object(members) => {
            let members =
                members.iter().map(|(key, value)| format!("{}: {}", quote_text(key), to_python(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
    }
}

#[derive(Serialize)]
pub(super) struct Outcome<'a> {
    id: Cow<'a, str>,
    name: Cow<'a, str>,
    text: Cow<'a, str>,
    /// The text itself where it is JSON, and as a JSON string where not.
    json: String,
    is_error: bool,
}

impl<'a> Outcome<'a> {
    pub(super) fn new(result: &ResultView<'a>, marks: &Marks, names: &[&str]) -> Self {
        let text = result.text.trim();
        let is_json = !text.contains('\n') && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
        let shown = marks.escape_in_text(result.text, names);
        Self {
            id: marks.escape_in_text(result.id, names),
            name: marks.escape_in_text(result.name, &[]),
            text: if is_search_result(result) {
                Cow::Owned(frame_result(&shown, result.is_error))
            } else {
                shown
            },
            json: marks.escape_in_json(if is_json { text.to_owned() } else { quote_text(result.text) }),
            is_error: result.is_error,
        }
    }
}
