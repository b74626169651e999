//! Bodies, compared verbatim.

use expect_test::{Expect, expect};
use helve_types::{Effect, ModelParams};
use serde_json::json;

use super::*;
use crate::vendors::{PLAIN, find_vendor};

fn check(request: &ModelRequest<'_>, quirks: &Quirks, expected: Expect) {
    expected.assert_eq(&serde_json::to_string_pretty(&written(request, quirks)).unwrap());
}

fn written(request: &ModelRequest<'_>, quirks: &Quirks) -> Value {
    serde_json::from_slice(&encode(request, &Target { model: "m", quirks })).unwrap()
}

fn quirks(name: &str) -> &'static Quirks {
    &find_vendor(name).unwrap().quirks
}

fn request<'a>(params: &'a ModelParams, tool_choice: &'a ToolChoice) -> ModelRequest<'a> {
    ModelRequest {
        system: "".into(),
        stable: 0,
        turns: vec![Turn::User("hi".into())],
        tools: vec![],
        tool_choice,
        params,
        form: None,
        needs: helve_model::Needs::default(),
        stop: &[],
        stream: true,
    }
}

fn params(value: Value) -> ModelParams {
    serde_json::from_value(value).unwrap()
}

#[test]
fn a_tool_loop_is_encoded_as_documented() {
    let tool = ToolSpec::new("time", "Tells the time.", json!({"type": "object"}), Effect::Read);
    let params = ModelParams { temperature: Some(0.2), max_tokens: Some(64), ..Default::default() };
    let request = ModelRequest {
        system: "Be brief.".into(),
        stable: 9,
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
            Turn::Result { id: "call_1".into(), tool: "time".into(), text: "12:00".into(), is_error: false },
        ],
        tools: vec![&tool],
        tool_choice: &ToolChoice::Named("time".into()),
        params: &params,
        form: None,
        needs: helve_model::Needs::default(),
        stop: &[],
        stream: true,
    };
    let reasoning = ReasoningReturn::Field("reasoning_content");
    let thinking = Quirks { max_tokens: "max_completion_tokens", reasoning, ..PLAIN };
    check(
        &request,
        &thinking,
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
fn a_request_without_tools_has_no_tool_members() {
    let params = ModelParams::default();
    let request = ModelRequest {
        system: "".into(),
        stable: 0,
        turns: vec![Turn::User("hi".into())],
        tools: vec![],
        tool_choice: &ToolChoice::Required,
        params: &params,
        form: None,
        needs: helve_model::Needs::default(),
        stop: &[],
        stream: false,
    };
    check(
        &request,
        &PLAIN,
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
fn reasoning_is_returned_in_the_field_of_the_vendor() {
    let details = json!([{"type": "reasoning.text", "text": "hm", "signature": "s"}]);
    let kept = json!({"reasoning_details": details, "encrypted_content": "x"});
    let call = TurnCall { id: "c".into(), tool: "f".into(), arguments: "{}".into() };
    let assistant = |reasoning: &'static str, echo, calls| Turn::Assistant {
        text: "ok".into(),
        reasoning: reasoning.into(),
        echo,
        calls,
    };
    let cases = [
        ("openai", "hm", None, json!({})),
        ("deepseek", "hm", None, json!({"reasoning_content": "hm"})),
        // The field is also required for calls of another model.
        ("deepseek", "", None, json!({"reasoning_content": ""})),
        ("moonshot", "", None, json!({"reasoning_content": ""})),
        ("ark", "", None, json!({})),
        ("ark", "hm", Some(&kept), json!({"reasoning_content": "hm", "encrypted_content": "x"})),
        ("openrouter", "hm", None, json!({"reasoning": "hm"})),
        ("openrouter", "hm", Some(&kept), json!({"reasoning_details": details})),
        ("vllm", "hm", None, json!({"reasoning": "hm"})),
        ("minimax", "hm", None, json!({"content": "<think>\nhm\n</think>\n\nok"})),
        ("mistral", "hm", None, json!({})),
    ];
    let (params, auto) = (ModelParams::default(), ToolChoice::Auto);
    for (vendor, reasoning, echo, expected) in cases {
        let turns = vec![assistant(reasoning, echo, vec![call.clone()])];
        let body = written(&ModelRequest { turns, ..request(&params, &auto) }, quirks(vendor));
        let mut message = body["messages"][0].as_object().unwrap().clone();
        message.remove("role");
        message.remove("tool_calls");
        if message["content"] == "ok" {
            message.remove("content");
        }
        assert_eq!(Value::Object(message), expected, "{vendor} {reasoning:?}");
    }
    let turns = vec![assistant("", None, vec![])];
    let body = written(&ModelRequest { turns, ..request(&params, &auto) }, quirks("deepseek"));
    assert_eq!(body["messages"][0], json!({"role": "assistant", "content": "ok"}));
}

#[test]
fn a_tool_choice_is_sent_as_far_as_the_vendor_accepts_it() {
    let (time, search) = (
        ToolSpec::new("time", "Tells the time.", json!({"type": "object"}), Effect::Read),
        ToolSpec::new("search", "Searches.", json!({"type": "object"}), Effect::Read),
    );
    let named = ToolChoice::Named("time".into());
    let by_name = json!({"type": "function", "function": {"name": "time"}});
    let calm = json!({"extra": {"thinking": {"type": "disabled"}}});
    let none = json!({});
    let cases = [
        ("openai", &none, &ToolChoice::Required, 2, json!("required")),
        ("openai", &none, &named, 2, by_name.clone()),
        ("openai", &none, &ToolChoice::None, 2, json!("none")),
        ("openai", &none, &ToolChoice::Auto, 2, Value::Null),
        ("deepseek", &none, &ToolChoice::Required, 2, Value::Null),
        ("deepseek", &none, &named, 2, Value::Null),
        ("deepseek", &none, &ToolChoice::None, 2, json!("none")),
        ("deepseek", &calm, &ToolChoice::Required, 2, json!("required")),
        ("deepseek", &calm, &named, 2, by_name),
        ("lm_studio", &none, &named, 1, json!("required")),
        ("zhipu", &none, &ToolChoice::None, 0, Value::Null),
        ("zhipu", &none, &ToolChoice::Required, 2, Value::Null),
    ];
    for (vendor, given, choice, tools, expected) in cases {
        let params = params(given.clone());
        let body = written(
            &ModelRequest { tools: vec![&search, &time], ..request(&params, choice) },
            quirks(vendor),
        );
        assert_eq!(body["tools"].as_array().map_or(0, Vec::len), tools, "{vendor} {choice:?}");
        assert_eq!(body["tool_choice"], expected, "{vendor} {choice:?}");
        if tools == 1 {
            assert_eq!(body["tools"][0]["function"]["name"], "time");
        }
    }
}

#[test]
fn parameters_have_the_names_of_the_vendor() {
    let params = params(json!({"max_tokens": 9, "seed": 7}));
    let cases = [
        ("openai", "max_completion_tokens", "seed", true),
        ("mistral", "max_tokens", "random_seed", false),
        ("zhipu", "max_tokens", "seed", false),
    ];
    for (vendor, max_tokens, seed, usage) in cases {
        let body = written(&request(&params, &ToolChoice::Auto), quirks(vendor));
        assert_eq!((&body[max_tokens], &body[seed]), (&json!(9), &json!(7)), "{vendor}");
        assert_eq!(body.get("stream_options").is_some(), usage, "{vendor}");
    }
}

#[test]
fn extra_parameters_win_and_occur_once() {
    let params = params(json!({
        "temperature": 0.1, "max_tokens": 9,
        "extra": {"temperature": 0.9, "max_tokens": 5, "stream_options": {}, "model": "x", "stream": false},
    }));
    let quirks = &PLAIN;
    let body = encode(&request(&params, &ToolChoice::Auto), &Target { model: "m", quirks });
    let body = String::from_utf8(body).unwrap();
    for (name, value) in [
        ("temperature", "0.9"),
        ("max_tokens", "5"),
        ("stream_options", "{}"),
        ("model", "\"m\""),
        ("stream", "true"),
    ] {
        assert_eq!(body.matches(&format!("\"{name}\":")).count(), 1, "{body}");
        assert!(body.contains(&format!("\"{name}\":{value}")), "{body}");
    }
}

#[test]
fn a_form_is_in_the_vendors_field_unless_the_operator_sets_it() {
    let form = helve_model::Form { grammar: "root ::= \"a\"".into(), schema: None };
    let given = params(json!({"extra": {"grammar": "mine"}}));
    let none = ModelParams::default();
    let ask = |params, vendor| {
        let form = Some(form.clone());
        written(&ModelRequest { form, ..request(params, &ToolChoice::Auto) }, quirks(vendor))
    };
    assert_eq!(ask(&none, "llama_cpp")["grammar"], form.grammar);
    assert_eq!(ask(&given, "llama_cpp")["grammar"], "mine");
    assert_eq!(ask(&none, "vllm")["structured_outputs"]["grammar"], form.grammar);
    assert_eq!(ask(&none, "openai").get("response_format"), None);
}

#[test]
fn calls_of_other_models_get_ids_that_the_vendor_accepts() {
    let call = TurnCall { id: "call_1".into(), tool: "f".into(), arguments: "{}".into() };
    let turns = vec![
        Turn::Assistant { text: "".into(), reasoning: "".into(), echo: None, calls: vec![call] },
        Turn::Result { id: "call_1".into(), tool: "f".into(), text: "1".into(), is_error: false },
    ];
    let params = ModelParams::default();
    let body = written(&ModelRequest { turns, ..request(&params, &ToolChoice::Auto) }, quirks("mistral"));
    let id = body["messages"][0]["tool_calls"][0]["id"].as_str().unwrap();
    assert_eq!(id.len(), 9);
    assert_eq!(body["messages"][1]["tool_call_id"], id);
}

#[test]
fn strict_tools_are_declared_if_the_operator_sets_them() {
    let place = json!({"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]});
    let place = ToolSpec::new("weather", "Tells the weather.", place, Effect::Read);
    let map = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let map = ToolSpec::new("labels", "Sets labels.", map, Effect::Read);
    let extra = serde_json::Map::from_iter([("strict_tools".to_owned(), json!(true))]);
    let params = ModelParams { extra, ..Default::default() };
    let request = ModelRequest {
        system: "".into(),
        stable: 0,
        turns: vec![],
        tools: vec![&place, &map],
        tool_choice: &ToolChoice::Auto,
        params: &params,
        form: None,
        needs: helve_model::Needs::default(),
        stop: &[],
        stream: false,
    };
    let body = encode(&request, &Target { model: "m", quirks: &PLAIN });
    let body: Value = serde_json::from_slice(&body).unwrap();
    let [place, map] = [0, 1].map(|at| &body["tools"][at]["function"]);
    assert_eq!(place["strict"], true);
    assert_eq!(place["parameters"]["required"], json!(["city", "days"]));
    assert_eq!(place["parameters"]["properties"]["days"]["type"], json!(["integer", "null"]));
    // Strict mode cannot express arbitrary keys.
    assert_eq!((map.get("strict"), &map["parameters"]["type"]), (None, &json!("object")));
    assert_eq!(body.get("strict_tools"), None, "it is not the vendor's word");
}

#[test]
fn stop_texts_of_the_profile_are_sent_up_to_the_vendors_limit() {
    let stop = ["<tool_result>".to_owned(), "A".to_owned()];
    let stops = |own: Value, vendor: &str| {
        let params = params(json!({ "stop": own }));
        let auto = ToolChoice::Auto;
        written(&ModelRequest { stop: &stop, ..request(&params, &auto) }, quirks(vendor))["stop"].clone()
    };
    assert_eq!(stops(json!([]), "deepseek"), json!(["<tool_result>", "A"]));
    assert_eq!(stops(json!(["A", "B"]), "deepseek"), json!(["A", "B", "<tool_result>"]));
    // The parameters' own stop texts are all sent; the vendor may refuse them.
    assert_eq!(stops(json!(["B", "C", "D", "E", "F"]), "deepseek"), json!(["B", "C", "D", "E", "F"]));
    assert_eq!(stops(json!([]), "openai"), Value::Null);
    assert_eq!(stops(json!(["B"]), "openai"), json!(["B"]));
}
