//! Prompt mode: tools described in the system prompt, calls and results as text.
//!
//! `read_request` gives the script the same conversation in native and in prompt mode, and `CallFormat` writes calls as
//! the prompt demands. Knows the three formats of the profiles that come with Helve; with any other the demo model makes
//! no calls.

use std::borrow::Cow;
use std::collections::BTreeMap;

use helve_types::ToolSpec;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::{ModelRequest, Turn, TurnCall};

/// The tools that the demo model's rules can call.
pub(super) const TOOLS: &[&str] =
    &["calculator", "time", "search_web", "browser_js_eval", "save_note", "ask_user"];

/// A conversation whose calls and results are separate from the text.
pub(super) struct Conversation<'a> {
    pub(super) turns: Vec<Turn<'a>>,
    pub(super) tools: Vec<&'a str>,
    /// The declared tools; empty in prompt mode.
    pub(super) declared: Vec<&'a ToolSpec>,
    /// The format of calls in prompt mode; none if calls are native.
    pub(super) format: Option<CallFormat>,
}

pub(super) fn read_request<'a>(request: &'a ModelRequest<'_>) -> Conversation<'a> {
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| tool.name.as_str()).collect();
        return Conversation {
            turns: request.turns.clone(),
            tools,
            declared: request.tools.clone(),
            format: None,
        };
    }
    let format = CallFormat::from_prompt(&request.system);
    let tools =
        TOOLS.iter().copied().filter(|tool| format.is_some() && describes_tool(&request.system, tool));
    Conversation { turns: read_turns(&request.turns), tools: tools.collect(), declared: vec![], format }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallFormat {
    JsonStrict,
    XmlTag,
    Hermes,
}

impl CallFormat {
    /// The format that a system prompt demands.
    fn from_prompt(system: &str) -> Option<Self> {
        let marks = [
            ("<tool_code>", Self::XmlTag),
            ("<tool_call>", Self::Hermes),
            ("\"tool_calls\"", Self::JsonStrict),
        ];
        marks.into_iter().find(|(mark, _)| system.contains(mark)).map(|(_, format)| format)
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
fn describes_tool(system: &str, tool: &str) -> bool {
    let begins = |line: &str| {
        let line = line.trim_start_matches(|c: char| !c.is_alphanumeric());
        line.strip_prefix(tool).is_some_and(|rest| rest.starts_with([':', '(', '`', '"']))
    };
    system.contains(&format!("\"name\": \"{tool}\"")) || system.lines().any(begins)
}

/// Extracts calls and results from the text where a text with calls is followed by one with results.
fn read_turns<'a>(turns: &'a [Turn<'_>]) -> Vec<Turn<'a>> {
    let mut read: Vec<Turn<'a>> = vec![];
    let mut asked: Vec<TurnCall<'a>> = vec![];
    for turn in turns {
        match turn {
            Turn::Assistant { text, calls, .. } if calls.is_empty() => {
                asked = parse_calls(text);
                read.push(turn.clone());
            }
            Turn::User(text) if !asked.is_empty() => {
                let (calls, results) = (std::mem::take(&mut asked), parse_results(text));
                if results.is_empty() {
                    read.push(turn.clone());
                    continue;
                }
                read.pop();
                let answered = match_results(&calls, results);
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

fn parse_calls(text: &str) -> Vec<TurnCall<'static>> {
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
        for block in texts_between(text, open, close) {
            let function: Value = serde_json::from_str(block.trim()).unwrap_or_default();
            // These formats have no ids; results come in the order of the calls.
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

/// A result in the text of a user's message.
struct TextResult {
    id: Option<String>,
    /// Whether it is in a frame of web search results, which has no id.
    is_search: bool,
    text: String,
    is_error: bool,
}

/// An object whose values are kept as text, because parsing would change a long number.
type Fields = BTreeMap<String, Box<RawValue>>;

fn parse_results(text: &str) -> Vec<TextResult> {
    let mut results = vec![];
    for line in text.lines() {
        let fields: Fields = serde_json::from_str(line.trim()).unwrap_or_default();
        let Some(result) = fields.get("tool_call_result") else { continue };
        let fields: Fields = serde_json::from_str(result.get()).unwrap_or_default();
        results.extend(parse_result(&fields, "result"));
    }
    for block in texts_between(text, "<tool_response>", "</tool_response>") {
        let fields: Fields = serde_json::from_str(block.trim()).unwrap_or_default();
        results.extend(parse_result(&fields, "content"));
    }
    for block in texts_between(text, "<tool_result>", "</content></tool_result>") {
        let id = texts_between(block, "<id>", "</id>").next().map(str::to_owned);
        let Some((_, content)) = block.split_once("<content>") else { continue };
        let error = content.strip_prefix("Error: ");
        let (text, is_error) = (remove_search_frame(error.unwrap_or(content)).to_owned(), error.is_some());
        results.push(TextResult { id, is_search: false, text, is_error });
    }
    results.extend(parse_search_results(text));
    results
}

/// The results of web searches in frames of their own, outside the frames of other results.
fn parse_search_results(text: &str) -> Vec<TextResult> {
    if text.contains("</content></tool_result>") {
        return vec![];
    }
    let result = |text: &str, is_error| TextResult {
        id: None,
        is_search: true,
        text: text.trim().to_owned(),
        is_error,
    };
    let found = texts_between(text, "<search_results>", "</search_results>").map(|text| result(text, false));
    let failed = texts_between(text, "<search_error>", "</search_error>").map(|text| result(text, true));
    found.chain(failed).collect()
}

/// Removes the frame of web search results.
fn remove_search_frame(text: &str) -> &str {
    let frames = [("<search_results>", "</search_results>"), ("<search_error>", "</search_error>")];
    let inside = |(open, close): (&str, &str)| text.trim().strip_prefix(open)?.strip_suffix(close);
    frames.into_iter().find_map(inside).map_or(text, str::trim)
}

fn parse_result(fields: &Fields, key: &str) -> Option<TextResult> {
    let words = |raw: &RawValue| serde_json::from_str(raw.get()).unwrap_or_else(|_| raw.get().to_owned());
    let (raw, is_error) = match fields.get("error") {
        Some(raw) => (raw, true),
        None => (fields.get(key)?, false),
    };
    let id = fields.get("toolCallId").map(|raw| words(raw));
    Some(TextResult { id, is_search: false, text: words(raw), is_error })
}

/// Matches each result with its call: by id if it has one, searches by their tool, others in order.
fn match_results<'a>(calls: &[TurnCall<'a>], results: Vec<TextResult>) -> Vec<Turn<'a>> {
    let framed = results.iter().any(|result| result.is_search);
    let (searches, others): (Vec<_>, Vec<_>) =
        calls.iter().partition(|call| framed && call.tool == "search_web");
    let (mut searches, mut others) = (searches.into_iter(), others.into_iter());
    let mut turns = vec![];
    for result in results {
        let same = calls.iter().find(|call| result.id.as_deref() == Some(&*call.id));
        let next = if result.is_search { searches.next() } else { others.next() };
        let call = same.or(next);
        let Some(call) = call else { continue };
        turns.push(Turn::Result {
            id: call.id.clone(),
            tool: call.tool.clone(),
            text: Cow::Owned(result.text),
            is_error: result.is_error,
        });
    }
    turns
}

/// Each text between the two marks.
fn texts_between<'t>(text: &'t str, open: &'t str, close: &'t str) -> impl Iterator<Item = &'t str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (_, after) = rest.split_once(open)?;
        let (inner, more) = after.split_once(close)?;
        rest = more;
        Some(inner)
    })
}
