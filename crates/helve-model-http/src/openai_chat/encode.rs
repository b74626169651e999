//! Encodes a request as a body.

use std::borrow::Cow;
use std::collections::BTreeMap;

use helve_model::{ModelRequest, Needs, Turn, TurnCall};
use helve_types::{ToolChoice, ToolSpec};
use serde_json::{Map, Value, json};

use super::wire;
use crate::protocol::Target;
use crate::schema;
use crate::vendors::{Quirks, ReasoningReturn};

/// Members of the body that the operator's extra parameters cannot set.
const RESERVED: &[&str] = &["model", "messages", "tools", "stream", STRICT];
/// The extra parameter with which the operator makes the server enforce the schemas of tools.
const STRICT: &str = "strict_tools";

pub(super) fn encode(request: &ModelRequest<'_>, target: &Target<'_>) -> Vec<u8> {
    let quirks = &adapt_quirks(target.quirks, request.needs);
    let mut messages = Vec::with_capacity(request.turns.len() + 1);
    if !request.system.is_empty() {
        messages.push(wire::Message::System { content: &request.system });
    }
    messages.extend(request.turns.iter().map(|turn| encode_message(turn, quirks)));

    let params = request.params;
    let extra = extra_fields(request, quirks);
    // The operator's extra parameters win, and no member may occur twice.
    let is_free = |name: &str| !extra.contains_key(name);
    let (tools, choice) = encode_tools(request, quirks);
    let body = wire::Body {
        model: target.model,
        messages,
        tools,
        tool_choice: choice.filter(|_| is_free("tool_choice")),
        temperature: params.temperature.filter(|_| is_free("temperature")),
        top_p: params.top_p.filter(|_| is_free("top_p")),
        stop: if is_free("stop") { quirks.stop_texts(request) } else { vec![] },
        stream: request.stream,
        stream_options: (request.stream && quirks.usage_option && is_free("stream_options"))
            .then_some(wire::StreamOptions { include_usage: true }),
        extra,
    };
    match serde_json::to_vec(&body) {
        Ok(bytes) => bytes,
        Err(error) => unreachable!("a body has only string keys and finite numbers: {error}"),
    }
}

/// The vendor's quirks with the needs that a probe found.
fn adapt_quirks(quirks: &Quirks, needs: Needs) -> Quirks {
    match quirks.reasoning {
        ReasoningReturn::Never if needs.reasoning_back => {
            Quirks { reasoning: ReasoningReturn::Field("reasoning_content"), ..quirks.clone() }
        }
        _ => quirks.clone(),
    }
}

/// Parameters whose names depend on the vendor, and the operator's extra parameters.
fn extra_fields(request: &ModelRequest<'_>, quirks: &Quirks) -> Map<String, Value> {
    let params = request.params;
    let mut extra = Map::new();
    if let Some(max_tokens) = params.max_tokens {
        extra.insert(quirks.max_tokens.to_owned(), Value::from(max_tokens));
    }
    if let Some(seed) = params.seed {
        extra.insert(quirks.seed.to_owned(), Value::from(seed));
    }
    if let Some(top_k) = params.top_k.filter(|_| quirks.top_k) {
        extra.insert("top_k".to_owned(), Value::from(top_k));
    }
    if let Some((field, value)) = request.form.as_ref().and_then(|form| quirks.form.encode(form)) {
        extra.insert(field.to_owned(), value);
    }
    let added = params.extra.iter().filter(|(name, _)| !RESERVED.contains(&name.as_str()));
    extra.extend(added.map(|(name, value)| (name.clone(), value.clone())));
    extra
}

fn encode_message<'a>(turn: &'a Turn<'_>, quirks: &Quirks) -> wire::Message<'a> {
    match turn {
        Turn::User(text) => wire::Message::User { content: text },
        Turn::Assistant { text, reasoning, echo, calls } => {
            let content: Cow<'_, str> = match quirks.reasoning {
                ReasoningReturn::Text if !reasoning.is_empty() => {
                    format!("<think>\n{reasoning}\n</think>\n\n{text}").into()
                }
                _ => Cow::Borrowed(text),
            };
            wire::Message::Assistant {
                content: (!content.is_empty() || calls.is_empty()).then_some(content),
                tool_calls: calls.iter().map(|turn_call| encode_call(turn_call, quirks)).collect(),
                returned: returned_fields(reasoning, *echo, !calls.is_empty(), quirks),
            }
        }
        Turn::Result { id, text, .. } => {
            wire::Message::Tool { tool_call_id: quirks.call_ids.rewrite(id), content: text }
        }
    }
}

