//! Tools against a server of our own, over real TCP.

mod documented;
mod guarded;
mod preview;

use std::sync::{Arc, Mutex};

use expect_test::{Expect, expect};
use helve_tool::Progress;
use helve_types::CallId;

use super::*;
use crate::testing::{SECRET, TestHttpServer, TestReply, context, definition, response, tools};

const JSON: &str = "content-type: application/json\r\n";

fn here() -> Value {
    json!({"city": "Oslo"})
}

async fn check(server: &TestHttpServer, changes: Value, expected: Expect) {
    let called = server.call("/v1/{city}", changes, here()).await;
    expected.assert_eq(&match called {
        Ok(output) => output.text,
        Err(error) => format!("{:?}", error.without_notice()),
    });
}

async fn check_status(status: &str, headers: &str, body: &str, changes: Value, expected: Expect) {
    check(&TestHttpServer::saying(status, headers, body).await, changes, expected).await;
}

#[tokio::test]
async fn a_call_asks_what_the_row_says_and_gives_what_comes() {
    let server = TestHttpServer::json(json!({"temperature": 7, "sky": "clear"})).await;
    let output = server
        .call(
            "/v1/{city}/now",
            json!({"endpoint": {"query": {"lang": "en"}}}),
            json!({"city": "Oslo", "units": "metric"}),
        )
        .await
        .unwrap();
    assert_eq!(output.text, r#"{"sky":"clear","temperature":7}"#);
    assert_eq!(output.data, Some(json!({"temperature": 7, "sky": "clear"})));
    assert_eq!(output.title.as_deref(), Some("GET 127.0.0.1/v1/Oslo/now"));
    let metadata = output.metadata.unwrap();
    assert_eq!(metadata["status"], 200);
    assert_eq!(metadata["bytes"], 31);
    assert_eq!(metadata["content_type"], "application/json");
    assert_eq!(metadata["url"], format!("{}/v1/Oslo/now", server.url));
    let heard = server.heard().remove(0).to_lowercase();
    assert!(heard.starts_with("get /v1/oslo/now?lang=en&units=metric http/1.1\r\n"), "{heard}");
    assert!(heard.contains("\r\naccept: application/json, text/plain;q=0.9, */*;q=0.5\r\n"), "{heard}");
    assert!(!heard.contains("idempotency-key") && !heard.contains("authorization"), "{heard}");
}

#[tokio::test]
async fn credentials_go_where_the_row_says_and_are_never_told() {
    for (auth, sent) in [
        (json!({"type": "bearer", "secret": "weather"}), format!("authorization: bearer {SECRET}")),
        (json!({"type": "api_key", "secret": "weather", "name": "X-Key"}), format!("x-key: {SECRET}")),
        (
            json!({"type": "api_key", "secret": "weather", "name": "appid", "in": "query"}),
            format!("?appid={SECRET}"),
        ),
        (
            json!({"type": "basic", "username": "mei", "secret": "weather"}),
            "authorization: basic bwvpomnhbmfyes0wmtizndu2nzg5lxnly3jlda==".to_owned(),
        ),
    ] {
        let server = TestHttpServer::new(TestReply::Echo).await;
        let output = server.call("/v1/{city}", json!({"endpoint": {"auth": auth}}), here()).await.unwrap();
        let heard = server.heard().remove(0).to_lowercase();
        assert!(heard.contains(&sent), "{heard}");
        let told = format!("{output:?}");
        assert!(!told.contains(SECRET) && !told.contains("bWVpOmNhbmFy"), "{told}");
        assert!(told.contains("/v1/Oslo"), "{told}");
    }
}

#[tokio::test]
async fn errors_say_no_secret_either() {
    let auth = json!({"endpoint": {"auth": {"type": "bearer", "secret": "weather"}}});
    let body = format!("{{\"error\": \"the token {SECRET} is wrong\"}}");
    check_status("401 Unauthorized", JSON, &body, auth, expect![[r#"Declined("the other side does not know who is asking (401): the token [secret] is wrong; answer without it and say so. Operator: check the tool's `auth` and its secret")"#]]).await;
}

#[tokio::test]
async fn the_key_of_a_call_is_its_id_in_every_attempt() {
    let server = TestHttpServer::json(json!({})).await;
    let cx = context();
    let put = json!({"endpoint": {"method": "PUT"}, "effect": "idempotent"});
    let post = |header: Value| json!({"endpoint": {"method": "POST", "idempotency_header": header}});
    let own = json!({"endpoint": {"method": "POST", "headers": {"Idempotency-Key": "{city}"}}});
    for changes in [
        put.clone(),
        put,
        json!({"endpoint": {"method": "POST"}}),
        json!({"endpoint": {"method": "DELETE"}}),
        post(json!("X-Request-Key")),
        own,
        post(json!("")),
        post(json!(null)),
        json!({"endpoint": {"method": "POST"}, "effect": "read"}),
    ] {
        server.call_in(&cx, "/v1/{city}", changes, here()).await.unwrap();
    }
    let keys: Vec<Option<String>> = server
        .heard()
        .iter()
        .map(|heard| {
            let keys = heard.lines().filter_map(|line| line.split_once(": "));
            keys.into_iter()
                .find(|(name, _)| name.contains("-key"))
                .map(|(name, key)| format!("{name} {key}"))
        })
        .collect();
    let id = CallId::new(cx.run, 1, 0);
    let usual = || Some(format!("idempotency-key {id}"));
    let (named, own) = (Some(format!("x-request-key {id}")), Some("idempotency-key Oslo".to_owned()));
    assert_eq!(keys, [usual(), usual(), usual(), usual(), named, own, None, None, None]);
}

#[tokio::test]
async fn every_status_is_told_for_what_it_is() {
    let none = json!({});
    check_status("200 OK", JSON, "", none.clone(), expect!["The answer is empty (status 200)."]).await;
    check_status("204 No Content", "", "", none.clone(), expect!["The answer is empty (status 204)."]).await;
    check_status("301 Moved Permanently", "location: http://169.254.169.254/latest\r\n", "", none.clone(), expect![[r#"Declined("the other side says that this has moved, which is not followed (301); answer without it. Operator: correct the tool's address, or let it follow `redirects`")"#]]).await;
    check_status("400 Bad Request", JSON, r#"{"error": {"message": "`city` is unknown."}}"#, none.clone(), expect![[r#"Declined("the other side does not understand these arguments (400): `city` is unknown; correct the arguments and call again")"#]]).await;
    check_status("404 Not Found", "content-type: text/html\r\n", "<html><head><title>404: nothing here</title></head>", none.clone(), expect![[r#"Declined("the other side has nothing there (404): 404: nothing here; check the arguments: what they name may not exist. Operator: if it does, check the tool's address")"#]]).await;
    check_status("422 Unprocessable", "content-type: application/problem+json\r\n", r#"{"title": "Invalid", "detail": "bad city", "errors": [{"field": "city"}]}"#, none.clone(), expect![[r#"Declined("the other side does not understand these arguments (422): bad city [{\"field\":\"city\"}]; correct the arguments and call again")"#]]).await;
    check_status(
        "429 Too Many Requests",
        "retry-after: 7\r\n",
        "slow down",
        none.clone(),
        expect![[
            r#"Busy { message: "the other side is asked too often (429): slow down", retry_after: Some(7s) }"#
        ]],
    )
    .await;
    check_status(
        "500 Internal Server Error",
        "content-type: text/plain\r\n",
        "it\r\nbroke\u{7}",
        none.clone(),
        expect![[r#"Lost("the other side failed (500): it broke")"#]],
    )
    .await;
    check_status(
        "503 Service Unavailable",
        "",
        "",
        none.clone(),
        expect![[r#"Lost("the other side is not available (503)")"#]],
    )
    .await;
    check_status(
        "503 Service Unavailable",
        "retry-after: 2\r\n",
        "",
        none,
        expect![[r#"Busy { message: "the other side is not available (503)", retry_after: Some(2s) }"#]],
    )
    .await;
    let wary = json!({"endpoint": {"busy_is_not_done": false}, "breaker": {"failure_statuses": [404]}});
    check_status(
        "429 Too Many Requests",
        "retry-after: 7\r\n",
        "",
        wary.clone(),
        expect![[r#"Lost("the other side is asked too often (429)")"#]],
    )
    .await;
    check_status("404 Not Found", "", "", wary, expect![[r#"Ailing("the other side has nothing there (404); check the arguments: what they name may not exist. Operator: if it does, check the tool's address")"#]]).await;
}

#[tokio::test]
async fn a_reason_is_bounded() {
    let server =
        TestHttpServer::saying("400 Bad Request", "content-type: text/plain\r\n", "no ".repeat(100_000))
            .await;
    let error = server.call("/v1/{city}", json!({}), here()).await.unwrap_err().to_string();
    assert!(error.len() < 1_300 && error.contains("no no no"), "{}", error.len());
}

#[tokio::test]
async fn a_reason_that_does_not_come_is_not_waited_for() {
    let head = b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 3\r\ncontent-length: 50\r\n\r\nslow";
    let server = TestHttpServer::new(TestReply::SayAndHang(head.to_vec())).await;
    let error = server.call("/v1/{city}", json!({}), here()).await.unwrap_err().without_notice();
    let pause = Some(Duration::from_secs(3));
    assert!(matches!(&error, ToolError::Busy { retry_after, .. } if *retry_after == pause), "{error:?}");
}

#[tokio::test]
async fn what_cannot_be_reached_was_not_sent() {
    // A port where nobody listens.
    let (tool, _) = tools()
        .build_tool(
            &{
                let mut definition = definition(json!({}));
                definition.endpoint.url_template = "http://127.0.0.1:1/{city}".into();
                definition
            },
            &Arc::default(),
        )
        .unwrap();
    let error = tool.call(Request { arguments: &here() }, &context()).await.unwrap_err().without_notice();
    assert!(matches!(error, ToolError::NotSent(_)), "{error:?}");
}

#[tokio::test]
async fn a_redirect_is_followed_only_if_the_row_says_so_and_never_to_where_nobody_may_go() {
    let server =
        TestHttpServer::saying("302 Found", "location: http://169.254.169.254/latest/meta-data\r\n", "")
            .await;
    check(&server, json!({"endpoint": {"redirects": 3}}), expect![[r#"Declined("the answer is a redirect, and `169.254.169.254` is not on the public internet, and only public places are reached; do not try other spellings of it. Operator: if it is meant to be reached, set `allow = [\"169.254.169.254\"]` in `[egress]`. Answer without this tool and say so")"#]]).await;
    let there = TestHttpServer::json(json!("there")).await;
    let server = TestHttpServer::saying("302 Found", &format!("location: {}/x\r\n", there.url), "").await;
    check(&server, json!({"endpoint": {"redirects": 1}}), expect!["there"]).await;
}

#[tokio::test]
async fn what_is_not_json_is_said_to_be_none() {
    let page = "<!doctype html><html><body>Sign in</body></html>";
    let html = "content-type: text/html; charset=utf-8\r\n";
    let picky = json!({"response_transform": {"path": "temperature"}});
    check_status(
        "200 OK",
        html,
        page,
        picky.clone(),
        expect![[
            r#"Ailing("the answer is a web page, not JSON. Operator: look at what its address answers")"#
        ]],
    )
    .await;
    check_status(
        "200 OK",
        html,
        page,
        json!({"endpoint": {"headers": {"Accept": "application/json"}}}),
        expect![[
            r#"Ailing("the answer is a web page, not JSON. Operator: look at what its address answers")"#
        ]],
    )
    .await;
    check_status(
        "200 OK",
        html,
        page,
        json!({}),
        expect!["<!doctype html><html><body>Sign in</body></html>"],
    )
    .await;
    check_status("200 OK", html, r#"{"temperature": 7}"#, picky.clone(), expect!["7"]).await;
    check_status("200 OK", JSON, "{\"temperature\": ", picky.clone(), expect![[r#"Ailing("the answer cannot be used: this is no valid JSON (EOF while parsing a value at line 1 column 16). Operator: look at what its address answers")"#]]).await;
    check_status("200 OK", "content-type: image/png\r\n", "PNG", picky.clone(), expect![[r#"Ailing("the answer is a file (image/png), not JSON. Operator: look at what its address answers")"#]]).await;
    check_status("200 OK", JSON, r#"{"temp": 7}"#, picky, expect![[r#"Declined("the transform of this tool does not fit its answer: the answer has no `temperature` in it, which is an object with temp; answer without this tool and say so. Operator: correct its `response_transform`")"#]]).await;
    check_status("200 OK", JSON, &"[".repeat(1_000), json!({}), expect![[r#"Ailing("the answer cannot be used: the JSON is nested deeper than 64 levels. Operator: look at what its address answers")"#]]).await;
}

#[tokio::test]
async fn what_a_path_picks_stays_as_it_was_written() {
    let body = r#"{"w": [{"z": 2.50, "a": 1}]}"#;
    for (path, expected) in
        [("w.0", expect![[r#"{"z":2.50,"a":1}"#]]), ("w.0.z", expect!["2.50"]), ("w[-1].z", expect!["2.50"])]
    {
        check_status("200 OK", JSON, body, json!({"response_transform": {"path": path}}), expected).await;
    }
    check_status("200 OK", JSON, body, json!({}), expect![[r#"{"w":[{"z":2.50,"a":1}]}"#]]).await;
    let lines = "content-type: application/x-ndjson\r\n";
    let body = "{\"z\": 2.50, \"a\": 1}\n\n{\"z\": 1e3}\n";
    check_status("200 OK", lines, body, json!({}), expect![[r#"[{"z":2.50,"a":1},{"z":1e3}]"#]]).await;
}

#[tokio::test]
async fn an_answer_in_utf_16_is_decoded_once() {
    // The bytes of "你好" in UTF-16LE are these four letters in ASCII.
    let utf16 = "content-type: text/plain; charset=utf-16le\r\n";
    check_status("200 OK", utf16, "`O}Y", json!({}), expect!["你好"]).await;
}

#[tokio::test]
async fn what_was_done_is_never_told_as_failed() {
    let html = "content-type: text/html\r\n";
    let post = json!({"endpoint": {"method": "POST"}, "response_transform": {"path": "id"}});
    check_status("201 Created", html, "<html>", post.clone(), expect!["It was done (status 201), but the answer is a web page, not JSON. Do not call again for the same."]).await;
    check_status("201 Created", JSON, r#"{"number": 7}"#, post.clone(), expect![[r#"It was done (status 201), but the transform of this tool does not fit its answer: the answer has no `id` in it, which is an object with number. Do not call again for the same. The whole answer: {"number":7}"#]]).await;
    check_status(
        "204 No Content",
        "",
        "",
        post.clone(),
        expect!["Done (status 204); there is no further answer."],
    )
    .await;
    let server = TestHttpServer::saying("200 OK", JSON, "0".repeat(2 << 20)).await;
    check(&server, post.clone(), expect!["It was done (status 200), but the answer is larger than 1 MiB and was not read. Do not call again for the same."]).await;
    // These never said that it was done, nor that it was not.
    check_status("303 See Other", "location: /orders/7\r\n", "", post.clone(), expect![[r#"Lost("the other side says that this has moved, which is not followed (303); many answer like this once it is done, so do not repeat it. Operator: let the tool follow `redirects`")"#]]).await;
    check_status("502 Bad Gateway", "", "", post, expect![[r#"Lost("the other side failed (502)")"#]]).await;
}

#[tokio::test]
async fn an_answer_without_end_is_read_to_its_bound() {
    let server = TestHttpServer::new(TestReply::Flood(JSON)).await;
    check(
        &server,
        json!({}),
        expect![[r#"Declined("the answer is larger than 1 MiB and was not read; ask for less")"#]],
    )
    .await;
    let server = TestHttpServer::new(TestReply::Flood("content-type: application/zip\r\n")).await;
    check(
        &server,
        json!({}),
        expect![[r#"Declined("the answer is larger than 8388608 bytes and was not read; ask for less")"#]],
    )
    .await;
    let huge = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 104857600\r\n\r\n[";
    let server = TestHttpServer::new(TestReply::SayAndHang(huge.to_vec())).await;
    check(
        &server,
        json!({}),
        expect![[r#"Declined("the answer is larger than 1 MiB and was not read; ask for less")"#]],
    )
    .await;
}

#[tokio::test]
async fn an_answer_that_stops_is_lost() {
    let half = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 50\r\n\r\n[1,";
    check(
        &TestHttpServer::new(TestReply::Say(half.to_vec())).await,
        json!({}),
        expect![[r#"Lost("`127.0.0.1`: the answer broke off")"#]],
    )
    .await;
    let slow = json!({"endpoint": {"timeout_ms": 100}});
    late(TestReply::SayAndHang(half.to_vec()), slow.clone()).await;
    late(TestReply::SayAndHang(vec![]), slow).await;
}

/// Which part of it was late depends on how busy the machine is.
async fn late(reply: TestReply, changes: Value) {
    let error = TestHttpServer::new(reply)
        .await
        .call("/v1/{city}", changes, here())
        .await
        .unwrap_err()
        .without_notice();
    assert!(matches!(&error, ToolError::Lost(why) if why.contains("in time")), "{error:?}");
}

#[tokio::test]
async fn what_is_no_text_becomes_a_file() {
    let server = TestHttpServer::saying("200 OK", "content-type: image/png\r\n", b"\x89PNG\r\n\x1a\n").await;
    let output = server.call("/maps/{city}.png", json!({}), here()).await.unwrap();
    assert_eq!(output.text, "The answer is a file: `Oslo.png` (image/png, 8 bytes). The user can open it.");
    assert_eq!(output.files[0].bytes, b"\x89PNG\r\n\x1a\n");
    let output = server.call("/maps/{city}", json!({}), here()).await.unwrap();
    assert_eq!(
        (output.files[0].name.as_str(), output.files[0].media_type.as_str()),
        ("weather.png", "image/png")
    );
}

#[tokio::test]
async fn answers_are_transformed() {
    let body = r#"{"data": {"items": [{"name": "a", "id": 2}, {"name": "b", "id": 1}], "text": "hello"}}"#;
    for (transform, text) in [
        (json!({"path": "data.items.1.name"}), "b"),
        (json!({"path": "/data/items/0"}), r#"{"name":"a","id":2}"#),
        (json!({"jq": ".data.items | sort_by(.id) | map(.name)"}), r#"["b","a"]"#),
        (json!({"jq": ".data.items[] | \"\\(.id): \\(.name)\""}), "2: a\n1: b"),
        (
            json!({"jq": ".data.items[] | select(.id > 5)"}),
            "The answer has nothing that this tool picks from it.",
        ),
        (json!({"jq": ".data.text"}), "hello"),
    ] {
        let server = TestHttpServer::saying("200 OK", JSON, body).await;
        let output =
            server.call("/v1/{city}", json!({"response_transform": transform}), here()).await.unwrap();
        assert_eq!(output.text, text, "{transform}");
    }
    check_status("200 OK", JSON, body, json!({"response_transform": {"jq": "[range(1e9)]"}}), expect![[r#"Declined("the transform of this tool does not fit its answer: it takes too many steps; answer without this tool and say so. Operator: correct its `response_transform`")"#]]).await;
    check_status("200 OK", JSON, body, json!({"response_transform": {"jq": ".", "bytes_max": 20}}), expect![[r#"Declined("the transform of this tool does not fit its answer: what it picks has 75 bytes, and 20 is the most (`bytes_max`); answer without this tool and say so. Operator: correct its `response_transform`")"#]]).await;
}

#[tokio::test]
async fn a_head_tells_what_is_there() {
    let server =
        TestHttpServer::saying("200 OK", "content-type: text/html\r\netag: \"x\"\r\nx-other: 1\r\n", "")
            .await;
    check(
        &server,
        json!({"endpoint": {"method": "HEAD"}}),
        expect![[r#"{"content-length":"0","content-type":"text/html","etag":"\"x\""}"#]],
    )
    .await;
}

#[tokio::test]
async fn a_breaking_line_never_reaches_the_wire() {
    let server = TestHttpServer::json(json!({})).await;
    let changes = json!({"endpoint": {"headers": {"X-City": "{city}"}}});
    for value in ["a\r\nX-Evil: 1", "a\nb", "a\0b"] {
        let error =
            server.call("/v1/", changes.clone(), json!({"city": value})).await.unwrap_err().without_notice();
        assert!(matches!(error, ToolError::Declined(_)), "{error:?}");
    }
    server.call("/v1/?q={city}", json!({}), json!({"city": "a\r\nX-Evil: 1"})).await.unwrap();
    let heard = server.heard();
    assert_eq!(heard.len(), 1);
    assert!(heard[0].starts_with("GET /v1/?q=a%0D%0AX-Evil%3A%201 HTTP/1.1\r\n"), "{}", heard[0]);
}

/// What is reported while it comes, and what is told at the end.
async fn check_stream(headers: &str, pieces: &[&str], changes: Value, expected: Expect) {
    let head = format!("HTTP/1.1 200 OK\r\nconnection: close\r\n{headers}\r\n");
    let pieces =
        std::iter::once(head.as_str()).chain(pieces.iter().copied()).map(|piece| piece.into()).collect();
    let server = TestHttpServer::new(TestReply::Pieces(pieces)).await;
    let reported = Arc::<Mutex<Vec<String>>>::default();
    let notes = reported.clone();
    let mut cx = context();
    cx.progress = Progress::new(move |piece| notes.lock().unwrap().push(piece.to_owned()));
    let mut all = json!({"type": "streamable"});
    all.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    let told = match server.call_in(&cx, "/v1/{city}", all, here()).await {
        Ok(output) => format!("{}\n{}", output.text, output.data.unwrap_or_default()),
        Err(error) => format!("{:?}", error.without_notice()),
    };
    // How pieces of text are cut is the network's business.
    let reported = reported.lock().unwrap().concat();
    expected.assert_eq(&format!("{reported:?}\n{told}"));
}

#[tokio::test]
async fn streams_are_shown_as_they_come_and_told_whole() {
    let events = "content-type: text/event-stream\r\n";
    let deltas = [
        ": hello\n\ndata: {\"d\": \"He\"}\n\nda",
        "ta: {\"d\": \"llo\"}\n\nevent: ping\ndata: {}\n\n",
        "data: [DONE]\n\n",
    ];
    check_stream(
        events,
        &deltas,
        json!({"response_transform": {"jq": ".d // empty"}}),
        expect![[r#"
        "Hello"
        Hello
        "Hello""#]],
    )
    .await;
    check_stream(
        events,
        &deltas,
        json!({"response_transform": {"path": "d"}}),
        expect![[r#"
        "Hello"
        Hello
        "Hello""#]],
    )
    .await;
    check_stream(
        events,
        &deltas,
        json!({}),
        expect![[r#"
        "{\"d\":\"He\"}\n{\"d\":\"llo\"}\n{}\n"
        {"d":"He"}
        {"d":"llo"}
        {}
        [{"d":"He"},{"d":"llo"},{}]"#]],
    )
    .await;
    check_stream(
        events,
        &["data: one\ndata: two\n\ndata: three"],
        json!({}),
        expect![[r#"
        "one\ntwo\nthree\n"
        one
        two
        three
        null"#]],
    )
    .await;
    check_stream(events, &["data: {\"e\": 1}\n\n"], json!({"response_transform": {"path": "d"}}), expect![[r#"
        ""
        Declined("nothing in the stream fits this tool: the answer has no `d` in it, which is an object with e; answer without this tool and say so. Operator: correct its `response_transform`")"#]]).await;
    let lines = "content-type: application/x-ndjson\r\n";
    check_stream(
        lines,
        &["{\"n\":1}\n{\"n\"", ":2}\r\n\n{\"n\":3}"],
        json!({}),
        expect![[r#"
        "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n"
        {"n":1}
        {"n":2}
        {"n":3}
        [{"n":1},{"n":2},{"n":3}]"#]],
    )
    .await;
    check_stream(
        lines,
        &["{\"n\":1}\n{\"n\":2}\n"],
        json!({"response_transform": {"jq": ".n * 10"}}),
        expect![[r#"
        "10\n20\n"
        10
        20
        [10,20]"#]],
    )
    .await;
    let text = "content-type: text/plain; charset=utf-8\r\n";
    check_stream(
        text,
        &["Es war ein", "mal ein K\u{f6}nig", ".\n"],
        json!({}),
        expect![[r#"
        "Es war einmal ein König.\n"
        Es war einmal ein König.

        null"#]],
    )
    .await;
    check_stream(
        JSON,
        &["{\"a\":", " 1}"],
        json!({}),
        expect![[r#"
        ""
        {"a":1}
        {"a":1}"#]],
    )
    .await;
    check_stream(
        text,
        &[&format!("the key is {SECRET} "), "or ", &SECRET[..10], &SECRET[10..], "."],
        json!({}),
        expect![[r#"
        "the key is [secret] or [secret]."
        the key is [secret] or [secret].
        null"#]],
    )
    .await;
}

#[tokio::test]
async fn a_stream_has_an_end_one_way_or_another() {
    let streamable = json!({"type": "streamable"});
    let flood = TestHttpServer::new(TestReply::Flood("content-type: text/plain\r\n")).await;
    check(
        &flood,
        streamable.clone(),
        expect![[
            r#"Declined("the stream is larger than 1048576 bytes and was not read to its end; ask for less")"#
        ]],
    )
    .await;
    let flood = TestHttpServer::new(TestReply::Flood("content-type: application/x-ndjson\r\n")).await;
    check(
        &flood,
        streamable.clone(),
        expect![[
            r#"Declined("the stream is larger than 1048576 bytes and was not read to its end; ask for less")"#
        ]],
    )
    .await;
    let broken =
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 500\r\n\r\ndata: 1\n\n";
    check(
        &TestHttpServer::new(TestReply::Say(broken.to_vec())).await,
        streamable.clone(),
        expect![[r#"Lost("`127.0.0.1`: the answer broke off")"#]],
    )
    .await;
    let slow = json!({"type": "streamable", "endpoint": {"timeout_ms": 100}});
    late(TestReply::SayAndHang(broken.to_vec()), slow).await;
    let refused = TestHttpServer::new(TestReply::Say(response("500 Oops", "", b"broken"))).await;
    check(&refused, streamable, expect![[r#"Lost("the other side failed (500): broken")"#]]).await;
}
