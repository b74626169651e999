//! The requests that reach a server, by vendor.

use futures_util::StreamExt;
use helve_model::{ModelEvent, Turn};
use helve_types::ToolChoice;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::*;

/// A server that answers once and returns the request: the lines of the head, and the body.
async fn server(answer: String) -> (String, JoinHandle<(Vec<String>, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let asked = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut bytes = vec![];
        loop {
            assert_ne!(socket.read_buf(&mut bytes).await.unwrap(), 0, "the question broke off");
            let text = String::from_utf8_lossy(&bytes);
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let Ok(body) = serde_json::from_str(body) else { continue };
            let head = head.lines().map(str::to_owned).collect();
            socket.write_all(answer.as_bytes()).await.unwrap();
            return (head, body);
        }
    });
    (format!("http://{address}"), asked)
}

async fn ask(vendor: &str, base_url: String, stream: bool) -> Vec<ModelEvent> {
    let settings = HttpModelSettings {
        name: "m".into(),
        vendor: Some(vendor.into()),
        protocol: None,
        model: "some model".into(),
        base_url: Some(base_url),
        key_env: None,
        key: Some("the-key".into()),
        tool_mode: ToolMode::Auto,
        params: ModelParams::default(),
    };
    _ = rustls::crypto::ring::default_provider().install_default();
    let model = HttpModel::new(settings, crate::build_client().unwrap()).unwrap();
    let params = ModelParams::default();
    let request = ModelRequest {
        system: "".into(),
        stable: 0,
        turns: vec![Turn::User("hi".into())],
        tools: vec![],
        tool_choice: &ToolChoice::Auto,
        params: &params,
        form: None,
        needs: helve_model::Needs::default(),
        stop: &[],
        stream,
    };
    model.ask(&request).map(|event| event.unwrap()).collect().await
}

const ANTHROPIC: (&str, &str) = (
    include_str!("../anthropic_messages/fixtures/streams-text.jsonl"),
    include_str!("../anthropic_messages/fixtures/whole-answer.json"),
);
const GEMINI: (&str, &str) = (
    include_str!("../gemini/fixtures/streams-text.jsonl"),
    include_str!("../gemini/fixtures/whole-answer.json"),
);

#[tokio::test]
async fn requests_have_the_address_and_headers_of_the_vendor() {
    const HEAD: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n";
    for (vendor, (frames, whole), pieces_at, whole_at, headers) in [
        (
            "anthropic",
            ANTHROPIC,
            "/v1/messages",
            "/v1/messages",
            &["x-api-key: the-key", "anthropic-version: 2023-06-01"][..],
        ),
        (
            "gemini",
            GEMINI,
            "/v1beta/models/some%20model:streamGenerateContent?alt=sse",
            "/v1beta/models/some%20model:generateContent",
            &["x-goog-api-key: the-key"],
        ),
    ] {
        let frames: String =
            frames.lines().map(|frame| format!("event: x\r\ndata: {frame}\r\n\r\n")).collect();
        for (stream, answer, path) in [(true, frames.as_str(), pieces_at), (false, whole, whole_at)] {
            let (url, asked) = server(format!("{HEAD}{answer}")).await;
            let events = ask(vendor, url, stream).await;
            assert!(matches!(events.last(), Some(ModelEvent::Finished(_))), "{vendor}: {events:?}");
            let (head, body) = asked.await.unwrap();
            assert_eq!(head[0], format!("POST {path} HTTP/1.1"));
            for header in headers {
                assert!(head.iter().any(|line| line == header), "{vendor}: {header} is not in {head:?}");
            }
            assert!(!head.iter().any(|line| line.starts_with("authorization")), "{head:?}");
            assert!(body.is_object(), "{body}");
        }
    }
}

#[test]
fn an_unknown_vendor_or_protocol_lists_the_known_ones() {
    let settings = |vendor: Option<&str>, protocol: Option<&str>| HttpModelSettings {
        name: "m".into(),
        vendor: vendor.map(Into::into),
        protocol: protocol.map(Into::into),
        model: "m".into(),
        base_url: None,
        key_env: None,
        key: None,
        tool_mode: ToolMode::Auto,
        params: ModelParams::default(),
    };
    let told = settings(None, Some("soap")).check().unwrap_err().to_string();
    for protocol in PROTOCOLS {
        assert!(told.contains(protocol.name), "{told}");
    }
    let told = settings(Some("acme"), None).check().unwrap_err().to_string();
    for vendor in VENDORS {
        assert!(told.contains(vendor.name), "{told}");
    }
    for protocol in PROTOCOLS {
        let settings = settings(None, Some(protocol.name));
        _ = rustls::crypto::ring::default_provider().install_default();
        let model = HttpModel::new(settings, crate::build_client().unwrap()).unwrap();
        assert_eq!((model.vendor.protocol.name, model.missing_key()), (protocol.name, None));
    }
}

fn settings(vendor: &str, base_url: Option<&str>) -> HttpModelSettings {
    HttpModelSettings {
        name: "m".into(),
        vendor: Some(vendor.into()),
        protocol: None,
        model: "m".into(),
        base_url: base_url.map(Into::into),
        key_env: None,
        key: None,
        tool_mode: ToolMode::Auto,
        params: ModelParams::default(),
    }
}

#[test]
fn a_base_address_may_end_with_the_route_or_another_protocol() {
    let cases = [
        ("ollama", "http://gpu:11434", "http://gpu:11434/api/chat"),
        ("ollama", "http://gpu:11434/", "http://gpu:11434/api/chat"),
        ("ollama", "http://gpu:11434/api/chat", "http://gpu:11434/api/chat"),
        ("ollama", "http://gpu:11434/api/", "http://gpu:11434/api/chat"),
        ("ollama", "http://gpu:11434/v1", "http://gpu:11434/api/chat"),
        ("ollama", "https://proxy/ollama/v1/", "https://proxy/ollama/api/chat"),
        ("vllm", "http://gpu/v1", "http://gpu/v1/chat/completions"),
        ("vllm", "http://gpu/v1/chat/completions", "http://gpu/v1/chat/completions"),
    ];
    for (vendor, given, url) in cases {
        let (_, urls) = settings(vendor, Some(given)).resolve().unwrap();
        assert_eq!(urls.stream.as_str(), url, "{vendor} {given}");
    }
}

#[test]
fn support_of_tool_choices_and_forms_depends_on_the_vendor() {
    _ = rustls::crypto::ring::default_provider().install_default();
    let model =
        |vendor: &str| HttpModel::new(settings(vendor, None), crate::build_client().unwrap()).unwrap();
    let plain = ModelParams::default();
    let calm = serde_json::json!({"extra": {"thinking": {"type": "disabled"}}});
    let calm: ModelParams = serde_json::from_value(calm).unwrap();
    assert!(!model("deepseek").supports_choice(&ToolChoice::Required, &plain));
    assert!(model("deepseek").supports_choice(&ToolChoice::Required, &calm));
    assert!(model("deepseek").supports_choice(&ToolChoice::None, &plain));
    assert!(!model("ollama").supports_choice(&ToolChoice::Required, &plain));
    assert!(model("llama_cpp").supports_choice(&ToolChoice::Named("time".into()), &plain));
    assert_eq!(model("ollama").form_support(), FormSupport::Schema);
    assert_eq!(model("llama_cpp").form_support(), FormSupport::Grammar);
    assert_eq!(model("openai_compatible").form_support(), FormSupport::None);
}
