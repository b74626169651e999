//! The types of the protocol, for serde only.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

// Requests

#[derive(Serialize)]
pub(super) struct Body<'a> {
    pub(super) model: &'a str,
    pub(super) messages: Vec<Message<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tools: Vec<Tool<'a>>,
    pub(super) stream: bool,
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub(super) options: Map<String, Value>,
    /// Members beside the options: `think`, `format`, `keep_alive` and others.
    #[serde(flatten)]
    pub(super) top_level: Map<String, Value>,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub(super) enum Message<'a> {
    System {
        content: &'a str,
    },
    User {
        content: &'a str,
    },
    Assistant {
        content: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        thinking: &'a str,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_name: &'a str,
        tool_call_id: &'a str,
        content: &'a str,
    },
}

#[derive(Serialize)]
pub(super) struct Call<'a> {
    pub(super) id: &'a str,
    pub(super) function: Function<'a>,
}

#[derive(Serialize)]
pub(super) struct Function<'a> {
    pub(super) name: &'a str,
    pub(super) arguments: Arguments<'a>,
}

/// Always an object.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Arguments<'a> {
    Verbatim(&'a RawValue),
    Built(Map<String, Value>),
}

#[derive(Serialize)]
pub(super) struct Tool<'a> {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) function: Declaration<'a>,
}

#[derive(Serialize)]
pub(super) struct Declaration<'a> {
    pub(super) name: &'a str,
    pub(super) description: Cow<'a, str>,
    pub(super) parameters: Cow<'a, Value>,
}

// Answers

/// A line of a stream, or a complete answer.
#[derive(Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow, default)]
    pub(super) message: Option<ReplyMessage<'a>>,
    #[serde(default)]
    pub(super) done: bool,
    #[serde(borrow, default)]
    pub(super) done_reason: Option<Cow<'a, str>>,
    #[serde(default)]
    pub(super) prompt_eval_count: Option<u64>,
    #[serde(default)]
    pub(super) eval_count: Option<u64>,
    #[serde(default)]
    pub(super) error: Option<Value>,
}

#[derive(Deserialize)]
pub(super) struct ReplyMessage<'a> {
    #[serde(borrow, default)]
    pub(super) content: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) thinking: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) tool_calls: Option<Vec<ReplyCall<'a>>>,
}

#[derive(Deserialize)]
pub(super) struct ReplyCall<'a> {
    #[serde(borrow, default)]
    pub(super) id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) function: ReplyFunction<'a>,
}

#[derive(Deserialize, Default)]
pub(super) struct ReplyFunction<'a> {
    #[serde(borrow, default)]
    pub(super) name: Option<Cow<'a, str>>,
    /// An object, kept verbatim.
    #[serde(borrow, default)]
    pub(super) arguments: Option<&'a RawValue>,
}
