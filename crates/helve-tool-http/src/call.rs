//! One call: fill → send → answer.
//!
//! What a status means is `status`'s business, what a body means `answer`'s and `stream`'s. What is told to the model
//! never holds a secret: the egress takes them out of answers, and `redact_output` out of whatever else is said.

mod status;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use helve_egress::header::{ACCEPT, CONTENT_LENGTH, HeaderName, HeaderValue};
use helve_egress::{
    Bounds, Credential, Egress, EgressError, Incoming, Method, Outgoing, Url, place_of, retry_after,
};
use helve_tool::{CallContext, Request, ResultDocument, Tool, ToolError, ToolFuture, ToolGrants};
use helve_types::{Effect, Notice, Reason, ToolOutput, ToolSpec};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use self::status::status_error;
use crate::answer::{self, Charset, ContentKind, HttpAnswer};
use crate::caller::CallerIdentity;
use crate::stream;
use crate::template::{FilledRequest, Template, header_value};
use crate::transform::Transform;

pub(crate) use self::status::StatusPolicy;

/// What is read of an answer that is text.
const TEXT_BYTES_MAX: usize = 1 << 20;
/// What is read of an answer that is a file.
const FILE_BYTES_MAX: usize = 8 << 20;
/// What is read of an answer that says no.
const REASON_BYTES_MAX: usize = 16 << 10;
const REASON_WAIT: Duration = Duration::from_secs(1);
const GRACE: Duration = Duration::from_secs(1);
/// The longest silence in a stream.
const SILENCE_MAX: Duration = Duration::from_secs(60);

pub(crate) struct HttpTool {
    pub(crate) spec: ToolSpec,
    pub(crate) egress: Egress,
    pub(crate) template: Template,
    pub(crate) method: Method,
    pub(crate) credential: Option<Credential>,
    pub(crate) caller: CallerIdentity,
    /// Why the secret that it wants cannot be sent: the tool then sends nothing at all.
    pub(crate) need: Option<Reason>,
    pub(crate) grants: Arc<ToolGrants>,
    /// The header that the call's id goes into.
    pub(crate) idempotency: Option<HeaderName>,
    pub(crate) transform: Option<Transform>,
    pub(crate) redirects: u8,
    pub(crate) timeout: Duration,
    pub(crate) streams: bool,
    pub(crate) wants_json: bool,
    pub(crate) terms: StatusPolicy,
}

impl Tool for HttpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn preview(&self, request: Request<'_>, cx: &CallContext) -> Option<String> {
        let filled = self.template.fill(request.arguments).ok()?;
        let outgoing = self.build_request(filled, cx).ok()?;
        Some(self.egress.secrets().redact(&outgoing.preview()))
    }

    fn told_ids(&self, cx: &CallContext) -> Vec<String> {
        self.caller.told_ids(cx)
    }

    fn call<'a>(&'a self, request: Request<'a>, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move {
            let began = Instant::now();
            let filled = self.template.fill(request.arguments).map_err(ToolError::Declined);
            let called = match filled {
                Ok(filled) => self.send(filled, began, cx).await,
                Err(error) => Err(error),
            };
            match called {
                Ok(output) => Ok(self.redact_output(output)),
                Err(error) => Err(self.redact_error(error)),
            }
        })
    }
}

/// What is known of an answer before its body is read.
#[derive(Debug, Clone)]
pub(crate) struct AnswerHead {
    pub(crate) status: u16,
    pub(crate) kind: ContentKind,
    pub(crate) charset: Charset,
    pub(crate) media_type: String,
    /// Without its query, which may be long or private.
    pub(crate) url: Url,
    pub(crate) began: Instant,
}

