//! The list of calls.

use helve_store::TokenRights;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::test_server::{TestServer, reply};

async fn look(server: &TestServer, token: &str, query: &str) -> (StatusCode, Value) {
    let asked = server.request(Method::GET, &format!("/api/executions{query}")).bearer_auth(token);
    let response = asked.send().await.unwrap();
    (response.status(), response.json().await.unwrap())
}

async fn tools_of(server: &TestServer, token: &str, query: &str) -> Vec<String> {
    let (status, found) = look(server, token, query).await;
    assert_eq!(status, StatusCode::OK, "{found}");
    let held = found["executions"].as_array().unwrap();
    held.iter()
        .map(|held| format!("{} {}", held["user"].as_str().unwrap(), held["tool"].as_str().unwrap()))
        .collect()
}

async fn call(server: &TestServer, token: &str, tool: &str, q: &Value) {
    let path = format!("/api/tools/{tool}/call");
    server
        .request(Method::POST, &path)
        .bearer_auth(token)
        .json(&json!({"arguments": {"q": q}}))
        .send()
        .await
        .unwrap();
    server.world.clock.advance_ms(1);
}

#[tokio::test]
async fn a_models_call_is_listed_with_all_that_is_known_of_it() {
    let server = TestServer::new([reply("call look {\"q\": \"tea\"}"), reply("say Here.")]).await;
    let (run, _) = server.start("look for tea").await;
    assert_eq!(server.settled(&run).await, "completed");
    let found = server.get_json("/api/executions").await;
    let held = &found["executions"][0];
    assert_eq!(held["run"], run.as_str());
    for (name, value) in [
        ("tool", json!("look")),
        ("user", json!("local")),
        ("agent", json!("default")),
        ("state", json!("finished")),
        ("effect", json!("read")),
        ("attempts", json!(1)),
        ("arguments", json!(r#"{"q": "tea"}"#)),
        ("arguments_bytes", json!(12)),
        ("from_cache", json!(false)),
        ("output_bytes", json!(8)),
        ("duration_ms", json!(0)),
    ] {
        assert_eq!(held[name], value, "{name}");
    }
    assert!(held["trail"].as_array().unwrap().iter().any(|stage| stage["stage"] == "judge"), "{held}");
    let one = server.get_json(&format!("/api/executions/{}", held["call"].as_str().unwrap())).await;
    let (mut listed, mut shown) = (held.clone(), one.clone());
    assert_eq!(listed["output_at"], format!("/api/executions/{}", held["call"].as_str().unwrap()));
    assert_eq!(shown["output"], "look tea");
    listed.as_object_mut().unwrap().remove("output_at");
    shown.as_object_mut().unwrap().remove("output");
    assert_eq!(listed, shown);
}

#[tokio::test]
async fn every_state_that_a_list_shows_can_be_asked_for() {
    // The run of a client that keeps its history is over when it asks for the client's tool.
    let server = TestServer::new([reply("call browser_js_eval {\"code\": \"1\"}")]).await;
    let messages = json!([{"role": "user", "content": "1?"}]);
    server.post_text("/api/chat", json!({"messages": messages})).await;
    let found = server.get_json("/api/executions").await;
    assert_eq!(found["executions"][0]["state"], "delegated");
    let delegated = server.get_json("/api/executions?state=delegated").await;
    assert_eq!(delegated["executions"], found["executions"]);
}

#[tokio::test]
async fn calls_are_found_by_tool_state_time_and_run_and_come_in_pages() {
    let server = TestServer::new([]).await;
    let admin = server.token("boss", TokenRights::Admin).await;
    let began = server.world.now().0;
    for (tool, q) in [("look", json!("a")), ("send", json!("b")), ("look", json!(7))] {
        call(&server, &admin, tool, &q).await;
    }
    assert_eq!(tools_of(&server, &admin, "").await, ["boss look", "boss send", "boss look"]);
    assert_eq!(tools_of(&server, &admin, "?tool=send").await, ["boss send"]);
    assert_eq!(tools_of(&server, &admin, "?state=refused").await, ["boss look"]);
    assert_eq!(tools_of(&server, &admin, "?state=running").await, Vec::<String>::new());
    let middle = format!("?from={}&to={}", began + 1, began + 2);
    assert_eq!(tools_of(&server, &admin, &middle).await, ["boss send"]);
    let (_, failed) = look(&server, &admin, "?state=refused").await;
    assert_eq!(failed["executions"][0]["failure"], "bad_arguments");
    let run = failed["executions"][0]["run"].as_str().unwrap();
    assert_eq!(tools_of(&server, &admin, &format!("?run={run}")).await, ["boss look"]);

    let (_, first) = look(&server, &admin, "?limit=2").await;
    assert_eq!(first["executions"].as_array().unwrap().len(), 2);
    let (_, second) =
        look(&server, &admin, &format!("?limit=2&before={}", first["next"].as_str().unwrap())).await;
    assert_eq!(second["executions"].as_array().unwrap().len(), 1);
    assert_eq!(second["executions"][0]["requested_at"], began);
    assert!(second["next"].is_null());
}

#[tokio::test]
async fn people_see_their_own_calls_and_admins_see_all() {
    let server = TestServer::new([]).await;
    let (mei, li) =
        (server.token("mei", TokenRights::Chat).await, server.token("li", TokenRights::Chat).await);
    let admin = server.token("boss", TokenRights::Admin).await;
    call(&server, &mei, "look", &json!("a")).await;
    call(&server, &li, "send", &json!("b")).await;
    assert_eq!(tools_of(&server, &mei, "").await, ["mei look"]);
    assert_eq!(tools_of(&server, &li, "").await, ["li send"]);
    assert_eq!(tools_of(&server, &admin, "").await, ["li send", "mei look"]);
    assert_eq!(tools_of(&server, &admin, "?user=mei").await, ["mei look"]);
    assert_eq!(look(&server, &mei, "?user=li").await.0, StatusCode::FORBIDDEN);

    let (_, his) = look(&server, &li, "").await;
    let path = format!("/{}", his["executions"][0]["call"].as_str().unwrap());
    assert_eq!(look(&server, &mei, &path).await.0, StatusCode::NOT_FOUND);
    assert_eq!(look(&server, &li, &path).await.0, StatusCode::OK);
}

#[tokio::test]
async fn a_filter_that_is_not_known_is_named() {
    let server = TestServer::new([]).await;
    let admin = server.token("boss", TokenRights::Admin).await;
    for (query, named) in [
        ("?tol=look", "`tol`"),
        ("?state=done", "`done`"),
        ("?state=failed'%20OR%201=1--", "`failed' OR 1=1--`"),
        ("?user=a%00b", "user"),
        ("?run=7", "`7`"),
        ("?from=yesterday", "from"),
        ("?limit=-1", "limit"),
        ("?before=2", "`2`"),
        ("?order=tool;DROP%20TABLE%20runs", "`order`"),
    ] {
        let (status, problem) = look(&server, &admin, query).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{query}: {problem}");
        assert!(problem["detail"].as_str().unwrap().contains(named), "{query}: {problem}");
    }
    assert_eq!(look(&server, &admin, "?tool=x'%20OR%20'1'='1").await.1["executions"], json!([]));
}
