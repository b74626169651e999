//! Rows of the tool system that Helve replaces, over HTTP: as they are, one or many, addressed by name and by id.

use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::test_server::TestServer;

/// A row as SOURCE-REQUESTS D has it.
const ROW: &str = r#"{"id": "weather", "name": "get_weather", "type": "invokable", "display_name": "天气", "description": "…", "category": "custom",
 "endpoint": {"url_template": "https://api.example.com/w/{city}", "method": "GET", "headers": null, "auth": {"type": "bearer", "token_env": "WEATHER"}, "timeout": 30},
 "parameters": {"type": "object", "properties": {"city": {"type": "string", "description": "…"}}, "required": ["city"]},
 "response_transform": null, "rate_limit": null, "enabled": true, "version": "1.0.0", "tags": ["weather"]}"#;

async fn send(server: &TestServer, kind: &str, query: &str, body: String) -> Response {
    let request = server.request(Method::POST, &format!("/api/tools{query}"));
    request.header("content-type", kind).body(body).send().await.unwrap()
}

async fn answer(response: Response, status: u16) -> Value {
    let got = response.status().as_u16();
    let text = response.text().await.unwrap();
    assert_eq!(got, status, "{text}");
    serde_json::from_str(&text).unwrap()
}

fn named(id: &str, name: &str) -> Value {
    let mut row: Value = serde_json::from_str(ROW).unwrap();
    (row["id"], row["name"]) = (json!(id), json!(name));
    row
}

#[tokio::test]
async fn a_row_is_made_as_it_is_and_addressed_by_its_name_and_by_its_id() {
    let server = TestServer::new([]).await;
    let made = answer(send(&server, "application/json", "", ROW.into()).await, 201).await;
    assert_eq!((&made["id"], &made["name"]), (&json!("weather"), &json!("get_weather")));
    assert_eq!((&made["category"], &made["definition"]["version"]), (&json!("custom"), &json!("1.0.0")));
    assert_eq!(made["definition"]["endpoint"]["timeout_ms"], 30_000);
    let mapped = made["mapped"].to_string();
    for part in ["30 seconds", "`WEATHER_TOKEN`", "`rate_limit`"] {
        assert!(mapped.contains(part), "{part}: {mapped}");
    }

    for address in ["weather", "get_weather"] {
        let path = format!("/api/tools/{address}");
        assert_eq!(server.get_json(&path).await["name"], "get_weather");
        let put = server.request(Method::PUT, &path).header("content-type", "application/json").body(ROW);
        let put = answer(put.send().await.unwrap(), 200).await;
        assert_eq!((&put["version"], &put["id"]), (&json!(1), &json!("weather")));
        let call = json!({"arguments": {"city": "Oslo"}});
        let called = server.post(&format!("{path}/call"), call).await;
        assert_eq!(answer(called, 200).await["outcome"], "finished");
        let patch = server.request(Method::PATCH, &path).json(&json!({"enabled": true}));
        assert_eq!(answer(patch.send().await.unwrap(), 200).await["name"], "get_weather");
    }
    let deleted = server.request(Method::DELETE, "/api/tools/weather").send().await.unwrap();
    assert_eq!(deleted.status().as_u16(), 204);
    assert_eq!(server.get("/api/tools/get_weather").await.status().as_u16(), 404);
}

#[tokio::test]
async fn of_many_rows_each_has_a_result_and_a_wrong_one_loses_no_other() {
    let server = TestServer::new([]).await;
    let wrong = json!({"name": "broken", "description": "…", "endpoint": {"url_template": "https://a.example"},
        "parameters": {"type": "object", "properties": {}, "required": ["zz"]}});
    let rows = json!([named("a", "one"), wrong, named("a", "two"), named("b", "three")]);
    for query in ["?dry_run=true", ""] {
        let report = answer(send(&server, "application/json", query, rows.to_string()).await, 207).await;
        let outcomes: Vec<_> =
            report["rows"].as_array().unwrap().iter().map(|row| row["outcome"].as_str().unwrap()).collect();
        // Only what is kept takes an id.
        let expected = if query.is_empty() {
            ["created", "refused", "refused", "created"]
        } else {
            ["checked", "refused", "checked", "checked"]
        };
        assert_eq!(outcomes, expected, "{report}");
        assert_eq!(report["rows"][1]["field"], "parameters.required.0");
        assert_eq!(server.get("/api/tools/one").await.status().is_success(), query.is_empty());
    }
    assert_eq!(server.get("/api/tools/b").await.status().as_u16(), 200);
    let again = json!({"tools": [named("a", "one")]}).to_string();
    let unchanged = answer(send(&server, "application/json", "?replace=true", again).await, 201).await;
    assert_eq!(unchanged["rows"][0]["outcome"], "unchanged");

    let lines = format!("{}\n{{broken\n{}\n", named("d", "four"), named("e", "five"));
    let report = answer(send(&server, "application/x-ndjson", "", lines).await, 207).await;
    assert_eq!(report["refused"], 1);
    assert_eq!(server.get_json("/api/tools/e").await["name"], "five");
}

#[tokio::test]
async fn more_rows_than_a_thousand_and_larger_bodies_are_refused_whole() {
    let server = TestServer::new([]).await;
    let many = json!(vec![json!({"name": "a"}); 1_001]).to_string();
    let told = answer(send(&server, "application/json", "", many).await, 400).await;
    assert!(told["detail"].as_str().unwrap().contains("1001 rows"), "{told}");
    let lines = "{\"name\": \"a\"}\n".repeat(1_001);
    assert_eq!(answer(send(&server, "application/x-ndjson", "", lines).await, 400).await["code"], "bad_body");
    let large = format!("{}\n", named("a", "one")).repeat(4_000);
    assert!(large.len() > 1 << 20);
    answer(send(&server, "application/x-ndjson", "", large).await, 413).await;
}

#[tokio::test]
async fn consent_to_a_host_is_taken_only_from_this_machine() {
    let server = TestServer::new([]).await;
    let mut row = named("a", "one");
    row["allow_host"] = json!(true);
    let passed_on = server.request(Method::POST, "/api/tools").header("x-forwarded-for", "203.0.113.9");
    let refused = passed_on.json(&row).send().await.unwrap();
    // No token exists here, so a request that a proxy passes on has no user.
    assert!(refused.status().is_client_error(), "{}", refused.status());
    row["allow_host"] = json!("yes");
    let wrong = answer(server.post("/api/tools", row.clone()).await, 400).await;
    assert_eq!(wrong["field"], "allow_host");
    row["allow_host"] = json!(true);
    answer(server.post("/api/tools", row).await, 201).await;
    assert_eq!(server.get_json("/api/tools/a/grants").await, json!({"grants": []}));
}
