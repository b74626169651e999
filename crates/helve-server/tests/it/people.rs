//! What people do to runs over HTTP: answer, stop.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::test_server::{TestServer, reply};

#[tokio::test]
async fn a_question_is_listed_answered_once_and_remembered() {
    let server = TestServer::new([reply(r#"call send {"q": "x"}"#), reply("say Sent.")]).await;
    let (run, _) = server.start("send x").await;
    assert_eq!(server.settled(&run).await, "waiting_approval");
    let listed = server.get_json("/api/approvals").await;
    let question = &listed["approvals"][0];
    assert_eq!(
        (&question["tool"], &question["arguments"], &question["state"]),
        (&json!("send"), &json!("{\"q\":\"x\"}"), &json!("pending"))
    );
    let path = format!("/api/approvals/{}", question["approval"].as_str().unwrap());

    let answered = server.post(&path, json!({"decision": "approve"})).await;
    assert_eq!(answered.status(), StatusCode::OK);
    let answered: Value = answered.json().await.unwrap();
    assert_eq!((&answered["state"], &answered["by"]), (&json!("answered"), &json!("local")));
    assert_eq!(server.settled(&run).await, "completed");

    let again = server.post(&path, json!({"decision": "approve"})).await;
    assert_eq!(again.status(), StatusCode::OK);
    let opposite = server.post(&path, json!({"decision": "reject"})).await;
    assert_eq!(opposite.status(), StatusCode::CONFLICT);
    assert_eq!(server.get_json("/api/approvals").await["approvals"], json!([]));
    assert_eq!(server.get_json("/api/approvals?state=all").await["approvals"][0]["state"], "answered");
}

#[tokio::test]
async fn an_answer_that_makes_no_sense_is_refused() {
    let server = TestServer::new([reply(r#"call send {"q": "x"}"#)]).await;
    let (run, _) = server.start("send x").await;
    server.settled(&run).await;
    let listed = server.get_json("/api/approvals").await;
    let path = format!("/api/approvals/{}", listed["approvals"][0]["approval"].as_str().unwrap());
    for body in [
        json!({"decision": "maybe"}),
        json!({}),
        json!({"decision": "expire"}),
        json!({"decision": "outcome", "answer": "happened"}),
    ] {
        let refused = server.post(&path, body.clone()).await;
        assert_eq!(refused.status(), StatusCode::BAD_REQUEST, "{body}");
    }
    let nowhere = "/api/approvals/0190163d-8694-739b-aea5-966c26f8ad91";
    assert_eq!(server.post(nowhere, json!({"decision": "approve"})).await.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn stopping_twice_is_as_good_as_once() {
    let server = TestServer::new([reply(r#"call send {"q": "x"}"#)]).await;
    let (run, _) = server.start("send x").await;
    server.settled(&run).await;
    for _ in 0..2 {
        let stopped = server.post(&format!("/api/runs/{run}/cancel"), json!({})).await;
        assert_eq!(stopped.status(), StatusCode::ACCEPTED);
        assert_eq!(server.settled(&run).await, "cancelled");
    }
}

#[tokio::test]
async fn questions_are_listed_page_by_page() {
    let calls = r#"call send {"q": "a"} | call send {"q": "b"} | call send {"q": "c"}"#;
    let server = TestServer::new([reply(calls)]).await;
    let (run, _) = server.start("send them").await;
    assert_eq!(server.settled(&run).await, "waiting_approval");
    for state in ["pending", "all"] {
        let path = |rest: &str| format!("/api/approvals?state={state}{rest}");
        let all = server.get_json(&path("")).await["approvals"].as_array().unwrap().clone();
        assert_eq!(all.len(), 3, "{state}");
        let first = server.get_json(&path("&limit=2")).await;
        assert_eq!(first["approvals"], json!(all[..2]), "{state}");
        let rest = server.get_json(&path("&limit=2&offset=2&user=local")).await;
        assert_eq!(rest["approvals"], json!(all[2..]), "{state}");
    }
}

#[tokio::test]
async fn broken_edited_arguments_leave_the_question_open() {
    let server = TestServer::new([reply(r#"call send {"q": "x"}"#), reply("say Sent.")]).await;
    let (run, _) = server.start("send x").await;
    server.settled(&run).await;
    let listed = server.get_json("/api/approvals").await;
    let path = format!("/api/approvals/{}", listed["approvals"][0]["approval"].as_str().unwrap());
    for arguments in ["{bad", "[1]", "", "\"x\"", r#"{"nope": 1}"#, r#"{"q": 7}"#] {
        let refused = server.post(&path, json!({"decision": "approve", "arguments": arguments})).await;
        assert_eq!(refused.status(), StatusCode::UNPROCESSABLE_ENTITY, "{arguments}");
        let problem = refused.json::<Value>().await.unwrap();
        assert_eq!(problem["code"], "bad_arguments");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("the question stays open"), "{detail}");
        assert_eq!(detail.contains("field `q`"), arguments.contains('7'), "{detail}");
        assert_eq!(server.get_json(&path).await["state"], "pending");
    }
    let edited = json!({"decision": "approve", "arguments": "{\"q\": \"y\"}"});
    assert_eq!(server.post(&path, edited).await.status(), StatusCode::OK);
    assert_eq!(server.settled(&run).await, "completed");
    assert!(server.model.asked()[1].contains("send y"), "{}", server.model.asked()[1]);
}

#[tokio::test]
async fn a_question_whose_time_is_up_is_told_to_be_over_and_not_answered() {
    let server = TestServer::new([reply(r#"call send {"q": "x"}"#), reply("say Nobody was there.")]).await;
    let (run, _) = server.start("send x").await;
    server.settled(&run).await;
    let listed = server.get_json("/api/approvals").await;
    let path = format!("/api/approvals/{}", listed["approvals"][0]["approval"].as_str().unwrap());
    server.world.clock.advance_ms(helve_types::Question::OPEN_MS);
    // Once as the first to notice, and once after somebody has.
    for _ in 0..2 {
        let late = server.post(&path, json!({"decision": "approve"})).await;
        assert_eq!(late.status(), StatusCode::CONFLICT);
        let problem = late.json::<Value>().await.unwrap();
        assert_eq!(problem["code"], "approval_expired");
        assert!(problem["detail"].as_str().unwrap().contains("its time was up"), "{problem}");
    }
    assert_eq!(server.settled(&run).await, "completed");
    assert_eq!(server.get_json(&path).await["answer"]["decision"], "expire");
}
