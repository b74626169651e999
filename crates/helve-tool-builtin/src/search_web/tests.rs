//! The search tool against a server of our own, over real TCP.

use std::sync::Mutex;

use expect_test::{Expect, expect};
use helve_egress::{Egress, EgressSettings, Secret, Secrets};
use helve_types::{Language, ToolOutput};
use secrecy::SecretString;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::testing::{call, context};

const KEY: &str = "tvly-canary-0123456789";

/// What the server does with each request.
#[derive(Clone)]
enum TestReply {
    /// Says this and closes.
    Say(Vec<u8>),
    /// Says this and then nothing more, for ever.
    SayAndHang(Vec<u8>),
    /// Sends an answer without an end.
    Flood,
}

/// This machine may be reached, and may have the key.
fn settings(url: &str, key: &str) -> Settings {
    let mut settings = Settings::for_tests();
    let here = || vec!["127.0.0.1".to_owned()];
    let key = Secret { name: TAVILY_SECRET.into(), value: SecretString::from(key), hosts: here() };
    let egress =
        EgressSettings { allow: here(), secrets: Secrets::new(vec![key]), ..EgressSettings::default() };
    settings.search_egress = Egress::new(egress).unwrap();
    settings.tavily_url = url.into();
    settings
}

struct TestServer {
    url: String,
    /// The requests as they came: head and body.
    heard: Arc<Mutex<Vec<String>>>,
}

impl TestServer {
    async fn new(reply: TestReply) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let heard = Arc::<Mutex<Vec<String>>>::default();
        let notes = heard.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, reply.clone(), notes.clone()));
            }
        });
        Self { url, heard }
    }

    async fn json(status: &str, headers: &str, body: impl Into<String>) -> Self {
        let body = body.into();
        let length = body.len();
        let head =
            format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n");
        Self::new(TestReply::Say((head + &body).into_bytes())).await
    }

    fn settings(&self) -> Settings {
        settings(&self.url, KEY)
    }

    async fn search(&self, arguments: Value) -> Result<ToolOutput, ToolError> {
        self.search_in(Language::English, arguments).await
    }

    async fn search_in(&self, language: Language, arguments: Value) -> Result<ToolOutput, ToolError> {
        let cx = CallContext { language, ..context("mei") };
        call(&*tool(&self.settings()).0, arguments, &cx).await
    }

    /// The body of the only request.
    fn asked(&self) -> Value {
        let heard = self.heard.lock().unwrap();
        assert_eq!(heard.len(), 1);
        serde_json::from_str(heard[0].split_once("\r\n\r\n").unwrap().1).unwrap()
    }
}

async fn serve(mut stream: TcpStream, reply: TestReply, heard: Arc<Mutex<Vec<String>>>) {
    let mut request = vec![];
    loop {
        let text = String::from_utf8_lossy(&request);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                break;
            }
        }
        let mut piece = [0; 4_096];
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => return,
            Ok(read) => request.extend_from_slice(&piece[..read]),
        }
    }
    heard.lock().unwrap().push(String::from_utf8(request).unwrap());
    match reply {
        TestReply::Say(bytes) => _ = stream.write_all(&bytes).await,
        TestReply::SayAndHang(bytes) => {
            _ = stream.write_all(&bytes).await;
            std::future::pending().await
        }
        TestReply::Flood => {
            let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
            let mut written = stream.write_all(head).await;
            let chunk = [b"1000\r\n".as_slice(), &[b' '; 4_096], b"\r\n"].concat();
            while written.is_ok() {
                written = stream.write_all(&chunk).await;
            }
        }
    }
}

fn results(contents: &[&str]) -> String {
    let hits: Vec<Value> = contents
        .iter()
        .enumerate()
        .map(|(i, content)| {
            json!({
                "title": format!("Title {}", i + 1),
                "url": format!("https://example.org/{}", i + 1),
                "content": content,
                "score": 0.5,
                "raw_content": null,
            })
        })
        .collect();
    json!({"query": "q", "answer": "In short.", "images": [], "results": hits, "response_time": 1.2})
        .to_string()
}

