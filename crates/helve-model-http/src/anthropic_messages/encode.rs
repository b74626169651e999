//! Encodes a request as a body.

use std::borrow::Cow;

use helve_model::{ModelRequest, Needs, Turn, TurnCall};
use helve_types::{ToolChoice, ToolSpec};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::wire;
use super::wire::{Block, NewBlock, Role};
use crate::protocol::Target;
use crate::schema;

/// The length limit is mandatory. All models of the vendor support this one.
const MAX_TOKENS: u64 = 8_192;

pub(super) fn encode(request: &ModelRequest<'_>, target: &Target<'_>) -> Vec<u8> {
    let params = request.params;
    let (tools, tool_choice) = encode_tools(request);
    let messages = encode_messages(&request.turns);
    let extra = extra_fields(request, &messages);
    // The vendor refuses a temperature together with thinking.
    let temperature = params.temperature.filter(|_| !wants_thinking(&extra));
    let mut body = wire::Body {
        model: target.model,
        tools,
        tool_choice: tool_choice.filter(|_| !extra.contains_key("tool_choice")),
        system: system_blocks(request),
        messages,
        temperature,
        top_p: params.top_p,
        stop_sequences: target.quirks.stop_texts(request),
        stream: request.stream,
        extra,
    };
    set_cache_marks(&mut body);
    match serde_json::to_vec(&body) {
        Ok(bytes) => bytes,
        Err(error) => unreachable!("a body has only string keys and finite numbers: {error}"),
    }
}

/// Members of the body that the operator's extra parameters cannot set.
const RESERVED: &[&str] =
    &["model", "messages", "system", "tools", "stream", "temperature", "top_p", "stop_sequences"];

/// The operator's extra parameters, and the length limit.
fn extra_fields(request: &ModelRequest<'_>, messages: &[wire::Message<'_>]) -> Map<String, Value> {
    let added = request.params.extra.iter().filter(|(name, _)| !RESERVED.contains(&name.as_str()));
    let mut extra: Map<String, Value> = added.map(|(name, value)| (name.clone(), value.clone())).collect();
    // The vendor refuses a forced call together with thinking; the tool choice of the request wins.
    let forced = matches!(request.tool_choice, ToolChoice::Required | ToolChoice::Named(_));
    // With `adaptive` thinking any history is accepted.
    let must_think = extra.get("thinking").is_some_and(|thinking| thinking["type"] == "enabled");
    if forced && !request.tools.is_empty() || must_think && continues_calls_without_thinking(messages) {
        extra.remove("thinking");
    }
    // Refused together with thinking, like the temperature.
    if let Some(top_k) = request.params.top_k.filter(|_| !wants_thinking(&extra)) {
        extra.entry("top_k").or_insert_with(|| Value::from(top_k));
    }
    let budget = extra.get("thinking").and_then(|thinking| thinking.get("budget_tokens")?.as_u64());
    if let Some(max_tokens) = request.params.max_tokens {
        // The vendor refuses a limit that leaves no tokens for an answer after the thinking.
        if budget.is_some_and(|budget| budget >= u64::from(max_tokens)) {
            extra.remove("thinking");
        }
        extra.insert("max_tokens".into(), max_tokens.into());
    } else {
        // The limit includes the thinking.
        extra.entry("max_tokens").or_insert_with(|| MAX_TOKENS.saturating_add(budget.unwrap_or(0)).into());
    }
    extra
}

/// Whether the answer continues after calls without thinking, such as those of another model. With thinking enabled the
/// vendor refuses such a history.
fn continues_calls_without_thinking(messages: &[wire::Message<'_>]) -> bool {
    let [.., before, last] = messages else { return false };
    let is_result = |block: &Block<'_>| matches!(block, Block::New(NewBlock::ToolResult { .. }));
    last.content.iter().all(is_result) && !matches!(before.content.first(), Some(Block::Echoed(_)))
}

fn wants_thinking(extra: &Map<String, Value>) -> bool {
    extra.get("thinking").is_some_and(|thinking| thinking["type"] != "disabled")
}

/// The system prompt: its stable prefix with a cache mark, then the rest.
fn system_blocks<'a>(request: &'a ModelRequest<'_>) -> Vec<Block<'a>> {
    let (stable, changing) = request.system.split_at_checked(request.stable).unwrap_or((&request.system, ""));
    let mut stable = text_block(stable);
    if let Some(Block::New(NewBlock::Text { cache_control, .. })) = &mut stable {
        *cache_control = CACHE_MARK;
    }
    stable.into_iter().chain(text_block(changing)).collect()
}

fn text_block(text: &str) -> Option<Block<'_>> {
    let has_text = !text.trim().is_empty();
    has_text.then_some(Block::New(NewBlock::Text { text, cache_control: None }))
}