impl HttpTool {
    async fn send(
        &self,
        filled: FilledRequest,
        began: Instant,
        cx: &CallContext,
    ) -> Result<ToolOutput, ToolError> {
        if let Some(need) = &self.need {
            return Err(ToolError::Declined(need.text.clone()).with_notice(need.notice.clone()));
        }
        if self.grants.is_revoked() {
            let told = "the operator has taken back what this tool was allowed, so nothing was sent; go on without it";
            let notice = Notice::tool_grant_revoked(&self.spec.name);
            return Err(ToolError::Declined(told.into()).with_notice(notice));
        }
        let mut url = filled.url.clone();
        url.set_query(None);
        let mut outgoing = self.build_request(filled, cx)?;
        let body = outgoing.body.clone().unwrap_or_default();
        let seconds = cx.world.now().0 / 1000;
        self.caller.sign(&outgoing.method, &outgoing.url, &mut outgoing.headers, &body, seconds);
        let incoming = self.egress.send(outgoing).await.map_err(|error| tool_error(error, &url))?;
        let (kind, media_type) = ContentKind::from_headers(incoming.headers());
        let charset = Charset::from_headers(incoming.headers());
        let head = AnswerHead { status: incoming.status().as_u16(), kind, charset, media_type, url, began };
        if !incoming.status().is_success() {
            return Err(self.build_refusal(incoming, &head, cx).await);
        }
        if self.method == Method::HEAD {
            return Ok(self.build_output(&head, 0, answer::read_headers(incoming.headers())));
        }
        if self.streams && head.kind.comes_in_pieces(self.wants_json || self.transform.is_some()) {
            return match stream::read_stream(incoming, &head.kind, self.transform.as_ref(), &cx.progress)
                .await
            {
                Ok(streamed) => Ok(self.build_output(&head, streamed.bytes, streamed.answer)),
                Err(stream::Failed::Egress(error)) => self.handle_unread_body(&head, error),
                Err(stream::Failed::Unusable(problem)) => {
                    self.handle_unusable_answer(&head, UnusableAnswer::Unfit, &problem, None)
                }
            };
        }
        match self.read_body(incoming, &head).await {
            Ok(body) => self.build_answer(&head, body).await,
            Err(error) => self.handle_unread_body(&head, error),
        }
    }

    fn build_request(&self, filled: FilledRequest, cx: &CallContext) -> Result<Outgoing, ToolError> {
        let mut headers = filled.headers;
        if !headers.contains_key(ACCEPT) {
            headers.insert(
                ACCEPT,
                HeaderValue::from_static(match self.streams {
                    true => "text/event-stream, application/x-ndjson, application/json;q=0.9, */*;q=0.5",
                    false => "application/json, text/plain;q=0.9, */*;q=0.5",
                }),
            );
        }
        if let Some(name) = &self.idempotency {
            let key = header_value(&cx.call.to_string());
            let key = key.map_err(|problem| ToolError::Declined(problem.english()))?;
            headers.insert(name, key);
        }
        self.caller.put_ids(&mut headers, cx);
        // The pipeline keeps the time, and knows that it is up; this is for callers without one.
        let total = self.timeout + GRACE;
        Ok(Outgoing {
            headers,
            body: filled.body,
            credential: self.credential.clone(),
            redirects: self.redirects,
            bounds: Bounds {
                bytes_max: FILE_BYTES_MAX,
                silence: if self.streams { total.min(SILENCE_MAX) } else { total },
                total,
            },
            ..Outgoing::new(self.method.clone(), filled.url)
        })
    }

