//! A model server that answers as it is told, for tests and as the floor of benchmarks.
//!
//! Speaks OpenAI chat completions, streamed and not. It holds no script of its own beyond a default: see `Script`.
//! Written on bare hyper with chunks made beforehand, so that what is measured through it is not the mock.

mod answer;
mod openai_chat;
mod script;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use helve_types::Fate;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::{Method, Request, Response, StatusCode, header};
use tokio::net::TcpListener;

use self::answer::{Playing, calls, pieces};
pub use self::script::{Fault, Script};
use crate::web::{HungUp, Serving};

/// A running mock; it ends when this is dropped.
pub struct Mock {
    serving: Serving,
}

struct Shared {
    default: Script,
    fate: Fate,
    /// How often a request with a fault of limited number has come.
    seen: Mutex<HashMap<u64, u32>>,
}

impl Mock {
    /// `default` is for requests that bring no script.
    pub fn start(listener: TcpListener, default: Script, fate: Fate) -> std::io::Result<Self> {
        let shared = Arc::new(Shared { default, fate, seen: Mutex::default() });
        let handle = move |request| {
            let shared = shared.clone();
            async move { Ok::<_, HungUp>(shared.answer(request).await) }
        };
        Ok(Self { serving: Serving::start(listener, handle)? })
    }

    pub fn address(&self) -> SocketAddr {
        self.serving.address()
    }

    /// What a model's `base_url` has to be.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address())
    }
}

/// Runs the mock until the process ends.
pub fn serve_forever(address: SocketAddr) -> anyhow::Result<()> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
        let mock = Mock::start(TcpListener::bind(address).await?, Script::default(), Fate::default())?;
        println!("listening on http://{}", mock.address());
        mock.serving.for_ever().await;
        Ok(())
    })
}

impl Shared {
    async fn answer(&self, request: Request<Incoming>) -> Response<Playing> {
        let asked = (request.method().clone(), request.uri().path().to_owned());
        let in_query =
            request.uri().query().and_then(|query| query.strip_prefix("script=")).map(str::to_owned);
        match (asked.0, asked.1.as_str()) {
            (Method::POST, openai_chat::PATH) => {}
            (Method::GET, "/v1/models") => {
                let models = r#"{"object":"list","data":[{"id":"mock","object":"model"}]}"#;
                return json(StatusCode::OK, Bytes::from_static(models.as_bytes()));
            }
            _ => return problem(StatusCode::NOT_FOUND, "the mock has only /v1/chat/completions"),
        }
        let Ok(body) = request.into_body().collect().await else {
            return problem(StatusCode::BAD_REQUEST, "the request broke off");
        };
        let body = body.to_bytes();
        match serde_json::from_slice(&body) {
            Ok(request) => self.perform(&request, in_query.as_deref(), &body).await,
            Err(error) => problem(StatusCode::BAD_REQUEST, &error.to_string()),
        }
    }

    async fn perform(
        &self,
        request: &openai_chat::Request<'_>,
        in_query: Option<&str>,
        body: &[u8],
    ) -> Response<Playing> {
        let user = request.user();
        let script = match in_query.or_else(|| Script::find(&request.model, &user)) {
            None => None,
            Some(text) => match Script::parse(text) {
                Ok(script) => Some(script),
                Err(error) => return problem(StatusCode::BAD_REQUEST, &error),
            },
        };
        let script = script.as_ref().unwrap_or(&self.default);
        let fault = script.fault.filter(|_| self.strikes(script, body));
        if !script.delay.is_zero() {
            tokio::time::sleep(script.delay).await;
        }
        if let Some(Fault::Status(code)) = fault {
            let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            return problem(status, "the mock was told to refuse");
        }
        let (round, calls) = (request.round(), calls(script, request));
        let in_text = request.wants_text();
        if !request.stream {
            let text = if calls.is_empty() { script.text } else { 0 };
            let whole = openai_chat::whole(round, &calls, in_text, &script.arguments, script.think, text);
            return json(StatusCode::OK, whole);
        }
        let body = Playing::new(pieces(script, round, &calls, in_text, fault), self.fate.clone());
        respond(StatusCode::OK, "text/event-stream", body)
    }

    /// Whether the fault still happens to this request.
    fn strikes(&self, script: &Script, body: &[u8]) -> bool {
        let Some(times) = script.times else { return true };
        let mut hasher = DefaultHasher::new();
        body.hash(&mut hasher);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let count = seen.entry(hasher.finish()).or_default();
        *count += 1;
        *count <= times
    }
}

fn respond(status: StatusCode, content_type: &'static str, body: Playing) -> Response<Playing> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(content_type));
    response
}

fn json(status: StatusCode, bytes: Bytes) -> Response<Playing> {
    respond(status, "application/json", Playing::once(bytes))
}

fn problem(status: StatusCode, message: &str) -> Response<Playing> {
    let body = serde_json::json!({"error": {"message": message, "type": "mock"}});
    json(status, Bytes::from(body.to_string()))
}
