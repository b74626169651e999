//! Complete bodies, as documented by the vendor.

use expect_test::{Expect, expect};
use helve_types::{Effect, ModelParams};

use super::*;
use crate::vendors::find_vendor;

fn body(request: &ModelRequest<'_>) -> Value {
    let quirks = &find_vendor("anthropic").unwrap().quirks;
    serde_json::from_slice(&encode(request, &Target { model: "claude-sonnet-4-5", quirks })).unwrap()
}

fn check(found: &Value, expected: Expect) {
    expected.assert_eq(&serde_json::to_string_pretty(found).unwrap());
}

/// A request with these turns and nothing else.
fn ask<'a>(turns: Vec<Turn<'a>>, params: &'a ModelParams) -> ModelRequest<'a> {
    ModelRequest {
        system: "".into(),
        stable: 0,
        turns,
        tools: vec![],
        tool_choice: &ToolChoice::Auto,
        params,
        form: None,
        needs: helve_model::Needs::default(),
        stop: &[],
        stream: true,
    }
}

fn call<'a>(id: &'a str, tool: &'a str, arguments: &'a str) -> TurnCall<'a> {
    TurnCall { id: id.into(), tool: tool.into(), arguments: arguments.into() }
}

fn said<'a>(text: &'a str, echo: Option<&'a Value>, calls: Vec<TurnCall<'a>>) -> Turn<'a> {
    Turn::Assistant { text: text.into(), reasoning: "a tool knows".into(), echo, calls }
}

fn result<'a>(id: &'a str, tool: &'a str, text: &'a str, is_error: bool) -> Turn<'a> {
    Turn::Result { id: id.into(), tool: tool.into(), text: text.into(), is_error }
}

fn extra(value: Value) -> ModelParams {
    let Value::Object(extra) = value else { panic!("not an object") };
    ModelParams { extra, ..Default::default() }
}

