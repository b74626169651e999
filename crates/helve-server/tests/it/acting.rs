//! Tokens that act for users.

use helve_store::{ActFor, TokenRights};
use helve_types::UserId;
use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};

use crate::test_server::{ServerOptions, TestServer, reply};

async fn send(server: &TestServer, token: &str, path: &str, body: &Value) -> Response {
    server.request(Method::POST, path).bearer_auth(token).json(body).send().await.unwrap()
}

async fn owners(server: &TestServer, admin: &str) -> Vec<String> {
    let listed = server.request(Method::GET, "/api/executions").bearer_auth(admin).send().await.unwrap();
    let listed: Value = listed.json().await.unwrap();
    let mut owners: Vec<_> = listed["executions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["user"].as_str().unwrap().to_owned())
        .collect();
    owners.dedup();
    owners
}

#[tokio::test]
async fn a_call_is_made_for_the_user_that_is_named_in_the_address_or_in_the_body() {
    let arguments = json!({"q": "x"});
    for (path, body) in [
        ("/api/tools/execute?user=mei", json!({"tool": "look", "q": "x"})),
        ("/api/tools/execute", json!({"tool": "look", "q": "x", "userId": "mei"})),
        ("/api/tools/look/call?user=mei", json!({"arguments": arguments})),
        ("/api/tools/look/call", json!({"arguments": arguments, "user": "mei"})),
        ("/api/runs?user=mei", json!({"message": "go"})),
        ("/api/runs", json!({"message": "go", "user": "mei"})),
        ("/api/chat?user=mei", json!({"message": "go"})),
        ("/api/agent", json!({"message": "go", "userId": "mei", "stream": false})),
    ] {
        for (act_for, may) in [
            (ActFor::Everybody, true),
            (ActFor::Users(vec![UserId("mei".into())]), true),
            (ActFor::Users(vec![UserId("li".into())]), false),
            (ActFor::OnlySelf, false),
        ] {
            let script = [reply("call look {\"q\": \"x\"}"), reply("say done")];
            let server = TestServer::new(script).await;
            let token = server.token_for("back", TokenRights::Chat, act_for.clone()).await;
            let admin = server.token("boss", TokenRights::Admin).await;
            let answer = send(&server, &token, path, &body).await;
            assert_eq!(answer.status() == StatusCode::FORBIDDEN, !may, "{path} {body} {act_for:?}");
            if let Some(run) = answer.headers().get("x-helve-run") {
                let run = run.to_str().unwrap().to_owned();
                _ = answer.text().await;
                // What was done for mei is looked at as mei.
                let path = format!("/api/runs/{run}?user=mei");
                let shown = server.request(Method::GET, &path).bearer_auth(&token).send().await.unwrap();
                assert_eq!(shown.status(), StatusCode::OK, "{path}");
                loop {
                    let shown = server.request(Method::GET, &path).bearer_auth(&token).send().await.unwrap();
                    if shown.json::<Value>().await.unwrap()["state"] == "completed" {
                        break;
                    }
                    tokio::task::yield_now().await;
                }
                let path = format!("/api/runs/{run}");
                let own = server.request(Method::GET, &path).bearer_auth(&token).send().await.unwrap();
                assert_eq!(own.status(), StatusCode::NOT_FOUND, "{path}");
            }
            let expected: &[&str] = if may { &["mei"] } else { &[] };
            assert_eq!(owners(&server, &admin).await, expected, "{path} {body} {act_for:?}");
        }
    }
}

#[tokio::test]
async fn a_request_that_names_two_users_is_refused() {
    let server = TestServer::new([]).await;
    for (path, body) in [
        ("/api/tools/execute?user=mei", json!({"tool": "look", "q": "x", "userId": "li"})),
        ("/api/runs?user=mei", json!({"message": "go", "user": "li"})),
    ] {
        let answer = server.post(path, body).await;
        assert_eq!(answer.status(), StatusCode::BAD_REQUEST, "{path}");
        assert_eq!(answer.json::<Value>().await.unwrap()["code"], "two_users", "{path}");
    }
}

/// Forty users behind one token, each with one stream.
#[tokio::test]
async fn streams_are_counted_for_the_user_and_not_for_the_token() {
    let limits = helve_server::ServerLimits { streams_per_user_max: 1, ..Default::default() };
    let plan = ServerOptions { limits, pace: std::time::Duration::from_secs(60), ..ServerOptions::default() };
    let server = TestServer::with_options(plan, (0..41).map(|_| reply("say a long answer"))).await;
    let token = server.token_for("back", TokenRights::Chat, ActFor::Everybody).await;
    let mut open = vec![];
    for number in 0..40 {
        let body = json!({"message": "go", "userId": format!("user{number}")});
        let answer = send(&server, &token, "/api/chat", &body).await;
        assert_eq!(answer.status(), StatusCode::OK, "user{number}");
        open.push(answer);
    }
    let body = json!({"message": "go", "userId": "user7"});
    let second = send(&server, &token, "/api/chat", &body).await;
    assert_eq!(second.status(), StatusCode::TOO_MANY_REQUESTS);
}
