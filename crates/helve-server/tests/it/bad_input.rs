//! Bad input gets a clear answer, and the store stays as it was.

use helve_store::{Page, RunFilter, Scope, Views};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::test_server::TestServer;

#[tokio::test]
async fn each_kind_of_bad_request_is_told_what_is_wrong_and_leaves_nothing_behind() {
    let server = TestServer::new([]).await;
    let conversation = "0190163d-8694-739b-aea5-966c26f8ad91";
    // path, body, status, code, and a word that the detail must have
    let table = [
        ("/api/chat", json!({"message": "hi", "modelType": "gpt-9"}), 404, "unknown_model", "`scripted`"),
        ("/api/chat", json!({"message": "hi", "agent": "nobody"}), 404, "unknown_agent", "`clerk`"),
        ("/api/chat", json!({}), 400, "bad_body", "`message`"),
        ("/api/chat", json!({"message": "a", "messages": []}), 400, "bad_body", "not both"),
        ("/api/chat", json!({"message": "  "}), 400, "empty_message", "empty"),
        ("/api/chat", json!({"messages": []}), 400, "empty_message", "empty"),
        ("/api/chat", json!({"messages": [{"role": "robot", "content": "x"}]}), 400, "bad_role", "message 1"),
        ("/api/chat", json!({"message": 5}), 400, "bad_body", "string"),
        ("/api/chat", json!({"message": "hi", "userId": "a\u{7}"}), 400, "bad_user", "user id"),
        (
            "/api/chat",
            json!({"message": "hi", "conversationId": conversation}),
            404,
            "not_found",
            "conversation",
        ),
        ("/api/chat", json!({"message": "hi", "conversationId": "?"}), 404, "not_found", "conversation"),
        (
            "/api/chat",
            json!({"message": "hi", "config": {"mode": "magic"}}),
            400,
            "bad_mode",
            "`chat`, `native`",
        ),
        ("/api/chat", json!({"message": "hi", "config": {"calls": "text"}}), 400, "bad_body", "content"),
        ("/api/chat", json!({"message": "hi", "tool_choice": "maybe"}), 400, "bad_tool_choice", "`required`"),
        ("/api/agent", json!({"message": "hi", "tool_choice": {}}), 400, "bad_tool_choice", "function"),
        (
            "/api/runs",
            json!({"message": "hi", "tool_choice": {"name": "nix"}}),
            400,
            "unknown_tool",
            "`look`",
        ),
        (
            "/api/chat",
            json!({"message": "hi", "config": {"mode": "prompt:nix"}}),
            400,
            "unknown_profile",
            "nix",
        ),
        (
            "/api/chat",
            json!({"message": "hi", "tools": [{"name": "has space"}]}),
            400,
            "bad_tool",
            "has space",
        ),
        (
            "/api/chat",
            json!({"message": "hi", "tools": [{"name": "f", "parameters": {"type": "array"}}]}),
            400,
            "bad_tool",
            "object",
        ),
        (
            "/api/chat",
            json!({"message": "hi", "tools": [{"name": "look"}]}),
            400,
            "bad_tool",
            "`look` is a tool of this server",
        ),
        (
            "/api/runs",
            json!({"message": "hi", "tools": [{"name": "f"}, {"name": "f"}]}),
            400,
            "bad_tool",
            "`f`",
        ),
        ("/api/chat", json!({"messages": [{"role": "tool", "content": "x"}]}), 400, "no_question", "`user`"),
        (
            "/api/chat",
            json!({"messages": [{"role": "system", "content": "x"}]}),
            400,
            "no_question",
            "`user`",
        ),
        (
            "/api/chat",
            json!({"messages": [{"role": "system", "content": "x"}, {"role": "assistant", "content": "y"}]}),
            400,
            "no_question",
            "`user`",
        ),
        ("/api/agent", json!({"stream": true}), 400, "bad_body", "message"),
        ("/api/runs", json!({"message": "hi", "modle": "m"}), 400, "unknown_field", "`modle`"),
        ("/api/runs", json!([1, 2]), 400, "bad_body", "the body must be an object, not an array"),
        ("/api/runs", json!({"message": 7}), 400, "bad_body", "`message` must be a string, not a number"),
        ("/api/runs", json!({"message": "hi", "client_tools": []}), 400, "unknown_field", "`client_tools`"),
        (
            "/api/approvals/f3484b7a-b5ab-4983-b9a7-ae81674334f9",
            json!({"decision": "approve", "arguments": {"q": "x"}}),
            400,
            "bad_body",
            "`arguments` must be a string or null, not an object",
        ),
        ("/api/tool-system/reset", json!({"tool": "nothing"}), 404, "not_found", "tool"),
        ("/api/tool-system/reset", json!({"what": ["all"]}), 400, "bad_body", "`what[0]` must be"),
    ];
    for (path, body, status, code, word) in table {
        let response = server.post(path, body.clone()).await;
        assert_eq!(response.status().as_u16(), status, "{path} {body}");
        assert_eq!(response.headers()["content-type"], "application/problem+json");
        let problem: Value = response.json().await.unwrap();
        assert_eq!(problem["code"], code, "{path} {body}: {problem}");
        assert!(problem["detail"].as_str().unwrap().contains(word), "{path} {body}: {problem}");
    }
    assert_eq!(server.store.runs(Scope::Everyone, RunFilter::default(), Page::first(9)).await.unwrap(), []);
    assert_eq!(server.store.conversations(Scope::Everyone, Page::first(9)).await.unwrap(), []);
}

