//! Tests against servers that are slow, silent or leak the key. Time is paused: it advances when all tasks wait.

use helve_model::{Model, ModelRequest, Needs, ToolMode, Turn};
use helve_types::{ModelParams, ToolChoice};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::{HttpModel, HttpModelSettings};

const KEY: &str = "very-secret-key-of-ours";

/// What a server does after it has read the request.
enum Act {
    Wait(u64),
    Say(String),
}

use Act::{Say, Wait};

fn say(text: &str) -> Act {
    Say(text.into())
}

async fn start_server(acts: Vec<Act>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut question = vec![0; 4096];
        _ = socket.read(&mut question).await.unwrap();
        for act in acts {
            match act {
                Wait(seconds) => tokio::time::sleep(Duration::from_secs(seconds)).await,
                Say(text) => {
                    // In some tests the client has closed the connection.
                    _ = socket.write_all(text.as_bytes()).await;
                }
            }
        }
    });
    format!("http://{address}/v1")
}

fn settings(base_url: String) -> HttpModelSettings {
    HttpModelSettings {
        name: "m".into(),
        vendor: None,
        protocol: Some("openai_chat".into()),
        model: "m".into(),
        base_url: Some(base_url),
        key_env: None,
        key: Some(KEY.into()),
        tool_mode: ToolMode::Auto,
        params: ModelParams::default(),
    }
}

fn http_client() -> Client {
    _ = rustls::crypto::ring::default_provider().install_default();
    build_client().unwrap()
}

async fn ask(base_url: String, stream: bool) -> (String, Option<ModelError>) {
    ask_model(settings(base_url), stream).await
}

/// The texts of the answer, and the error if it ends with one.
async fn ask_model(settings: HttpModelSettings, stream: bool) -> (String, Option<ModelError>) {
    let (mut text, mut error) = (String::new(), None);
    for event in events(settings, stream).await {
        match event {
            Ok(ModelEvent::Text(piece)) => text.push_str(&piece),
            Ok(_) => {}
            Err(failure) => error = Some(failure),
        }
    }
    (text, error)
}

async fn events(settings: HttpModelSettings, stream: bool) -> Vec<Result<ModelEvent, ModelError>> {
    let model = HttpModel::new(settings, http_client()).unwrap();
    let params = ModelParams::default();
    let request = ModelRequest {
        system: "".into(),
        stable: 0,
        turns: vec![Turn::User("hi".into())],
        tools: vec![],
        tool_choice: &ToolChoice::None,
        params: &params,
        form: None,
        needs: Needs::default(),
        stop: &[],
        stream,
    };
    model.ask(&request).collect().await
}

const HEAD: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n";
const WHOLE: &str = r#"{"choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}]}"#;
const PIECE: &str = "data: {\"choices\": [{\"delta\": {\"content\": \"hello \"}}]}\n\n";
const LAST: &str = "data: {\"choices\": [{\"delta\": {}, \"finish_reason\": \"stop\"}]}\n\n";

#[tokio::test(start_paused = true)]
async fn a_complete_answer_may_take_minutes() {
    let server = start_server(vec![Wait(300), say(HEAD), Wait(200), say(WHOLE)]).await;
    assert_eq!(ask(server, false).await, ("hello".into(), None));
}

#[tokio::test(start_paused = true)]
async fn a_complete_answer_has_a_time_limit() {
    let server = start_server(vec![Wait(601), say(HEAD), say(WHOLE)]).await;
    let (_, error) = ask(server, false).await;
    let error = error.unwrap();
    assert!(error.message.contains("did not answer in time"), "{error}");
    assert_eq!(error.kind, ModelErrorKind::Unavailable);
}

