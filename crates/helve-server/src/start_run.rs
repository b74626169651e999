//! Starts a run for a request: idempotency key, response headers, event stream.

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use helve_runtime::{StartRequest, StartedRun, ToolCallOutcome};
use helve_store::IdempotencyKey;
use helve_types::{ConversationId, RunId, World, hex};
use sha2::{Digest, Sha256};

use crate::access::Principal;
use crate::app::App;
use crate::problem::Problem;
use crate::sse::{Render, Subscriber};

const KEY_HEADER: &str = "idempotency-key";
/// Says that the draft of the agent is meant.
pub(crate) const DRAFT_HEADER: &str = "x-agent-draft";
pub(crate) const DRAFT_MEANING: &str =
    "`true` tries the draft of the agent in place of the agent; needs the right `admin`.";
const REPLAYED_HEADER: HeaderName = HeaderName::from_static("idempotency-replayed");
const RUN_HEADER: HeaderName = HeaderName::from_static("x-helve-run");
const CONVERSATION_HEADER: HeaderName = HeaderName::from_static("x-helve-conversation");
const KEY_KEPT_MS: i64 = 24 * 60 * 60 * 1_000;

pub(crate) async fn start_run(app: &App, request: StartRequest) -> Result<StartedRun, Problem> {
    check_ready(app)?;
    Ok(app.runtime.start_run(request).await?)
}

/// Whether the request tries the draft of its agent, which only those do who make agents.
pub(crate) fn tries_draft(headers: &HeaderMap, principal: &Principal) -> Result<bool, Problem> {
    let Some(given) = headers.get(DRAFT_HEADER) else { return Ok(false) };
    match given.to_str().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
        "true" | "1" if principal.is_admin() => Ok(true),
        "true" | "1" => {
            let detail = "a draft is tried with a token with the right `admin`";
            Err(Problem::new(StatusCode::FORBIDDEN, "admin_needed", detail))
        }
        "false" | "0" | "" => Ok(false),
        _ => Err(Problem::bad_request("bad_draft", "X-Agent-Draft must be `true` or `false`")),
    }
}

pub(crate) fn check_ready(app: &App) -> Result<(), Problem> {
    if app.is_ready() {
        return Ok(());
    }
    let detail = "the server is starting or going down; try again in a moment";
    Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "not_ready", detail).with_retry_after(5))
}

/// Streams the run from its beginning.
pub(crate) fn stream_started_run(
    subscriber: Subscriber,
    started: StartedRun,
    render: impl Render,
) -> Response {
    let names = RunHeaders::from_started(&started);
    names.add_to(subscriber.stream_response(started.follower, render))
}

/// The response headers of a request that started a run.
pub(crate) struct RunHeaders {
    run: RunId,
    conversation: Option<ConversationId>,
    replayed: bool,
}

impl RunHeaders {
    pub(crate) fn from_started(started: &StartedRun) -> Self {
        Self { run: started.run, conversation: started.conversation, replayed: started.replayed }
    }

    pub(crate) fn from_called(called: &ToolCallOutcome) -> Self {
        Self { run: called.run, conversation: None, replayed: called.replayed }
    }

    pub(crate) fn add_to(&self, response: impl IntoResponse) -> Response {
        let mut response = response.into_response();
        let headers = response.headers_mut();
        let conversation = self.conversation.map(|id| (CONVERSATION_HEADER, id.to_string()));
        let replayed = self.replayed.then(|| (REPLAYED_HEADER, "true".into()));
        for (name, value) in
            [(RUN_HEADER, self.run.to_string())].into_iter().chain(conversation).chain(replayed)
        {
            if let Ok(value) = HeaderValue::try_from(value) {
                headers.insert(name, value);
            }
        }
        response
    }
}

/// The `Idempotency-Key` of the request.
pub(crate) fn parse_key_header(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let Some(key) = headers.get(KEY_HEADER) else { return Ok(None) };
    let key = key.to_str().unwrap_or_default();
    if key.is_empty() || key.len() > 255 || !key.bytes().all(|b| b.is_ascii_graphic()) {
        let detail = "Idempotency-Key must have 1 to 255 visible ASCII characters";
        return Err(Problem::bad_request("bad_idempotency_key", detail));
    }
    Ok(Some(key))
}

/// The key under which a repeated request finds the run of the first. `named` is what the request names outside of its
/// body: the agent of a header, the tool of the path.
pub(crate) fn read_idempotency_key(
    headers: &HeaderMap,
    route: &str,
    named: Option<&str>,
    body: &[u8],
    world: &World,
) -> Result<Option<IdempotencyKey>, Problem> {
    let Some(key) = parse_key_header(headers)? else { return Ok(None) };
    let mut hash = Sha256::new();
    let draft = headers.get(DRAFT_HEADER).and_then(|given| given.to_str().ok());
    for text in std::iter::once(route).chain(named).chain(draft) {
        hash.update(text);
        hash.update([0]);
    }
    hash.update(body);
    Ok(Some(IdempotencyKey {
        route: route.into(),
        key: key.into(),
        fingerprint: hex(&hash.finalize()),
        expires_at: world.now().plus_ms(KEY_KEPT_MS),
    }))
}

pub(crate) fn parse_conversation(text: &str) -> Result<ConversationId, Problem> {
    text.parse().map_err(|_| Problem::not_found("conversation"))
}
