//! Encodes a request as a body.

use std::borrow::Cow;

use helve_model::{ModelRequest, Needs, Turn, TurnCall};
use helve_types::{ToolChoice, ToolSpec};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::wire;
use crate::protocol::Target;
use crate::schema;

/// Extra parameters beside the options; all others are options.
const TOP_LEVEL: &[&str] =
    &["think", "format", "keep_alive", "truncate", "shift", "logprobs", "top_logprobs"];
/// Members of the body that the operator's extra parameters cannot set.
const RESERVED: &[&str] = &["model", "messages", "tools", "stream"];

pub(super) fn encode(request: &ModelRequest<'_>, target: &Target<'_>) -> Vec<u8> {
    let mut messages = Vec::with_capacity(request.turns.len() + 1);
    if !request.system.is_empty() {
        messages.push(wire::Message::System { content: &request.system });
    }
    messages.extend(request.turns.iter().map(encode_message));
    let (options, top_level) = encode_settings(request, target);
    // Ollama has no tool choice; `none` means that no tools are declared.
    let tools: &[&ToolSpec] = if *request.tool_choice == ToolChoice::None { &[] } else { &request.tools };
    let body = wire::Body {
        model: target.model,
        messages,
        tools: tools.iter().map(|tool| declare_tool(tool, request.needs)).collect(),
        stream: request.stream,
        options,
        top_level,
    };
    match serde_json::to_vec(&body) {
        Ok(bytes) => bytes,
        Err(error) => unreachable!("a body has only string keys and finite numbers: {error}"),
    }
}

/// The options and the members beside them. The operator's extra parameters win over the named ones.
fn encode_settings(
    request: &ModelRequest<'_>,
    target: &Target<'_>,
) -> (Map<String, Value>, Map<String, Value>) {
    let params = request.params;
    let (mut options, mut top_level) = (Map::new(), Map::new());
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            options.insert(name.to_owned(), value);
        }
    };
    set(target.quirks.max_tokens, params.max_tokens.map(Value::from));
    set("temperature", params.temperature.map(Value::from));
    set("top_p", params.top_p.map(Value::from));
    set("top_k", params.top_k.map(Value::from));
    set(target.quirks.seed, params.seed.map(Value::from));
    let stops = target.quirks.stop_texts(request);
    set("stop", (!stops.is_empty()).then(|| Value::from(stops)));
    if let Some((field, value)) = request.form.as_ref().and_then(|form| target.quirks.form.encode(form)) {
        top_level.insert(field.to_owned(), value);
    }
    for (name, value) in &params.extra {
        match (name.as_str(), value) {
            ("options", Value::Object(more)) => options.extend(more.clone()),
            (name, _) if RESERVED.contains(&name) => {}
            (name, _) if TOP_LEVEL.contains(&name) => {
                top_level.insert(name.to_owned(), value.clone());
            }
            (name, _) => {
                options.insert(name.to_owned(), value.clone());
            }
        }
    }
    (options, top_level)
}

fn encode_message<'a>(turn: &'a Turn<'_>) -> wire::Message<'a> {
    match turn {
        Turn::User(text) => wire::Message::User { content: text },
        Turn::Assistant { text, reasoning, calls, .. } => wire::Message::Assistant {
            content: text,
            thinking: reasoning,
            tool_calls: calls.iter().map(encode_call).collect(),
        },
        Turn::Result { id, tool, text, .. } => {
            wire::Message::Tool { tool_name: tool, tool_call_id: id, content: text }
        }
    }
}

fn encode_call<'a>(call: &'a TurnCall<'_>) -> wire::Call<'a> {
    wire::Call {
        id: &call.id,
        function: wire::Function { name: &call.tool, arguments: encode_arguments(&call.arguments) },
    }
}

/// The arguments verbatim if they are an object, otherwise inside one: Ollama accepts nothing else.
fn encode_arguments(text: &str) -> wire::Arguments<'_> {
    match serde_json::from_str::<&RawValue>(text) {
        Ok(raw) if raw.get().starts_with('{') => wire::Arguments::Verbatim(raw),
        Ok(raw) if raw.get() == "null" => wire::Arguments::Built(Map::new()),
        _ if text.trim().is_empty() => wire::Arguments::Built(Map::new()),
        read => {
            let value = read.ok().and_then(|raw| serde_json::from_str(raw.get()).ok());
            let value = value.unwrap_or_else(|| Value::from(text));
            wire::Arguments::Built(Map::from_iter([("arguments".to_owned(), value)]))
        }
    }
}

/// Encodes tools as in a request body.
pub(super) fn declare_tools(tools: &[&ToolSpec]) -> Value {
    json!(tools.iter().map(|tool| declare_tool(tool, Needs::default())).collect::<Vec<_>>())
}

