//! Ollama's own chat: what is read of a request, and the bytes of an answer. A line each, calls whole.

use std::sync::LazyLock;

use bytes::Bytes;
use serde_json::{Value, json};

use super::model_request::ModelRequest;
use super::openai_chat::Request;
use super::protocol::{Frames, Framing, Protocol, Route};
use super::script::Finish;
use super::scripted_text::{Call, ScriptedText, Text, WORDS, word_at};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "ollama",
    base: "",
    path: "/api/chat",
    catalogue: ("/api/tags", r#"{"models":[{"name":"mock","model":"mock"}]}"#),
    framing: Framing::Lines,
    // Pieces are what it sends unless told otherwise.
    route: |path| (path == "/api/chat").then_some(Route { model: None, stream: Some(true) }),
    read,
    frames,
    whole: whole_answer,
    error: |_, message| json!({"error": message}),
    too_long: |asked, fits| json!({"error": format!("the input length {asked} exceeds the context length of {fits}")}),
};

/// The request is shaped as that of OpenAI, as far as the mock looks.
fn read(body: &[u8]) -> Result<ModelRequest, serde_json::Error> {
    Ok(serde_json::from_slice::<Request<'_>>(body)?.read_request())
}

fn line(message: &Value) -> Bytes {
    PROTOCOL.framing.frame(&json!({
        "model": "mock",
        "created_at": "2026-11-01T00:00:00Z",
        "message": message,
        "done": false,
    }))
}

fn content(text: &str) -> Bytes {
    line(&json!({"role": "assistant", "content": text}))
}

static TEXT: LazyLock<Vec<Bytes>> = LazyLock::new(|| (0..WORDS).map(|n| content(&word_at(n))).collect());

fn frames(said: &ScriptedText) -> Frames {
    let mut tokens: Vec<Bytes> = (0..said.think)
        .map(|n| line(&json!({"role": "assistant", "content": "", "thinking": word_at(n)})))
        .collect();
    tokens.extend(said.text.iter().map(|text| match text {
        Text::Word(n) => TEXT[n % WORDS].clone(),
        Text::Other(text) => content(text),
    }));
    let calls = said.calls.iter().enumerate();
    tokens.extend(calls.map(|(index, called)| {
        line(&json!({"role": "assistant", "content": "", "tool_calls": [call(index, called)]}))
    }));
    let last = last(said, &json!({"role": "assistant", "content": ""}));
    Frames { begin: None, tokens, finish: vec![PROTOCOL.framing.frame(&last)], done: None }
}

fn call(index: usize, call: &Call) -> Value {
    let mut written = json!({"function": {"index": index, "name": call.tool, "arguments": call.arguments()}});
    if let Some(id) = &call.id {
        written["id"] = id.as_str().into();
    }
    written
}

fn whole_answer(said: &ScriptedText) -> Value {
    let mut message = json!({"role": "assistant", "content": said.whole_text()});
    if said.think > 0 {
        message["thinking"] = said.reasoning().into();
    }
    let calls: Vec<Value> = said.calls.iter().enumerate().map(|(index, made)| call(index, made)).collect();
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    last(said, &message)
}

fn last(said: &ScriptedText, message: &Value) -> Value {
    json!({
        "model": "mock",
        "created_at": "2026-11-01T00:00:00Z",
        "message": message,
        "done": true,
        "done_reason": if said.finish == Finish::Length { "length" } else { "stop" },
        "total_duration": 1_000_000,
        "load_duration": 1_000,
        "prompt_eval_count": said.input_tokens,
        "prompt_eval_duration": 1_000,
        "eval_count": said.output_tokens,
        "eval_duration": 1_000,
    })
}
