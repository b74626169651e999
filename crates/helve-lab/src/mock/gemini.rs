//! Gemini: what is read of a request, and the bytes of an answer. The address says whether pieces are wanted.

use std::borrow::Cow;
use std::sync::LazyLock;

use bytes::Bytes;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::model_request::{ModelRequest, Role};
use super::protocol::{Frames, Framing, Protocol, Route};
use super::script::Finish;
use super::scripted_text::{ScriptedText, Text, WORDS, word_at};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "gemini",
    base: "",
    path: "/v1beta/models/mock:streamGenerateContent?alt=sse",
    catalogue: ("/v1beta/models", r#"{"models":[{"name":"models/mock"}]}"#),
    framing: Framing::Events,
    route,
    read,
    frames,
    whole: whole_answer,
    error: |code, message| json!({"error": {"code": code, "message": message, "status": "UNAVAILABLE"}}),
    too_long: |asked, fits| {
        let message =
            format!("The input token count ({asked}) exceeds the maximum number of tokens allowed ({fits}).");
        json!({"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}})
    },
};

fn route(path: &str) -> Option<Route> {
    let (model, verb) = path.strip_prefix("/v1beta/models/")?.rsplit_once(':')?;
    let stream = match verb {
        "streamGenerateContent" => true,
        "generateContent" => false,
        _ => return None,
    };
    Some(Route { model: Some(model.to_owned()), stream: Some(stream) })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    #[serde(borrow, default)]
    system_instruction: Option<&'a RawValue>,
    #[serde(borrow, default)]
    contents: Vec<Content<'a>>,
    #[serde(default)]
    tools: Vec<Tools>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow, default)]
    role: Cow<'a, str>,
    #[serde(borrow, default)]
    parts: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tools {
    #[serde(default)]
    function_declarations: Vec<Declaration>,
}

#[derive(Deserialize)]
struct Declaration {
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    #[serde(default)]
    function_response: Option<IgnoredAny>,
}

impl Content<'_> {
    fn who(&self) -> Role {
        if self.role == "model" {
            return Role::Model;
        }
        let parts = self.parts.and_then(|parts| serde_json::from_str::<Vec<Part>>(parts.get()).ok());
        let is_result = parts.is_some_and(|parts| parts.iter().any(|part| part.function_response.is_some()));
        if is_result { Role::Tool } else { Role::User }
    }
}

fn read(body: &[u8]) -> Result<ModelRequest, serde_json::Error> {
    let request: Request<'_> = serde_json::from_slice(body)?;
    let turns: Vec<_> = request.contents.iter().map(|content| (content.who(), content.parts)).collect();
    let first_tool = request.tools.into_iter().flat_map(|tools| tools.function_declarations).next();
    Ok(ModelRequest {
        first_tool: first_tool.map(|tool| tool.name),
        ..ModelRequest::from_turns(request.system_instruction, &turns)
    })
}

fn body(parts: &Value) -> Value {
    json!({
        "candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}],
        "modelVersion": "mock",
        "responseId": "mock",
    })
}

fn chunk(part: &Value) -> Bytes {
    PROTOCOL.framing.frame(&body(&json!([part])))
}

static TEXT: LazyLock<Vec<Bytes>> =
    LazyLock::new(|| (0..WORDS).map(|n| chunk(&json!({"text": word_at(n)}))).collect());

fn frames(said: &ScriptedText) -> Frames {
    let mut tokens: Vec<Bytes> =
        (0..said.think).map(|n| chunk(&json!({"text": word_at(n), "thought": true}))).collect();
    tokens.extend(said.text.iter().map(|text| match text {
        Text::Word(n) => TEXT[n % WORDS].clone(),
        Text::Other(text) => chunk(&json!({"text": text})),
    }));
    tokens.extend(calls(said).map(|call| chunk(&call)));
    let last = PROTOCOL.framing.frame(&finished(said, &json!([{"text": ""}])));
    Frames { begin: None, tokens, finish: vec![last], done: None }
}

/// Calls come whole; the first of a message carries a signature that is wanted back.
fn calls(said: &ScriptedText) -> impl Iterator<Item = Value> {
    said.calls.iter().enumerate().map(|(index, call)| {
        let mut part = json!({"functionCall": {"name": call.tool, "args": call.arguments()}});
        if let Some(id) = &call.id {
            part["functionCall"]["id"] = id.as_str().into();
        }
        if index == 0 {
            part["thoughtSignature"] = "bW9jaw==".into();
        }
        part
    })
}

fn whole_answer(said: &ScriptedText) -> Value {
    let mut parts = vec![];
    if said.think > 0 {
        parts.push(json!({"text": said.reasoning(), "thought": true}));
    }
    if !said.text.is_empty() {
        parts.push(json!({"text": said.whole_text()}));
    }
    parts.extend(calls(said));
    finished(said, &Value::Array(parts))
}

fn finished(said: &ScriptedText, parts: &Value) -> Value {
    let mut body = body(parts);
    body["candidates"][0]["finishReason"] = match said.finish {
        Finish::Stop | Finish::Calls => "STOP",
        Finish::Length => "MAX_TOKENS",
        Finish::Filter => "SAFETY",
    }
    .into();
    body["usageMetadata"] = json!({
        "promptTokenCount": said.input_tokens,
        "candidatesTokenCount": said.output_tokens,
        "totalTokenCount": said.input_tokens + said.output_tokens,
    });
    body
}
