//! Consent for more than one call, over HTTP: given, listed, taken back; and answers that come twice.

use helve_store::TokenRights;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::test_server::{TestServer, reply};

const SEND: &str = r#"call send {"q": "x"}"#;

/// Starts a run that waits, and gives it with the path of its question.
async fn asked(server: &TestServer) -> (String, String) {
    let (run, _) = server.start("send x").await;
    assert_eq!(server.settled(&run).await, "waiting_approval");
    let listed = server.get_json("/api/approvals").await;
    let path = format!("/api/approvals/{}", listed["approvals"][0]["approval"].as_str().unwrap());
    (run, path)
}

#[tokio::test]
async fn an_allowance_is_given_used_listed_and_taken_back() {
    let server =
        TestServer::new([reply(SEND), reply("say Sent."), reply(SEND), reply("say Sent."), reply(SEND)])
            .await;
    let (run, path) = asked(&server).await;
    let always = json!({"within": "agent", "arguments": {"q": "x*"}, "days": 3});
    let answered = server.post(&path, json!({"decision": "approve", "always": always})).await;
    assert_eq!(answered.status(), StatusCode::OK);
    assert_eq!(server.settled(&run).await, "completed");

    let listed = server.get_json("/api/allowances").await;
    let held = &listed["allowances"][0];
    let id = held["id"].as_str().unwrap();
    assert!(path.ends_with(id));
    assert_eq!(
        [&held["tool"], &held["within"], &held["arguments"], &held["by"], &held["state"], &held["agent"]],
        [
            &json!("send"),
            &json!("agent"),
            &json!({"q": "x*"}),
            &json!("local"),
            &json!("in_force"),
            &json!("default")
        ]
    );
    let days = (held["expires_at"].as_i64().unwrap() - held["created_at"].as_i64().unwrap()) / 86_400_000;
    assert_eq!(days, 3);

    let (second, _) = server.start("send x").await;
    assert_eq!(server.settled(&second).await, "completed");
    let trail = server.get_json(&format!("/api/executions/{second}:1:0")).await;
    assert!(trail.to_string().contains(&format!("allowance {id}")), "{trail}");

    for _ in 0..2 {
        let gone = server.request(Method::DELETE, &format!("/api/allowances/{id}")).send().await.unwrap();
        assert_eq!(gone.status(), StatusCode::NO_CONTENT);
    }
    assert_eq!(server.get_json("/api/allowances").await["allowances"], json!([]));
    assert_eq!(server.get_json("/api/allowances?state=all").await["allowances"][0]["state"], "revoked");
    let lines: Vec<_> = server.store.audit_entries().into_iter().map(|line| line.action).collect();
    assert_eq!(lines, ["approval.asked", "approval.answered", "allowance.made", "allowance.revoked"]);
    let (third, _) = server.start("send x").await;
    assert_eq!(server.settled(&third).await, "waiting_approval");
}

#[tokio::test]
async fn a_consent_that_cannot_be_meant_is_refused_and_the_question_stays() {
    let server = TestServer::new([reply(SEND), reply("say Sent.")]).await;
    let (_, path) = asked(&server).await;
    for (always, told) in [
        (json!({"within": "agent", "days": 31}), "between 1 and 30"),
        (json!({"within": "agent", "days": 0}), "between 1 and 30"),
        (json!({"within": "agent", "arguments": {"q": []}}), "an empty list fits nothing"),
        (json!({"within": "agent", "arguments": {"q": "y"}}), "does not fit"),
        (json!({"within": "planet"}), "must be `run`, `conversation` or `agent`"),
        (json!({"within": "run", "user": "li"}), "no field `always.user`"),
        (json!({}), "within"),
    ] {
        let refused = server.post(&path, json!({"decision": "approve", "always": always})).await;
        assert_eq!(refused.status(), StatusCode::BAD_REQUEST, "{always}");
        let problem: Value = refused.json().await.unwrap();
        assert!(problem["detail"].as_str().unwrap().contains(told), "{always} {problem}");
    }
    assert_eq!(server.get_json(&path).await["state"], "pending");
    assert_eq!(server.get_json("/api/allowances?state=all").await["allowances"], json!([]));
}

