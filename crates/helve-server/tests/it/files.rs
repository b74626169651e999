//! What calls leave behind, over HTTP: files, and outputs that were cut.

use std::sync::Arc;

use helve_store::TokenRights;
use helve_tool::{CallContext, Request, Tool, ToolFuture};
use helve_types::{Effect, OutputFile, ToolOutput, ToolSpec};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::test_server::{ServerOptions, TestServer, reply, spec};

/// Makes a picture, a page and a long text.
struct Draw(ToolSpec);

impl Tool for Draw {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, _: Request<'a>, _: &'a CallContext) -> ToolFuture<'a> {
        let file = |name: &str, media_type: &str, bytes: &[u8]| OutputFile {
            name: name.into(),
            media_type: media_type.into(),
            bytes: bytes.into(),
        };
        let files = vec![
            file("猫.png", "image/png", b"\x89PNG"),
            file("x.html", "text/html", b"<script>alert(1)</script>"),
        ];
        Box::pin(async move { Ok(ToolOutput { files, ..ToolOutput::text("字".repeat(30_000)) }) })
    }
}

async fn server() -> (TestServer, String) {
    let tools: Vec<Arc<dyn Tool>> = vec![Arc::new(Draw(spec("draw", Effect::Read)))];
    let plan = ServerOptions { tools, ..ServerOptions::default() };
    let server =
        TestServer::with_options(plan, [reply(r#"call draw {"q": "cat"}"#), reply("say There.")]).await;
    let (run, _) = server.start("draw a cat").await;
    assert_eq!(server.settled(&run).await, "completed");
    (server, run)
}

async fn output(server: &TestServer, run: &str) -> Value {
    let events = server.get(&format!("/api/runs/{run}/events")).await.text().await.unwrap();
    let lines = events.lines().filter_map(|line| line.strip_prefix("data: "));
    let facts = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
    facts.into_iter().find(|fact| fact["type"] == "tool.finished").unwrap()["output"].clone()
}

#[tokio::test]
async fn a_picture_is_shown_and_a_page_is_only_saved() {
    let (server, run) = server().await;
    let attachments = output(&server, &run).await["attachments"].clone();
    assert_eq!(attachments[0]["bytes"], 4);
    let picture = server.get(attachments[0]["url"].as_str().unwrap()).await;
    assert_eq!(picture.status(), StatusCode::OK);
    let headers = picture.headers().clone();
    assert_eq!(headers["content-type"], "image/png");
    assert_eq!(headers["content-disposition"], "inline; filename*=UTF-8''%E7%8C%AB.png");
    assert_eq!(headers["x-content-type-options"], "nosniff");
    assert_eq!(headers["content-security-policy"], "default-src 'none'; sandbox");
    assert_eq!(headers["cache-control"], "private, max-age=31536000, immutable");
    assert_eq!(&picture.bytes().await.unwrap()[..], b"\x89PNG");
    let again = server
        .request(Method::GET, attachments[0]["url"].as_str().unwrap())
        .header("if-none-match", headers["etag"].clone())
        .send()
        .await
        .unwrap();
    assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
    let page = server.get(attachments[1]["url"].as_str().unwrap()).await;
    assert_eq!(page.headers()["content-type"], "application/octet-stream");
    assert_eq!(page.headers()["content-disposition"], "attachment; filename*=UTF-8''x.html");
}

#[tokio::test]
async fn the_whole_of_a_cut_output_is_read_in_pieces() {
    let (server, run) = server().await;
    assert_eq!(output(&server, &run).await["whole_bytes"], 90_000);
    let path = format!("/api/runs/{run}/calls/{run}:1:0/output");
    let whole = server.get(&path).await;
    assert_eq!(whole.headers()["x-helve-whole-bytes"], "90000");
    assert!(!whole.headers().contains_key("x-helve-next-offset"));
    assert_eq!(whole.text().await.unwrap(), "字".repeat(30_000));
    let (mut read, mut offset) = (String::new(), "0".to_owned());
    loop {
        let piece = server.get(&format!("{path}?offset={offset}&limit=40000")).await;
        let next = piece.headers().get("x-helve-next-offset").map(|at| at.to_str().unwrap().to_owned());
        read.push_str(&piece.text().await.unwrap());
        let Some(next) = next else { break };
        offset = next;
    }
    assert_eq!((read.len(), offset.as_str()), (90_000, "79998"));
}

#[tokio::test]
async fn what_is_not_there_or_not_ones_own_is_not_found() {
    let (server, run) = server().await;
    let url = output(&server, &run).await["attachments"][0]["url"].as_str().unwrap().to_owned();
    let whole = format!("/api/runs/{run}/calls/{run}:1:0/output");
    for path in [
        format!("/api/runs/{run}/files/ffff"),
        format!("/api/runs/{run}/files/%2e%2e"),
        "/api/runs/nonsense/files/ffff".into(),
        format!("/api/runs/{run}/calls/{run}:7:0/output"),
        format!("/api/runs/{run}/calls/0190163d-8694-739b-aea5-966c26f8ad91:1:0/output"),
        format!("/api/runs/{run}/calls/nonsense/output"),
    ] {
        assert_eq!(server.get(&path).await.status(), StatusCode::NOT_FOUND, "{path}");
    }
    assert_eq!(server.get(&format!("{whole}?offset=-1")).await.status(), StatusCode::BAD_REQUEST);
    let eve = server.token("eve", TokenRights::Chat).await;
    let admin = server.token("root", TokenRights::Admin).await;
    for path in [&url, &whole] {
        let status = async |token: &str| {
            server.request(Method::GET, path).bearer_auth(token).send().await.unwrap().status()
        };
        assert_eq!(status(&eve).await, StatusCode::NOT_FOUND, "{path}");
        assert_eq!(status(&admin).await, StatusCode::OK, "{path}");
        assert_eq!(server.get(path).await.status(), StatusCode::UNAUTHORIZED, "{path}");
    }
}

#[tokio::test]
async fn the_chat_stream_shows_what_a_call_made() {
    let tools: Vec<Arc<dyn Tool>> = vec![Arc::new(Draw(spec("draw", Effect::Read)))];
    let plan = ServerOptions { tools, ..ServerOptions::default() };
    let server =
        TestServer::with_options(plan, [reply(r#"call draw {"q": "cat"}"#), reply("say There.")]).await;
    let stream = server.post_text("/api/chat", json!({"message": "draw a cat"})).await;
    let events = stream.lines().filter_map(|line| line.strip_prefix("data: "));
    let events = events.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let made: Vec<Value> = events.filter_map(|event| event.pointer("/tool/attachments").cloned()).collect();
    assert_eq!(made.len(), 1, "{stream}");
    assert_eq!(made[0][0]["name"], "猫.png");
    assert!(made[0][0]["url"].as_str().unwrap().starts_with("/api/runs/ID/files/"), "{stream}");
}
