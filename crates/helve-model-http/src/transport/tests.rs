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

/// The texts of the answer, and the error if it ends with one.
async fn asked(base_url: String, stream: bool) -> (String, Option<ModelError>) {
    let settings = HttpModelSettings {
        name: "m".into(),
        vendor: None,
        protocol: Some("openai_chat".into()),
        model: "m".into(),
        base_url: Some(base_url),
        key_env: None,
        key: Some(KEY.into()),
        tool_mode: ToolMode::Auto,
        params: ModelParams::default(),
    };
    _ = rustls::crypto::ring::default_provider().install_default();
    let model = HttpModel::new(settings, client().unwrap()).unwrap();
    let params = ModelParams::default();
    let request = ModelRequest {
        system: "".into(),
        turns: vec![Turn::User("hi".into())],
        tools: vec![],
        tool_choice: &ToolChoice::None,
        params: &params,
        form: None,
        needs: Needs::default(),
        stream,
    };
    let mut events = model.ask(&request);
    let (mut text, mut error) = (String::new(), None);
    while let Some(event) = events.next().await {
        match event {
            Ok(ModelEvent::Text(piece)) => text.push_str(&piece),
            Ok(_) => {}
            Err(told) => error = Some(told),
        }
    }
    (text, error)
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