/// Encodes turns as messages with alternating roles: successive turns of a role are one message.
fn encode_messages<'a>(turns: &'a [Turn<'_>]) -> Vec<wire::Message<'a>> {
    let mut messages: Vec<wire::Message<'a>> = vec![];
    for turn in turns {
        let (role, content) = match turn {
            Turn::User(words) => (Role::User, text_block(words).into_iter().collect()),
            Turn::Assistant { text, echo, calls, .. } => {
                (Role::Assistant, assistant_blocks(text, *echo, calls))
            }
            Turn::Result { id, text, is_error, .. } => (
                Role::User,
                vec![Block::New(NewBlock::ToolResult {
                    tool_use_id: sanitize_name(id),
                    content: text,
                    is_error: *is_error,
                    cache_control: None,
                })],
            ),
        };
        match messages.last_mut() {
            _ if content.is_empty() => {}
            Some(last) if last.role == role => last.content.extend(content),
            _ => messages.push(wire::Message { role, content }),
        }
    }
    messages
}

/// The blocks of a message, in the model's order if the echo has it.
fn assistant_blocks<'a>(
    words: &'a str,
    echo: Option<&'a Value>,
    calls: &'a [TurnCall<'_>],
) -> Vec<Block<'a>> {
    let kept = echo.and_then(|echo| echo.get("blocks")?.as_array()).map_or(&[][..], Vec::as_slice);
    let mut blocks = vec![];
    let mut placed = vec![];
    let mut has_text = false;
    for value in kept {
        match value.get("type").and_then(Value::as_str).unwrap_or_default() {
            "thinking" | "redacted_thinking" => blocks.push(Block::Echoed(value)),
            "text" if !words.is_empty() => {
                has_text = true;
                blocks.extend(text_block(value.get("text").and_then(Value::as_str).unwrap_or_default()));
            }
            "tool_use" => {
                let named = calls.iter().find(|call| value.get("id").is_some_and(|id| *id == *call.id));
                if let Some(call) = named {
                    placed.push(&call.id);
                    blocks.push(tool_use_block(call));
                }
            }
            _ => {}
        }
    }
    if !has_text {
        // Before the calls and after the thinking.
        let at = blocks.iter().position(|block| !matches!(block, Block::Echoed(_))).unwrap_or(blocks.len());
        blocks.splice(at..at, text_block(words));
    }
    blocks.extend(calls.iter().filter(|call| !placed.contains(&&call.id)).map(tool_use_block));
    blocks
}

fn tool_use_block<'a>(call: &'a TurnCall<'_>) -> Block<'a> {
    let object = |text: &'a str| {
        serde_json::from_str::<&RawValue>(text).ok().filter(|value| value.get().starts_with('{'))
    };
    let input = object(&call.arguments).or_else(|| object("{}")).unwrap_or(RawValue::NULL);
    Block::New(NewBlock::ToolUse { id: sanitize_name(&call.id), name: sanitize_name(&call.tool), input })
}

/// Replaces the characters that the vendor refuses in names and ids: those of other vendors, or invented by a model, may
/// have others than letters, digits, `_` and `-`.
fn sanitize_name(text: &str) -> Cow<'_, str> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    match text {
        "" => Cow::Borrowed("unknown"),
        _ if text.chars().all(plain) => Cow::Borrowed(text),
        _ => text.chars().map(|letter| if plain(letter) { letter } else { '_' }).collect(),
    }
}

/// The tools and the tool choice. The vendor refuses a history with calls if no tool is declared; then the called tools
/// are declared by name, with the choice `none`.
fn encode_tools<'a>(request: &'a ModelRequest<'_>) -> (Vec<wire::Tool<'a>>, Option<wire::ToolChoice<'a>>) {
    let choice = |kind, name| Some(wire::ToolChoice { kind, name });
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| declare_tool(tool, request.needs)).collect();
        return match request.tool_choice {
            ToolChoice::Auto => (tools, None),
            ToolChoice::None => (tools, choice("none", None)),
            ToolChoice::Required => (tools, choice("any", None)),
            ToolChoice::Named(name) => (tools, choice("tool", Some(name))),
        };
    }
    let mut tools: Vec<wire::Tool<'a>> = vec![];
    for turn in &request.turns {
        let Turn::Assistant { calls, .. } = turn else { continue };
        for call in calls {
            let name = sanitize_name(&call.tool);
            if tools.iter().all(|tool| tool.name != name) {
                let input_schema = Cow::Owned(json!({"type": "object"}));
                tools.push(wire::Tool { name, description: "".into(), input_schema, cache_control: None });
            }
        }
    }
    let none = if tools.is_empty() { None } else { choice("none", None) };
    (tools, none)
}

/// Encodes tools as in a request body.
pub(super) fn declare_tools(tools: &[&ToolSpec]) -> Value {
    json!(tools.iter().map(|tool| declare_tool(tool, Needs::default())).collect::<Vec<_>>())
}

fn declare_tool(tool: &ToolSpec, needs: Needs) -> wire::Tool<'_> {
    let (input_schema, notes) = if needs.plain_schemas {
        let plain = schema::adapt_for_gemini(&tool.parameters);
        (Cow::Owned(plain.schema), plain.notes)
    } else {
        schema::adapt_for_anthropic(&tool.parameters)
    };
    wire::Tool {
        name: Cow::Borrowed(&tool.name),
        description: schema::append_notes(&tool.description, &notes),
        input_schema,
        cache_control: None,
    }
}

const CACHE_MARK: Option<wire::CacheControl> = Some(wire::CacheControl { kind: "ephemeral" });

/// Sets the cache marks: on the tools and on the last two messages of the user; the system prompt has its own. The next
/// request reads the cache of the last mark, this request the one of the mark before it. The vendor accepts four marks.
fn set_cache_marks(body: &mut wire::Body<'_>) {
    if let Some(tool) = body.tools.last_mut() {
        tool.cache_control = CACHE_MARK;
    }
    let from_user = body.messages.iter_mut().rev().filter(|message| message.role == Role::User).take(2);
    for block in from_user.filter_map(|message| message.content.last_mut()) {
        if let Block::New(NewBlock::Text { cache_control, .. } | NewBlock::ToolResult { cache_control, .. }) =
            block
        {
            *cache_control = CACHE_MARK;
        }
    }
}

#[cfg(test)]
mod tests;