#[test]
fn a_tool_loop_is_encoded_as_documented() {
    let time = ToolSpec::new("time", "Tells the time.", json!({"type": "object"}), Effect::Read);
    let note = ToolSpec::new("save_note", "Saves a note.", json!({"type": "object"}), Effect::Read);
    let params = ModelParams {
        temperature: Some(0.2),
        max_tokens: Some(64),
        seed: Some(7),
        stop: vec!["END".into()],
        ..Default::default()
    };
    let echo = json!({"blocks": [
        {"type": "thinking", "thinking": "The clock knows.", "signature": "EqQB"},
        {"type": "redacted_thinking", "data": "EmwK"},
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "toolu_1"},
        {"type": "tool_use", "id": "toolu_2"},
    ]});
    let turns = vec![
        Turn::User("what time is it?".into()),
        said(
            "Let me look.",
            Some(&echo),
            vec![call("toolu_1", "time", r#"{"zone": "UTC"}"#), call("toolu_2", "save_note", "{}")],
        ),
        result("toolu_1", "time", "12:00", false),
        result("toolu_2", "save_note", "Error: no", true),
        Turn::User("and now?".into()),
    ];
    let request = ModelRequest {
        system: "Be brief.".into(),
        stable: 9,
        tools: vec![&time, &note],
        ..ask(turns, &params)
    };
    check(
        &body(&request),
        expect![[r#"
        {
          "max_tokens": 64,
          "messages": [
            {
              "content": [
                {
                  "cache_control": {
                    "type": "ephemeral"
                  },
                  "text": "what time is it?",
                  "type": "text"
                }
              ],
              "role": "user"
            },
            {
              "content": [
                {
                  "signature": "EqQB",
                  "thinking": "The clock knows.",
                  "type": "thinking"
                },
                {
                  "data": "EmwK",
                  "type": "redacted_thinking"
                },
                {
                  "text": "Let me look.",
                  "type": "text"
                },
                {
                  "id": "toolu_1",
                  "input": {
                    "zone": "UTC"
                  },
                  "name": "time",
                  "type": "tool_use"
                },
                {
                  "id": "toolu_2",
                  "input": {},
                  "name": "save_note",
                  "type": "tool_use"
                }
              ],
              "role": "assistant"
            },
            {
              "content": [
                {
                  "content": "12:00",
                  "tool_use_id": "toolu_1",
                  "type": "tool_result"
                },
                {
                  "content": "Error: no",
                  "is_error": true,
                  "tool_use_id": "toolu_2",
                  "type": "tool_result"
                },
                {
                  "cache_control": {
                    "type": "ephemeral"
                  },
                  "text": "and now?",
                  "type": "text"
                }
              ],
              "role": "user"
            }
          ],
          "model": "claude-sonnet-4-5",
          "stop_sequences": [
            "END"
          ],
          "stream": true,
          "system": [
            {
              "cache_control": {
                "type": "ephemeral"
              },
              "text": "Be brief.",
              "type": "text"
            }
          ],
          "temperature": 0.2,
          "tools": [
            {
              "description": "Tells the time.",
              "input_schema": {
                "type": "object"
              },
              "name": "time"
            },
            {
              "cache_control": {
                "type": "ephemeral"
              },
              "description": "Saves a note.",
              "input_schema": {
                "type": "object"
              },
              "name": "save_note"
            }
          ]
        }"#]],
    );
}

#[test]
fn a_minimal_request_has_a_length_limit() {
    let params = ModelParams::default();
    let request = ModelRequest { stream: false, ..ask(vec![Turn::User("hi".into())], &params) };
    check(
        &body(&request),
        expect![[r#"
        {
          "max_tokens": 8192,
          "messages": [
            {
              "content": [
                {
                  "cache_control": {
                    "type": "ephemeral"
                  },
                  "text": "hi",
                  "type": "text"
                }
              ],
              "role": "user"
            }
          ],
          "model": "claude-sonnet-4-5",
          "stream": false
        }"#]],
    );
}

#[test]
fn every_tool_choice_is_encoded() {
    let tool = ToolSpec::new("time", "Tells the time.", json!({"type": "object"}), Effect::Read);
    let params = ModelParams::default();
    for (choice, word) in [
        (ToolChoice::Auto, Value::Null),
        (ToolChoice::None, json!({"type": "none"})),
        (ToolChoice::Required, json!({"type": "any"})),
        (ToolChoice::Named("time".into()), json!({"type": "tool", "name": "time"})),
    ] {
        let turns = vec![Turn::User("hi".into())];
        let request = ModelRequest { tools: vec![&tool], tool_choice: &choice, ..ask(turns, &params) };
        assert_eq!(body(&request)["tool_choice"], word, "{choice:?}");
    }
}

#[test]
fn a_history_with_calls_declares_the_called_tools_if_none_are_offered() {
    let params = ModelParams::default();
    let turns = vec![
        Turn::User("hi".into()),
        said("", None, vec![call("a", "time", "{}"), call("b", "time", "{}")]),
        result("a", "time", "12:00", false),
        result("b", "time", "12:01", false),
    ];
    let body = body(&ask(turns, &params));
    assert_eq!(body["tool_choice"], json!({"type": "none"}));
    assert_eq!(body["tools"].as_array().unwrap().len(), 1);
    assert_eq!(body["tools"][0]["name"], "time");
}

#[test]
fn thinking_excludes_temperature_and_is_dropped_for_a_forced_call() {
    let tool = ToolSpec::new("time", "Tells the time.", json!({"type": "object"}), Effect::Read);
    let thinking = json!({"type": "enabled", "budget_tokens": 10_000});
    let params =
        ModelParams { temperature: Some(0.2), top_k: Some(40), ..extra(json!({"thinking": thinking})) };
    let turns = || vec![Turn::User("hi".into())];
    let free = ModelRequest { tools: vec![&tool], ..ask(turns(), &params) };
    let free = body(&free);
    assert_eq!((&free["thinking"], &free["max_tokens"]), (&thinking, &json!(18_192)));
    assert_eq!(free.get("temperature"), None);

    let forced =
        ModelRequest { tools: vec![&tool], tool_choice: &ToolChoice::Required, ..ask(turns(), &params) };
    let forced = body(&forced);
    assert_eq!((forced.get("thinking"), &forced["temperature"]), (None, &json!(0.2)));
    assert_eq!((free.get("top_k"), &forced["top_k"]), (None, &json!(40)));
}

#[test]
fn thinking_is_dropped_after_calls_of_another_model() {
    let enabled = extra(json!({"thinking": {"type": "enabled", "budget_tokens": 2000}}));
    let adaptive = extra(json!({"thinking": {"type": "adaptive"}}));
    let own = json!({"blocks": [{"type": "thinking", "thinking": "a", "signature": "1"}]});
    let thinks = |params: &ModelParams, echo: Option<&Value>, more: Option<&str>| {
        let mut turns = vec![
            Turn::User("hi".into()),
            said("", echo, vec![call("a", "time", "{}")]),
            result("a", "time", "12:00", false),
        ];
        turns.extend(more.map(|text| Turn::User(text.into())));
        body(&ask(turns, params)).get("thinking").is_some()
    };
    assert!(thinks(&enabled, Some(&own), None));
    assert!(!thinks(&enabled, None, None));
    assert!(thinks(&enabled, None, Some("and now?")));
    assert!(thinks(&adaptive, None, None));
}

#[test]
fn a_length_limit_in_the_extra_parameters_is_kept() {
    let params = extra(json!({"max_tokens": 100}));
    assert_eq!(body(&ask(vec![Turn::User("hi".into())], &params))["max_tokens"], 100);
}

#[test]
fn thinking_is_returned_unchanged_and_nothing_twice() {
    let params = ModelParams::default();
    let echo = json!({"blocks": [
        {"type": "thinking", "thinking": "a", "signature": "1"},
        {"type": "text", "text": "One."},
        {"type": "thinking", "thinking": "b", "signature": "2", "novel": [1]},
        {"type": "tool_use", "id": "toolu_gone"},
        {"type": "tool_use", "id": "toolu_1"},
    ]});
    let kinds = |text: &str, echo: Option<&Value>| {
        let turns = vec![
            Turn::User("hi".into()),
            said(text, echo, vec![call("toolu_1", "time", "{}"), call("other", "f", "{}")]),
        ];
        let body = body(&ask(turns, &params));
        let blocks = body["messages"][1]["content"].as_array().unwrap().clone();
        assert!(blocks.iter().all(|block| block["type"] != "thinking"
            || echo.unwrap()["blocks"].as_array().unwrap().contains(block)));
        blocks.iter().map(|block| block["type"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(kinds("One.", Some(&echo)), "thinking text thinking tool_use tool_use");
    // A turn without text has no text block, even if the echo has the text of a call.
    assert_eq!(kinds("", Some(&echo)), "thinking thinking tool_use tool_use");
    assert_eq!(kinds("One.", None), "text tool_use tool_use");
    // The echo of another protocol.
    assert_eq!(kinds("One.", Some(&json!({"parts": [{"text": "x"}]}))), "text tool_use tool_use");
    let wordless = json!({"blocks": [{"type": "thinking", "thinking": "a", "signature": "1"}, {"type": "tool_use", "id": "toolu_1"}]});
    assert_eq!(kinds("Found in the text.", Some(&wordless)), "thinking text tool_use tool_use");
}

#[test]
fn names_and_ids_have_only_characters_that_the_vendor_accepts() {
    let params = ModelParams::default();
    let turns = vec![
        Turn::User("hi".into()),
        said("", None, vec![call("functions.time:0", "ns.time", "broken")]),
        result("functions.time:0", "ns.time", "", false),
    ];
    let body = body(&ask(turns, &params));
    let used = &body["messages"][1]["content"][0];
    assert_eq!(
        (&used["id"], &used["name"], &used["input"]),
        (&json!("functions_time_0"), &json!("ns_time"), &json!({}))
    );
    assert_eq!(body["messages"][2]["content"][0]["tool_use_id"], "functions_time_0");
}

#[test]
fn cache_marks_of_successive_requests_overlap() {
    let tool = ToolSpec::new("time", "Tells the time.", json!({"type": "object"}), Effect::Read);
    let params = ModelParams::default();
    let mut turns = vec![Turn::User("start".into())];
    let ids: Vec<String> = (0..10).map(|number| format!("toolu_{number}")).collect();
    for id in &ids {
        turns.push(said("", None, vec![call(id, "time", "{}")]));
        turns.push(result(id, "time", "12:00", false));
        let request = ModelRequest {
            system: "Be brief.".into(),
            stable: 9,
            tools: vec![&tool],
            ..ask(turns.clone(), &params)
        };
        let body = body(&request);
        let count = body.to_string().matches("cache_control").count();
        assert_eq!(count, 4, "{body}");
        let messages = body["messages"].as_array().unwrap();
        let marked: Vec<usize> =
            (0..messages.len()).filter(|at| messages[*at].to_string().contains("cache_control")).collect();
        // The last mark of this request is the first mark on messages of the next.
        assert_eq!(marked, [messages.len() - 3, messages.len() - 1]);
    }
}

#[test]
fn a_choice_at_the_root_becomes_an_object_and_a_note() {
    let schema = json!({"oneOf": [
        {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
        {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]},
    ]});
    let tool = ToolSpec::new("load", "Loads a document.", schema, Effect::Read);
    let params = ModelParams::default();
    let request = ModelRequest { tools: vec![&tool], ..ask(vec![Turn::User("hi".into())], &params) };
    check(
        &body(&request)["tools"][0],
        expect![[r#"
            {
              "cache_control": {
                "type": "ephemeral"
              },
              "description": "Loads a document.\n\nArguments: they take one of these forms: `path`; or `url`.",
              "input_schema": {
                "properties": {
                  "path": {
                    "type": "string"
                  },
                  "url": {
                    "type": "string"
                  }
                },
                "type": "object"
              },
              "name": "load"
            }"#]],
    );
}

#[test]
fn the_cache_mark_of_the_system_prompt_ends_its_stable_prefix() {
    let params = ModelParams::default();
    let system = "Be brief.\n\nIt is 12:00.";
    let asked = |stable| ModelRequest {
        system: system.into(),
        stable,
        ..ask(vec![Turn::User("hi".into())], &params)
    };
    let marked = body(&asked(9))["system"].clone();
    let keep = json!({"type": "ephemeral"});
    assert_eq!(marked[0], json!({"type": "text", "text": "Be brief.", "cache_control": keep}));
    assert_eq!(marked[1], json!({"type": "text", "text": "\n\nIt is 12:00."}));
    // No stable prefix, or a completely stable prompt.
    assert_eq!(body(&asked(0))["system"], json!([{"type": "text", "text": system}]));
    let whole = json!([{"type": "text", "text": system, "cache_control": keep}]);
    assert_eq!(body(&asked(system.len()))["system"], whole);
}
