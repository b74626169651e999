//! Reading what a request says: bodies, addresses and numbers, with errors that say what is wrong.

use std::str::FromStr;

use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use helve_store::Page;
use helve_tool::JsonBounds;
use http_body_util::{BodyExt, Limited};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::app::App;
use crate::problem::Problem;

/// A form has a decision and a reason.
const FORM_BYTES_MAX: usize = 32 << 10;

/// A JSON body.
pub(crate) struct Json<T> {
    pub(crate) value: T,
    /// The bytes it was read from, for fingerprints.
    pub(crate) bytes: bytes::Bytes,
}

impl<T: DeserializeOwned> FromRequest<App> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        let (value, bytes) = read(request, app, app.limits.body_bytes_max, app.limits.json).await?;
        // Fields that we know cannot stand twice; what stands in one of free form could.
        if let Some(key) = helve_tool::key_twice(&bytes) {
            let detail = format!("the body says the key `{key}` twice; send it once");
            return Err(Problem::bad_request("bad_body", detail));
        }
        Ok(Self { value, bytes })
    }
}

/// The largest document that is imported, with what stands around it. A document inside of a text is escaped.
const LARGE_BODY_BYTES_MAX: usize = 24 << 20;
/// Whoever reads the document has bounds of its own.
const LARGE_JSON: JsonBounds = JsonBounds { depth_max: 120, values_max: 2_000_000 };

/// A JSON body that may hold a whole document.
pub(crate) struct LargeJson<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<App> for LargeJson<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        Ok(Self(read(request, app, LARGE_BODY_BYTES_MAX, LARGE_JSON).await?.0))
    }
}

async fn read<T: DeserializeOwned>(
    request: Request,
    app: &App,
    bytes_max: usize,
    json: JsonBounds,
) -> Result<(T, bytes::Bytes), Problem> {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if !kind.is_some_and(is_json) {
        return Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "not_json",
            "the body must be JSON: send Content-Type: application/json",
        ));
    }
    let body = Limited::new(request.into_body(), bytes_max).collect();
    let bytes = match tokio::time::timeout(app.limits.body_time, body).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
            let detail = format!("the body is larger than {bytes_max} bytes");
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", detail));
        }
        Ok(Err(_)) => return Err(Problem::bad_request("body_broken", "the body could not be read")),
        Err(_) => {
            let detail = "the body did not arrive in time";
            let problem = Problem::new(StatusCode::REQUEST_TIMEOUT, "body_too_slow", detail);
            // What is still to come is not waited for.
            return Err(problem.header(header::CONNECTION, HeaderValue::from_static("close")));
        }
    };
    // Before anything is made of it.
    json.check(&bytes)
        .map_err(|what| Problem::bad_request("body_too_complex", format!("the body {what}")))?;
    match serde_json::from_slice(&bytes) {
        Ok(value) => Ok((value, bytes)),
        Err(error) => Err(misfit::<T>(&bytes, &error)),
    }
}

/// What is wrong with a body, and where. It is read once more to find the place, which those that fit need not pay for.
fn misfit<T: DeserializeOwned>(bytes: &[u8], error: &serde_json::Error) -> Problem {
    let found = serde_path_to_error::deserialize::<_, T>(&mut serde_json::Deserializer::from_slice(bytes));
    let at = found.err().map(|found| found.path().to_string()).filter(|path| path != ".");
    let at = at.map(|path| format!(" at `{path}`")).unwrap_or_default();
    Problem::bad_request("bad_body", format!("the body does not fit{at}: {error}"))
}

/// The form of a page, as browsers send it; or the status that says what is wrong with it.
pub(crate) async fn read_form<T: DeserializeOwned>(app: &App, request: Request) -> Result<T, StatusCode> {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        return Err(StatusCode::UNSUPPORTED_MEDIA_TYPE);
    }
    let body = Limited::new(request.into_body(), FORM_BYTES_MAX).collect();
    let body = tokio::time::timeout(app.limits.body_time, body).await;
    let body = body.map_err(|_| StatusCode::REQUEST_TIMEOUT)?;
    let bytes = body.map_err(|_| StatusCode::PAYLOAD_TOO_LARGE)?.to_bytes();
    // A form is written as what stands behind a `?` is.
    let written = format!("/?{}", String::from_utf8_lossy(&bytes)).parse().ok();
    let read = written.and_then(|uri| Query::try_from_uri(&uri).ok());
    read.map(|Query(value)| value).ok_or(StatusCode::BAD_REQUEST)
}

fn is_json(kind: &str) -> bool {
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || kind.ends_with("+json")
}

/// An id in the path. Text that is no id names nothing, so the answer is the same as for a wrong one.
pub(crate) struct Id<T>(pub(crate) T);

impl<S: Send + Sync, T: FromStr> FromRequestParts<S> for Id<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(text) = Path::<String>::from_request_parts(parts, state)
            .await
            .map_err(|_| Problem::not_found("thing"))?;
        text.parse().map(Self).map_err(|_| Problem::not_found("thing"))
    }
}

/// What stands behind the `?`.
pub(crate) struct Asked<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Query::try_from_uri(&parts.uri).map(|Query(value)| Self(value)).map_err(|error| {
            Problem::bad_request("bad_query", format!("the address does not fit: {}", error.body_text()))
        })
    }
}

/// Which part of a list, and of whose.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ListQuery {
    /// How many at most; 50 if not said, 200 at most.
    #[serde(default)]
    limit: Option<usize>,
    /// How many to leave out.
    #[serde(default)]
    offset: Option<usize>,
    /// Another user's, for those with the right `admin`.
    #[serde(default)]
    pub(crate) user: Option<String>,
}

impl ListQuery {
    pub(crate) fn page(&self) -> Page {
        page(self.limit, self.offset)
    }
}

pub(crate) fn page(limit: Option<usize>, offset: Option<usize>) -> Page {
    Page { offset: offset.unwrap_or(0), limit: limit.unwrap_or(50).min(200) }
}
