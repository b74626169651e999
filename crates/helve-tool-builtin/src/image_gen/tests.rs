//! Pictures from a service of our own, over real TCP.

use std::sync::Mutex;

use helve_egress::{EgressSettings, Secret, Secrets};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::testing::{call, context};

const KEY: &str = "sk-canary-0123456789";
const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";

/// Answers each request by its path, and remembers it.
struct Service {
    place: String,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Service {
    async fn new(answer: impl Fn(&str, &str) -> (&'static str, Vec<u8>) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let place = listener.local_addr().unwrap().to_string();
        let heard = Arc::<Mutex<Vec<String>>>::default();
        let (notes, own) = (heard.clone(), place.clone());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = vec![];
                let mut piece = [0; 4_096];
                while !is_whole(&request) {
                    match stream.read(&mut piece).await {
                        Ok(0) | Err(_) => break,
                        Ok(read) => request.extend_from_slice(&piece[..read]),
                    }
                }
                let request = String::from_utf8(request).unwrap();
                let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
                notes.lock().unwrap().push(request);
                let (status, body) = answer(&path, &own);
                let head = format!(
                    "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                    body.len()
                );
                _ = stream.write_all(&[head.as_bytes(), &body].concat()).await;
            }
        });
        Self { place, heard }
    }

    /// Only the service may be reached here.
    async fn draw(&self, arguments: Value) -> Result<ToolOutput, ToolError> {
        self.draw_with(arguments, vec![]).await
    }

    async fn draw_with(&self, arguments: Value, allow: Vec<String>) -> Result<ToolOutput, ToolError> {
        let host = self.place.clone();
        let secret = Secret { name: IMAGES_SECRET.into(), value: KEY.into(), hosts: vec![host.clone()] };
        let mut settings = Settings::for_tests();
        settings.egress = Egress::new(EgressSettings { allow, ..EgressSettings::default() }).unwrap();
        settings.images_egress = Egress::new(EgressSettings {
            allow: vec![host.clone()],
            secrets: Secrets::new(vec![secret]),
            ..EgressSettings::default()
        })
        .unwrap();
        settings.images = Some(Images {
            base_url: Url::parse(&format!("http://{host}/v1/")).unwrap(),
            model: "painter".into(),
            has_key: true,
            response_format: None,
        });
        let (tool, _) = tool(&settings).unwrap();
        call(&*tool, arguments, &context("mei")).await
    }
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = |line: &str| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok();
    body.len() >= head.lines().find_map(length).unwrap_or(0)
}

fn inline(bytes: &[u8]) -> Vec<u8> {
    json!({"created": 1, "data": [{"b64_json": STANDARD.encode(bytes), "revised_prompt": "a red fox"}]})
        .to_string()
        .into_bytes()
}

#[tokio::test]
async fn a_picture_comes_back_as_a_file_and_the_model_reads_words() {
    let service = Service::new(|_, _| ("200 OK", inline(PNG))).await;
    let output = service.draw(json!({"prompt": " a fox\nin snow ", "size": "1024x1024"})).await.unwrap();
    let [file] = &output.files[..] else { panic!("{output:?}") };
    assert_eq!((file.name.as_str(), file.media_type.as_str()), ("picture.png", "image/png"));
    assert_eq!(file.bytes, PNG);
    assert_eq!(output.title.as_deref(), Some("a fox in snow"));
    assert!(output.text.ends_with("from these words: a red fox") && !output.text.contains("iVBOR"));
    let heard = service.heard.lock().unwrap()[0].clone();
    let (head, body) = heard.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /v1/images/generations HTTP/1.1"), "{head}");
    assert!(head.to_ascii_lowercase().contains(&format!("authorization: bearer {KEY}")), "{head}");
    let asked: Value = serde_json::from_str(body).unwrap();
    assert_eq!(asked, json!({"model": "painter", "prompt": "a fox\nin snow", "n": 1, "size": "1024x1024"}));
}