/// The members that the vendor requires back: its opaque details if there are any, otherwise the reasoning.
fn returned_fields<'a>(
    reasoning: &'a str,
    echo: Option<&'a Value>,
    has_calls: bool,
    quirks: &Quirks,
) -> BTreeMap<&'static str, wire::ReturnedValue<'a>> {
    let echoed = quirks.echo.iter().filter_map(|name| Some((*name, echo?.get(name)?)));
    let mut returned: BTreeMap<_, _> =
        echoed.map(|(name, value)| (name, wire::ReturnedValue::AsItCame(value))).collect();
    match quirks.reasoning {
        ReasoningReturn::FieldWithCalls(name) if has_calls || !reasoning.is_empty() => {
            returned.insert(name, wire::ReturnedValue::Text(reasoning));
        }
        ReasoningReturn::Field(name)
            if !reasoning.is_empty() && !returned.contains_key("reasoning_details") =>
        {
            returned.insert(name, wire::ReturnedValue::Text(reasoning));
        }
        _ => {}
    }
    returned
}

fn encode_call<'a>(call: &'a TurnCall<'_>, quirks: &Quirks) -> wire::Call<'a> {
    wire::Call {
        id: quirks.call_ids.rewrite(&call.id),
        kind: "function",
        function: wire::Function { name: &call.tool, arguments: &call.arguments },
    }
}

/// The tools, and the tool choice as far as the vendor accepts it. `auto` is the default and not sent; servers refuse a
/// choice without tools.
fn encode_tools<'a>(
    request: &'a ModelRequest<'_>,
    quirks: &Quirks,
) -> (Vec<wire::Tool<'a>>, Option<wire::ToolChoice<'a>>) {
    let accepts = |choice: &ToolChoice| quirks.choices.accepts(choice, &request.params.extra);
    let declaration: fn(&ToolSpec) -> wire::Tool<'_> = match request.params.extra.get(STRICT) {
        Some(Value::Bool(true)) => declare_strict_tool,
        _ if request.needs.plain_schemas => declare_plain_tool,
        _ => declare_tool,
    };
    let all = || request.tools.iter().map(|tool| declaration(tool)).collect();
    let word = |word| Some(wire::ToolChoice::Word(word));
    if request.tools.is_empty() {
        return (vec![], None);
    }
    match request.tool_choice {
        ToolChoice::Auto => (all(), None),
        ToolChoice::None if accepts(&ToolChoice::None) => (all(), word("none")),
        ToolChoice::None => (vec![], None),
        ToolChoice::Required if accepts(&ToolChoice::Required) => (all(), word("required")),
        ToolChoice::Required => (all(), None),
        choice @ ToolChoice::Named(name) if accepts(choice) => {
            let named = wire::ToolChoice::Named { kind: "function", function: wire::Named { name } };
            (all(), Some(named))
        }
        // A tool that is declared alone and required is as good as named.
        ToolChoice::Named(name) => match request.tools.iter().find(|tool| tool.name == *name) {
            Some(tool) if accepts(&ToolChoice::Required) => (vec![declaration(tool)], word("required")),
            _ => (all(), None),
        },
    }
}

/// Encodes tools as in a request body.
pub(super) fn declare_tools(tools: &[&ToolSpec]) -> Value {
    json!(tools.iter().map(|tool| declare_tool(tool)).collect::<Vec<_>>())
}

fn declare_tool(tool: &ToolSpec) -> wire::Tool<'_> {
    wire::Tool {
        kind: "function",
        function: wire::Declaration {
            name: &tool.name,
            description: Cow::Borrowed(&tool.description),
            parameters: Cow::Borrowed(&tool.parameters),
            strict: None,
        },
    }
}

/// Declares a tool whose schema the server enforces, if strict mode can express it.
fn declare_strict_tool(tool: &ToolSpec) -> wire::Tool<'_> {
    let Some(adapted) = schema::adapt_for_strict_openai(&tool.parameters) else { return declare_tool(tool) };
    wire::Tool {
        kind: "function",
        function: wire::Declaration {
            name: &tool.name,
            description: schema::append_notes(&tool.description, &adapted.notes),
            parameters: Cow::Owned(adapted.schema),
            strict: Some(true),
        },
    }
}

/// Declares a tool for a server that accepts only basic keywords; the rest of the schema is in words.
fn declare_plain_tool(tool: &ToolSpec) -> wire::Tool<'_> {
    let adapted = schema::adapt_for_gemini(&tool.parameters);
    wire::Tool {
        kind: "function",
        function: wire::Declaration {
            name: &tool.name,
            description: schema::append_notes(&tool.description, &adapted.notes),
            parameters: Cow::Owned(adapted.schema),
            strict: None,
        },
    }
}

#[cfg(test)]
mod tests;
