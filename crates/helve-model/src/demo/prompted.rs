//! Prompt mode: tools described in the system prompt, calls and results as text.
//!
//! `scene` shows the script the same conversation whichever way it was told, and `Form` writes calls as the prompt asks
//! for them. Knows the three forms of the profiles that come with Helve; in any other the demo calls nothing.

use std::borrow::Cow;
use std::collections::BTreeMap;

use helve_types::ToolSpec;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::{ModelRequest, Turn, TurnCall};

/// The tools that the demo has a use for.
pub(super) const TOOLS: &[&str] = &["calculator", "time", "search_web", "browser_js_eval", "save_note"];

/// A conversation, with calls and results as such.
pub(super) struct Scene<'a> {
    pub(super) turns: Vec<Turn<'a>>,
    pub(super) tools: Vec<&'a str>,
    /// Where calls are native, the tools as they are declared.
    pub(super) declared: Vec<&'a ToolSpec>,
    /// How calls are to be written; none where they are native.
    pub(super) form: Option<Form>,
}

pub(super) fn scene<'a>(request: &'a ModelRequest<'_>) -> Scene<'a> {
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| tool.name.as_str()).collect();
        return Scene { turns: request.turns.clone(), tools, declared: request.tools.clone(), form: None };
    }
    let form = Form::wanted(&request.system);
    let tools = TOOLS.iter().copied().filter(|tool| form.is_some() && describes(&request.system, tool));
    Scene { turns: read_turns(&request.turns), tools: tools.collect(), declared: vec![], form }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    JsonStrict,
    XmlTag,
    Hermes,
}

impl Form {
    /// The form that a system prompt asks for.
    fn wanted(system: &str) -> Option<Self> {
        let marks = [
            ("<tool_code>", Self::XmlTag),
            ("<tool_call>", Self::Hermes),
            ("\"tool_calls\"", Self::JsonStrict),
        ];
        marks.into_iter().find(|(mark, _)| system.contains(mark)).map(|(_, form)| form)
    }

    pub(super) fn write(self, calls: &[(String, Value)]) -> String {
        let named = |(tool, arguments): &(String, Value)| {
            format!("{{\"name\": {}, \"arguments\": {arguments}}}", json!(tool))
        };
        let blocks: Vec<String> = match self {
            Self::XmlTag => {
                calls.iter().map(|call| format!("<tool_code>{}</tool_code>", named(call))).collect()
            }
            Self::Hermes => {
                calls.iter().map(|call| format!("<tool_call>\n{}\n</tool_call>", named(call))).collect()
            }
            Self::JsonStrict => {
                let calls = (1..).zip(calls).map(|(number, (tool, arguments))| {
                    let function = json!({"name": tool, "arguments": arguments.to_string()});
                    json!({"id": format!("call_{number}"), "type": "function", "function": function})
                });
                vec![json!({"tool_calls": calls.collect::<Vec<_>>()}).to_string()]
            }
        };
        blocks.join("\n")
    }
}

/// Whether the prompt has a definition of the tool: its name in JSON, or at the beginning of a line.
fn describes(system: &str, tool: &str) -> bool {
    let begins = |line: &str| {
        let line = line.trim_start_matches(|c: char| !c.is_alphanumeric());
        line.strip_prefix(tool).is_some_and(|rest| rest.starts_with([':', '(', '`', '"']))
    };
    system.contains(&format!("\"name\": \"{tool}\"")) || system.lines().any(begins)
}

/// The turns with calls and results taken out of the text, where a text with calls is followed by one with results.
fn read_turns<'a>(turns: &'a [Turn<'_>]) -> Vec<Turn<'a>> {
    let mut read: Vec<Turn<'a>> = vec![];
    let mut asked: Vec<TurnCall<'a>> = vec![];
    for turn in turns {
        match turn {
            Turn::Assistant { text, calls, .. } if calls.is_empty() => {
                asked = calls_in(text);
                read.push(turn.clone());
            }
            Turn::User(text) if !asked.is_empty() => {
                let (calls, results) = (std::mem::take(&mut asked), results_in(text));
                if results.is_empty() {
                    read.push(turn.clone());
                    continue;
                }
                read.pop();
                let answered = pair(&calls, results);
                read.push(Turn::Assistant { text: "".into(), reasoning: "".into(), echo: None, calls });
                read.extend(answered);
            }
            _ => {
                asked.clear();
                read.push(turn.clone());
            }
        }
    }
    read
}

fn calls_in(text: &str) -> Vec<TurnCall<'static>> {
    let call = |id: String, function: &Value| {
        let tool = function.get("name")?.as_str()?.to_owned();
        let arguments = match function.get("arguments")? {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Some(TurnCall { id: id.into(), tool: tool.into(), arguments: arguments.into() })
    };
    let mut calls: Vec<TurnCall<'static>> = vec![];
    for (open, close) in [("<tool_code>", "</tool_code>"), ("<tool_call>", "</tool_call>")] {
        for block in between(text, open, close) {
            let function: Value = serde_json::from_str(block.trim()).unwrap_or_default();
            // These forms have no ids; results come in the order of the calls.
            calls.extend(call(format!("call_{}", calls.len() + 1), &function));
        }
    }
    if let Some(at) = text.find("{\"tool_calls\"")
        && let Some(Ok(written)) = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>().next()
    {
        for written in written.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            let id = written.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
            calls.extend(written.get("function").and_then(|function| call(id, function)));
        }
    }
    calls
}