#[tokio::test(start_paused = true)]
async fn a_stream_may_be_long_but_not_idle() {
    let slow = [Wait(25), say(HEAD), Wait(25), say(PIECE), Wait(25), say(PIECE), Wait(25), say(LAST)];
    assert_eq!(ask(start_server(slow.into()).await, true).await, ("hello hello ".into(), None));

    let (_, no_head) = ask(start_server(vec![Wait(31), say(HEAD), say(LAST)]).await, true).await;
    let no_head = no_head.unwrap();
    assert_eq!(no_head.kind, ModelErrorKind::Unavailable);
    assert!(no_head.message.contains("did not answer in time"), "{no_head}");

    let stalled = start_server(vec![say(HEAD), say(PIECE), Wait(31), say(LAST)]).await;
    let (text, error) = ask(stalled, true).await;
    let error = error.unwrap();
    assert_eq!((text.as_str(), error.kind), ("hello ", ModelErrorKind::Broken));
    assert!(error.message.contains("nothing came for 30 seconds"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_finished_answer_does_not_wait_for_the_end_of_its_stream() {
    let began = Instant::now();
    let open = start_server(vec![say(HEAD), say(PIECE), say(LAST), say("data: [DONE]\n\n"), Wait(900)]).await;
    assert_eq!(ask(open, true).await, ("hello ".into(), None));
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_follow_its_head_has_the_idle_limit() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n";
    let (_, error) = ask(start_server(vec![say(head), Wait(900)]).await, true).await;
    let error = error.unwrap();
    assert_eq!(error.kind, ModelErrorKind::Broken);
    assert!(error.message.contains("nothing came for 30 seconds"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_stream_has_a_total_time_limit() {
    let endless = std::iter::once(say(HEAD)).chain((0..80).flat_map(|_| [Wait(10), say(PIECE)])).collect();
    let (_, error) = ask(start_server(endless).await, true).await;
    let error = error.unwrap();
    assert_eq!(error.kind, ModelErrorKind::Broken);
    assert!(error.message.contains("took longer than 10 minutes"), "{error}");
}

fn refusal(status: &str, body: &str) -> Vec<Act> {
    vec![Say(format!("HTTP/1.1 {status}\r\nconnection: close\r\n\r\n{body}"))]
}

#[tokio::test]
async fn error_messages_never_contain_a_key() {
    let echo =
        format!(r#"{{"error": {{"message": "bad key {KEY} and sk-SECRET123 in Bearer abcdefgh12"}}}}"#);
    let in_band = format!("{HEAD}data: {echo}\n\n");
    let no_json = format!("{HEAD}data: <html>{KEY} sk-SECRET123 Bearer abcdefgh12</html>\n\n");
    for (acts, stream) in [
        (refusal("401 Unauthorized", &echo), true),
        (refusal("401 Unauthorized", &echo), false),
        (refusal("403 Forbidden", &echo), true),
        (refusal("400 Bad Request", &echo), true),
        (refusal("500 Oops", &echo), false),
        (vec![Say(in_band)], true),
        (vec![Say(no_json)], true),
        (vec![Say(format!("{HEAD}{echo}"))], false),
    ] {
        let (_, error) = ask(start_server(acts).await, stream).await;
        let message = error.unwrap().message;
        for secret in [KEY, "SECRET123", "abcdefgh12"] {
            assert!(!message.contains(secret), "{message}");
        }
    }
}

#[tokio::test]
async fn the_error_of_a_refused_key_does_not_repeat_the_server() {
    let body = r#"{"error": {"message": "account 4711 of Mei is blocked"}}"#;
    let (_, error) = ask(start_server(refusal("401 Unauthorized", body)).await, true).await;
    let error = error.unwrap();
    assert_eq!(error.kind, ModelErrorKind::Key);
    assert_eq!(
        error.message,
        "the model server refuses the key (401); check it, and that it may use this model"
    );
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let acts = vec![say(
        "HTTP/1.1 308 Permanent Redirect\r\nlocation: https://u:p@other.example/v2?key=secret\r\nconnection: close\r\n\r\n",
    )];
    let (_, error) = ask(start_server(acts).await, true).await;
    let error = error.unwrap();
    assert_eq!(error.kind, ModelErrorKind::Refused);
    assert_eq!(
        error.message,
        "the model server answered 308: it redirects to https://other.example/v2, which Helve does not \
         follow; set base_url to the right address"
    );
}

#[tokio::test]
async fn compressed_answers_are_refused() {
    let packed = "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\nconnection: close\r\n\r\n\u{1f}\u{8b}";
    for stream in [true, false] {
        let (_, error) = ask(start_server(vec![say(packed)]).await, stream).await;
        let error = error.unwrap();
        assert_eq!(error.kind, ModelErrorKind::Broken);
        assert!(error.message.contains("compressed its answer with `gzip`"), "{error}");
    }
}

#[tokio::test]
async fn a_body_of_the_wrong_length_is_no_answer() {
    let head =
        |length: usize| format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    for (length, stream, body) in
        [(WHOLE.len() + 9, false, WHOLE), (WHOLE.len() - 9, false, WHOLE), (4096, true, PIECE)]
    {
        let (_, error) = ask(start_server(vec![Say(head(length)), say(body)]).await, stream).await;
        assert_eq!(error.unwrap().kind, ModelErrorKind::Broken, "{length}");
    }
}

#[tokio::test]
async fn endless_answers_are_refused_at_the_size_limit() {
    let much = || Say("x".repeat(1 << 20));
    let lines = || Say(format!("{}\n", ": waiting".repeat(1 << 16)).repeat(2));
    let (long, large) =
        ("a line of it is longer than any line should be", "it is larger than any answer should be");
    for (stream, piece, because) in
        [(true, &much as &dyn Fn() -> Act, long), (true, &lines, large), (false, &much, large)]
    {
        let endless = std::iter::once(say(HEAD)).chain((0..10).map(|_| piece())).collect();
        let (_, error) = ask(start_server(endless).await, stream).await;
        let error = error.unwrap();
        assert_eq!(error.message, format!("the model's answer broke off: {because}"));
    }
    let complaint = say("HTTP/1.1 500 Oops\r\nconnection: close\r\n\r\n");
    let endless = std::iter::once(complaint).chain((0..10).map(|_| much())).collect();
    let (_, error) = ask(start_server(endless).await, true).await;
    let error = error.unwrap();
    assert!(error.message.starts_with("the model server answered 500: xxx"), "{error}");
    assert!(error.message.len() < 600);
}

#[tokio::test]
async fn a_complete_answer_to_a_request_for_a_stream_is_accepted() {
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: application/json; charset=utf-8\r\nconnection: close\r\n\r\n";
    let (text, error) = ask(start_server(vec![say(head), say(WHOLE)]).await, true).await;
    assert_eq!((text.as_str(), error), ("hello", None));
    let busy = r#"{"error": {"message": "overloaded", "type": "overloaded_error"}}"#;
    let (_, error) = ask(start_server(vec![say(head), say(busy)]).await, true).await;
    assert_eq!(error.unwrap().kind, ModelErrorKind::Unavailable);
    let (text, error) = ask(start_server(vec![say(head), say(PIECE), say(LAST)]).await, true).await;
    assert_eq!((text.as_str(), error), ("hello ", None));
}

#[tokio::test]
async fn a_web_page_is_no_answer() {
    let page = "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\nconnection: close\r\n\r\n<html>";
    for stream in [true, false] {
        let (_, error) = ask(start_server(vec![say(page)]).await, stream).await;
        assert!(error.unwrap().message.contains("is a web page"));
    }
}

#[tokio::test]
async fn the_pause_that_a_server_asks_for_is_in_the_error() {
    let busy = "HTTP/1.1 429 Slow\r\nretry-after: Wed, 21 Oct 2026 07:28:07 GMT\r\n\
                date: Wed, 21 Oct 2026 07:28:00 GMT\r\nconnection: close\r\n\r\n{}";
    let (_, error) = ask(start_server(vec![say(busy)]).await, true).await;
    assert_eq!(error.unwrap().retry_after, Some(Duration::from_secs(7)));
}

#[tokio::test]
async fn events_are_read_through_marks_comments_and_any_line_end() {
    let odd = "\u{feff}: hello\r\n\r\ndata:{\"choices\":[{\"delta\":{\"content\":\"hel\"}}]}\r\n\r\n\
               event: message\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"lo\"},\"finish_reason\":\"stop\"}]}";
    let (text, error) = ask(start_server(vec![say(HEAD), say(odd)]).await, true).await;
    assert_eq!((text.as_str(), error), ("hello", None));
}

fn ollama(base_url: String) -> HttpModelSettings {
    HttpModelSettings { protocol: Some("ollama".into()), ..settings(base_url) }
}

#[tokio::test]
async fn lines_are_read_as_they_arrive_and_a_break_is_an_error() {
    let line = "{\"message\":{\"content\":\"hello \"},\"done\":false}\r\n";
    let done = "{\"message\":{\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\",\"eval_count\":2}";
    let server = start_server(vec![say(HEAD), say(line), say(line), say(done)]).await;
    assert_eq!(ask_model(ollama(server), true).await, ("hello hello ".into(), None));

    let server = start_server(vec![say(HEAD), say(line)]).await;
    let (text, error) = ask_model(ollama(server), true).await;
    assert_eq!((text.as_str(), error.unwrap().kind), ("hello ", ModelErrorKind::Broken));

    let refused = refusal("400 Bad Request", r#"{"error":"gemma:2b does not support tools"}"#);
    let (_, error) = ask_model(ollama(start_server(refused).await), true).await;
    assert_eq!(error.unwrap().kind, ModelErrorKind::NoTools);
}

#[tokio::test]
async fn the_usage_of_a_failed_answer_is_reported_before_the_error() {
    let swallowed =
        r#"{"message":{"content":""},"done":true,"done_reason":"stop","prompt_eval_count":7,"eval_count":9}"#;
    for stream in [true, false] {
        let server = start_server(vec![say(HEAD), say(swallowed)]).await;
        let events = events(ollama(server), stream).await;
        let [Ok(ModelEvent::Usage(usage)), Err(error)] = &events[..] else { panic!("{events:?}") };
        assert_eq!((usage.input_tokens, usage.output_tokens, error.kind), (7, 9, ModelErrorKind::Broken));
    }
}

#[tokio::test]
async fn the_models_of_a_server_are_listed() {
    let model = |server: String| HttpModel::new(ollama(server), http_client()).unwrap();
    let tags = r#"{"models":[{"name":"qwen3:8b","size":1},{"name":"llama3.2:latest"}]}"#;
    let listing = model(start_server(vec![say(HEAD), say(tags)]).await).list_models().await.unwrap().unwrap();
    assert!(listing.complete && listing.has("llama3.2") && !listing.has("gemma"));
    assert_eq!(listing.names[0], "qwen3:8b");

    let other = model(start_server(vec![say(HEAD), say("<html>")]).await).list_models().await.unwrap_err();
    assert_eq!(other.message, "the server at this address does not speak `ollama`");
    let refused =
        model(start_server(refusal("401 Unauthorized", "{}")).await).list_models().await.unwrap_err();
    assert_eq!(refused.kind, ModelErrorKind::Key);
    let silent = model(start_server(refusal("404 Not Found", "{}")).await).list_models().await;
    assert_eq!(silent, Ok(None));
}

#[tokio::test]
async fn an_echoed_key_is_removed_from_answers_and_lists() {
    let upper = KEY.to_ascii_uppercase();
    let hex: String = KEY.bytes().map(|byte| format!("{byte:02x}")).collect();
    for form in [KEY, &upper, &hex] {
        let piece = format!("data: {{\"choices\": [{{\"delta\": {{\"content\": \"<{form}>\"}}}}]}}\n\n");
        let (cut, rest) = piece.split_at(piece.len() / 2);
        let acts = vec![say(HEAD), say(cut), Wait(1), say(rest), say(LAST)];
        let (text, error) = ask(start_server(acts).await, true).await;
        assert_eq!((&*text, error), ("<[secret]>", None));
        let whole = WHOLE.replace("hello", form);
        let (text, error) = ask(start_server(vec![say(HEAD), say(&whole)]).await, false).await;
        assert_eq!((&*text, error), ("[secret]", None));
        let list = format!(r#"{{"data":[{{"id":"m-{form}"}},{{"id":"m"}}]}}"#);
        let server = start_server(vec![say(HEAD), say(&list)]).await;
        let listing =
            HttpModel::new(settings(server), http_client()).unwrap().list_models().await.unwrap().unwrap();
        assert_eq!(listing.names, ["m-[secret]", "m"]);
    }
}

#[tokio::test]
async fn endless_interim_responses_end_in_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut request = [0; 4_096];
        _ = tokio::io::AsyncReadExt::read(&mut socket, &mut request).await.unwrap();
        let line = "HTTP/1.1 100 Continue\r\n\r\n".repeat(100);
        while socket.write_all(line.as_bytes()).await.is_ok() {}
    });
    let idle = Duration::from_millis(200);
    let model = HttpModel::new(settings(url), http_client()).unwrap();
    let model = model.with_timeouts(Timeouts { idle, ..Timeouts::default() });
    let params = ModelParams::default();
    let request = ModelRequest {
        system: "".into(),
        stable: 0,
        turns: vec![Turn::User("hi".into())],
        tools: vec![],
        tool_choice: &ToolChoice::None,
        params: &params,
        form: None,
        needs: Needs::default(),
        stop: &[],
        stream: true,
    };
    let events: Vec<_> = model.ask(&request).collect().await;
    let [Err(error)] = &events[..] else { panic!("{events:?}") };
    assert!(error.message.contains("did not answer in time"), "{}", error.message);
    // The connection is closed, otherwise the server task would never end.
    server.await.unwrap();
}