async fn check_error(status: &str, headers: &str, body: &str, expected: Expect) {
    let server = TestServer::json(status, headers, body).await;
    let error = server.search(json!({"query": "rust"})).await.unwrap_err().without_notice();
    expected.assert_eq(&format!("{error:?}"));
}

#[tokio::test]
async fn the_request_is_what_tavily_wants() {
    let server = TestServer::json("200 OK", "", results(&["Content."])).await;
    server.search(json!({"query": " rust "})).await.unwrap();
    assert_eq!(
        server.asked(),
        json!({"query": "rust", "max_results": 10, "search_depth": "advanced", "include_answer": true})
    );
    let heard = server.heard.lock().unwrap()[0].to_lowercase();
    assert!(heard.starts_with("post /search http/1.1\r\n"), "{heard}");
    assert!(heard.contains(&format!("\r\nauthorization: bearer {KEY}\r\n")), "{heard}");
    assert!(heard.contains("\r\ncontent-type: application/json\r\n"), "{heard}");
}

#[tokio::test]
async fn a_preset_fills_what_is_not_given() {
    for (arguments, asked) in [
        (json!({"query": "q", "preset": "quick"}), json!([3, "basic", false])),
        (json!({"query": "q", "preset": "deep"}), json!([10, "advanced", true])),
        (json!({"query": "q", "preset": "quick", "max_results": 5}), json!([5, "basic", false])),
        (
            json!({"query": "q", "preset": "deep", "search_depth": "basic", "include_answer": false}),
            json!([10, "basic", false]),
        ),
        (json!({"query": "q", "max_results": 20}), json!([20, "advanced", true])),
        (json!({"query": "q", "max_results": 3.0}), json!([3, "advanced", true])),
        (json!({"query": "q", "preset": null, "max_results": null}), json!([10, "advanced", true])),
    ] {
        let server = TestServer::json("200 OK", "", results(&[])).await;
        server.search(arguments).await.unwrap();
        let sent = server.asked();
        assert_eq!(json!([sent["max_results"], sent["search_depth"], sent["include_answer"]]), asked);
    }
}

