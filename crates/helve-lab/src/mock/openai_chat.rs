//! OpenAI chat completions: what is read of a request, and the bytes of an answer.
//!
//! Chunks are made once: what the mock costs is the floor of every measurement taken through it. The next wire
//! protocol gets a file of the same shape.

use std::borrow::Cow;
use std::sync::LazyLock;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

pub(super) const PATH: &str = "/v1/chat/completions";
pub(super) const DONE: Bytes = Bytes::from_static(b"data: [DONE]\n\n");

/// How many different tokens there are; a longer text begins again.
const WORDS: usize = 1_024;

/// As much of a request as a script needs.
#[derive(Debug, Deserialize)]
pub(super) struct Request<'a> {
    #[serde(borrow, default)]
    pub(super) model: Cow<'a, str>,
    #[serde(borrow, default)]
    messages: Vec<Message<'a>>,
    #[serde(borrow, default)]
    tools: Vec<&'a RawValue>,
    #[serde(default)]
    pub(super) stream: bool,
}

#[derive(Debug, Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Tool {
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
}

impl Message<'_> {
    /// Whether the user said it; a result that is passed on in the user's name is none.
    fn is_of_user(&self) -> bool {
        let is_result = self.content.is_some_and(|content| content.get().starts_with("\"<tool_response>"));
        self.role == "user" && !is_result
    }
}

impl Request<'_> {
    /// What the user said last, as text.
    pub(super) fn user(&self) -> String {
        let last = self.messages.iter().rfind(|message| message.is_of_user());
        let content = last.and_then(|message| message.content).map_or("", RawValue::get);
        match serde_json::from_str(content) {
            Ok(Value::String(text)) => text,
            Ok(parts) => parts.to_string(),
            Err(_) => String::new(),
        }
    }

    /// How many messages the model has written since.
    pub(super) fn round(&self) -> usize {
        let since = self.messages.iter().rev().take_while(|message| !message.is_of_user());
        since.filter(|message| message.role == "assistant").count()
    }

    pub(super) fn has_tools(&self) -> bool {
        !self.tools.is_empty() || self.wants_text()
    }

    /// Whether tools are described in the prompt and calls are to be written into the text.
    pub(super) fn wants_text(&self) -> bool {
        let system = self.messages.first().filter(|message| message.role == "system");
        system.and_then(|system| system.content).is_some_and(|content| content.get().contains("<tool_call>"))
    }

    pub(super) fn first_tool(&self) -> Option<String> {
        let tool: Tool = serde_json::from_str(self.tools.first()?.get()).ok()?;
        Some(tool.function.name)
    }
}

fn chunk(delta: &Value, finish: Option<&str>) -> Bytes {
    let body = json!({
        "id": "chatcmpl-mock",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": "mock",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    });
    Bytes::from(format!("data: {body}\n\n"))
}

/// The `n`th word of every text.
pub(super) fn word(n: usize) -> String {
    format!("w{} ", n % WORDS)
}

static TEXT: LazyLock<Vec<Bytes>> =
    LazyLock::new(|| (0..WORDS).map(|n| chunk(&json!({"content": word(n)}), None)).collect());

static ROLE: LazyLock<Bytes> = LazyLock::new(|| chunk(&json!({"role": "assistant"}), None));
static STOP: LazyLock<Bytes> = LazyLock::new(|| chunk(&json!({}), Some("stop")));
static CALLS: LazyLock<Bytes> = LazyLock::new(|| chunk(&json!({}), Some("tool_calls")));

pub(super) fn role() -> Bytes {
    ROLE.clone()
}

pub(super) fn text(n: usize) -> Bytes {
    TEXT[n % WORDS].clone()
}

pub(super) fn reasoning(n: usize) -> Bytes {
    chunk(&json!({"reasoning_content": word(n)}), None)
}

/// The beginning of a call, then its arguments in a few pieces.
pub(super) fn call(round: usize, index: usize, tool: &str, arguments: &str) -> Vec<Bytes> {
    let call = |function: Value, id: Option<String>| {
        let mut call = json!({"index": index, "function": function});
        if let Some(id) = id {
            call["id"] = id.into();
            call["type"] = "function".into();
        }
        chunk(&json!({"tool_calls": [call]}), None)
    };
    let mut chunks = vec![call(json!({"name": tool, "arguments": ""}), Some(call_id(round, index)))];
    let characters: Vec<char> = arguments.chars().collect();
    let size = characters.len().div_ceil(3).max(1);
    for piece in characters.chunks(size) {
        chunks.push(call(json!({"arguments": piece.iter().collect::<String>()}), None));
    }
    chunks
}

/// The same call as text, in a few pieces.
pub(super) fn call_in_text(tool: &str, arguments: &str) -> [Bytes; 3] {
    text_of_call(tool, arguments).map(|piece| chunk(&json!({"content": piece}), None))
}

fn text_of_call(tool: &str, arguments: &str) -> [String; 3] {
    [
        format!("<tool_call>\n{{\"name\": {}, \"argu", json!(tool)),
        format!("ments\": {arguments}"),
        "}\n</tool_call>\n".into(),
    ]
}

fn call_id(round: usize, index: usize) -> String {
    format!("call_{round}_{index}")
}

pub(super) fn finish(called: bool) -> Bytes {
    if called { CALLS.clone() } else { STOP.clone() }
}

fn usage(tokens: usize) -> Value {
    json!({"prompt_tokens": 10, "completion_tokens": tokens, "total_tokens": tokens + 10})
}

pub(super) fn usage_chunk(tokens: usize) -> Bytes {
    let body = json!({
        "id": "chatcmpl-mock",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": "mock",
        "choices": [],
        "usage": usage(tokens),
    });
    Bytes::from(format!("data: {body}\n\n"))
}

pub(super) fn error() -> Bytes {
    Bytes::from_static(
        b"data: {\"error\":{\"message\":\"the mock is overloaded\",\"type\":\"overloaded_error\"}}\n\n",
    )
}

/// The answer in one piece.
pub(super) fn whole(
    round: usize,
    calls: &[String],
    in_text: bool,
    arguments: &str,
    think: usize,
    tokens: usize,
) -> Bytes {
    let written = calls.iter().filter(|_| in_text).flat_map(|tool| text_of_call(tool, arguments));
    let content: String = (0..tokens).map(word).chain(written).collect();
    let reasoning: String = (0..think).map(word).collect();
    let calls = if in_text { &[] } else { calls };
    let calls: Vec<Value> = (0..)
        .zip(calls)
        .map(|(index, tool)| {
            json!({"id": call_id(round, index), "type": "function",
                "function": {"name": tool, "arguments": arguments}})
        })
        .collect();
    let mut message = json!({"role": "assistant", "content": content});
    if !reasoning.is_empty() {
        message["reasoning_content"] = reasoning.into();
    }
    let finish = if calls.is_empty() { "stop" } else { "tool_calls" };
    if !calls.is_empty() {
        message["content"] = Value::Null;
        message["tool_calls"] = calls.into();
    }
    let body = json!({
        "id": "chatcmpl-mock",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "mock",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": usage(tokens),
    });
    Bytes::from(body.to_string())
}