#[tokio::test]
async fn nobody_sees_or_takes_back_anothers() {
    let server = TestServer::new([reply(SEND), reply("say Sent.")]).await;
    let mei = server.token("mei", TokenRights::Chat).await;
    let li = server.token("li", TokenRights::Chat).await;
    let root = server.token("root", TokenRights::Admin).await;
    let ask = async |method: Method, path: &str, token: &str, body: Value| {
        let request = server.request(method, path).bearer_auth(token);
        let request = if body.is_null() { request } else { request.json(&body) };
        let response = request.send().await.unwrap();
        (response.status(), response.json::<Value>().await.unwrap_or_default())
    };
    let get = async |path: &str, token: &str| ask(Method::GET, path, token, Value::Null).await;
    let (_, started) = ask(Method::POST, "/api/runs", &mei, json!({"message": "send x"})).await;
    let run = started["run"].as_str().unwrap();
    let question = loop {
        let (_, listed) = get("/api/approvals", &mei).await;
        if let Some(id) = listed["approvals"][0]["approval"].as_str() {
            break id.to_owned();
        }
    };
    let approve = json!({"decision": "approve", "always": {"within": "conversation"}});
    let path = format!("/api/approvals/{question}");
    assert_eq!(ask(Method::POST, &path, &li, approve.clone()).await.0, StatusCode::NOT_FOUND);
    // An administrator may answer for the user: the allowance is the user's all the same.
    assert_eq!(ask(Method::POST, &path, &root, approve).await.0, StatusCode::OK);
    let (_, listed) = get("/api/allowances", &mei).await;
    let held = &listed["allowances"][0];
    assert_eq!((&held["user"], &held["by"], &held["run"]), (&json!("mei"), &json!("root"), &json!(run)));

    assert_eq!(get("/api/allowances", &li).await.1["allowances"], json!([]));
    assert_eq!(get("/api/allowances?user=mei", &li).await.0, StatusCode::FORBIDDEN);
    for path in ["/api/allowances", "/api/allowances?user=mei", "/api/allowances?limit=1"] {
        assert_eq!(get(path, &root).await.1["allowances"].as_array().unwrap().len(), 1, "{path}");
    }
    assert_eq!(get("/api/allowances?offset=1", &root).await.1["allowances"], json!([]));
    let path = format!("/api/allowances/{question}");
    assert_eq!(ask(Method::DELETE, &path, &li, Value::Null).await.0, StatusCode::NOT_FOUND);
    assert_eq!(get("/api/allowances", &mei).await.1["allowances"].as_array().unwrap().len(), 1);
    assert_eq!(ask(Method::DELETE, &path, &mei, Value::Null).await.0, StatusCode::NO_CONTENT);
    assert_eq!(ask(Method::DELETE, "/api/allowances/none", &mei, Value::Null).await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn the_same_decision_twice_is_one_and_another_is_a_conflict_also_when_they_race() {
    for (first, second, agree) in [
        (json!({"decision": "approve"}), json!({"decision": "approve"}), true),
        (json!({"decision": "reject", "reason": "a"}), json!({"decision": "reject", "reason": "b"}), true),
        (json!({"decision": "approve"}), json!({"decision": "reject"}), false),
        (
            json!({"decision": "approve"}),
            json!({"decision": "approve", "arguments": "{\"q\": \"y\"}"}),
            false,
        ),
    ] {
        let server = TestServer::new([reply(SEND), reply("say Done.")]).await;
        let (run, path) = asked(&server).await;
        let answers = (0..8).map(|n| if n % 2 == 0 { first.clone() } else { second.clone() });
        let posted = answers.map(|answer| server.post(&path, answer));
        let mut said = vec![];
        for response in futures_util::future::join_all(posted).await {
            let status = response.status();
            said.push((status, response.json::<Value>().await.unwrap()));
        }
        let winners: Vec<_> = said.iter().filter(|(status, _)| *status == StatusCode::OK).collect();
        assert!(winners.iter().all(|(_, held)| held["answer"] == winners[0].1["answer"]), "{winners:?}");
        assert_eq!(winners.len(), if agree { 8 } else { 4 }, "{first} {second}");
        let others = said.iter().filter(|(status, _)| *status != StatusCode::OK);
        for (status, problem) in others {
            assert_eq!((*status, &problem["code"]), (StatusCode::CONFLICT, &json!("already_answered")));
        }
        assert_eq!(server.settled(&run).await, "completed");
    }
}
