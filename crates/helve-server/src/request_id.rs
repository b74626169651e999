//! Every request has an id: in its answer, in problem documents, and in every line that is logged on its account.
//!
//! A client or a proxy may name the request; the id is then the same in their logs and ours. A run that the request
//! starts logs under it too, for as long as it goes.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use helve_types::{World, hex};
use tracing::{Instrument, debug, error_span, info};

use crate::app::App;
use crate::problem::ProblemDocument;

const HEADER: HeaderName = HeaderName::from_static("x-request-id");
const BYTES_MAX: usize = 64;
const PATH_CHARS_MAX: usize = 200;

/// Probes request these every few seconds; a log line for each is too much.
const WATCHED: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestId(Arc<str>);

impl RequestId {
    /// The id in the request's header, if it can be logged and sent on.
    fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let text = headers.get(HEADER)?.to_str().ok()?;
        let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b':' | b'/' | b'=');
        let is_sane = !text.is_empty() && text.len() <= BYTES_MAX && text.bytes().all(fits);
        is_sane.then(|| Self(text.into()))
    }

    fn generate(world: &World) -> Self {
        Self(hex(&world.random_secret()[20..]).into())
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The id of a request that passed `assign_request_id`.
pub(crate) fn request_id_of(headers: &HeaderMap) -> Option<String> {
    headers.get(HEADER)?.to_str().ok().map(str::to_owned)
}

/// How many requests were answered, by the first digit of the status.
#[derive(Debug, Default)]
pub(crate) struct AnswerCounters([AtomicU64; 5]);

impl AnswerCounters {
    fn count_answer(&self, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100).clamp(1, 5);
        self.0[class - 1].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn snapshot(&self) -> [(&'static str, u64); 5] {
        let mut read = [("1xx", 0), ("2xx", 0), ("3xx", 0), ("4xx", 0), ("5xx", 0)];
        for (held, counter) in read.iter_mut().zip(&self.0) {
            held.1 = counter.load(Ordering::Relaxed);
        }
        read
    }
}

/// The outermost layer: gives each request its id, logs its answer and counts it.
pub(crate) async fn assign_request_id(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let id = RequestId::from_headers(request.headers())
        .unwrap_or_else(|| RequestId::generate(app.runtime.world()));
    request.extensions_mut().insert(id.clone());
    // Handlers read it from there, whether it was given or generated.
    if let Ok(value) = HeaderValue::try_from(&*id.0) {
        request.headers_mut().insert(HEADER, value);
    }
    let span = error_span!("request", request = %id);
    let answered = async move {
        let method = request.method().clone();
        // Without the query, which may hold a secret.
        let path: String = request.uri().path().chars().take(PATH_CHARS_MAX).collect();
        let began = Instant::now();
        let response = next.run(request).await;
        let status = response.status();
        let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        app.answers.count_answer(status);
        // `count` is the number of refusals since the last line about one.
        let count = if is_refused(status) { app.refusals.count_and_sample(Instant::now()) } else { Some(1) };
        if is_page_file(&path, status) || WATCHED.contains(&path.as_str()) || count.is_none() {
            debug!(status = status.as_u16(), ms, %method, path, "request answered");
        } else if let Some(count @ 2..) = count {
            info!(status = status.as_u16(), ms, count, %method, path, "requests refused");
        } else {
            info!(status = status.as_u16(), ms, %method, path, "request answered");
        }
        response
    };
    add_id_header(answered.instrument(span).await, &id)
}

/// Whether the answer is a file of the page, or that the browser has it already: one visit asks for several.
fn is_page_file(path: &str, status: StatusCode) -> bool {
    let is_there = status.is_success() || status == StatusCode::NOT_MODIFIED;
    is_there && !path.starts_with("/api") && !path.starts_with("/v1")
}

/// The answer with the id in its head and, if it is a problem document, in its body.
fn add_id_header(mut response: Response, id: &RequestId) -> Response {
    if let Some(ProblemDocument(mut document)) = response.extensions_mut().remove::<ProblemDocument>() {
        document.insert("request_id".into(), id.to_string().into());
        *response.body_mut() = Body::from(serde_json::Value::Object(document).to_string());
    }
    if let Ok(value) = HeaderValue::try_from(&*id.0) {
        response.headers_mut().insert(HEADER, value);
    }
    response
}

/// Statuses that any client can cause as often as it likes; their log lines are sampled.
fn is_refused(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::UNAUTHORIZED
            | StatusCode::FORBIDDEN
            | StatusCode::NOT_FOUND
            | StatusCode::METHOD_NOT_ALLOWED
            | StatusCode::MISDIRECTED_REQUEST
            | StatusCode::TOO_MANY_REQUESTS
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_page_are_told_from_answers_of_the_api_also_where_the_browser_has_them() {
        for (path, status, expected) in [
            ("/icon.svg", StatusCode::OK, true),
            ("/icon.svg", StatusCode::NOT_MODIFIED, true),
            ("/", StatusCode::NOT_MODIFIED, true),
            ("/nothing.js", StatusCode::NOT_FOUND, false),
            ("/api/runs", StatusCode::OK, false),
            ("/api/models", StatusCode::NOT_MODIFIED, false),
        ] {
            assert_eq!(is_page_file(path, status), expected, "{path} {status}");
        }
    }

    #[test]
    fn only_an_id_that_can_be_logged_is_taken_over() {
        let id_of = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(HEADER, HeaderValue::from_static(text));
            RequestId::from_headers(&headers).map(|id| id.to_string())
        };
        assert_eq!(id_of("a1-b2_c3.d4").as_deref(), Some("a1-b2_c3.d4"));
        assert_eq!(id_of("Root=1-67891233-abcdef012345678912345678").as_deref().map(str::len), Some(40));
        for text in [
            "",
            "two words",
            "a\"b",
            "<script>",
            "0123456789012345678901234567890123456789012345678901234567890123x",
        ] {
            assert_eq!(id_of(text), None, "{text}");
        }
        assert_eq!(RequestId::from_headers(&HeaderMap::new()), None);
    }
}
