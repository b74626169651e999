//! Speaking to a run over HTTP.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::test_server::{TestServer, reply};

#[tokio::test]
async fn a_message_to_a_run_is_kept_once_and_heard() {
    let server = TestServer::new([reply(r#"call send {"q": "x"}"#), reply("say Sent.")]).await;
    let (run, _) = server.start("send x").await;
    server.settled(&run).await;
    let path = format!("/api/runs/{run}/messages");
    let key = || server.request(reqwest::Method::POST, &path).header("Idempotency-Key", "k1");
    let first = key().json(&json!({"text": "be quick"})).send().await.unwrap();
    assert_eq!(first.status(), StatusCode::ACCEPTED);
    let first: Value = first.json().await.unwrap();
    let second: Value = key().json(&json!({"text": "be quick"})).send().await.unwrap().json().await.unwrap();
    assert_eq!(first["message"], second["message"]);
    let other = key().json(&json!({"text": "be slow"})).send().await.unwrap();
    assert_eq!(other.status(), StatusCode::UNPROCESSABLE_ENTITY);

    let listed = server.get_json("/api/approvals").await;
    let approval = format!("/api/approvals/{}", listed["approvals"][0]["approval"].as_str().unwrap());
    server.post(&approval, json!({"decision": "approve"})).await;
    assert_eq!(server.settled(&run).await, "completed");
    let asked = &server.model.asked()[1];
    assert_eq!(asked.matches("user: be quick").count(), 1, "{asked}");

    let late = server.post(&path, json!({"text": "too late"})).await;
    assert_eq!(late.status(), StatusCode::CONFLICT);
    let late: Value = late.json().await.unwrap();
    assert_eq!((&late["code"], &late["detail"]), (&json!("run_over"), &json!("the run is over")));
}

#[tokio::test]
async fn a_message_that_makes_no_sense_is_refused() {
    let server = TestServer::new([reply(r#"call send {"q": "x"}"#)]).await;
    let (run, _) = server.start("send x").await;
    server.settled(&run).await;
    let path = format!("/api/runs/{run}/messages");
    for (body, status, code) in [
        (json!({"text": " "}), 400, "empty_message"),
        (json!({"text": "x".repeat(70_000)}), 413, "message_too_long"),
    ] {
        let refused = server.post(&path, body).await;
        assert_eq!(refused.status().as_u16(), status);
        assert_eq!(refused.json::<Value>().await.unwrap()["code"], code);
    }
    for body in [json!({}), json!({"text": "hi", "id": "no id"})] {
        assert_eq!(server.post(&path, body.clone()).await.status(), StatusCode::BAD_REQUEST, "{body}");
    }
    let nowhere = "/api/runs/0190163d-8694-739b-aea5-966c26f8ad91/messages";
    assert_eq!(server.post(nowhere, json!({"text": "hi"})).await.status(), StatusCode::NOT_FOUND);
}
