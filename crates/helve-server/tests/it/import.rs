//! Importing documents: who may, what is asked, and how it is answered. What a document makes is tested where it is read.

use std::sync::{Arc, Mutex};

use helve_server::{ImportFailure, ImportReport, Importer};
use reqwest::StatusCode;
use serde_json::json;

use crate::test_server::{ServerOptions, TestServer};

fn report() -> ImportReport {
    ImportReport {
        title: "Pets".into(),
        version: "1".into(),
        openapi: "3.1.0".into(),
        tag: "openapi:pets".into(),
        servers: vec![],
        operations: 0,
        made: false,
        held_back: None,
        tools: vec![],
        skipped: vec![],
        gone: vec![],
        document_hash: String::new(),
        notes: vec![],
        secrets: vec![],
    }
}

#[tokio::test]
async fn what_is_asked_reaches_the_importer_and_its_report_comes_back() {
    let heard = Arc::new(Mutex::new(vec![]));
    let hears = heard.clone();
    let importer: Box<Importer> = Box::new(move |asked, by| {
        hears.lock().unwrap().push((asked.preview, asked.select.tags.clone(), by));
        let failure = asked.url.map(|url| match url.as_str() {
            "nowhere" => ImportFailure::Fetch("nobody there".into()),
            _ => ImportFailure::Wrong("no document".into()),
        });
        Box::pin(async move { failure.map_or(Ok(report()), Err) })
    });
    let options = ServerOptions {
        change_parts: Some(Box::new(|parts, _| parts.importer = Some(importer))),
        ..ServerOptions::default()
    };
    let server = TestServer::with_options(options, []).await;
    let path = "/api/tools/import-openapi";
    // A document may be larger than other bodies.
    let large =
        json!({"document": {"openapi": "3.1.0", "x-large": "x".repeat(2 << 20)}, "select": {"tags": ["a"]}});
    let answer = server.post(path, large).await;
    assert_eq!(answer.status(), StatusCode::OK);
    assert_eq!(answer.json::<serde_json::Value>().await.unwrap()["tag"], "openapi:pets");
    for (body, status, code) in [
        (json!({"url": "nowhere", "preview": false}), StatusCode::BAD_GATEWAY, "document_not_fetched"),
        (json!({"url": "wrong"}), StatusCode::BAD_REQUEST, "bad_document"),
        (json!({}), StatusCode::BAD_REQUEST, "bad_body"),
        (json!({"url": "x", "document": {}}), StatusCode::BAD_REQUEST, "bad_body"),
        (json!({"url": "x", "invented": 1}), StatusCode::BAD_REQUEST, "unknown_field"),
    ] {
        let answer = server.post(path, body).await;
        assert_eq!(answer.status(), status);
        assert_eq!(answer.json::<serde_json::Value>().await.unwrap()["code"], code);
    }
    let heard = heard.lock().unwrap();
    assert_eq!(heard.len(), 3);
    assert_eq!(
        (heard[0].0, &heard[0].1[..]),
        (true, &["a".to_owned()][..]),
        "a preview unless said otherwise"
    );
    assert!(!heard[1].0);
}

#[tokio::test]
async fn a_server_that_imports_nothing_says_so() {
    let server = TestServer::new(vec![]).await;
    let answer = server.post("/api/tools/import-openapi", json!({"document": {}})).await;
    assert_eq!(answer.status(), StatusCode::NOT_IMPLEMENTED);
}
