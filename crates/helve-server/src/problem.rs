//! Error responses (RFC 9457): a code and parameters for programs, a sentence for people.

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use helve_runtime::{ChooseError, CommandError, StartError};
use helve_store::StoreError;
use helve_tool::{DECLINE_CHARS_MAX, VoteRefusal, reply_notice};
use helve_types::{Notice, load_sentences};
use serde_json::{Map, Value, json};

/// An error response. `detail` goes to the caller; what only the operator may know is logged instead.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    code: &'static str,
    detail: String,
    /// The parameters of the sentence that the client makes from the code.
    params: Map<String, Value>,
    more: Map<String, Value>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        debug_assert!(load_sentences().contains_key(code), "{code} is not in fixtures/codes.json");
        Self { status, code, detail: detail.into(), params: Map::new(), more: Map::new(), headers: vec![] }
    }

    pub(crate) fn bad_request(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, detail)
    }

    pub(crate) fn not_found(what: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", format!("there is no such {what}"))
    }

    pub(crate) fn with_field(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.more.insert(name.into(), value.into());
        self
    }

    /// Adds a parameter of the sentence; `fixtures/codes.json` has the names for each code.
    pub(crate) fn with_param(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.params.insert(name.into(), value.into());
        self
    }

    pub(crate) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    pub(crate) fn code(&self) -> &'static str {
        self.code
    }

    /// Adds `Retry-After`.
    pub(crate) fn with_retry_after(self, seconds: u32) -> Self {
        self.with_header(header::RETRY_AFTER, HeaderValue::from(seconds))
    }

    /// The error as JSON, for a stream that has already begun.
    pub(crate) fn to_json(&self) -> Value {
        let mut told = json!({"code": self.code, "message": self.detail});
        if !self.params.is_empty() {
            told["params"] = self.params.clone().into();
        }
        told
    }
}

/// The JSON body of the response, which a later layer may extend before it is sent.
#[derive(Clone)]
pub(crate) struct ProblemDocument(pub(crate) Map<String, Value>);

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut body = self.more;
        body.insert("type".into(), "about:blank".into());
        body.insert("title".into(), self.status.canonical_reason().unwrap_or("Error").into());
        body.insert("status".into(), self.status.as_u16().into());
        body.insert("code".into(), self.code.into());
        body.insert("detail".into(), self.detail.into());
        if !self.params.is_empty() {
            body.insert("params".into(), self.params.into());
        }
        let mut response = (self.status, Value::Object(body.clone()).to_string()).into_response();
        response.extensions_mut().insert(ProblemDocument(body));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.extend(self.headers);
        response
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound(what) => Self::not_found(what),
            StoreError::Busy(run) => Self::new(
                StatusCode::CONFLICT,
                "conversation_busy",
                "the conversation has a run that is not over; wait for it, answer it, or stop it",
            )
            .with_field("run", run.to_string()),
            StoreError::KeyReused => Self::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "idempotency_key_reused",
                "this Idempotency-Key was used before, with another request",
            ),
            StoreError::AlreadyAnswered => {
                Self::new(StatusCode::CONFLICT, "already_answered", "this was answered before")
            }
            StoreError::Taken(what) => {
                let detail = format!("this {what} belongs to another user; take it from that user first");
                Self::new(StatusCode::CONFLICT, "taken", detail)
            }
            StoreError::Full(what) => {
                let detail = format!("there is no room for another {what}; make room first");
                Self::new(StatusCode::CONFLICT, "full", detail)
            }
            StoreError::Changed(version) => Self::new(
                StatusCode::CONFLICT,
                "changed",
                "it was changed meanwhile; read it again and decide anew",
            )
            .with_field("version", version),
            StoreError::Fenced(_) => Self::new(
                StatusCode::CONFLICT,
                "run_elsewhere",
                "another server has taken the run over; ask it again",
            ),
            StoreError::Unavailable(reason) => {
                tracing::error!(%reason, "store unavailable");
                Self::new(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "storage_unavailable",
                    "the server cannot write to its store; nothing was started and nothing is lost",
                )
                .with_retry_after(5)
            }
        }
    }
}

