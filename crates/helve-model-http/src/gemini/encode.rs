//! Encodes a request as a body.

use std::borrow::Cow;

use helve_model::{ModelRequest, Turn, TurnCall};
use helve_types::{ModelParams, ToolChoice, ToolSpec};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::wire;
use crate::protocol::Target;
use crate::schema;

pub(super) fn encode(request: &ModelRequest<'_>, target: &Target<'_>) -> Vec<u8> {
    let system = text_part(&request.system).map(|part| wire::Content { role: None, parts: vec![part] });
    let (generation_config, extra) = encode_params(request.params, &target.quirks.stop_texts(request));
    let declarations: Vec<_> = request.tools.iter().map(|tool| declare_tool(tool)).collect();
    let body = wire::Body {
        system_instruction: system,
        contents: encode_contents(&request.turns, wants_signatures(target.model)),
        tool_config: encode_tool_config(request),
        tools: if declarations.is_empty() {
            vec![]
        } else {
            vec![wire::Tools { function_declarations: declarations }]
        },
        generation_config,
        extra,
    };
    match serde_json::to_vec(&body) {
        Ok(bytes) => bytes,
        Err(error) => unreachable!("a body has only string keys and finite numbers: {error}"),
    }
}

/// Extra members of the operator beside the parameters; all others are parameters.
const TOP_LEVEL: &[&str] = &["safetySettings", "cachedContent", "labels", "serviceTier", "store"];

/// The parameters under the vendor's names, and the members beside them.
fn encode_params(params: &ModelParams, stops: &[&str]) -> (Map<String, Value>, Map<String, Value>) {
    let (extra, more): (Map<_, _>, Map<_, _>) =
        params.extra.clone().into_iter().partition(|(key, _)| TOP_LEVEL.contains(&&**key));
    let mut config = Map::new();
    for (key, value) in more {
        match value {
            Value::Object(members) if key == "generationConfig" => config.extend(members),
            value => _ = config.insert(key, value),
        }
    }
    let stop = (!stops.is_empty()).then(|| json!(stops));
    let named = [
        ("temperature", params.temperature.map(Value::from)),
        ("topP", params.top_p.map(Value::from)),
        ("topK", params.top_k.map(Value::from)),
        ("maxOutputTokens", params.max_tokens.map(Value::from)),
        ("seed", params.seed.map(Value::from)),
        ("stopSequences", stop),
    ];
    config.extend(named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    (config, extra)
}

/// Whether calls need a signature. Models since the third generation refuse calls without one; older ones may not accept
/// the placeholder. A name without a generation counts as a new model.
fn wants_signatures(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let generation = name.strip_prefix("gemini-").unwrap_or_default();
    !generation.starts_with("1.") && !generation.starts_with("2.")
}

fn text_part(text: &str) -> Option<wire::Part<'_>> {
    (!text.is_empty()).then(|| wire::Part { text: Some(text), ..Default::default() })
}

/// Encodes turns as contents. The results of a message are one content of their own, in the order of the calls.
fn encode_contents<'a>(turns: &'a [Turn<'_>], signed: bool) -> Vec<wire::Content<'a>> {
    let mut contents: Vec<wire::Content<'a>> = vec![];
    // The ids of calls that the vendor named; other calls are sent without an id.
    let mut ids: Vec<&str> = vec![];
    let mut after_result = false;
    for turn in turns {
        let is_result = matches!(turn, Turn::Result { .. });
        let (role, parts) = match turn {
            Turn::User(words) => ("user", text_part(words).into_iter().collect()),
            Turn::Assistant { text, echo, calls, .. } => {
                let parts = assistant_parts(text, *echo, calls, signed);
                ids = parts.iter().filter_map(|part| part.function_call.as_ref()?.id).collect();
                ("model", parts)
            }
            Turn::Result { id, tool, text, is_error } => {
                let id = ids.contains(&&**id).then_some(&**id);
                ("user", vec![result_part(id, tool, text, *is_error)])
            }
        };
        match contents.last_mut() {
            _ if parts.is_empty() => continue,
            Some(last) if is_result && after_result => last.parts.extend(parts),
            _ => contents.push(wire::Content { role: Some(role), parts }),
        }
        after_result = is_result;
    }
    contents
}

/// The parts of a message, as the model sent them if the echo has them.
fn assistant_parts<'a>(
    words: &'a str,
    echo: Option<&'a Value>,
    calls: &'a [TurnCall<'_>],
    signed: bool,
) -> Vec<wire::Part<'a>> {
    let kept = echo.and_then(|echo| echo.get("parts")?.as_array()).map_or(&[][..], Vec::as_slice);
    let mut parts: Vec<wire::Part<'a>> = vec![];
    let mut placed = vec![];
    let mut has_content = false;
    for part in kept {
        let thought_signature = part.get("thoughtSignature").and_then(Value::as_str);
        if let Some(position) = find_call(part, calls).filter(|position| !placed.contains(position)) {
            placed.push(position);
            let id = part.get("id").and_then(Value::as_str).filter(|id| *id == calls[position].id);
            parts.push(wire::Part { thought_signature, ..call_part(&calls[position], id) });
        } else if let Some(text) = part.get("text").and_then(Value::as_str)
            && (thought_signature.is_some() || !words.is_empty())
        {
            let thought = part.get("thought").is_some_and(|thought| thought == true);
            has_content |= !thought && !text.is_empty();
            parts.push(wire::Part { text: Some(text), thought, thought_signature, ..Default::default() });
        }
    }
    if !has_content {
        let at = parts.iter().position(|part| part.function_call.is_some()).unwrap_or(parts.len());
        parts.splice(at..at, text_part(words));
    }
    let others = calls.iter().enumerate().filter(|(position, _)| !placed.contains(position));
    parts.extend(others.map(|(_, call)| call_part(call, None)));
    // Of parallel calls only the first has a signature.
    if signed && let Some(first) = parts.iter_mut().find(|part| part.function_call.is_some()) {
        first.thought_signature.get_or_insert(SIGNATURE_PLACEHOLDER);
    }
    parts
}