#[tokio::test]
async fn results_are_shown_with_the_summary_first() {
    let server =
        TestServer::json("200 OK", "", results(&["First\n\n2. content. ", "Second  content."])).await;
    let output = server.search(json!({"query": "rust"})).await.unwrap();
    expect![[r#"
        Summary: In short.

        1. Title 1
        Source: https://example.org/1
        First 2. content.

        2. Title 2
        Source: https://example.org/2
        Second content."#]]
    .assert_eq(&output.text);
    assert_eq!(output.title.as_deref(), Some("2 results for \"rust\""));
    let data = output.data.unwrap();
    assert_eq!(data["answer"], "In short.");
    assert_eq!(data["results"][1]["url"], "https://example.org/2");
}

#[tokio::test]
async fn results_in_a_chinese_conversation_have_chinese_labels() {
    let body = json!({"answer": "杭州明天有雨。", "results": [
        {"title": "杭州天气预报", "url": "https://weather.example.cn/杭州", "content": "明天小雨，18 到 24 度。"},
        {"title": null, "url": null, "content": null},
    ]});
    let server = TestServer::json("200 OK", "", body.to_string()).await;
    let output = server.search_in(Language::Chinese, json!({"query": "杭州 天气"})).await.unwrap();
    expect![[r#"
        AI 摘要：杭州明天有雨。

        搜索结果：
        1. 杭州天气预报
           来源：https://weather.example.cn/杭州
           内容：明天小雨，18 到 24 度。

        2. （无标题）"#]]
    .assert_eq(&output.text);
    assert_eq!(output.title.as_deref(), Some("“杭州 天气”的 2 条结果"));
    assert_eq!(server.asked()["query"], "杭州 天气");
}

#[tokio::test]
async fn a_long_answer_is_cut_between_two_results() {
    let long = "很长的内容".repeat(400);
    let server = TestServer::json("200 OK", "", results(&[long.as_str(); 10])).await;
    let output = server.search(json!({"query": "q"})).await.unwrap();
    assert!(output.text.chars().count() <= 8_000);
    assert!(output.text.contains("3. Title 3") && !output.text.contains("4. Title 4"));
    assert!(
        output.text.ends_with(
            "很长的内容\n\n[cut: 3 of 10 results are shown; search again with narrower keywords for more]"
        ),
        "{}",
        &output.text[output.text.len() - 200..]
    );
    assert_eq!(output.title.as_deref(), Some("10 results for \"q\""));
    assert_eq!(output.data.unwrap()["results"].as_array().unwrap().len(), 10);
}

#[tokio::test]
async fn a_cut_in_a_chinese_conversation_is_told_as_the_source_system_does() {
    let long = "很长的内容".repeat(400);
    let server = TestServer::json("200 OK", "", results(&[long.as_str(); 10])).await;
    let output = server.search_in(Language::Chinese, json!({"query": "q"})).await.unwrap();
    assert!(output.text.chars().count() <= 8_000);
    assert!(output.text.ends_with("很长的内容\n\n（结果已截断，共 10 条结果）"), "{}", output.text);
}

#[tokio::test]
async fn whole_pages_are_given_where_they_are_asked_for() {
    let body = json!({"results": [{"title": "T", "url": "u", "content": "part", "raw_content": "The whole page. ".repeat(500)}]});
    let server = TestServer::json("200 OK", "", body.to_string()).await;
    let output = server.search(json!({"query": "q", "include_raw_content": true})).await.unwrap();
    assert_eq!(server.asked()["include_raw_content"], true);
    assert!(output.text.contains("The whole page. The whole page.") && output.text.chars().count() < 3_200);
}

#[tokio::test]
async fn one_result_that_is_too_long_by_itself_is_shown_in_part() {
    let server = TestServer::json("200 OK", "", results(&[&"word ".repeat(5_000), "x"])).await;
    let output = server.search(json!({"query": "q"})).await.unwrap();
    let length = output.text.chars().count();
    assert!((7_800..=8_000).contains(&length), "{length}");
    assert!(output.text.contains("…\n\n[cut: 1 of 2 results are shown"));
}

#[tokio::test]
async fn more_results_than_asked_for_are_not_shown() {
    let server = TestServer::json("200 OK", "", results(&["x"; 8])).await;
    let output = server.search(json!({"query": "q", "max_results": 1})).await.unwrap();
    assert_eq!(output.title.as_deref(), Some("1 result for \"q\""));
}

#[tokio::test]
async fn nothing_found_is_said() {
    let server = TestServer::json("200 OK", "", r#"{"results": []}"#).await;
    let output = server.search(json!({"query": "xyzzy"})).await.unwrap();
    assert_eq!(output.text, "No results were found for \"xyzzy\". Try other keywords.");
    assert_eq!(output.title.as_deref(), Some("0 results for \"xyzzy\""));
}

#[tokio::test]
async fn without_a_key_nothing_is_sent_and_the_model_is_told_what_to_do() {
    let server = TestServer::json("200 OK", "", results(&[])).await;
    let mut told = vec![];
    for settings in [Settings::for_tests(), settings(&server.url, " "), settings(&server.url, "")] {
        let error = call(&*tool(&settings).0, json!({"query": "q"}), &context("mei"))
            .await
            .unwrap_err()
            .without_notice();
        told.push(format!("{error:?}"));
    }
    assert_eq!(told[0], told[1]);
    expect![[r#"Declined("web search is not configured on this server, so nothing was searched; answer from what you know and say that you could not search. Operator: set TAVILY_API_KEY to a key from tavily.com")"#]].assert_eq(&told[0]);
    assert!(server.heard.lock().unwrap().is_empty());
}

#[tokio::test]
async fn an_empty_query_is_declined() {
    let server = TestServer::json("200 OK", "", results(&[])).await;
    let error = server.search(json!({"query": "  "})).await.unwrap_err().without_notice();
    assert_eq!(error, ToolError::Declined("`query` is empty; say what to search for".into()));
}

#[tokio::test]
async fn a_status_is_told_by_what_can_be_done_about_it() {
    let detail = r#"{"detail": {"error": "Unauthorized: missing or invalid API key."}}"#;
    check_error("401 Unauthorized", "", detail, expect![[r#"Declined("the search service does not accept this server's key (401): Unauthorized: missing or invalid API key; answer from what you know and say that you could not search. Operator: check TAVILY_API_KEY")"#]]).await;
    check_error("403 Forbidden", "", "", expect![[r#"Declined("the search service does not accept this server's key (403); answer from what you know and say that you could not search. Operator: check TAVILY_API_KEY")"#]]).await;
    check_error(
        "400 Bad Request",
        "",
        r#"{"detail": {"error": "Query is too long."}}"#,
        expect![[r#"Declined("the search service refused the search (400): Query is too long")"#]],
    )
    .await;
    check_error(
        "432 Plan Limit",
        "",
        r#"{"detail": "exceeds your plan's limit"}"#,
        expect![[r#"Declined("the search service refused the search (432): exceeds your plan's limit")"#]],
    )
    .await;
    check_error(
        "429 Too Many Requests",
        "retry-after: 7\r\n",
        "",
        expect![[r#"Busy { message: "the search service is too busy (429)", retry_after: Some(7s) }"#]],
    )
    .await;
    check_error(
        "429 Too Many Requests",
        "",
        "",
        expect![[r#"Busy { message: "the search service is too busy (429)", retry_after: None }"#]],
    )
    .await;
    check_error(
        "503 Unavailable",
        "retry-after: 99999\r\n",
        "<html>",
        expect![[r#"Busy { message: "the search service is too busy (503)", retry_after: Some(3600s) }"#]],
    )
    .await;
    // The world's clock stands at 22:13:20.
    let date = "retry-after: Tue, 14 Nov 2023 22:13:50 GMT\r\n";
    check_error(
        "503 Unavailable",
        date,
        "",
        expect![[r#"Busy { message: "the search service is too busy (503)", retry_after: Some(30s) }"#]],
    )
    .await;
    check_error("503 Unavailable", "", "", expect![[r#"Lost("the search service failed (503)")"#]]).await;
    check_error(
        "500 Oops",
        "",
        r#"{"error": "internal"}"#,
        expect![[r#"Lost("the search service failed (500): internal")"#]],
    )
    .await;
    check_error("302 Found", "location: http://169.254.169.254/\r\n", "", expect![[r#"Declined("the search service has moved (302) and is not followed; operator: correct the Tavily base URL")"#]]).await;
    check_error("204 No Content", "", "", expect![[r#"Lost("the search service failed (204)")"#]]).await;
}

#[tokio::test]
async fn a_broken_answer_is_lost() {
    check_error(
        "200 OK",
        "",
        "{\"results\": [",
        expect![[r#"Lost("the search service's answer could not be read")"#]],
    )
    .await;
    check_error(
        "200 OK",
        "",
        "{\"answer\": \"no results field\"}",
        expect![[r#"Lost("the search service's answer could not be read")"#]],
    )
    .await;
    check_error(
        "200 OK",
        "",
        &"[".repeat(10_000),
        expect![[r#"Lost("the search service's answer could not be read")"#]],
    )
    .await;
    check_error("200 OK", "", "", expect![[r#"Lost("the search service's answer could not be read")"#]])
        .await;
    let short = b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{\"results\": []}".to_vec();
    let server = TestServer::new(TestReply::Say(short)).await;
    let error = server.search(json!({"query": "q"})).await.unwrap_err().without_notice();
    assert_eq!(error, ToolError::Lost("the search failed: the answer broke off".into()));
    let server = TestServer::new(TestReply::Say(vec![])).await;
    let error = server.search(json!({"query": "q"})).await.unwrap_err().without_notice();
    assert_eq!(error, ToolError::Lost("the search failed: the connection broke off before an answer".into()));
}

#[tokio::test]
async fn an_answer_without_end_is_not_read_to_its_end() {
    let too_long =
        ToolError::Lost("the search failed: the answer is larger than 1048576 bytes and was not read".into());
    let server = TestServer::new(TestReply::Flood).await;
    assert_eq!(server.search(json!({"query": "q"})).await.unwrap_err().without_notice(), too_long);
    let announced = b"HTTP/1.1 200 OK\r\ncontent-length: 99999999\r\n\r\n".to_vec();
    let server = TestServer::new(TestReply::SayAndHang(announced)).await;
    assert_eq!(server.search(json!({"query": "q"})).await.unwrap_err().without_notice(), too_long);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_falls_silent_is_given_up() {
    for (said, told) in [
        (b"".to_vec(), "the search failed: the other side did not answer in time"),
        (
            b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{\"results\":".to_vec(),
            "the search failed: the answer did not come in time",
        ),
    ] {
        let server = TestServer::new(TestReply::SayAndHang(said)).await;
        let began = tokio::time::Instant::now();
        let error = server.search(json!({"query": "q"})).await.unwrap_err().without_notice();
        assert_eq!(error, ToolError::Lost(told.into()));
        assert_eq!(began.elapsed().as_secs(), 15);
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_has_got_nothing() {
    let settings = settings("http://127.0.0.1:1", KEY);
    let error =
        call(&*tool(&settings).0, json!({"query": "q"}), &context("mei")).await.unwrap_err().without_notice();
    assert_eq!(error, ToolError::NotSent("the search service cannot be reached".into()));
}

#[tokio::test]
async fn a_wrong_setting_is_told_to_the_operator() {
    for (url, key) in [("not a url", KEY), ("file:///etc", KEY), ("http://127.0.0.1:9", "line\nbreak")] {
        let settings = settings(url, key);
        let error = call(&*tool(&settings).0, json!({"query": "q"}), &context("mei"))
            .await
            .unwrap_err()
            .without_notice();
        let ToolError::Declined(message) = error else { panic!("{error:?}") };
        assert!(message.contains("operator: correct") && !message.contains(key), "{message}");
    }
}

#[tokio::test]
async fn the_key_goes_to_its_host_and_to_nobody_else() {
    let server = TestServer::json("200 OK", "", results(&[])).await;
    let mut settings = settings(&server.url, KEY);
    let key = Secret {
        name: TAVILY_SECRET.into(),
        value: SecretString::from(KEY),
        hosts: vec!["api.tavily.com".into()],
    };
    let egress = EgressSettings {
        allow: vec!["127.0.0.1".into()],
        secrets: Secrets::new(vec![key]),
        ..EgressSettings::default()
    };
    settings.search_egress = Egress::new(egress).unwrap();
    let error =
        call(&*tool(&settings).0, json!({"query": "q"}), &context("mei")).await.unwrap_err().without_notice();
    let ToolError::Declined(message) = error else { panic!("{error:?}") };
    assert!(message.starts_with("the secret `tavily` is not for `127.0.0.1"), "{message}");
    assert!(server.heard.lock().unwrap().is_empty());
}

#[tokio::test]
async fn the_key_is_never_said_even_if_the_server_says_it() {
    let echo = format!(r#"{{"detail": {{"error": "bad key {KEY}"}}}}"#);
    for status in ["401 No", "400 No", "500 No"] {
        let error = TestServer::json(status, "", echo.clone())
            .await
            .search(json!({"query": "q"}))
            .await
            .unwrap_err()
            .without_notice();
        assert!(format!("{error:?} {error}").contains("bad key [secret]"), "{error:?}");
    }
    let server = TestServer::json("200 OK", "", results(&[&format!("your key is {KEY}")])).await;
    let output = server.search(json!({"query": "q"})).await.unwrap();
    assert!(!format!("{output:?}").contains(KEY));
    assert!(!format!("{:?}", server.settings()).contains(KEY));
}
