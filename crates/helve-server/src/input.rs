//! Reading what a request says: bodies, addresses and numbers, with errors that say what is wrong.
//!
//! What a body or an address says is compared with its schema first (`shape`), which finds what does not fit and the
//! fields that do not exist. Our own routes refuse those; routes that other systems' clients call name them in a header.

mod form;
mod list_query;
mod shape;

pub(crate) use list_query::{ListQuery, StateQuery, page_from_query};

use std::str::FromStr;

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use helve_tool::{DefinitionError, JsonBounds, parse_rows};
use helve_types::{AgentDefinition, ToolDefinition};
use http_body::Body as HttpBody;
use http_body_util::{BodyExt, Limited};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

pub(crate) use self::form::read_form;
use self::shape::{ShapeErrors, UnknownField, compare, schema_of};
use crate::app::App;
use crate::problem::Problem;
use crate::routes::{Input, Operation};

/// Lists the request fields that were ignored, on routes that tolerate unknown fields.
const UNKNOWN_HEADER: HeaderName = HeaderName::from_static("x-helve-unknown-fields");

/// A JSON body of a route of ours: it has no field that the route does not know.
pub(crate) struct Json<T> {
    pub(crate) value: T,
    /// The bytes it was read from, for fingerprints.
    pub(crate) bytes: bytes::Bytes,
}

impl<T: DeserializeOwned + JsonSchema + 'static> FromRequest<App> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        let Body { value, bytes, .. } =
            read_json(request, app, app.limits.body_bytes_max, app.limits.json, OnUnknown::Refuse).await?;
        // Fields that we know cannot stand twice; what stands in one of free form could.
        refuse_duplicate_key(&bytes)?;
        Ok(Self { value, bytes })
    }
}

impl<T: JsonSchema> Input for Json<T> {
    fn describe(operation: &mut Operation) {
        operation.take_body::<T>();
    }
}

/// A body of a route of ours all fields of which may be left out, and so may the body.
pub(crate) struct OptionalJson<T>(pub(crate) T);

impl<T: DeserializeOwned + JsonSchema + Default + 'static> FromRequest<App> for OptionalJson<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        if HttpBody::is_end_stream(request.body()) {
            return Ok(Self(T::default()));
        }
        Ok(Self(Json::from_request(request, app).await?.value))
    }
}

impl<T: JsonSchema> Input for OptionalJson<T> {
    fn describe(operation: &mut Operation) {
        operation.take_optional_body::<T>();
    }
}

/// A JSON body that a client of another system may have written, which may say more than the route knows.
pub(crate) struct ForeignJson<T> {
    pub(crate) value: T,
    /// The bytes it was read from, for fingerprints.
    pub(crate) bytes: bytes::Bytes,
    pub(crate) ignored: Ignored,
}

impl<T: DeserializeOwned + JsonSchema + 'static> FromRequest<App> for ForeignJson<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        let Body { value, bytes, unknown } =
            read_json(request, app, app.limits.body_bytes_max, app.limits.json, OnUnknown::Note).await?;
        refuse_duplicate_key(&bytes)?;
        let ignored = Ignored(unknown.into_iter().map(|unknown| unknown.field).collect());
        Ok(Self { value, bytes, ignored })
    }
}

impl<T: JsonSchema> Input for ForeignJson<T> {
    fn describe(operation: &mut Operation) {
        operation.take_body::<T>();
        operation.take_foreign();
    }
}

/// Fields of a request that were not understood.
#[derive(Debug, Default)]
pub(crate) struct Ignored(pub(crate) Vec<String>);