#[tokio::test]
async fn a_picture_elsewhere_is_fetched_without_the_key() {
    let service = Service::new(|path, own| match path {
        "/cat.jpg" => ("200 OK", b"\xff\xd8\xff\xe0jpeg".to_vec()),
        _ => ("200 OK", json!({"data": [{"url": format!("http://{own}/cat.jpg")}]}).to_string().into_bytes()),
    })
    .await;
    // That the service may be reached does not let it point to itself.
    let output = service.draw(json!({"prompt": "a cat"})).await.unwrap();
    assert!(output.text.contains("could not be fetched") && output.files.is_empty(), "{}", output.text);
    assert_eq!(std::mem::take(&mut *service.heard.lock().unwrap()).len(), 1);
    let allowed = vec![service.place.clone()];
    let output = service.draw_with(json!({"prompt": "a cat"}), allowed).await.unwrap();
    assert_eq!(output.files[0].name, "picture.jpg");
    let heard = service.heard.lock().unwrap();
    assert!(heard[1].starts_with("GET /cat.jpg") && !heard[1].contains(KEY), "{}", heard[1]);
}

#[tokio::test]
async fn a_picture_at_a_place_that_must_not_be_reached_is_not_fetched() {
    for url in ["http://169.254.169.254/latest", "http://127.0.0.1:1/x", "file:///etc/passwd", "nonsense"] {
        let service =
            Service::new(move |_, _| ("200 OK", json!({"data": [{"url": url}]}).to_string().into_bytes()))
                .await;
        let output = service.draw(json!({"prompt": "a cat"})).await.unwrap();
        assert!(output.text.contains("is paid for, but the picture could not be fetched"), "{}", output.text);
        assert!(output.files.is_empty());
    }
}

#[tokio::test]
async fn each_way_of_failing_is_told_for_what_it_is() {
    let said = || json!({"error": {"message": "no such size"}}).to_string().into_bytes();
    let draw = async |status: &'static str, body: Vec<u8>| {
        let service = Service::new(move |_, _| (status, body.clone())).await;
        service.draw(json!({"prompt": "a cat"})).await.unwrap_err().without_notice()
    };
    let refused = draw("400 Bad Request", said()).await;
    assert_eq!(refused, declined_error("the image service refused the order (400): no such size"));
    assert!(matches!(draw("401 Unauthorized", said()).await, ToolError::Declined(_)));
    assert!(matches!(draw("429 Too Many Requests", said()).await, ToolError::Busy { .. }));
    assert!(matches!(draw("307 Temporary Redirect", vec![]).await, ToolError::Declined(_)));
    for unknown in ["302 Found", "408 Request Timeout", "500 Internal Server Error", "502 Bad Gateway"] {
        assert!(matches!(draw(unknown, vec![]).await, ToolError::Lost(_)), "{unknown}");
    }
    let service = Service::new(|_, _| ("200 OK", inline(PNG))).await;
    for arguments in [json!({"prompt": " "}), json!({"prompt": "x", "size": "big"})] {
        assert!(matches!(
            service.draw(arguments).await.unwrap_err().without_notice(),
            ToolError::Declined(_)
        ));
    }
    assert!(service.heard.lock().unwrap().is_empty());
}

#[tokio::test]
async fn what_was_paid_for_is_never_told_as_failed() {
    let too_large = vec![b' '; ANSWER.bytes_max + 1];
    for (body, problem) in [
        (b"{".to_vec(), "the service's answer could not be read"),
        (b"{\"data\":[]}".to_vec(), "the service answered without a picture"),
        (b"{\"data\":[{\"b64_json\":\"%%\"}]}".to_vec(), "the picture that came is broken"),
        (inline(b"<svg onload=alert(1)>"), "the service sent something that is no picture"),
        (too_large, "the answer is larger"),
    ] {
        let service = Service::new(move |_, _| ("200 OK", body.clone())).await;
        let output = service.draw(json!({"prompt": "a cat"})).await.unwrap();
        assert!(output.text.contains(&format!("is paid for, but {problem}")), "{}", output.text);
        assert!(output.text.ends_with("do not call again for the same."), "{}", output.text);
        assert!(output.files.is_empty());
    }
}

#[test]
fn without_a_service_there_is_no_tool() {
    assert!(tool(&Settings::for_tests()).is_none());
}
