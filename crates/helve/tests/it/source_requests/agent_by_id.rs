//! D: an agent that is named by its id in a header, and its rows of `agent_tools`. Rows of tools have tests of their own.

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

/// As Go writes a row of `agent_tools`.
const LINK: &str = r#"{"id": "7a0f", "agent_id": "5f0c2a34-8f6b-4a52-9a0e-6f2f6b1f9d11", "tool_id": "weather", "enabled": true, "config": null, "created_at": "2025-01-01T00:00:00Z", "updated_at": "2025-01-01T00:00:00Z"}"#;

const WEATHER: &str = r#"{"id": "weather", "name": "get_weather", "description": "…",
 "endpoint": {"url_template": "https://api.example.com/w/{city}", "method": "GET"},
 "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}"#;

#[test]
fn the_tools_of_an_agent_are_rows_that_a_tools_id_and_its_name_lead_to() {
    let served = served(&model(vec![text("-")]));
    assert_eq!(send(&served, "POST", "/api/tools", "", WEATHER).0, 201);
    let path = format!("/api/agents/{AGENT}/tools");
    let (status, _, body) = send(&served, "POST", &path, "", LINK);
    assert_eq!(status, 201, "{body}");
    let linked: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(linked, json!({"name": "get_weather", "enabled": true, "config": {}}));
    let change = json!({"enabled": false, "config": {"arguments": {"city": "北京"}}});
    for address in ["weather", "get_weather"] {
        let one = format!("{path}/{address}");
        let (status, _, body) = send(&served, "PATCH", &one, "", &change.to_string());
        assert_eq!(status, 200, "{body}");
        let shown = get(&served, &one);
        assert_eq!((&shown["name"], &shown["enabled"]), (&json!("get_weather"), &json!(false)));
        assert_eq!(shown["config"], change["config"]);
    }
    assert_eq!(get(&served, &path)["tools"].as_array().unwrap().len(), 3);
    assert_eq!(send(&served, "PUT", &format!("{path}/weather"), "", r#"{"config": null}"#).0, 200);
    assert_eq!(get(&served, &format!("{path}/weather"))["config"], json!({}));
    assert_eq!(send(&served, "DELETE", &format!("{path}/weather"), "", "").0, 204);
    assert_eq!(send(&served, "GET", &format!("{path}/weather"), "", "").0, 404);
}

#[test]
fn a_fixed_argument_is_sent_by_helve_and_not_known_to_the_model() {
    let model = model(vec![Say::Call("time", json!({})), text("东京的时间。")]);
    let served = served(&model);
    let path = format!("/api/agents/{AGENT}/tools/time");
    let fixed = json!({"config": {"arguments": {"zone": "Asia/Tokyo"}}});
    let (status, _, body) = send(&served, "PATCH", &path, "", &fixed.to_string());
    assert_eq!(status, 200, "{body}");
    let events = events(&served, "/api/agent", &format!("X-Agent-ID: {AGENT}\r\n"), REQUEST);
    assert_eq!(content(&events), "东京的时间。");
    let asked = questions(&model);
    let tools = asked[0]["tools"].as_array().unwrap();
    let time = tools.iter().find(|tool| tool["function"]["name"] == "time").unwrap();
    let parameters = &time["function"]["parameters"];
    assert!(parameters["properties"].get("to").is_some(), "{parameters}");
    assert_eq!(parameters["properties"].get("zone"), None, "{parameters}");
    let messages = asked[1]["messages"].as_array().unwrap();
    let result = messages.last().unwrap()["content"].as_str().unwrap();
    assert!(result.contains("Asia/Tokyo"), "{result}");
    let called = messages.iter().find_map(|message| message["tool_calls"].get(0)).unwrap();
    assert_eq!(called["function"]["arguments"], "{}", "the model sees its call as it wrote it");
    let sent = &get(&served, "/api/executions")["executions"][0];
    assert_eq!(sent["arguments"], r#"{"zone":"Asia/Tokyo"}"#, "people see what was sent");
}

#[test]
fn an_agent_moves_to_another_server_as_one_file() {
    let one = served(&model(vec![text("-")]));
    let (status, _, file) = send(&one, "GET", "/api/agents/export", "", "");
    assert_eq!(status, 200, "{file}");
    let other = serve(&one_model("m", &model(vec![text("-")]), ""), &[]);
    for (query, version) in [("?dry_run=true", Value::Null), ("", json!(1))] {
        let (status, _, done) = send(&other, "POST", &format!("/api/agents/import{query}"), "", &file);
        let done: Value = serde_json::from_str(&done).unwrap();
        let outcome = (&done["agents"][0]["outcome"], &done["agents"][0]["version"]);
        assert_eq!((status, outcome), (200, (&json!("created"), &version)), "{done}");
    }
    assert_eq!(get(&other, &format!("/api/agents/{AGENT}"))["system_prompt"], "你会计算。");
}