/// A result as the text gives it.
struct Told {
    id: Option<String>,
    /// It stands in the frame of web searches, which has no id.
    is_search: bool,
    text: String,
    is_error: bool,
}

/// An object whose values stay as they are written: a long number would not survive being read.
type Fields = BTreeMap<String, Box<RawValue>>;

fn results_in(text: &str) -> Vec<Told> {
    let mut results = vec![];
    for line in text.lines() {
        let fields: Fields = serde_json::from_str(line.trim()).unwrap_or_default();
        let Some(result) = fields.get("tool_call_result") else { continue };
        let fields: Fields = serde_json::from_str(result.get()).unwrap_or_default();
        results.extend(told(&fields, "result"));
    }
    for block in between(text, "<tool_response>", "</tool_response>") {
        let fields: Fields = serde_json::from_str(block.trim()).unwrap_or_default();
        results.extend(told(&fields, "content"));
    }
    for block in between(text, "<tool_result>", "</content></tool_result>") {
        let id = between(block, "<id>", "</id>").next().map(str::to_owned);
        let Some((_, content)) = block.split_once("<content>") else { continue };
        let error = content.strip_prefix("Error: ");
        let (text, is_error) = (unframed(error.unwrap_or(content)).to_owned(), error.is_some());
        results.push(Told { id, is_search: false, text, is_error });
    }
    results.extend(searches_in(text));
    results
}

/// Web searches that stand in frames of their own, beside the results of other tools.
fn searches_in(text: &str) -> Vec<Told> {
    if text.contains("</content></tool_result>") {
        return vec![];
    }
    let told =
        |text: &str, is_error| Told { id: None, is_search: true, text: text.trim().to_owned(), is_error };
    let found = between(text, "<search_results>", "</search_results>").map(|text| told(text, false));
    let failed = between(text, "<search_error>", "</search_error>").map(|text| told(text, true));
    found.chain(failed).collect()
}

/// The text inside the frame of a web search, if it is in one.
fn unframed(text: &str) -> &str {
    let frames = [("<search_results>", "</search_results>"), ("<search_error>", "</search_error>")];
    let inside = |(open, close): (&str, &str)| text.trim().strip_prefix(open)?.strip_suffix(close);
    frames.into_iter().find_map(inside).map_or(text, str::trim)
}

fn told(fields: &Fields, key: &str) -> Option<Told> {
    let words = |raw: &RawValue| serde_json::from_str(raw.get()).unwrap_or_else(|_| raw.get().to_owned());
    let (raw, is_error) = match fields.get("error") {
        Some(raw) => (raw, true),
        None => (fields.get(key)?, false),
    };
    let id = fields.get("toolCallId").map(|raw| words(raw));
    Some(Told { id, is_search: false, text: words(raw), is_error })
}

/// Each result with its call: by id where there is one, searches by their tool, and otherwise in order.
fn pair<'a>(calls: &[TurnCall<'a>], results: Vec<Told>) -> Vec<Turn<'a>> {
    let framed = results.iter().any(|told| told.is_search);
    let (searches, others): (Vec<_>, Vec<_>) =
        calls.iter().partition(|call| framed && call.tool == "search_web");
    let (mut searches, mut others) = (searches.into_iter(), others.into_iter());
    let mut turns = vec![];
    for told in results {
        let same = calls.iter().find(|call| told.id.as_deref() == Some(&*call.id));
        let next = if told.is_search { searches.next() } else { others.next() };
        let call = same.or(next);
        let Some(call) = call else { continue };
        turns.push(Turn::Result {
            id: call.id.clone(),
            tool: call.tool.clone(),
            text: Cow::Owned(told.text),
            is_error: told.is_error,
        });
    }
    turns
}

/// What stands between the marks, each time.
fn between<'t>(text: &'t str, open: &'t str, close: &'t str) -> impl Iterator<Item = &'t str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (_, after) = rest.split_once(open)?;
        let (inner, more) = after.split_once(close)?;
        rest = more;
        Some(inner)
    })
}
