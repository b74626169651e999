//! What a model can do, asked for over the API.

use helve_model::{ModelError, ModelErrorKind, Reply};
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::test_server::TestServer;

fn tokyo() -> Reply {
    Reply::new().call("time", r#"{"zone": "Asia/Tokyo"}"#)
}

#[tokio::test]
async fn a_probed_model_is_listed_with_what_was_found() {
    let both = tokyo().call("time", r#"{"zone": "Europe/London"}"#).done();
    let hello = Reply::new().text("Hello!").done();
    let server = TestServer::new([tokyo().done(), both, tokyo().done(), hello]).await;
    let listed = server.get_json("/api/models").await;
    assert!(listed["models"][0]["profile"].is_null());

    let answer = server.post("/api/models/scripted/probe", json!({})).await;
    assert_eq!(answer.status(), StatusCode::OK);
    let profile: Value = answer.json().await.unwrap();
    assert_eq!(profile["native"]["is"], "yes");
    assert_eq!(profile["questions"], 4);
    let listed = server.get_json("/api/models").await;
    assert_eq!(listed["models"][0]["profile"], profile);
}

#[tokio::test]
async fn a_model_that_cannot_be_asked_says_why_and_one_that_is_not_there_is_not_found() {
    let refused = || Reply::new().fails(ModelError::new(ModelErrorKind::Key, "the key is missing"));
    let server = TestServer::new([refused(), refused()]).await;
    let answer = server.post("/api/models/scripted/probe", json!({})).await;
    assert_eq!(answer.status(), StatusCode::BAD_GATEWAY);
    let problem: Value = answer.json().await.unwrap();
    assert_eq!((&problem["code"], &problem["detail"]), (&json!("model_key"), &json!("the key is missing")));
    let answer = server.post("/api/models/nobody/probe", json!({})).await;
    assert_eq!(answer.status(), StatusCode::NOT_FOUND);
}