impl From<StartError> for Problem {
    fn from(error: StartError) -> Self {
        let detail = error.to_string();
        match error {
            StartError::UnknownAgent { .. } => {
                let detail = format!(
                    "{detail}; name one of these (`X-Agent-ID` on /api/agent, `agent` elsewhere), leave it out for the \
                     default agent, make one with `POST /api/agents`, or have the operator add `[[agents]]` with this `name` to \
                     helve.toml"
                );
                Self::new(StatusCode::NOT_FOUND, "unknown_agent", detail)
            }
            StartError::UnknownDraft(_) => Self::new(StatusCode::NOT_FOUND, "unknown_draft", detail),
            StartError::AgentDisabled(_) => Self::new(StatusCode::CONFLICT, "agent_disabled", detail),
            StartError::AgentUnusable { .. } => Self::new(StatusCode::CONFLICT, "agent_unusable", detail),
            StartError::Model(ChooseError::UnknownModel { .. }) => {
                Self::new(StatusCode::NOT_FOUND, "unknown_model", detail)
            }
            StartError::Model(ChooseError::UnknownVariant { .. }) => {
                Self::new(StatusCode::NOT_FOUND, "unknown_variant", detail)
            }
            StartError::Model(ChooseError::TwoVariants { .. }) => Self::bad_request("two_variants", detail),
            StartError::UnknownProfile(_) => Self::bad_request("unknown_profile", detail),
            StartError::UnknownTool { .. } => Self::bad_request("unknown_tool", detail),
            StartError::Empty => Self::bad_request("empty_message", detail),
            StartError::Tool(_) => Self::bad_request("bad_tool", detail),
            StartError::ShareTaken { after_s } => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_runs", detail).with_retry_after(after_s)
            }
            StartError::Full { after_s } => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "too_many_runs", detail).with_retry_after(after_s)
            }
            StartError::StorageFull => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "storage_full", detail).with_retry_after(30)
            }
            StartError::TooManyWaiting { .. } => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_waiting_runs", detail)
            }
            StartError::UserStorageFull { bytes, max } => {
                Self::new(StatusCode::INSUFFICIENT_STORAGE, "user_storage_full", detail)
                    .with_field("bytes", bytes)
                    .with_field("bytes_max", max)
            }
            StartError::BudgetSpent { because, renews_at, after_s } => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, "budget_spent", detail)
                    .with_field("renews_at", renews_at.0)
                    .with_param("because", because.notice)
                    .with_param("renews_at", renews_at.0)
                    .with_retry_after(after_s)
            }
            StartError::Closing => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "closing", detail).with_retry_after(5)
            }
            StartError::Store(error) => error.into(),
        }
    }
}

impl From<CommandError> for Problem {
    fn from(error: CommandError) -> Self {
        let detail = error.to_string();
        match error {
            CommandError::NotOpen => Self::new(StatusCode::CONFLICT, "already_answered", detail),
            CommandError::DoesNotFit => Self::bad_request("answer_does_not_fit", detail),
            CommandError::Expired => Self::new(StatusCode::CONFLICT, "approval_expired", detail),
            CommandError::BadEdit(_, notice) => {
                let problem = Self::new(StatusCode::UNPROCESSABLE_ENTITY, "bad_arguments", detail);
                match notice {
                    Some(notice) => problem.with_field("notice", *notice),
                    None => problem,
                }
            }
            CommandError::BadReply(problems) => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "reply_does_not_fit", detail)
                    .with_field("fields", json!(problems))
                    .with_field("notice", reply_notice(&problems))
            }
            CommandError::DeclineTooLong => {
                let notice = Notice::decline_too_long(DECLINE_CHARS_MAX as u64);
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "reply_does_not_fit", detail)
                    .with_field("notice", notice)
            }
            CommandError::NotCounted(VoteRefusal::NotApprover) => {
                Self::new(StatusCode::FORBIDDEN, "not_an_approver", detail)
            }
            CommandError::NotCounted(VoteRefusal::OwnRequest) => {
                Self::new(StatusCode::FORBIDDEN, "own_request", detail)
            }
            CommandError::NotCounted(VoteRefusal::AlreadyVoted) | CommandError::VotedBefore => {
                Self::new(StatusCode::CONFLICT, "already_voted", detail)
            }
            CommandError::NotCounted(VoteRefusal::OtherDecision) => {
                Self::new(StatusCode::CONFLICT, "other_decision", detail)
            }
            CommandError::BadAlways(_) => Self::bad_request("bad_always", detail),
            CommandError::NotWaiting => Self::new(StatusCode::CONFLICT, "call_not_waiting", detail),
            CommandError::BadClient => Self::bad_request("bad_client", detail),
            CommandError::ClaimedElsewhere => Self::new(StatusCode::CONFLICT, "claimed_elsewhere", detail),
            CommandError::NotClaimed => Self::new(StatusCode::FORBIDDEN, "call_not_claimed", detail),
            CommandError::NoToken => Self::new(StatusCode::FORBIDDEN, "result_token_missing", detail),
            CommandError::WrongToken => Self::new(StatusCode::FORBIDDEN, "result_token_wrong", detail),
            CommandError::AlreadyBrought => Self::new(StatusCode::CONFLICT, "already_brought", detail),
            CommandError::ClaimLost => Self::new(StatusCode::CONFLICT, "claim_lost", detail),
            CommandError::Over => Self::new(StatusCode::CONFLICT, "run_over", detail),
            CommandError::Empty => Self::bad_request("empty_message", detail),
            CommandError::TooLong(_) => Self::new(StatusCode::PAYLOAD_TOO_LARGE, "message_too_long", detail),
            CommandError::TooMuchSaid => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_messages", detail).with_retry_after(5)
            }
            CommandError::OtherText => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "idempotency_key_reused", detail)
            }
            CommandError::NobodyListens => Self::new(StatusCode::CONFLICT, "nobody_listens", detail),
            CommandError::Waits => Self::new(StatusCode::CONFLICT, "run_waits", detail),
            CommandError::Busy => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "closing", detail).with_retry_after(5)
            }
            CommandError::Store(error) => error.into(),
        }
    }
}