fn declare_tool(tool: &ToolSpec, needs: Needs) -> wire::Tool<'_> {
    let (description, parameters) = if needs.plain_schemas {
        let plain = schema::adapt_for_gemini(&tool.parameters);
        (schema::append_notes(&tool.description, &plain.notes), Cow::Owned(plain.schema))
    } else {
        (Cow::Borrowed(&*tool.description), Cow::Borrowed(&tool.parameters))
    };
    wire::Tool { kind: "function", function: wire::Declaration { name: &tool.name, description, parameters } }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use helve_model::Form;
    use helve_types::{Effect, ModelParams};
    use serde_json::json;

    use super::*;
    use crate::vendors::find_vendor;

    fn check(request: &ModelRequest<'_>, expected: Expect) {
        let quirks = &find_vendor("ollama").unwrap().quirks;
        let body = encode(request, &Target { model: "m", quirks });
        let body: Value = serde_json::from_slice(&body).unwrap();
        expected.assert_eq(&serde_json::to_string_pretty(&body).unwrap());
    }

    fn ask<'a>(params: &'a ModelParams, choice: &'a ToolChoice) -> ModelRequest<'a> {
        ModelRequest {
            system: "".into(),
            stable: 0,
            turns: vec![Turn::User("hi".into())],
            tools: vec![],
            tool_choice: choice,
            params,
            form: None,
            needs: helve_model::Needs::default(),
            stop: &[],
            stream: true,
        }
    }

    #[test]
    fn drives_a_tool_loop() {
        let tool = ToolSpec::new("time", "Tells the time.", json!({"type": "object"}), Effect::Read);
        let params = ModelParams::default();
        let request = ModelRequest {
            system: "Be brief.".into(),
            turns: vec![
                Turn::User("what time is it?".into()),
                Turn::Assistant {
                    text: "I will look.".into(),
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
            ..ask(&params, &ToolChoice::Auto)
        };
        check(
            &request,
            expect![[r#"
            {
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
                  "content": "I will look.",
                  "role": "assistant",
                  "thinking": "a tool knows",
                  "tool_calls": [
                    {
                      "function": {
                        "arguments": {
                          "zone": "UTC"
                        },
                        "name": "time"
                      },
                      "id": "call_1"
                    }
                  ]
                },
                {
                  "content": "12:00",
                  "role": "tool",
                  "tool_call_id": "call_1",
                  "tool_name": "time"
                }
              ],
              "model": "m",
              "stream": true,
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
    fn sampling_parameters_are_options_and_others_are_beside_them() {
        let params: ModelParams = serde_json::from_value(json!({
            "temperature": 0.2, "top_p": 0.9, "top_k": 40, "max_tokens": 64, "seed": 7, "stop": ["END"],
            "extra": {
                "think": "low", "keep_alive": "10m", "num_ctx": 8192, "repeat_penalty": 1.0,
                "options": {"min_p": 0.1, "seed": 8}, "stream": false, "model": "other",
            },
        }))
        .unwrap();
        check(
            &ask(&params, &ToolChoice::Auto),
            expect![[r#"
            {
              "keep_alive": "10m",
              "messages": [
                {
                  "content": "hi",
                  "role": "user"
                }
              ],
              "model": "m",
              "options": {
                "min_p": 0.1,
                "num_ctx": 8192,
                "num_predict": 64,
                "repeat_penalty": 1.0,
                "seed": 8,
                "stop": [
                  "END"
                ],
                "temperature": 0.2,
                "top_k": 40,
                "top_p": 0.9
              },
              "stream": true,
              "think": "low"
            }"#]],
        );
    }

    #[test]
    fn a_form_is_sent_as_its_schema_and_choice_none_as_no_tools() {
        let tool = ToolSpec::new("time", "Tells the time.", json!({"type": "object"}), Effect::Read);
        let params = ModelParams::default();
        let form = Form { grammar: "root ::= \"a\"".into(), schema: Some(json!({"type": "object"})) };
        let request = ModelRequest {
            tools: vec![&tool],
            form: Some(form),
            stream: false,
            ..ask(&params, &ToolChoice::None)
        };
        check(
            &request,
            expect![[r#"
            {
              "format": {
                "type": "object"
              },
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
    fn arguments_are_always_an_object() {
        let cases = [
            (r#"{"b": 1, "a": 2}"#, r#"{"b": 1, "a": 2}"#),
            (" {} ", "{}"),
            ("", "{}"),
            ("null", "{}"),
            ("[1]", r#"{"arguments":[1]}"#),
            ("7", r#"{"arguments":7}"#),
            ("{broken", r#"{"arguments":"{broken"}"#),
        ];
        for (written, sent) in cases {
            assert_eq!(serde_json::to_string(&encode_arguments(written)).unwrap(), sent, "{written}");
        }
    }
}
