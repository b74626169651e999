//! D: a tool that is a row of a table, posted as it is.

use super::*;

const ROW: &str = r#"{"id": "weather", "name": "get_weather", "type": "invokable", "display_name": "天气", "description": "…", "category": "custom",
 "endpoint": {"url_template": "https://api.example.com/w/{city}", "method": "GET", "headers": null, "auth": {"type": "bearer", "token_env": "WEATHER"}, "timeout": 30},
 "parameters": {"type": "object", "properties": {"city": {"type": "string", "description": "…"}}, "required": ["city"]},
 "response_transform": null, "rate_limit": null, "enabled": true, "version": "1.0.0", "tags": ["weather"]}"#;

fn posted(served: &Served, row: &str) -> (u16, Value) {
    let (status, _, body) = send(served, "POST", "/api/tools", "", row);
    (status, serde_json::from_str(&body).unwrap())
}

#[test]
fn a_row_becomes_a_tool_that_its_id_and_its_name_lead_to() {
    let model = model(vec![text("-")]);
    let served =
        serve(&one_model("m", &model, "tools = \"native\""), &[("WEATHER_TOKEN", "sk-canary-weather")]);
    let (status, made) = posted(&served, ROW);
    assert_eq!(status, 201, "{made}");
    let row: Value = serde_json::from_str(ROW).unwrap();
    for name in ["id", "name", "display_name", "description", "category", "enabled", "tags"] {
        assert_eq!(made.get(name).unwrap_or(&made["definition"][name]), &row[name], "{name}: {made}");
    }
    let definition = &made["definition"];
    assert_eq!((&definition["version"], &definition["type"]), (&json!("1.0.0"), &json!("invokable")));
    assert_eq!(definition["parameters"], row["parameters"]);
    let endpoint = &definition["endpoint"];
    assert_eq!(
        (&endpoint["url_template"], &endpoint["method"], &endpoint["timeout_ms"]),
        (&row["endpoint"]["url_template"], &json!("GET"), &json!(30_000)),
        "{made}"
    );
    assert_eq!(
        (&endpoint["auth"]["type"], &endpoint["auth"]["env"]),
        (&json!("bearer"), &json!("WEATHER_TOKEN"))
    );
    let mapped = made["mapped"].to_string();
    for part in ["30 seconds", "`WEATHER_TOKEN`", "`rate_limit`"] {
        assert!(mapped.contains(part), "{part}: {mapped}");
    }
    for address in ["weather", "get_weather"] {
        assert_eq!(get(&served, &format!("/api/tools/{address}"))["name"], "get_weather");
    }
    // The same row once more is refused with what it collides with.
    let (status, again) = posted(&served, ROW);
    assert!(status == 409 && again["detail"].as_str().unwrap().contains("get_weather"), "{status} {again}");
}

#[test]
fn until_its_variable_is_confirmed_the_tool_says_so_and_sends_nothing() {
    let model = model(vec![Say::Call("get_weather", json!({"city": "北京"})), text("不知道。")]);
    let config = one_model("m", &model, "tools = \"native\"");
    let served = serve(&config, &[("WEATHER_TOKEN", "sk-canary-weather")]);
    assert_eq!(posted(&served, ROW).0, 201);
    let events = events(&served, "/api/agent", "", r#"{"message": "北京天气?", "conversationId": null}"#);
    assert_eq!(events.iter().filter_map(|event| event["content"].as_str()).collect::<String>(), "不知道。");
    let asked = questions(&model);
    let told = asked[1]["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap();
    assert!(told.contains("WEATHER_TOKEN") && told.contains("helve tools bind get_weather"), "{told}");
    assert!(!told.contains("canary"), "{told}");
}

#[test]
fn rows_that_call_tools_inside_or_are_wrong_are_told_apart() {
    let model = model(vec![text("-")]);
    let served = serve(&one_model("m", &model, "tools = \"native\""), &[]);
    let mut inside: Value = serde_json::from_str(ROW).unwrap();
    (inside["id"], inside["name"]) = (json!("sum"), json!("sum"));
    inside["endpoint"] = json!({"url_template": "internal://calculator", "method": null, "headers": null, "auth": null, "timeout": 0});
    inside["parameters"] = Value::Null;
    let (status, made) = posted(&served, &inside.to_string());
    assert_eq!(status, 201, "{made}");
    let (_, _, answer) =
        send(&served, "POST", "/api/tools/sum/call", "", r#"{"arguments": {"expression": "25 * 4"}}"#);
    assert!(answer.contains("100"), "{answer}");
    let (status, wrong) = posted(&served, &ROW.replace("{city}\"", "{town}\""));
    assert_eq!((status, &wrong["field"]), (400, &json!("endpoint.url_template")), "{wrong}");
}