impl Ignored {
    /// The answer, with a header that names them if there are any.
    pub(crate) fn add_header_to(&self, mut response: Response) -> Response {
        let visible = |c: char| if c.is_ascii_graphic() || c == ' ' { c } else { '?' };
        let names: Vec<String> = self.0.iter().map(|name| name.chars().map(visible).collect()).collect();
        if let Some(names) = (!names.is_empty()).then(|| names.join(", ")) {
            let before = response.headers().get(UNKNOWN_HEADER).and_then(|value| value.to_str().ok());
            let all = before.map_or_else(|| names.clone(), |before| format!("{before}, {names}"));
            if let Ok(value) = HeaderValue::try_from(all) {
                response.headers_mut().insert(UNKNOWN_HEADER, value);
            }
        }
        response
    }
}

/// The largest document that is imported, with what stands around it. A document inside of a text is escaped.
const LARGE_BODY_BYTES_MAX: usize = 24 << 20;
/// The importer, which reads the document, has bounds of its own.
const LARGE_JSON: JsonBounds = JsonBounds { depth_max: 120, values_max: 2_000_000 };

/// A JSON body that may hold a whole document.
pub(crate) struct LargeJson<T>(pub(crate) T);

impl<T: DeserializeOwned + JsonSchema + 'static> FromRequest<App> for LargeJson<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        let body = read_json(request, app, LARGE_BODY_BYTES_MAX, LARGE_JSON, OnUnknown::Refuse).await?;
        Ok(Self(body.value))
    }
}

impl<T: JsonSchema> Input for LargeJson<T> {
    fn describe(operation: &mut Operation) {
        operation.take_body::<T>();
    }
}

/// The rows of a body: one JSON document, or one row on each line.
pub(crate) enum Rows {
    Document(Value),
    Lines(Vec<Result<Value, DefinitionError>>),
}

impl FromRequest<App> for Rows {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        if !kind.is_some_and(is_json_lines) {
            let Json { value, .. } = Json::<Value>::from_request(request, app).await?;
            return Ok(Self::Document(value));
        }
        let bytes = read_body(request, app, app.limits.body_bytes_max).await?;
        let text = std::str::from_utf8(&bytes)
            .map_err(|_| Problem::bad_request("bad_body", "the body is no UTF-8 text"))?;
        let rows =
            parse_rows(text).map_err(|wrong| Problem::bad_request("bad_body", wrong.problem.english()))?;
        Ok(Self::Lines(rows))
    }
}

/// The definition of a tool, which may also be written as the tool system that Helve replaces has it.
pub(crate) struct DefinitionJson(pub(crate) Value);

impl FromRequest<App> for DefinitionJson {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        Ok(Self(Json::from_request(request, app).await?.value))
    }
}

impl Input for DefinitionJson {
    fn describe(operation: &mut Operation) {
        operation.take_body::<ToolDefinition>();
    }
}

/// The definition of an agent, in which other systems write `null` for what is empty.
pub(crate) struct AgentJson(pub(crate) Value);

impl FromRequest<App> for AgentJson {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        Ok(Self(Json::from_request(request, app).await?.value))
    }
}

impl Input for AgentJson {
    fn describe(operation: &mut Operation) {
        operation.take_body::<AgentDefinition>();
    }
}

/// The version that a request wants to change (`If-Match`); any if it does not say.
pub(crate) fn expected_version(headers: &HeaderMap, what: &str) -> Result<Option<u32>, Problem> {
    let Some(given) = headers.get(header::IF_MATCH) else { return Ok(None) };
    let text = given.to_str().unwrap_or_default().trim();
    if text == "*" {
        return Ok(None);
    }
    let number = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(text);
    number.parse().map(Some).map_err(|_| {
        let detail = format!("If-Match must be one ETag of the {what}, such as \"3\", or *");
        Problem::bad_request("bad_if_match", detail)
    })
}

struct Body<T> {
    value: T,
    bytes: bytes::Bytes,
    unknown: Vec<UnknownField>,
}

/// What becomes of a body with fields that do not exist.
#[derive(Clone, Copy, PartialEq)]
enum OnUnknown {
    Refuse,
    Note,
}

