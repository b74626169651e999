//! Against servers that are slow, silent or indiscreet. Time is paused: it passes as soon as everybody waits.

use helve_model::{Model, ModelRequest, Needs, ToolMode, Turn};
use helve_types::{ModelParams, ToolChoice};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::{HttpModel, HttpModelSettings};

const KEY: &str = "very-secret-key-of-ours";

/// What a server does after it has read the question: waits of so many seconds, and text.
enum Act {
    Wait(u64),
    Say(String),
}

use Act::{Say, Wait};

fn say(text: &str) -> Act {
    Say(text.into())
}

async fn served(acts: Vec<Act>) -> String {
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
                    // The client may be gone, which is what some of the tests are about.
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

fn made() -> Client {
    _ = rustls::crypto::ring::default_provider().install_default();
    client().unwrap()
}

async fn asked(base_url: String, stream: bool) -> (String, Option<ModelError>) {
    put(settings(base_url), stream).await
}

/// The texts of the answer, and the error if it ends with one.
async fn put(settings: HttpModelSettings, stream: bool) -> (String, Option<ModelError>) {
    let (mut text, mut error) = (String::new(), None);
    for event in events(settings, stream).await {
        match event {
            Ok(ModelEvent::Text(piece)) => text.push_str(&piece),
            Ok(_) => {}
            Err(told) => error = Some(told),
        }
    }
    (text, error)
}

async fn events(settings: HttpModelSettings, stream: bool) -> Vec<Result<ModelEvent, ModelError>> {
    let model = HttpModel::new(settings, made()).unwrap();
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
async fn a_whole_answer_may_take_minutes() {
    let server = served(vec![Wait(300), say(HEAD), Wait(200), say(WHOLE)]).await;
    assert_eq!(asked(server, false).await, ("hello".into(), None));
}

#[tokio::test(start_paused = true)]
async fn a_whole_answer_may_not_take_for_ever() {
    let server = served(vec![Wait(601), say(HEAD), say(WHOLE)]).await;
    let (_, error) = asked(server, false).await;
    let error = error.unwrap();
    assert!(error.message.contains("did not answer in time"), "{error}");
    assert_eq!(error.kind, ModelErrorKind::Unavailable);
}

#[tokio::test(start_paused = true)]
async fn a_stream_may_be_long_but_not_silent() {
    let slow = [Wait(25), say(HEAD), Wait(25), say(PIECE), Wait(25), say(PIECE), Wait(25), say(LAST)];
    assert_eq!(asked(served(slow.into()).await, true).await, ("hello hello ".into(), None));

    let (_, no_head) = asked(served(vec![Wait(31), say(HEAD), say(LAST)]).await, true).await;
    let no_head = no_head.unwrap();
    assert_eq!(no_head.kind, ModelErrorKind::Unavailable);
    assert!(no_head.message.contains("did not answer in time"), "{no_head}");

    let stalled = served(vec![say(HEAD), say(PIECE), Wait(31), say(LAST)]).await;
    let (text, error) = asked(stalled, true).await;
    let error = error.unwrap();
    assert_eq!((text.as_str(), error.kind), ("hello ", ModelErrorKind::Broken));
    assert!(error.message.contains("nothing came for 30 seconds"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_complete_answer_does_not_wait_for_its_stream_to_end() {
    let began = Instant::now();
    let open = served(vec![say(HEAD), say(PIECE), say(LAST), say("data: [DONE]\n\n"), Wait(900)]).await;
    assert_eq!(asked(open, true).await, ("hello ".into(), None));
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_head_without_a_body_is_not_waited_for_longer_than_a_stream() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n";
    let (_, error) = asked(served(vec![say(head), Wait(900)]).await, true).await;
    let error = error.unwrap();
    assert_eq!(error.kind, ModelErrorKind::Broken);
    assert!(error.message.contains("nothing came for 30 seconds"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_never_ends_is_ended() {
    let endless = std::iter::once(say(HEAD)).chain((0..80).flat_map(|_| [Wait(10), say(PIECE)])).collect();
    let (_, error) = asked(served(endless).await, true).await;
    let error = error.unwrap();
    assert_eq!(error.kind, ModelErrorKind::Broken);
    assert!(error.message.contains("took longer than 10 minutes"), "{error}");
}

fn refusal(status: &str, body: &str) -> Vec<Act> {
    vec![Say(format!("HTTP/1.1 {status}\r\nconnection: close\r\n\r\n{body}"))]
}

#[tokio::test]
async fn no_key_is_ever_in_what_people_are_told() {
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
        let (_, error) = asked(served(acts).await, stream).await;
        let told = error.unwrap().message;
        for secret in [KEY, "SECRET123", "abcdefgh12"] {
            assert!(!told.contains(secret), "{told}");
        }
    }
}

#[tokio::test]
async fn a_refused_key_is_told_in_our_own_words() {
    let body = r#"{"error": {"message": "account 4711 of Mei is blocked"}}"#;
    let (_, error) = asked(served(refusal("401 Unauthorized", body)).await, true).await;
    let error = error.unwrap();
    assert_eq!(error.kind, ModelErrorKind::Key);
    assert_eq!(
        error.message,
        "the model server refuses the key (401); check it, and that it may use this model"
    );
}

#[tokio::test]
async fn a_server_that_leads_elsewhere_is_not_followed() {
    let acts = vec![say(
        "HTTP/1.1 308 Permanent Redirect\r\nlocation: https://u:p@other.example/v2?key=secret\r\nconnection: close\r\n\r\n",
    )];
    let (_, error) = asked(served(acts).await, true).await;
    let error = error.unwrap();
    assert_eq!(error.kind, ModelErrorKind::Refused);
    assert_eq!(
        error.message,
        "the model server answered 308: it sends elsewhere to https://other.example/v2, and Helve does not \
         follow; give the right address as base_url"
    );
}

#[tokio::test]
async fn what_is_packed_is_never_unpacked() {
    let packed = "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\nconnection: close\r\n\r\n\u{1f}\u{8b}";
    for stream in [true, false] {
        let (_, error) = asked(served(vec![say(packed)]).await, stream).await;
        let error = error.unwrap();
        assert_eq!(error.kind, ModelErrorKind::Broken);
        assert!(error.message.contains("packed with `gzip`"), "{error}");
    }
}

#[tokio::test]
async fn a_length_that_is_not_the_bodys_is_no_answer() {
    let head =
        |length: usize| format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    for (length, stream, body) in
        [(WHOLE.len() + 9, false, WHOLE), (WHOLE.len() - 9, false, WHOLE), (4096, true, PIECE)]
    {
        let (_, error) = asked(served(vec![Say(head(length)), say(body)]).await, stream).await;
        assert_eq!(error.unwrap().kind, ModelErrorKind::Broken, "{length}");
    }
}

#[tokio::test]
async fn an_answer_without_end_is_not_kept_for_ever() {
    let much = || Say("x".repeat(1 << 20));
    let lines = || Say(format!("{}\n", ": waiting".repeat(1 << 16)).repeat(2));
    let (long, large) =
        ("a line of it is longer than any line should be", "it is larger than any answer should be");
    for (stream, piece, because) in
        [(true, &much as &dyn Fn() -> Act, long), (true, &lines, large), (false, &much, large)]
    {
        let endless = std::iter::once(say(HEAD)).chain((0..10).map(|_| piece())).collect();
        let (_, error) = asked(served(endless).await, stream).await;
        let error = error.unwrap();
        assert_eq!(error.message, format!("the model's answer broke off: {because}"));
    }
    let complaint = say("HTTP/1.1 500 Oops\r\nconnection: close\r\n\r\n");
    let endless = std::iter::once(complaint).chain((0..10).map(|_| much())).collect();
    let (_, error) = asked(served(endless).await, true).await;
    let error = error.unwrap();
    assert!(error.message.starts_with("the model server answered 500: xxx"), "{error}");
    assert!(error.message.len() < 600);
}

#[tokio::test]
async fn a_whole_answer_is_taken_where_pieces_were_asked_for() {
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: application/json; charset=utf-8\r\nconnection: close\r\n\r\n";
    let (text, error) = asked(served(vec![say(head), say(WHOLE)]).await, true).await;
    assert_eq!((text.as_str(), error), ("hello", None));
    let busy = r#"{"error": {"message": "overloaded", "type": "overloaded_error"}}"#;
    let (_, error) = asked(served(vec![say(head), say(busy)]).await, true).await;
    assert_eq!(error.unwrap().kind, ModelErrorKind::Unavailable);
    let (text, error) = asked(served(vec![say(head), say(PIECE), say(LAST)]).await, true).await;
    assert_eq!((text.as_str(), error), ("hello ", None));
}

#[tokio::test]
async fn a_web_page_is_no_answer() {
    let page = "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\nconnection: close\r\n\r\n<html>";
    for stream in [true, false] {
        let (_, error) = asked(served(vec![say(page)]).await, stream).await;
        assert!(error.unwrap().message.contains("a web page"));
    }
}

#[tokio::test]
async fn a_pause_that_is_asked_for_is_passed_on() {
    let busy = "HTTP/1.1 429 Slow\r\nretry-after: Wed, 21 Oct 2026 07:28:07 GMT\r\n\
                date: Wed, 21 Oct 2026 07:28:00 GMT\r\nconnection: close\r\n\r\n{}";
    let (_, error) = asked(served(vec![say(busy)]).await, true).await;
    assert_eq!(error.unwrap().retry_after, Some(Duration::from_secs(7)));
}

#[tokio::test]
async fn events_are_read_through_marks_comments_and_any_line_end() {
    let odd = "\u{feff}: hello\r\n\r\ndata:{\"choices\":[{\"delta\":{\"content\":\"hel\"}}]}\r\n\r\n\
               event: message\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"lo\"},\"finish_reason\":\"stop\"}]}";
    let (text, error) = asked(served(vec![say(HEAD), say(odd)]).await, true).await;
    assert_eq!((text.as_str(), error), ("hello", None));
}

fn ollama(base_url: String) -> HttpModelSettings {
    HttpModelSettings { protocol: Some("ollama".into()), ..settings(base_url) }
}

#[tokio::test]
async fn lines_are_read_as_they_come_and_a_break_is_one() {
    let line = "{\"message\":{\"content\":\"hello \"},\"done\":false}\r\n";
    let done = "{\"message\":{\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\",\"eval_count\":2}";
    let server = served(vec![say(HEAD), say(line), say(line), say(done)]).await;
    assert_eq!(put(ollama(server), true).await, ("hello hello ".into(), None));

    let server = served(vec![say(HEAD), say(line)]).await;
    let (text, error) = put(ollama(server), true).await;
    assert_eq!((text.as_str(), error.unwrap().kind), ("hello ", ModelErrorKind::Broken));

    let refused = refusal("400 Bad Request", r#"{"error":"gemma:2b does not support tools"}"#);
    let (_, error) = put(ollama(served(refused).await), true).await;
    assert_eq!(error.unwrap().kind, ModelErrorKind::NoTools);
}

#[tokio::test]
async fn what_a_lost_answer_took_is_told_before_it_is_given_up() {
    let swallowed =
        r#"{"message":{"content":""},"done":true,"done_reason":"stop","prompt_eval_count":7,"eval_count":9}"#;
    for stream in [true, false] {
        let server = served(vec![say(HEAD), say(swallowed)]).await;
        let events = events(ollama(server), stream).await;
        let [Ok(ModelEvent::Usage(usage)), Err(error)] = &events[..] else { panic!("{events:?}") };
        assert_eq!((usage.input_tokens, usage.output_tokens, error.kind), (7, 9, ModelErrorKind::Broken));
    }
}

#[tokio::test]
async fn a_server_is_asked_which_models_it_has() {
    let model = |server: String| HttpModel::new(ollama(server), made()).unwrap();
    let tags = r#"{"models":[{"name":"qwen3:8b","size":1},{"name":"llama3.2:latest"}]}"#;
    let listing = model(served(vec![say(HEAD), say(tags)]).await).listed().await.unwrap().unwrap();
    assert!(listing.complete && listing.has("llama3.2") && !listing.has("gemma"));
    assert_eq!(listing.names[0], "qwen3:8b");

    let other = model(served(vec![say(HEAD), say("<html>")]).await).listed().await.unwrap_err();
    assert_eq!(other.message, "what answers there is no model server that speaks `ollama`");
    let refused = model(served(refusal("401 Unauthorized", "{}")).await).listed().await.unwrap_err();
    assert_eq!(refused.kind, ModelErrorKind::Key);
    let silent = model(served(refusal("404 Not Found", "{}")).await).listed().await;
    assert_eq!(silent, Ok(None));
}

#[tokio::test]
async fn a_server_that_echoes_the_key_does_not_get_it_into_answers_or_lists() {
    let upper = KEY.to_ascii_uppercase();
    let hex: String = KEY.bytes().map(|byte| format!("{byte:02x}")).collect();
    for form in [KEY, &upper, &hex] {
        let piece = format!("data: {{\"choices\": [{{\"delta\": {{\"content\": \"<{form}>\"}}}}]}}\n\n");
        let (cut, rest) = piece.split_at(piece.len() / 2);
        let acts = vec![say(HEAD), say(cut), Wait(1), say(rest), say(LAST)];
        let (text, error) = asked(served(acts).await, true).await;
        assert_eq!((&*text, error), ("<[secret]>", None));
        let whole = WHOLE.replace("hello", form);
        let (text, error) = asked(served(vec![say(HEAD), say(&whole)]).await, false).await;
        assert_eq!((&*text, error), ("[secret]", None));
        let list = format!(r#"{{"data":[{{"id":"m-{form}"}},{{"id":"m"}}]}}"#);
        let server = served(vec![say(HEAD), say(&list)]).await;
        let listing = HttpModel::new(settings(server), made()).unwrap().listed().await.unwrap().unwrap();
        assert_eq!(listing.names, ["m-[secret]", "m"]);
    }
}

#[tokio::test]
async fn a_server_that_says_to_go_on_without_end_is_given_up_and_left() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut request = [0; 4_096];
        _ = tokio::io::AsyncReadExt::read(&mut socket, &mut request).await.unwrap();
        let line = "HTTP/1.1 100 Continue\r\n\r\n".repeat(100);
        while socket.write_all(line.as_bytes()).await.is_ok() {}
    });
    let silence = Duration::from_millis(200);
    let model = HttpModel::new(settings(url), made()).unwrap();
    let model = model.with_patience(Patience { silence, ..Patience::default() });
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
    // Nobody reads it any more, or this would never end.
    server.await.unwrap();
}
