//! Budgets over HTTP.

use helve_runtime::{Budgets, Limits};
use helve_store::TokenRights;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::test_server::{ServerOptions, TestServer, reply};

fn plan(budgets: Budgets) -> ServerOptions {
    ServerOptions { budgets, ..ServerOptions::default() }
}

/// Each scripted reply takes 15 tokens.
fn tokens(tokens: u64) -> Limits {
    Limits { tokens: Some(tokens), ..Limits::default() }
}

#[tokio::test]
async fn a_question_about_the_budget_is_listed_and_answered_like_any_other() {
    let run = Limits { ask_at: Some(50), ..tokens(20) };
    let server = TestServer::with_options(
        plan(Budgets { run, ..Budgets::default() }),
        [reply(r#"call look {"q": "x"}"#), reply("say There.")],
    )
    .await;
    let (run, _) = server.start("look").await;
    assert_eq!(server.settled(&run).await, "waiting_approval");
    let listed = server.get_json("/api/approvals").await;
    let question = &listed["approvals"][0];
    assert_eq!((&question["kind"], &question["call"]), (&json!("budget"), &Value::Null));
    assert_eq!(question["because"], "this run has used 15 of 20 tokens; may it go on to the limit?");
    let path = format!("/api/approvals/{}", question["approval"].as_str().unwrap());
    let edited = json!({"decision": "approve", "arguments": "{}"});
    assert_eq!(server.post(&path, edited).await.status(), StatusCode::BAD_REQUEST);
    assert_eq!(server.post(&path, json!({"decision": "approve"})).await.status(), StatusCode::OK);
    assert_eq!(server.settled(&run).await, "completed");
    assert!(server.get(&format!("/api/runs/{run}/events")).await.text().await.unwrap().contains("There."));
    let metrics = server.get("/metrics").await.text().await.unwrap();
    assert!(metrics.contains(r#"helve_budget_total{did="asked"} 1"#), "{metrics}");
}

#[tokio::test]
async fn streams_tell_of_the_question_and_of_the_end() {
    for path in ["/api/chat", "/api/agent"] {
        let budgets = Budgets { run: Limits { ask_at: Some(90), ..tokens(16) }, ..Budgets::default() };
        let server = TestServer::with_options(plan(budgets), [reply(r#"call look {"q": "x"}"#)]).await;
        let begun = server.request(Method::POST, path).header("X-Agent-ID", "default");
        let stream = begun.json(&json!({"message": "look"})).send().await.unwrap();
        let run = stream.headers()["x-helve-run"].to_str().unwrap().to_owned();
        server.settled(&run).await;
        let listed = server.get_json("/api/approvals").await;
        let id = listed["approvals"][0]["approval"].as_str().unwrap().to_owned();
        server.post(&format!("/api/approvals/{id}"), json!({"decision": "reject"})).await;
        let text = stream.text().await.unwrap();
        assert!(text.contains(&format!(r#""waiting":{{"approvalId":"{id}","for":"budget""#)), "{text}");
        assert!(text.contains(r#""ending":"budget_spent""#), "{text}");
        assert!(text.contains("the run was not allowed to use more of its budget"), "{text}");
    }
}

#[tokio::test]
async fn a_day_that_is_used_up_is_told_with_its_end() {
    let budgets = Budgets { user_day: tokens(10), ..Budgets::default() };
    let server = TestServer::with_options(plan(budgets), [reply("say Hi.")]).await;
    let (run, _) = server.start("hi").await;
    assert_eq!(server.settled(&run).await, "completed");
    let refused = server.post("/api/runs", json!({"message": "again"})).await;
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(refused.headers().contains_key("retry-after"));
    let refused: Value = refused.json().await.unwrap();
    assert_eq!(refused["code"], "budget_spent");
    assert_eq!(refused["renews_at"], server.world.now().next_day().0);
    let detail = refused["detail"].as_str().unwrap();
    assert!(
        detail.starts_with("the budget is used up: your runs of today have used 15 of 10 tokens"),
        "{detail}"
    );
    let call = server.post("/api/tools/look/call", json!({"arguments": {"q": "x"}})).await;
    assert_eq!(call.status(), StatusCode::TOO_MANY_REQUESTS);

    let seen = server.get_json("/api/budgets").await;
    assert_eq!(
        (&seen["user_day"]["limits"]["tokens"], &seen["user_day"]["used"]["tokens"]),
        (&json!(10), &json!(15))
    );
    assert_eq!(seen["run"], json!({"calls": 100, "active_ms": 600_000}));
    assert_eq!(seen["agent_day"][0]["agent"], "default");
}

#[tokio::test]
async fn only_administrators_see_what_others_use() {
    let server = TestServer::new([]).await;
    let mei = server.token("mei", TokenRights::Chat).await;
    let ask = |path: &str| server.request(Method::GET, path).bearer_auth(&mei).send();
    let own: Value = ask("/api/budgets").await.unwrap().json().await.unwrap();
    assert_eq!((&own["user"], &own["day"], &own["agent_day"]), (&json!("mei"), &Value::Null, &Value::Null));
    assert_eq!(ask("/api/budgets?user=ada").await.unwrap().status(), StatusCode::FORBIDDEN);
}