    /// The whole body; text has a smaller bound than files.
    async fn read_body(&self, mut incoming: Incoming, head: &AnswerHead) -> Result<Vec<u8>, EgressError> {
        let is_text = head.kind.is_text() && !answer::is_document(head);
        let bytes_max = if is_text { TEXT_BYTES_MAX } else { FILE_BYTES_MAX };
        let too_large = || {
            EgressError::TooLarge(format!(
                "the answer is larger than {} MiB and was not read",
                bytes_max >> 20
            ))
        };
        let announced =
            incoming.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        if announced.is_some_and(|bytes: usize| bytes > bytes_max) {
            return Err(too_large());
        }
        let mut body = vec![];
        while let Some(chunk) = incoming.read_chunk().await? {
            if body.len() + chunk.len() > bytes_max {
                return Err(too_large());
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    async fn build_answer(&self, head: &AnswerHead, body: Vec<u8>) -> Result<ToolOutput, ToolError> {
        let bytes = body.len();
        let wants_json = self.wants_json || self.transform.is_some();
        let body = answer::to_utf8(&head.kind, &head.charset, body);
        let written = std::str::from_utf8(&body).ok().map(|text| answer::to_json_text(&head.kind, text));
        let as_written = |output: ToolOutput, part: Option<&str>| match part {
            Some(part) => ToolOutput { text: answer::json_as_written(part), ..output },
            None => output,
        };
        let read = match answer::read_answer(&self.spec.name, head, body, wants_json) {
            Ok(read) => read,
            Err(problem) => return self.handle_unusable_answer(head, UnusableAnswer::NoJson, &problem, None),
        };
        match (&self.transform, read) {
            (Some(transform), HttpAnswer::Value(value)) => match transform.apply(value.clone()).await {
                Ok(found) => {
                    let picked = answer::from_picked(found);
                    let is_value = matches!(&picked, HttpAnswer::Value(value) if !value.is_string());
                    let part =
                        written.as_deref().filter(|_| is_value).and_then(|text| transform.find_written(text));
                    Ok(as_written(self.build_output(head, bytes, picked), part))
                }
                Err(problem) => {
                    let problem = format!("the transform of this tool does not fit its answer: {problem}");
                    self.handle_unusable_answer(head, UnusableAnswer::Unfit, &problem, Some(value))
                }
            },
            (None, HttpAnswer::Value(value)) if answer::is_document(head) => {
                self.read_result_document(head, bytes, value)
            }
            (_, read) => {
                let is_value = matches!(&read, HttpAnswer::Value(value) if !value.is_string());
                Ok(as_written(self.build_output(head, bytes, read), written.as_deref().filter(|_| is_value)))
            }
        }
    }

    /// The result as the other side describes it.
    fn read_result_document(
        &self,
        head: &AnswerHead,
        bytes: usize,
        value: Value,
    ) -> Result<ToolOutput, ToolError> {
        match ResultDocument::parse(value).and_then(ResultDocument::into_output) {
            Ok(output) => Ok(ToolOutput {
                title: output.title.or_else(|| Some(self.request_title(head))),
                metadata: Some(merge_facts(output.metadata, self.answer_facts(head, bytes))),
                ..output
            }),
            Err(problem) => {
                let problem = format!("the answer cannot be used as a result document: {problem}");
                self.handle_unusable_answer(head, UnusableAnswer::NoJson, &problem, None)
            }
        }
    }

    async fn build_refusal(&self, mut incoming: Incoming, head: &AnswerHead, cx: &CallContext) -> ToolError {
        let pause = retry_after(incoming.headers(), cx.world.now().0);
        let mut body = vec![];
        let reading = async {
            while let Ok(Some(chunk)) = incoming.read_chunk().await {
                body.extend_from_slice(&chunk);
                if body.len() > REASON_BYTES_MAX {
                    break;
                }
            }
        };
        // The reason is worth a look. If it does not come, the status says enough, and waiting on would only make
        // an answer out of date.
        _ = tokio::time::timeout(REASON_WAIT.min(self.timeout / 2), reading).await;
        body.truncate(REASON_BYTES_MAX);
        let reason = answer::reason_in_error_body(&head.kind, &head.charset, &body);
        match status_error(head.status, pause, &reason, &self.terms) {
            busy @ ToolError::Busy { .. } => busy,
            error => {
                let host = head.url.host_str().unwrap_or_default();
                error.with_notice(Notice::http_status(host, head.status.into()))
            }
        }
    }

    /// The answer did not come whole. Too large is an answer all the same.
    fn handle_unread_body(&self, head: &AnswerHead, error: EgressError) -> Result<ToolOutput, ToolError> {
        match error {
            EgressError::TooLarge(problem) => {
                self.handle_unusable_answer(head, UnusableAnswer::TooLarge, &problem, None)
            }
            error => Err(tool_error(error, &head.url)),
        }
    }

    /// The other side did what it was asked to, and its answer is of no use. For a call that only reads that is a
    /// failure; a call that changes something must not be repeated.
    fn handle_unusable_answer(
        &self,
        head: &AnswerHead,
        why: UnusableAnswer,
        problem: &str,
        whole: Option<Value>,
    ) -> Result<ToolOutput, ToolError> {
        if self.spec.effect == Effect::Read {
            return Err(match why {
                UnusableAnswer::TooLarge => ToolError::Declined(format!("{problem}; ask for less"))
                    .with_notice(Notice::http_answer_too_large()),
                UnusableAnswer::NoJson => {
                    ToolError::Ailing(format!("{problem}. Operator: look at what its address answers"))
                        .with_notice(Notice::http_answer_unusable())
                }
                UnusableAnswer::Unfit => ToolError::Declined(format!(
                    "{problem}; answer without this tool and say so. Operator: correct its `response_transform`"
                ))
                .with_notice(Notice::http_answer_unusable()),
            });
        }
        let said =
            format!("It was done (status {}), but {problem}. Do not call again for the same.", head.status);
        let text = match &whole {
            Some(value) => format!("{said} The whole answer: {value}"),
            None => said,
        };
        Ok(self.build_output(head, 0, HttpAnswer::Note(text)))
    }

    /// The output as the model and the person get it.
    fn build_output(&self, head: &AnswerHead, bytes: usize, answer: HttpAnswer) -> ToolOutput {
        let mut output = answer.into_output(self.spec.effect, head.status);
        output.title = Some(self.request_title(head));
        output.metadata = Some(Value::Object(self.answer_facts(head, bytes)));
        output
    }

    fn request_title(&self, head: &AnswerHead) -> String {
        format!("{} {}{}", self.method, head.url.host_str().unwrap_or_default(), head.url.path())
    }

    /// What is known of the answer besides what it says.
    fn answer_facts(&self, head: &AnswerHead, bytes: usize) -> Map<String, Value> {
        let ms = u64::try_from(head.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        [
            ("status", json!(head.status)),
            ("ms", json!(ms)),
            ("bytes", json!(bytes)),
            ("content_type", json!(head.media_type)),
            ("url", json!(head.url.as_str())),
        ]
        .into_iter()
        .map(|(name, fact)| (name.to_owned(), fact))
        .collect()
    }

    fn redact_output(&self, mut output: ToolOutput) -> ToolOutput {
        let secrets = self.egress.secrets();
        if secrets.names().next().is_none() {
            return output;
        }
        output.text = secrets.redact(&output.text);
        output.title = output.title.map(|title| secrets.redact(&title));
        for value in output.data.iter_mut().chain(&mut output.metadata) {
            answer::redact_value(value, secrets);
        }
        for file in &mut output.files {
            file.name = secrets.redact(&file.name);
            file.media_type = secrets.redact(&file.media_type);
        }
        output
    }

    fn redact_error(&self, error: ToolError) -> ToolError {
        let redact = |text: String| self.egress.secrets().redact(&text);
        match error {
            ToolError::Declined(text) => ToolError::Declined(redact(text)),
            ToolError::Ailing(text) => ToolError::Ailing(redact(text)),
            ToolError::NotSent(text) => ToolError::NotSent(redact(text)),
            ToolError::Lost(text) => ToolError::Lost(redact(text)),
            ToolError::Busy { message, retry_after } => {
                ToolError::Busy { message: redact(message), retry_after }
            }
            ToolError::Explained { error, notice } => self.redact_error(*error).with_notice(*notice),
        }
    }
}

/// What the other side says of its result, with what is known of the answer; the latter wins.
fn merge_facts(said: Option<Value>, facts: Map<String, Value>) -> Value {
    let mut all = match said {
        Some(Value::Object(members)) => members,
        Some(other) => Map::from_iter([("metadata".to_owned(), other)]),
        None => Map::new(),
    };
    all.extend(facts);
    Value::Object(all)
}

/// Why an answer is of no use.
#[derive(Debug, Clone, Copy)]
enum UnusableAnswer {
    TooLarge,
    /// A server that answers like that is unhealthy.
    NoJson,
    /// It is not what the row's transform was made for.
    Unfit,
}

fn tool_error(error: EgressError, url: &Url) -> ToolError {
    let host = url.host_str().unwrap_or_default();
    match error {
        EgressError::Refused(why) => {
            ToolError::Declined(format!("{why}. Answer without this tool and say so"))
                .with_notice(Notice::egress_refused())
        }
        EgressError::NotSent(why) => {
            let place = place_of(url).unwrap_or_else(|| host.to_owned());
            ToolError::NotSent(format!("{why}; nothing was sent"))
                .with_notice(Notice::host_not_reached(&place))
        }
        EgressError::Lost(why) => {
            ToolError::Lost(format!("`{host}`: {why}")).with_notice(Notice::host_lost(host))
        }
        EgressError::TooLarge(why) => ToolError::Lost(format!("`{host}`: {why}")),
    }
}
