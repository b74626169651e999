//! Anthropic messages: what is read of a request, and the bytes of an answer. Blocks that open and close.

use std::borrow::Cow;
use std::sync::LazyLock;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::model_request::{ModelRequest, Role};
use super::protocol::{Frames, Framing, Protocol, Route, joined};
use super::script::Finish;
use super::scripted_text::{ScriptedText, Text, WORDS, word_at};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "anthropic",
    base: "",
    path: "/v1/messages",
    catalogue: (
        "/v1/models",
        r#"{"data":[{"type":"model","id":"mock","display_name":"mock"}],"has_more":false}"#,
    ),
    framing: Framing::NamedEvents,
    route: |path| (path == "/v1/messages").then(Route::default),
    read,
    frames,
    whole: whole_answer,
    error,
    too_long: |asked, fits| error(400, &format!("prompt is too long: {asked} tokens > {fits} maximum")),
};

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow, default)]
    model: Cow<'a, str>,
    #[serde(borrow, default)]
    system: Option<&'a RawValue>,
    #[serde(borrow, default)]
    messages: Vec<Message<'a>>,
    #[serde(default)]
    tools: Vec<Tool>,
    #[serde(default)]
    stream: Option<bool>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Tool {
    name: String,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Cow<'a, str>,
}

impl Message<'_> {
    /// Results come as a user's message, first of all.
    fn who(&self) -> Role {
        if self.role == "assistant" {
            return Role::Model;
        }
        let blocks = self.content.map(|content| serde_json::from_str::<Vec<Block<'_>>>(content.get()));
        match blocks {
            Some(Ok(blocks)) if blocks.first().is_some_and(|block| block.kind == "tool_result") => Role::Tool,
            _ => Role::User,
        }
    }
}

fn read(body: &[u8]) -> Result<ModelRequest, serde_json::Error> {
    let request: Request<'_> = serde_json::from_slice(body)?;
    let turns: Vec<_> = request.messages.iter().map(|message| (message.who(), message.content)).collect();
    Ok(ModelRequest {
        model: request.model.into_owned(),
        first_tool: request.tools.into_iter().next().map(|tool| tool.name),
        stream: request.stream,
        ..ModelRequest::from_turns(request.system, &turns)
    })
}

fn event(body: &Value) -> Bytes {
    PROTOCOL.framing.frame(body)
}

fn delta(index: usize, delta: &Value) -> Bytes {
    event(&json!({"type": "content_block_delta", "index": index, "delta": delta}))
}

/// The words of a text that is the first block.
static TEXT: LazyLock<Vec<Bytes>> = LazyLock::new(|| {
    (0..WORDS).map(|n| delta(0, &json!({"type": "text_delta", "text": word_at(n)}))).collect()
});

fn frames(said: &ScriptedText) -> Frames {
    let begin = event(&json!({"type": "message_start", "message": {
        "id": "msg_mock", "type": "message", "role": "assistant", "model": "mock", "content": [],
        "stop_reason": null, "stop_sequence": null,
        "usage": {"input_tokens": said.input_tokens, "output_tokens": 1},
    }}));
    let mut tokens = vec![];
    let mut index = 0;
    if said.think > 0 {
        let words =
            (0..said.think).map(|n| delta(index, &json!({"type": "thinking_delta", "thinking": word_at(n)})));
        let signed = delta(index, &json!({"type": "signature_delta", "signature": "bW9jaw=="}));
        let start = json!({"type": "thinking", "thinking": "", "signature": ""});
        block(index, &start, words.collect(), Some(signed), &mut tokens);
        index += 1;
    }
    if !said.text.is_empty() {
        let words = said.text.iter().map(|text| match text {
            Text::Word(n) if index == 0 => TEXT[n % WORDS].clone(),
            text => delta(index, &json!({"type": "text_delta", "text": text.text()})),
        });
        block(index, &json!({"type": "text", "text": ""}), words.collect(), None, &mut tokens);
        index += 1;
    }
    for call in &said.calls {
        let mut start = json!({"type": "tool_use", "name": call.tool, "input": {}});
        if let Some(id) = &call.id {
            start["id"] = id.as_str().into();
        }
        // An empty piece goes before the others, as it does in the real thing.
        let pieces = std::iter::once("").chain(call.pieces.iter().map(String::as_str));
        let pieces =
            pieces.map(|piece| delta(index, &json!({"type": "input_json_delta", "partial_json": piece})));
        block(index, &start, pieces.collect(), None, &mut tokens);
        index += 1;
    }
    let finish = event(&json!({"type": "message_delta",
        "delta": {"stop_reason": reason(said.finish), "stop_sequence": null},
        "usage": {"output_tokens": said.output_tokens}}));
    Frames {
        begin: Some(begin),
        tokens,
        finish: vec![finish],
        done: Some(event(&json!({"type": "message_stop"}))),
    }
}

/// The deltas of a block, with its beginning before the first and its end behind the last.
fn block(index: usize, start: &Value, mut deltas: Vec<Bytes>, last: Option<Bytes>, tokens: &mut Vec<Bytes>) {
    if let Some(first) = deltas.first_mut() {
        let start = event(&json!({"type": "content_block_start", "index": index, "content_block": start}));
        *first = joined([start, first.clone()]);
    }
    if let Some(end) = deltas.last_mut() {
        let stop = event(&json!({"type": "content_block_stop", "index": index}));
        *end = joined(std::iter::once(end.clone()).chain(last).chain([stop]));
    }
    tokens.append(&mut deltas);
}

fn whole_answer(said: &ScriptedText) -> Value {
    let mut content = vec![];
    if said.think > 0 {
        content.push(json!({"type": "thinking", "thinking": said.reasoning(), "signature": "bW9jaw=="}));
    }
    if !said.text.is_empty() {
        content.push(json!({"type": "text", "text": said.whole_text()}));
    }
    content.extend(said.calls.iter().map(
        |call| json!({"type": "tool_use", "id": call.id, "name": call.tool, "input": call.arguments()}),
    ));
    json!({
        "id": "msg_mock", "type": "message", "role": "assistant", "model": "mock", "content": content,
        "stop_reason": reason(said.finish), "stop_sequence": null,
        "usage": {"input_tokens": said.input_tokens, "output_tokens": said.output_tokens},
    })
}

fn reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "end_turn",
        Finish::Calls => "tool_use",
        Finish::Length => "max_tokens",
        Finish::Filter => "refusal",
    }
}

fn error(status: u16, message: &str) -> Value {
    let kind = match status {
        400 | 413 | 422 => "invalid_request_error",
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        500 => "api_error",
        _ => "overloaded_error",
    };
    json!({"type": "error", "error": {"type": kind, "message": message}})
}