fn unknown_field(code: &'static str, what: &str, unknown: &UnknownField) -> Problem {
    let UnknownField { field, known, meant } = unknown;
    let quoted =
        |names: &[String]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let meant = meant.as_ref().map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
    let there = match known.as_slice() {
        [] => "there is none here".to_owned(),
        known => format!("there is {}", quoted(known)),
    };
    let end = if meant.is_empty() { "; " } else { " " };
    let detail = format!("there is no {what} `{field}`{meant}{end}{there}");
    Problem::bad_request(code, detail).with_field("field", field.clone())
}

async fn read_json<T: DeserializeOwned + JsonSchema + 'static>(
    request: Request,
    app: &App,
    bytes_max: usize,
    json: JsonBounds,
    on_unknown: OnUnknown,
) -> Result<Body<T>, Problem> {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if !kind.is_some_and(is_json) {
        return Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "not_json",
            "the body must be JSON: send Content-Type: application/json",
        ));
    }
    let bytes = read_body(request, app, bytes_max).await?;
    // Before anything is made of it.
    json.check(&bytes)
        .map_err(|what| Problem::bad_request("body_too_complex", format!("the body {what}")))?;
    let given: Value = serde_json::from_slice(&bytes).map_err(|error| {
        let problem = format!("the body is not JSON: {error}");
        Problem::bad_request("bad_body", problem)
    })?;
    let ShapeErrors { misfit, unknown, .. } = compare(&schema_of::<T>(), &given);
    drop(given);
    if let Some(misfit) = misfit {
        // A field that is missing is often one that is misspelt.
        let slip = unknown.iter().find(|unknown| unknown.meant.as_ref() == Some(&misfit.field));
        let hint = slip.map(|slip| format!("; `{}` is not a field of it", slip.field)).unwrap_or_default();
        let problem = Problem::bad_request("bad_body", format!("{}{hint}", misfit.detail));
        return Err(if misfit.field.is_empty() {
            problem
        } else {
            problem.with_field("field", misfit.field)
        });
    }
    if let Some(unknown) = unknown.first().filter(|_| on_unknown == OnUnknown::Refuse) {
        return Err(unknown_field("unknown_field", "field", unknown));
    }
    match serde_json::from_slice(&bytes) {
        Ok(value) => Ok(Body { value, bytes, unknown }),
        Err(error) => Err(misfit_problem::<T>(&bytes, &error)),
    }
}

/// The bytes of a body, as many and as soon as they may be.
pub(crate) async fn read_body(
    request: Request,
    app: &App,
    bytes_max: usize,
) -> Result<bytes::Bytes, Problem> {
    let body = Limited::new(request.into_body(), bytes_max).collect();
    match tokio::time::timeout(app.limits.body_time, body).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
            let detail = format!("the body is larger than {bytes_max} bytes");
            Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", detail))
        }
        Ok(Err(_)) => Err(Problem::bad_request("body_broken", "the body could not be read")),
        Err(_) => {
            let detail = "the body did not arrive in time";
            let problem = Problem::new(StatusCode::REQUEST_TIMEOUT, "body_too_slow", detail);
            // What is still to come is not waited for.
            Err(problem.with_header(header::CONNECTION, HeaderValue::from_static("close")))
        }
    }
}

fn refuse_duplicate_key(bytes: &[u8]) -> Result<(), Problem> {
    helve_tool::find_duplicate_key(bytes).map_or(Ok(()), |key| {
        let detail = format!("the body says the key `{key}` twice; send it once");
        Err(Problem::bad_request("bad_body", detail))
    })
}