#[tokio::test]
async fn broken_json_and_wrong_types_of_body_are_refused() {
    let server = TestServer::new([]).await;
    let send = |kind: &'static str, body: &'static str| {
        server.request(Method::POST, "/api/chat").header("content-type", kind).body(body).send()
    };
    let broken = send("application/json", r#"{"message": "hi"#).await.unwrap();
    assert_eq!(broken.status(), StatusCode::BAD_REQUEST);
    assert!(broken.text().await.unwrap().contains("line 1 column"));
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
        assert_eq!(
            send(kind, r#"{"message": "hi"}"#).await.unwrap().status(),
            StatusCode::UNSUPPORTED_MEDIA_TYPE
        );
    }
    let bare = server.request(Method::POST, "/api/chat").body("{}").send().await.unwrap();
    assert_eq!(bare.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
}

#[tokio::test]
async fn a_body_of_five_megabytes_is_too_large() {
    let server = TestServer::new([]).await;
    let response = server.post("/api/chat", json!({"message": "x".repeat(5 << 20)})).await;
    assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
    let problem: Value = response.json().await.unwrap();
    assert_eq!(problem["code"], "body_too_large");
}

#[tokio::test]
async fn a_wrong_address_or_method_is_told_so() {
    let server = TestServer::new([]).await;
    let nowhere = server.get("/api/nothing").await;
    assert_eq!(nowhere.status(), StatusCode::NOT_FOUND);
    assert_eq!(nowhere.json::<Value>().await.unwrap()["code"], "no_such_route");
    let query = server.get("/api/conversations?limit=many").await;
    assert_eq!(query.json::<Value>().await.unwrap()["code"], "bad_query");
    let key = server
        .request(Method::POST, "/api/chat")
        .header("idempotency-key", "has blank")
        .json(&json!({"message": "hi"}))
        .send()
        .await
        .unwrap();
    assert_eq!(key.json::<Value>().await.unwrap()["code"], "bad_idempotency_key");
}

#[tokio::test]
async fn the_page_stands_only_at_its_own_addresses() {
    let server = TestServer::new([]).await;
    for (method, path) in [
        (Method::GET, "/metric"),
        (Method::POST, "/mcp"),
        (Method::GET, "/api"),
        (Method::GET, "/v1"),
        (Method::GET, "/c"),
        (Method::GET, "/c/one/two"),
        (Method::GET, "//"),
        (Method::GET, "/index.html"),
    ] {
        let answer = server.request(method.clone(), path).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{method} {path}");
        assert_eq!(answer.headers()["content-type"], "application/problem+json", "{method} {path}");
        assert_eq!(answer.json::<Value>().await.unwrap()["code"], "no_such_route");
    }
    // The page itself may not be in a binary that is only tested; all of its addresses show the same.
    let page = server.get("/").await;
    let (status, page) = (page.status(), page.text().await.unwrap());
    let conversation = server.get("/c/0190163d-8694-739b-aea5-966c26f8ad91").await;
    assert_eq!((conversation.status(), conversation.text().await.unwrap()), (status, page));
    assert_eq!(server.request(Method::HEAD, "/").send().await.unwrap().status(), status);
}

#[tokio::test]
async fn a_wrong_method_is_told_which_ones_are_right() {
    let server = TestServer::new([]).await;
    for (method, path, allowed) in [
        (Method::DELETE, "/api/chat", "POST"),
        (Method::PUT, "/api/runs", "GET,HEAD,POST"),
        (Method::POST, "/healthz", "GET,HEAD"),
        (Method::POST, "/", "GET,HEAD"),
        (Method::POST, "/c/1", "GET,HEAD"),
    ] {
        let answer = server.request(method.clone(), path).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::METHOD_NOT_ALLOWED, "{method} {path}");
        let mut allow: Vec<_> = answer.headers()["allow"].to_str().unwrap().split(',').collect();
        allow.sort_unstable();
        assert_eq!(allow.join(","), allowed, "{method} {path}");
        assert_eq!(answer.headers()["content-type"], "application/problem+json", "{method} {path}");
        assert_eq!(answer.json::<Value>().await.unwrap()["code"], "wrong_method");
    }
}

/// Time stands still but for timers, so ten seconds pass as soon as nothing else happens.
#[tokio::test(start_paused = true)]
async fn a_client_that_never_finishes_its_request_is_let_go() {
    let server = TestServer::new([]).await;
    let address = server.url.strip_prefix("http://").unwrap();
    let mut half = vec![];
    for _ in 0..20 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"POST /api/chat HTTP/1.1\r\nHost: localhost").await.unwrap();
        half.push(stream);
    }
    for mut stream in half {
        let mut rest = vec![];
        // Closed by the server, politely or not.
        _ = stream.read_to_end(&mut rest).await;
        assert!(!String::from_utf8_lossy(&rest).contains("200 OK"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_never_arrives_is_not_waited_for() {
    let server = TestServer::new([]).await;
    let address = server.url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST /api/chat HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = vec![0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(String::from_utf8_lossy(&answer), "HTTP/1.1 408");
}

/// Half a minute passes as soon as nothing more fits into the socket.
#[tokio::test(start_paused = true)]
async fn a_client_that_takes_nothing_of_its_answers_is_let_go() {
    const ASKED: usize = 2_000;
    let server = TestServer::new([]).await;
    let address = server.url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let ask = format!("GET /openapi.json HTTP/1.1\r\nHost: {address}\r\n\r\n");
    // The server stops reading when it cannot write, so this may end with an error too.
    _ = stream.write_all(ask.repeat(ASKED).as_bytes()).await;
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    let mut rest = vec![];
    _ = stream.read_to_end(&mut rest).await;
    let answered = String::from_utf8_lossy(&rest).matches("200 OK").count();
    assert!(answered < ASKED, "{answered} answers were kept for somebody who did not read");
}
