//! From a request to a body.

use std::borrow::Cow;

use helve_model::{ModelRequest, Turn, TurnCall};
use helve_types::{ToolChoice, ToolSpec};
use serde_json::Value;

use super::wire;
use crate::protocol::Target;
use crate::schema;

pub(super) fn encode(request: &ModelRequest<'_>, target: &Target<'_>) -> Vec<u8> {
    let mut messages = Vec::with_capacity(request.turns.len() + 1);
    if !request.system.is_empty() {
        messages.push(wire::Message::System { content: &request.system });
    }
    let back = target.quirks.echo_reasoning || request.needs.reasoning_back;
    messages.extend(request.turns.iter().map(|turn| message(turn, back)));

    let params = request.params;
    let mut extra = params.extra.clone();
    if let Some(max_tokens) = params.max_tokens {
        extra.insert(target.quirks.max_tokens.to_owned(), Value::from(max_tokens));
    }
    let declared: fn(&ToolSpec) -> wire::Tool<'_> = match extra.remove("strict_tools") {
        Some(Value::Bool(true)) => strict_declaration,
        _ if request.needs.plain_schemas => plain_declaration,
        _ => declaration,
    };
    let body = wire::Body {
        model: target.model,
        messages,
        tools: request.tools.iter().map(|tool| declared(tool)).collect(),
        tool_choice: tool_choice(request),
        temperature: params.temperature,
        top_p: params.top_p,
        seed: params.seed,
        stop: &params.stop,
        stream: request.stream,
        stream_options: request.stream.then_some(wire::StreamOptions { include_usage: true }),
        extra,
    };
    match serde_json::to_vec(&body) {
        Ok(bytes) => bytes,
        Err(error) => unreachable!("a body has only string keys and finite numbers: {error}"),
    }
}

/// `back` says whether the reasoning goes back with the message.
fn message<'a>(turn: &'a Turn<'_>, back: bool) -> wire::Message<'a> {
    match turn {
        Turn::User(text) => wire::Message::User { content: text },
        Turn::Assistant { text, reasoning, calls, .. } => wire::Message::Assistant {
            content: (!text.is_empty() || calls.is_empty()).then_some(&**text),
            reasoning_content: (back && !reasoning.is_empty()).then_some(&**reasoning),
            tool_calls: calls.iter().map(call).collect(),
        },
        Turn::Result { id, text, .. } => wire::Message::Tool { tool_call_id: id, content: text },
    }
}

fn call<'a>(call: &'a TurnCall<'_>) -> wire::Call<'a> {
    wire::Call {
        id: &call.id,
        kind: "function",
        function: wire::Function { name: &call.tool, arguments: &call.arguments },
    }
}

fn declaration(tool: &ToolSpec) -> wire::Tool<'_> {
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

/// The server holds the model to the schema, where it can be said in a way that it can hold to.
fn strict_declaration(tool: &ToolSpec) -> wire::Tool<'_> {
    let Some(adapted) = schema::for_strict_openai(&tool.parameters) else { return declaration(tool) };
    wire::Tool {
        kind: "function",
        function: wire::Declaration {
            name: &tool.name,
            description: schema::with_notes(&tool.description, &adapted.notes),
            parameters: Cow::Owned(adapted.schema),
            strict: Some(true),
        },
    }
}

/// For a server that refuses rich schemas: the plainest there is, and the rest in words.
fn plain_declaration(tool: &ToolSpec) -> wire::Tool<'_> {
    let adapted = schema::for_gemini(&tool.parameters);
    wire::Tool {
        kind: "function",
        function: wire::Declaration {
            name: &tool.name,
            description: schema::with_notes(&tool.description, &adapted.notes),
            parameters: Cow::Owned(adapted.schema),
            strict: None,
        },
    }
}

