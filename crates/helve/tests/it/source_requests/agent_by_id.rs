//! D: an agent that is named by its id in a header. Its rows of tools have tests of their own.

use super::*;

const AGENT: &str = "5f0c2a34-8f6b-4a52-9a0e-6f2f6b1f9d11";
const REQUEST: &str = r#"{"message": "请计算 25 乘以 4"}"#;

/// A server with an agent that its owner made over HTTP, under an id of theirs.
fn served(model: &Outside) -> Served {
    let served = serve(&one_model("m", model, "tools = \"native\"\n"), &[]);
    let agent = json!({
        "name": "clerk",
        "id": AGENT,
        "model": "m",
        "system_prompt": "你会计算。",
        "tools": ["calculator", {"name": "time", "enabled": true, "config": null}],
        "max_steps": null,
    });
    let (status, _, body) = send(&served, "POST", "/api/agents", "", &agent.to_string());
    assert_eq!(status, 201, "{body}");
    served
}

/// Its client adds the pieces up.
fn content(events: &[Value]) -> String {
    events.iter().filter_map(|event| event["content"].as_str()).collect()
}

#[test]
fn the_agent_of_the_header_answers_in_pieces() {
    let model =
        model(vec![Say::Call("calculator", json!({"expression": "25 * 4"})), text("25 乘以 4 等于 100。")]);
    let served = served(&model);
    let events = events(&served, "/api/agent", &format!("X-Agent-ID: {AGENT}\r\n"), REQUEST);
    assert_eq!(content(&events), "25 乘以 4 等于 100。");
    let asked = questions(&model);
    let tools: Vec<_> =
        asked[0]["tools"].as_array().unwrap().iter().map(|tool| &tool["function"]["name"]).collect();
    assert_eq!(tools, ["calculator", "time"], "the agent's tools and no others");
    assert!(
        asked[1]["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().contains("100")
    );
}

#[test]
fn an_agent_that_is_not_there_is_refused_with_what_to_do() {
    let served = served(&model(vec![text("-")]));
    let (status, _, body) = send(&served, "POST", "/api/agent", "X-Agent-ID: nobody\r\n", REQUEST);
    assert_eq!(status, 404, "{body}");
    let problem: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(problem["code"], "unknown_agent");
    for word in ["`nobody`", "`clerk`", "[[agents]]", "X-Agent-ID"] {
        assert!(problem["detail"].as_str().unwrap().contains(word), "{word}: {body}");
    }
}

#[test]
fn every_form_of_tool_choice_is_understood_in_pieces_and_as_a_whole() {
    let named = json!({"type": "function", "function": {"name": "calculator"}});
    for (choice, sent) in [
        (json!("none"), Value::Null),
        (json!("auto"), json!("auto")),
        (json!("required"), json!("required")),
        (named.clone(), named),
    ] {
        for whole in [false, true] {
            let is_forced = choice != "none" && choice != "auto";
            let script = match is_forced {
                true => vec![Say::Call("calculator", json!({"expression": "25 * 4"})), text("100")],
                false => vec![text("100")],
            };
            let model = model(script);
            let served = served(&model);
            let mut body: Value = serde_json::from_str(REQUEST).unwrap();
            body["tool_choice"] = choice.clone();
            body["stream"] = json!(!whole);
            let header = format!("X-Agent-ID: {AGENT}\r\n");
            let answer = match whole {
                true => {
                    let (status, _, answer) = send(&served, "POST", "/api/agent", &header, &body.to_string());
                    assert_eq!(status, 200, "{answer}");
                    let answer: Value = serde_json::from_str(&answer).unwrap();
                    answer["content"].as_str().unwrap().to_owned()
                }
                false => content(&events(&served, "/api/agent", &header, &body.to_string())),
            };
            assert_eq!(answer, "100", "{choice} whole={whole}");
            let asked = questions(&model).remove(0);
            let is_same = asked["tool_choice"] == sent || sent == "auto" && asked["tool_choice"].is_null();
            assert!(is_same, "{choice}: {}", asked["tool_choice"]);
            assert_eq!(asked["tools"].is_array(), choice != "none", "{choice}");
        }
    }
}