/// What is wrong with a body that has the right shape, and where. It is read once more to find the place, which those
/// that fit need not pay for.
fn misfit_problem<T: DeserializeOwned>(bytes: &[u8], error: &serde_json::Error) -> Problem {
    let found = serde_path_to_error::deserialize::<_, T>(&mut serde_json::Deserializer::from_slice(bytes));
    let at = found.err().map(|found| found.path().to_string()).filter(|path| path != ".");
    let place = at.as_ref().map_or_else(|| "the body".to_owned(), |path| format!("`{path}`"));
    let reason = error.to_string();
    // Without the place, which is of no use to who has not written the text.
    let reason = reason.rsplit_once(" at line ").map_or(reason.as_str(), |(reason, _)| reason);
    let problem = match reason.strip_prefix("duplicate field `").and_then(|rest| rest.strip_suffix('`')) {
        Some(name) => {
            Problem::bad_request("bad_body", format!("the field `{name}` is given twice; give it once"))
        }
        None if is_library_message(reason) => {
            tracing::debug!(%error, "request body not read: its shape is right");
            Problem::bad_request("bad_body", format!("{place} does not fit; see /openapi.json"))
        }
        None => Problem::bad_request("bad_body", format!("{place} does not fit: {reason}")),
    };
    at.into_iter().fold(problem, |problem, at| problem.with_field("field", at))
}

/// Words that the library for reading JSON has for itself.
fn is_library_message(reason: &str) -> bool {
    ["invalid type", "invalid value", "invalid length", "unknown variant", "unknown field", "missing field"]
        .into_iter()
        .chain(["data did not match", "duplicate field"])
        .any(|words| reason.starts_with(words))
}

fn media_type(kind: &str) -> String {
    kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Whether a body has one JSON value on each line.
fn is_json_lines(kind: &str) -> bool {
    let names = ["x-ndjson", "ndjson", "jsonl", "x-jsonlines"];
    media_type(kind).strip_prefix("application/").is_some_and(|name| names.contains(&name))
}

pub(crate) fn is_json(kind: &str) -> bool {
    let kind = media_type(kind);
    kind == "application/json" || kind.ends_with("+json")
}

/// The names in the path, as text.
pub(crate) struct Path<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path = axum::extract::Path::<T>::from_request_parts(parts, state).await;
        path.map(|axum::extract::Path(names)| Self(names)).map_err(|_| {
            let detail =
                "the path has a `%` that does not stand for UTF-8 text; write `%25` for a percent sign";
            Problem::bad_request("bad_path", detail)
        })
    }
}

impl<T> Input for Path<T> {}

/// An id in the path. Text that is no id names nothing, so the answer is the same as for a wrong one.
pub(crate) struct Id<T>(pub(crate) T);

impl<S: Send + Sync, T: FromStr> FromRequestParts<S> for Id<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(text) = Path::<String>::from_request_parts(parts, state).await?;
        text.parse().map(Self).map_err(|_| Problem::not_found("thing"))
    }
}

impl<T> Input for Id<T> {}

/// What stands behind the `?`.
pub(crate) struct Query<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + JsonSchema + 'static> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let schema = schema_of::<T>();
        let given: Map<String, Value> = query_parameters(parts)
            .into_iter()
            .map(|(name, text)| {
                let value = parse_as(schema.pointer(&format!("/properties/{name}/type")), &text);
                (name, value)
            })
            .collect();
        let ShapeErrors { misfit, unknown, .. } = compare(&schema, &Value::Object(given));
        // A filter that is passed over gives another list; elsewhere it is for `check_parameters` to say.
        let is_closed = schema["additionalProperties"] == false;
        if let Some(unknown) = unknown.first().filter(|_| is_closed) {
            return Err(unknown_field("bad_query", "parameter", unknown));
        }
        if let Some(misfit) = misfit {
            let problem = Problem::bad_request("bad_query", format!("in the address, {}", misfit.detail));
            return Err(problem.with_field("field", misfit.field));
        }
        axum::extract::Query::try_from_uri(&parts.uri).map(|axum::extract::Query(value)| Self(value)).map_err(
            |error| {
                tracing::debug!(error = %error.body_text(), "request address not read: its shape is right");
                let detail =
                    "what stands behind the `?` does not fit; give each parameter once, see /openapi.json";
                Problem::bad_request("bad_query", detail)
            },
        )
    }
}