/// Servers refuse a choice without tools, and `auto` goes without saying.
fn tool_choice<'a>(request: &'a ModelRequest<'_>) -> Option<wire::ToolChoice<'a>> {
    if request.tools.is_empty() {
        return None;
    }
    match request.tool_choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some(wire::ToolChoice::Word("none")),
        ToolChoice::Required => Some(wire::ToolChoice::Word("required")),
        ToolChoice::Named(name) => {
            Some(wire::ToolChoice::Named { kind: "function", function: wire::Named { name } })
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use helve_model::Needs;
    use helve_types::{Effect, ModelParams};
    use serde_json::json;

    use super::*;
    use crate::vendors::Quirks;

    fn check(request: &ModelRequest<'_>, quirks: Quirks, expected: Expect) {
        let body = encode(request, &Target { model: "m", quirks: &quirks });
        let body: Value = serde_json::from_slice(&body).unwrap();
        expected.assert_eq(&serde_json::to_string_pretty(&body).unwrap());
    }

    const PLAIN: Quirks = Quirks { max_tokens: "max_tokens", echo_reasoning: false };

    #[test]
    fn a_whole_tool_loop_is_written_as_the_documentation_says() {
        let tool = ToolSpec::new("time", "Tells the time.", json!({"type": "object"}), Effect::Read);
        let params = ModelParams { temperature: Some(0.2), max_tokens: Some(64), ..Default::default() };
        let request = ModelRequest {
            system: "Be brief.".into(),
            turns: vec![
                Turn::User("what time is it?".into()),
                Turn::Assistant {
                    text: "".into(),
                    reasoning: "a tool knows".into(),
                    echo: None,
                    calls: vec![TurnCall {
                        id: "call_1".into(),
                        tool: "time".into(),
                        arguments: r#"{"zone": "UTC"}"#.into(),
                    }],
                },
                Turn::Result {
                    id: "call_1".into(),
                    tool: "time".into(),
                    text: "12:00".into(),
                    is_error: false,
                },
            ],
            tools: vec![&tool],
            tool_choice: &ToolChoice::Named("time".into()),
            params: &params,
            form: None,
            needs: Needs::default(),
            stream: true,
        };
        let thinking = Quirks { max_tokens: "max_completion_tokens", echo_reasoning: true };
        check(
            &request,
            thinking,
            expect![[r#"
                {
                  "max_completion_tokens": 64,
                  "messages": [
                    {
                      "content": "Be brief.",
                      "role": "system"
                    },
                    {
                      "content": "what time is it?",
                      "role": "user"
                    },
                    {
                      "content": null,
                      "reasoning_content": "a tool knows",
                      "role": "assistant",
                      "tool_calls": [
                        {
                          "function": {
                            "arguments": "{\"zone\": \"UTC\"}",
                            "name": "time"
                          },
                          "id": "call_1",
                          "type": "function"
                        }
                      ]
                    },
                    {
                      "content": "12:00",
                      "role": "tool",
                      "tool_call_id": "call_1"
                    }
                  ],
                  "model": "m",
                  "stream": true,
                  "stream_options": {
                    "include_usage": true
                  },
                  "temperature": 0.2,
                  "tool_choice": {
                    "function": {
                      "name": "time"
                    },
                    "type": "function"
                  },
                  "tools": [
                    {
                      "function": {
                        "description": "Tells the time.",
                        "name": "time",
                        "parameters": {
                          "type": "object"
                        }
                      },
                      "type": "function"
                    }
                  ]
                }"#]],
        );
    }

    #[test]
    fn nothing_is_said_about_tools_where_there_are_none() {
        let params = ModelParams::default();
        let request = ModelRequest {
            system: "".into(),
            turns: vec![Turn::User("hi".into())],
            tools: vec![],
            tool_choice: &ToolChoice::Required,
            params: &params,
            form: None,
            needs: Needs::default(),
            stream: false,
        };
        check(
            &request,
            PLAIN,
            expect![[r#"
                {
                  "messages": [
                    {
                      "content": "hi",
                      "role": "user"
                    }
                  ],
                  "model": "m",
                  "stream": false
                }"#]],
        );
    }

    #[test]
    fn strict_tools_are_declared_so_where_the_operator_asks_for_it() {
        let place = json!({"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]});
        let place = ToolSpec::new("weather", "Tells the weather.", place, Effect::Read);
        let map = json!({"type": "object", "additionalProperties": {"type": "string"}});
        let map = ToolSpec::new("labels", "Sets labels.", map, Effect::Read);
        let extra = serde_json::Map::from_iter([("strict_tools".to_owned(), json!(true))]);
        let params = ModelParams { extra, ..Default::default() };
        let request = ModelRequest {
            system: "".into(),
            turns: vec![],
            tools: vec![&place, &map],
            tool_choice: &ToolChoice::Auto,
            params: &params,
            form: None,
            needs: helve_model::Needs::default(),
            stream: false,
        };
        let body = encode(&request, &Target { model: "m", quirks: &PLAIN });
        let body: Value = serde_json::from_slice(&body).unwrap();
        let [place, map] = [0, 1].map(|at| &body["tools"][at]["function"]);
        assert_eq!(place["strict"], true);
        assert_eq!(place["parameters"]["required"], json!(["city", "days"]));
        assert_eq!(place["parameters"]["properties"]["days"]["type"], json!(["integer", "null"]));
        // Keys that nobody knows beforehand cannot be held to.
        assert_eq!((map.get("strict"), &map["parameters"]["type"]), (None, &json!("object")));
        assert_eq!(body.get("strict_tools"), None, "it is not the vendor's word");
    }
}
