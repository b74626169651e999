//! Complete bodies, as documented by the vendor.

use expect_test::{Expect, expect};
use helve_types::{Effect, ModelParams};

use super::*;
use crate::vendors::find_vendor;

fn body(request: &ModelRequest<'_>) -> Value {
    let quirks = &find_vendor("gemini").unwrap().quirks;
    serde_json::from_slice(&encode(request, &Target { model: "gemini-3-pro-preview", quirks })).unwrap()
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

#[test]
fn a_tool_loop_is_encoded_as_documented() {
    let zone = json!({"type": "object", "properties": {"zone": {"type": ["string", "null"]}}, "additionalProperties": false});
    let time = ToolSpec::new("time", "Tells the time.", zone, Effect::Read);
    let now = ToolSpec::new("now", "Now.", json!({"type": "object", "properties": {}}), Effect::Read);
    let Value::Object(extra) = json!({"thinkingConfig": {"includeThoughts": true}, "safetySettings": []})
    else {
        panic!()
    };
    let params = ModelParams {
        temperature: Some(0.2),
        top_p: Some(0.9),
        top_k: Some(40),
        max_tokens: Some(64),
        seed: Some(7),
        stop: vec!["END".into()],
        extra,
        ..ModelParams::default()
    };
    let echo = json!({"parts": [
        {"text": "Let me look."},
        {"call": 0, "id": "k2v7p1qa", "thoughtSignature": "CiQB"},
        {"call": 1, "id": "m3"},
    ]});
    let turns = vec![
        Turn::User("what time is it?".into()),
        said(
            "Let me look.",
            Some(&echo),
            vec![call("k2v7p1qa", "time", r#"{"zone": "UTC"}"#), call("m3", "now", "{}")],
        ),
        result("k2v7p1qa", "time", "12:00", false),
        result("m3", "now", "Error: no", true),
        Turn::User("and now?".into()),
    ];
    let request = ModelRequest {
        system: "Be brief.".into(),
        tools: vec![&time, &now],
        tool_choice: &ToolChoice::Named("time".into()),
        ..ask(turns, &params)
    };
    check(
        &body(&request),
        expect![[r#"
        {
          "contents": [
            {
              "parts": [
                {
                  "text": "what time is it?"
                }
              ],
              "role": "user"
            },
            {
              "parts": [
                {
                  "text": "Let me look."
                },
                {
                  "functionCall": {
                    "args": {
                      "zone": "UTC"
                    },
                    "id": "k2v7p1qa",
                    "name": "time"
                  },
                  "thoughtSignature": "CiQB"
                },
                {
                  "functionCall": {
                    "args": {},
                    "id": "m3",
                    "name": "now"
                  }
                }
              ],
              "role": "model"
            },
            {
              "parts": [
                {
                  "functionResponse": {
                    "id": "k2v7p1qa",
                    "name": "time",
                    "response": {
                      "output": "12:00"
                    }
                  }
                },
                {
                  "functionResponse": {
                    "id": "m3",
                    "name": "now",
                    "response": {
                      "error": "Error: no"
                    }
                  }
                }
              ],
              "role": "user"
            },
            {
              "parts": [
                {
                  "text": "and now?"
                }
              ],
              "role": "user"
            }
          ],
          "generationConfig": {
            "maxOutputTokens": 64,
            "seed": 7,
            "stopSequences": [
              "END"
            ],
            "temperature": 0.2,
            "thinkingConfig": {
              "includeThoughts": true
            },
            "topK": 40,
            "topP": 0.9
          },
          "safetySettings": [],
          "systemInstruction": {
            "parts": [
              {
                "text": "Be brief."
              }
            ]
          },
          "toolConfig": {
            "functionCallingConfig": {
              "allowedFunctionNames": [
                "time"
              ],
              "mode": "ANY"
            }
          },
          "tools": [
            {
              "functionDeclarations": [
                {
                  "description": "Tells the time.",
                  "name": "time",
                  "parameters": {
                    "properties": {
                      "zone": {
                        "nullable": true,
                        "type": "string"
                      }
                    },
                    "type": "object"
                  }
                },
                {
                  "description": "Now.",
                  "name": "now"
                }
              ]
            }
          ]
        }"#]],
    );
}

#[test]
fn a_request_without_tools_has_no_tool_members() {
    let params = ModelParams::default();
    let request =
        ModelRequest { tool_choice: &ToolChoice::Required, ..ask(vec![Turn::User("hi".into())], &params) };
    check(
        &body(&request),
        expect![[r#"
        {
          "contents": [
            {
              "parts": [
                {
                  "text": "hi"
                }
              ],
              "role": "user"
            }
          ]
        }"#]],
    );
}

#[test]
fn every_tool_choice_is_encoded() {
    let tool = ToolSpec::new("time", "Tells the time.", json!({"type": "object"}), Effect::Read);
    let params = ModelParams::default();
    for (choice, config) in [
        (ToolChoice::Auto, Value::Null),
        (ToolChoice::None, json!({"mode": "NONE"})),
        (ToolChoice::Required, json!({"mode": "ANY"})),
        (ToolChoice::Named("time".into()), json!({"mode": "ANY", "allowedFunctionNames": ["time"]})),
    ] {
        let turns = vec![Turn::User("hi".into())];
        let request = ModelRequest { tools: vec![&tool], tool_choice: &choice, ..ask(turns, &params) };
        assert_eq!(body(&request)["toolConfig"]["functionCallingConfig"], config, "{choice:?}");
    }
}

#[test]
fn calls_of_another_model_have_no_ids_and_the_signature_placeholder() {
    let turns = || {
        vec![
            Turn::User("hi".into()),
            said("", None, vec![call("call_1", "time", "{}"), call("call_2", "1st tool!", "broken")]),
            result("call_1", "time", "12:00", false),
            result("call_2", "1st tool!", "no", true),
        ]
    };
    let params = ModelParams::default();
    check(
        &body(&ask(turns(), &params))["contents"],
        expect![[r#"
        [
          {
            "parts": [
              {
                "text": "hi"
              }
            ],
            "role": "user"
          },
          {
            "parts": [
              {
                "functionCall": {
                  "args": {},
                  "name": "time"
                },
                "thoughtSignature": "skip_thought_signature_validator"
              },
              {
                "functionCall": {
                  "args": {},
                  "name": "_1st_tool_"
                }
              }
            ],
            "role": "model"
          },
          {
            "parts": [
              {
                "functionResponse": {
                  "name": "time",
                  "response": {
                    "output": "12:00"
                  }
                }
              },
              {
                "functionResponse": {
                  "name": "_1st_tool_",
                  "response": {
                    "error": "no"
                  }
                }
              }
            ],
            "role": "user"
          }
        ]"#]],
    );
    for (model, signed) in [
        ("gemini-3-flash", true),
        ("models/gemini-3.1-pro", true),
        ("gemini-flash-latest", true),
        ("gemini-2.5-flash", false),
        ("models/gemini-1.5-pro", false),
    ] {
        let quirks = &find_vendor("gemini").unwrap().quirks;
        let body = encode(&ask(turns(), &params), &Target { model, quirks });
        assert_eq!(String::from_utf8(body).unwrap().contains(SIGNATURE_PLACEHOLDER), signed, "{model}");
    }
}

#[test]
fn signatures_are_returned_on_their_parts() {
    let params = ModelParams::default();
    let echo = json!({"parts": [
        {"text": "hm", "thought": true, "thoughtSignature": "0"},
        {"text": "One. "},
        {"text": "Two.", "thoughtSignature": "1"},
        {"call": 0, "thoughtSignature": "2"},
        {"call": 1},
        {"call": 2},
    ]});
    let parts = |text: &str, echo: &Value| {
        let calls = vec![call("a", "f", "{}"), call("b", "g", "{}")];
        let body = body(&ask(vec![Turn::User("hi".into()), said(text, Some(echo), calls)], &params));
        body["contents"][1]["parts"].clone()
    };
    check(
        &parts("One. Two.", &echo),
        expect![[r#"
        [
          {
            "text": "hm",
            "thought": true,
            "thoughtSignature": "0"
          },
          {
            "text": "One. "
          },
          {
            "text": "Two.",
            "thoughtSignature": "1"
          },
          {
            "functionCall": {
              "args": {},
              "name": "f"
            },
            "thoughtSignature": "2"
          },
          {
            "functionCall": {
              "args": {},
              "name": "g"
            }
          }
        ]"#]],
    );
    // The echo of another protocol.
    let foreign = parts("One.", &json!({"blocks": [{"type": "text", "text": "x"}]}));
    assert_eq!(foreign[0], json!({"text": "One."}));
    assert_eq!(foreign[1]["thoughtSignature"], SIGNATURE_PLACEHOLDER);
}