impl<T: JsonSchema> Input for Query<T> {
    fn describe(operation: &mut Operation) {
        operation.take_query::<T>();
    }
}

/// What stands behind the `?`, as it is written.
fn query_parameters(parts: &Parts) -> Vec<(String, String)> {
    axum::extract::Query::try_from_uri(&parts.uri)
        .map(|axum::extract::Query(given)| given)
        .unwrap_or_default()
}

/// The value that a text stands for where such a type is wanted.
fn parse_as(kind: Option<&Value>, text: &str) -> Value {
    let wants = |word: &str| match kind {
        Some(Value::String(kind)) => kind == word,
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == word),
        _ => false,
    };
    let read = if wants("integer") || wants("number") {
        text.parse::<i64>().ok().map(Value::from).or_else(|| text.parse::<u64>().ok().map(Value::from))
    } else if wants("boolean") {
        text.parse::<bool>().ok().map(Value::from)
    } else {
        None
    };
    read.unwrap_or_else(|| text.into())
}

/// The parameters that an operation takes in its address.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parameters {
    pub(crate) known: Vec<String>,
    /// Name those that are not known in a header, and go on.
    pub(crate) is_foreign: bool,
    /// Whether the operation reads a body. Where it does not, one that says something is refused.
    pub(crate) takes_body: bool,
}

/// How much of a body is read for an operation that takes none.
const UNWANTED_BODY_BYTES_MAX: usize = 16 << 10;

/// Refuses a body that says something to an operation that reads none.
async fn refuse_body(body: axum::body::Body) -> Result<(), Problem> {
    let no_body = |detail: &str| Err(Problem::bad_request("bad_body", detail));
    let Ok(collected) = Limited::new(body, UNWANTED_BODY_BYTES_MAX).collect().await else {
        return no_body("this request takes no body, and the one it has is too large");
    };
    let bytes = collected.to_bytes();
    if bytes.trim_ascii().is_empty() {
        return Ok(());
    }
    match serde_json::from_slice(&bytes) {
        Ok(Value::Null) => Ok(()),
        Ok(Value::Object(fields)) => match fields.keys().next() {
            None => Ok(()),
            Some(name) => {
                Err(unknown_field("unknown_field", "field", &UnknownField::new("", name, [].iter())))
            }
        },
        Ok(_) | Err(_) => no_body("this request takes no body; leave it out"),
    }
}

/// The value of a parameter in an address.
pub(crate) fn query_parameter(parts: &Parts, name: &str) -> Option<String> {
    query_parameters(parts).into_iter().find(|(given, _)| given == name).map(|(_, text)| text)
}

/// Stands before the handler of an operation that changes something: none of its parameters is passed over in silence.
pub(crate) async fn check_parameters(
    axum::extract::State(taken): axum::extract::State<std::sync::Arc<Parameters>>,
    request: Request,
    next: axum::middleware::Next,
) -> Response {
    let (parts, body) = request.into_parts();
    let unknown: Vec<UnknownField> = query_parameters(&parts)
        .into_iter()
        .filter(|(name, _)| !taken.known.contains(name))
        .map(|(name, _)| UnknownField::new("", &name, taken.known.iter()))
        .collect();
    if !taken.takes_body {
        if let Some(first) = unknown.first() {
            return unknown_field("unknown_parameter", "parameter", first).into_response();
        }
        return match refuse_body(body).await {
            Ok(()) => next.run(Request::from_parts(parts, axum::body::Body::empty())).await,
            Err(problem) => problem.into_response(),
        };
    }
    let request = Request::from_parts(parts, body);
    match unknown.first() {
        None => next.run(request).await,
        Some(_) if taken.is_foreign => {
            let names = unknown.iter().take(20).map(|unknown| format!("?{}", unknown.field)).collect();
            Ignored(names).add_header_to(next.run(request).await)
        }
        Some(first) => unknown_field("unknown_parameter", "parameter", first).into_response(),
    }
}