/// The signature for calls of another model.
const SIGNATURE_PLACEHOLDER: &str = "skip_thought_signature_validator";

/// The call of an echoed part: the one with its id, or the one at its position.
fn find_call(part: &Value, calls: &[TurnCall<'_>]) -> Option<usize> {
    let at = usize::try_from(part.get("call")?.as_u64()?).ok()?;
    let by_id = part.get("id").and_then(|id| calls.iter().position(|call| *id == *call.id));
    by_id.or_else(|| (at < calls.len()).then_some(at))
}

fn call_part<'a>(call: &'a TurnCall<'_>, id: Option<&'a str>) -> wire::Part<'a> {
    let object = |text: &'a str| {
        serde_json::from_str::<&RawValue>(text).ok().filter(|value| value.get().starts_with('{'))
    };
    let args = object(&call.arguments).or_else(|| object("{}")).unwrap_or(RawValue::NULL);
    let call = wire::FunctionCall { id, name: sanitize_name(&call.tool), args };
    wire::Part { function_call: Some(call), ..Default::default() }
}

fn result_part<'a>(id: Option<&'a str>, tool: &'a str, text: &'a str, is_error: bool) -> wire::Part<'a> {
    let response = if is_error { wire::Response::Error(text) } else { wire::Response::Output(text) };
    let response = wire::FunctionResponse { id, name: sanitize_name(tool), response };
    wire::Part { function_response: Some(response), ..Default::default() }
}

/// Replaces the characters that the vendor refuses in a name, which a model may have invented: a name has letters, digits
/// and `_.:-`, and begins with a letter or `_`.
fn sanitize_name(text: &str) -> Cow<'_, str> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_.:-".contains(letter);
    let begins = text.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
    if begins && text.chars().all(plain) {
        return Cow::Borrowed(text);
    }
    let letters = text.chars().map(|letter| if plain(letter) { letter } else { '_' });
    if begins { letters.collect() } else { Some('_').into_iter().chain(letters).collect() }
}

/// Encodes tools as in a request body.
pub(super) fn declare_tools(tools: &[&ToolSpec]) -> Value {
    let function_declarations: Vec<_> = tools.iter().map(|tool| declare_tool(tool)).collect();
    json!([wire::Tools { function_declarations }])
}

/// Declares a tool. The vendor refuses a schema without fields, so a tool without arguments has no schema.
fn declare_tool(tool: &ToolSpec) -> wire::Declaration<'_> {
    let adapted = schema::adapt_for_gemini(&tool.parameters);
    wire::Declaration {
        name: &tool.name,
        description: schema::append_notes(&tool.description, &adapted.notes),
        parameters: Some(adapted.schema).filter(|schema| schema.get("properties").is_some()),
    }
}

/// The tool choice. `AUTO` is the default and not sent; servers refuse a choice without tools.
fn encode_tool_config<'a>(request: &'a ModelRequest<'_>) -> Option<wire::ToolConfig<'a>> {
    if request.tools.is_empty() {
        return None;
    }
    let (mode, allowed_function_names) = match request.tool_choice {
        ToolChoice::Auto => return None,
        ToolChoice::None => ("NONE", vec![]),
        ToolChoice::Required => ("ANY", vec![]),
        ToolChoice::Named(name) => ("ANY", vec![name.as_str()]),
    };
    Some(wire::ToolConfig { function_calling_config: wire::CallingConfig { mode, allowed_function_names } })
}

#[cfg(test)]
mod tests;
