//! OpenAI chat completions: what is read of a request, and the bytes of an answer.
//!
//! Chunks are made once: what the mock costs is the floor of every measurement taken through it.

use std::borrow::Cow;
use std::sync::LazyLock;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::model_request::{ModelRequest, Role};
use super::protocol::{Frames, Framing, Protocol, Route};
use super::script::Finish;
use super::scripted_text::{Call, ScriptedText, Text, WORDS, word_at};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "openai_chat",
    base: "/v1",
    path: "/chat/completions",
    catalogue: ("/v1/models", r#"{"object":"list","data":[{"id":"mock","object":"model"}]}"#),
    framing: Framing::Events,
    route: |path| path.ends_with("/chat/completions").then(Route::default),
    read,
    frames,
    whole: whole_answer,
    error: |_, message| json!({"error": {"message": message, "type": "overloaded_error"}}),
    too_long: |asked, fits| {
        let message = format!(
            "This model's maximum context length is {fits} tokens. However, your messages resulted in {asked} tokens."
        );
        json!({"error": {"message": message, "type": "invalid_request_error", "code": "context_length_exceeded"}})
    },
};

const DONE: Bytes = Bytes::from_static(b"data: [DONE]\n\n");

#[derive(Deserialize)]
pub(super) struct Request<'a> {
    #[serde(borrow, default)]
    model: Cow<'a, str>,
    #[serde(borrow, default)]
    messages: Vec<Message<'a>>,
    #[serde(borrow, default)]
    tools: Vec<&'a RawValue>,
    #[serde(default)]
    pub(super) stream: Option<bool>,
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
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
}

impl Request<'_> {
    pub(super) fn read_request(&self) -> ModelRequest {
        let system = self.messages.first().filter(|message| message.role == "system");
        let turns: Vec<_> = self.messages.iter().map(|message| (message.who(), message.content)).collect();
        let first_tool = self.tools.first().and_then(|tool| serde_json::from_str::<Tool>(tool.get()).ok());
        ModelRequest {
            model: self.model.clone().into_owned(),
            first_tool: first_tool.map(|tool| tool.function.name),
            stream: self.stream,
            ..ModelRequest::from_turns(system.and_then(|system| system.content), &turns)
        }
    }
}

impl Message<'_> {
    fn who(&self) -> Role {
        match &*self.role {
            "user" => Role::User,
            "assistant" => Role::Model,
            _ => Role::Tool,
        }
    }
}

fn read(body: &[u8]) -> Result<ModelRequest, serde_json::Error> {
    Ok(serde_json::from_slice::<Request<'_>>(body)?.read_request())
}

fn chunk(delta: &Value, finish: Option<&str>) -> Bytes {
    PROTOCOL.framing.frame(&json!({
        "id": "chatcmpl-mock",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": "mock",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }))
}

static TEXT: LazyLock<Vec<Bytes>> =
    LazyLock::new(|| (0..WORDS).map(|n| chunk(&json!({"content": word_at(n)}), None)).collect());
static ROLE: LazyLock<Bytes> = LazyLock::new(|| chunk(&json!({"role": "assistant"}), None));

fn frames(said: &ScriptedText) -> Frames {
    let mut tokens: Vec<Bytes> =
        (0..said.think).map(|n| chunk(&json!({"reasoning_content": word_at(n)}), None)).collect();
    tokens.extend(said.text.iter().map(|text| match text {
        Text::Word(n) => TEXT[n % WORDS].clone(),
        Text::Other(text) => chunk(&json!({"content": text}), None),
    }));
    for (index, call) in said.calls.iter().enumerate() {
        tokens.push(begin(index, call));
        tokens.extend(call.pieces.iter().map(|piece| {
            let piece = json!({"index": index, "function": {"arguments": piece}});
            chunk(&json!({"tool_calls": [piece]}), None)
        }));
    }
    let usage = PROTOCOL.framing.frame(&json!({
        "id": "chatcmpl-mock",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": "mock",
        "choices": [],
        "usage": usage(said),
    }));
    let finish = chunk(&json!({}), Some(reason(said.finish)));
    Frames { begin: Some(ROLE.clone()), tokens, finish: vec![finish, usage], done: Some(DONE) }
}

fn begin(index: usize, call: &Call) -> Bytes {
    let mut begin =
        json!({"index": index, "type": "function", "function": {"name": call.tool, "arguments": ""}});
    if let Some(id) = &call.id {
        begin["id"] = id.as_str().into();
    }
    chunk(&json!({"tool_calls": [begin]}), None)
}

fn whole_answer(said: &ScriptedText) -> Value {
    let calls: Vec<Value> = said
        .calls
        .iter()
        .map(|call| {
            json!({"id": call.id, "type": "function",
                "function": {"name": call.tool, "arguments": call.pieces.concat()}})
        })
        .collect();
    let mut message = json!({"role": "assistant", "content": said.whole_text()});
    if said.think > 0 {
        message["reasoning_content"] = said.reasoning().into();
    }
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    json!({
        "id": "chatcmpl-mock",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "mock",
        "choices": [{"index": 0, "message": message, "finish_reason": reason(said.finish)}],
        "usage": usage(said),
    })
}

fn reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "stop",
        Finish::Calls => "tool_calls",
        Finish::Length => "length",
        Finish::Filter => "content_filter",
    }
}

fn usage(said: &ScriptedText) -> Value {
    let ScriptedText { input_tokens, output_tokens, .. } = said;
    json!({"prompt_tokens": input_tokens, "completion_tokens": output_tokens,
        "total_tokens": input_tokens + output_tokens})
}
