//! POST a question, read the frames of the answer. The only user of the HTTP client.
//!
//! Knows about status codes, frames and bounds, and nothing of what is in a frame. There is no retry here and
//! none in the client: the caller alone knows what has already been shown.

mod frames;
mod listing;
mod patient;
mod read;
mod redact;
mod status;

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::{Stream, StreamExt, stream};
use helve_model::{ModelError, ModelErrorKind, ModelEvent, ModelStream};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, RequestBuilder, Response, Url};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::{Instant, Sleep, sleep, timeout, timeout_at};

use self::frames::Frames;
pub use self::listing::Listing;
pub(crate) use self::listing::listed;
use self::patient::{Patient, ReadError};
use self::read::Read;
use self::redact::{cleaned, redact, redacted};
use crate::bounds::{AnswerBounds, TOO_LARGE};
use crate::complaint;
use crate::patience::Patience;
use crate::protocol::{Decoder, Framing, KeyHeader, Protocol};

/// How long the end of a stream is waited for when its answer is complete.
const GRACE: Duration = Duration::from_millis(250);
const ERROR_BYTES_MAX: usize = 64 << 10;

/// The client for all models of a process.
pub fn client() -> Result<Client, reqwest::Error> {
    client_with(&Patience::default())
}

#[expect(clippy::disallowed_methods, reason = "models are where the operator says, and may be near")]
pub fn client_with(patience: &Patience) -> Result<Client, reqwest::Error> {
    Client::builder()
        .connect_timeout(patience.connect)
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .retry(reqwest::retry::never())
        .user_agent(concat!("helve/", env!("CARGO_PKG_VERSION")))
        .build()
}

pub(crate) struct Question<'a> {
    pub(crate) client: &'a Client,
    pub(crate) url: &'a Url,
    pub(crate) key: Option<&'a SecretString>,
    pub(crate) body: Vec<u8>,
    pub(crate) stream: bool,
    pub(crate) protocol: &'static Protocol,
    pub(crate) patience: Patience,
    pub(crate) bounds: AnswerBounds,
}

/// Sends the question when the stream is first polled.
pub(crate) fn ask(question: Question<'_>) -> ModelStream {
    let Question { client, url, key, body, stream, protocol, patience, bounds } = question;
    let accept = if stream { protocol.framing.media_type() } else { "application/json" };
    let request =
        client.post(url.clone()).header(CONTENT_TYPE, "application/json").header(ACCEPT, accept).body(body);
    let request = match with_key(request, protocol, key) {
        Ok(request) => request,
        Err(error) => return Box::pin(stream::iter([Err(error)])),
    };
    let (url, key) = (url.clone(), key.cloned());
    let (hidden, shown) = (key.clone(), key.clone());
    if stream {
        let deadline = Instant::now() + patience.total;
        let reading = async move {
            let response = send(request, url, key, patience.silence).await?;
            Reading::new(response, shown.as_ref(), protocol, patience, bounds, deadline).await
        };
        return without_key(Answer { state: State::Asking(Box::pin(reading)) }, hidden);
    }
    let whole = async move {
        let late = late(&url);
        let answer = async {
            let response = send(request, url, key, patience.total).await?;
            whole(response, shown.as_ref(), protocol, bounds).await
        };
        match timeout(patience.total, answer).await.unwrap_or(Err(late)) {
            Ok(read) => read.events.into_iter().map(Ok).chain(read.failed.map(Err)).collect(),
            Err(error) => vec![Err(error)],
        }
    };
    without_key(stream::once(whole).flat_map(stream::iter), hidden)
}

/// The request with what the protocol sends in its head.
fn with_key(
    mut request: RequestBuilder,
    protocol: &Protocol,
    key: Option<&SecretString>,
) -> Result<RequestBuilder, ModelError> {
    for (name, value) in protocol.headers {
        request = request.header(*name, *value);
    }
    let Some(key) = key else { return Ok(request) };
    let (name, text) = match protocol.key {
        KeyHeader::Bearer => (AUTHORIZATION.as_str(), format!("Bearer {}", key.expose_secret())),
        KeyHeader::Named(name) => (name, key.expose_secret().to_owned()),
    };
    let mut value = HeaderValue::try_from(text)
        .map_err(|_| ModelError::new(ModelErrorKind::Key, "the key has characters that no key can have"))?;
    value.set_sensitive(true);
    Ok(request.header(name, value))
}

fn without_key(
    events: impl Stream<Item = Result<ModelEvent, ModelError>> + Send + 'static,
    key: Option<SecretString>,
) -> ModelStream {
    Box::pin(events.map(move |event| event.map_err(|error| redacted(error, key.as_ref()))))
}

/// The response of a server that took the question, if its head comes in time.
async fn send(
    request: RequestBuilder,
    url: Url,
    key: Option<SecretString>,
    patience: Duration,
) -> Result<Response, ModelError> {
    let response = head(request, &url, patience).await?;
    fit(response, &url, key.as_ref(), patience).await
}

async fn head(request: RequestBuilder, url: &Url, patience: Duration) -> Result<Response, ModelError> {
    let response = timeout(patience, request.send()).await.map_err(|_| late(url))?;
    response.map_err(|error| unreachable(&error, url))
}

/// The response if it is one of success, or what is wrong.
async fn fit(
    response: Response,
    url: &Url,
    key: Option<&SecretString>,
    patience: Duration,
) -> Result<Response, ModelError> {
    let (status, headers) = (response.status(), response.headers());
    if let Some(error) = status::unfit(status, headers, url) {
        return Err(error);
    }
    if status.is_success() {
        return Ok(response);
    }
    let retry_after = status::retry_after(headers);
    let body = timeout(patience, beginning(response, ERROR_BYTES_MAX)).await.unwrap_or_default();
    let error = complaint::before_answer(status.as_u16(), &redact(&body, key));
    Err(ModelError { retry_after, ..error })
}

/// Not the whole authority, which may hold a password.
fn host(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}{port}", url.host_str().unwrap_or_default())
}

fn late(url: &Url) -> ModelError {
    let what = format!("the model server at {} did not answer in time", host(url));
    ModelError::new(ModelErrorKind::Unavailable, what)
}

fn unreachable(error: &reqwest::Error, url: &Url) -> ModelError {
    if error.is_timeout() {
        return late(url);
    }
    let host = host(url);
    let what = if error.is_connect() {
        format!("the model server at {host} cannot be reached; is it running, and is the address right?")
    } else {
        format!("the question could not be sent to {host}: {}", root_cause(error))
    };
    ModelError::new(ModelErrorKind::Unavailable, what)
}

/// The innermost reason; the outer ones repeat the address, which may hold more than it should.
fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

async fn bounded_body(
    response: Response,
    key: Option<&SecretString>,
    bytes_max: usize,
) -> Result<String, ModelError> {
    let mut body = vec![];
    let mut chunks = pin!(cleaned(response.bytes_stream(), key));
    while let Some(chunk) = chunks.next().await {
        body.extend_from_slice(&chunk.map_err(|error| broke_off(&root_cause(&error)))?);
        if body.len() > bytes_max {
            return Err(broke_off(TOO_LARGE));
        }
    }
    Ok(String::from_utf8_lossy(&body).into_owned())
}

/// As much of a body as can be read, for what went wrong anyway.
async fn beginning(response: Response, bytes_max: usize) -> String {
    let mut body = vec![];
    let mut chunks = response.bytes_stream();
    while let Some(Ok(chunk)) = chunks.next().await {
        body.extend_from_slice(&chunk[..chunk.len().min(bytes_max - body.len())]);
        if body.len() == bytes_max {
            break;
        }
    }
    String::from_utf8_lossy(&body).into_owned()
}

fn broke_off(because: &str) -> ModelError {
    ModelError::new(ModelErrorKind::Broken, format!("the model's answer broke off: {because}"))
}

async fn whole(
    response: Response,
    key: Option<&SecretString>,
    protocol: &Protocol,
    bounds: AnswerBounds,
) -> Result<Read, ModelError> {
    let body = bounded_body(response, key, bounds.bytes_max).await?;
    Ok(Read::whole(&body, protocol))
}

/// An answer on its way.
struct Answer {
    state: State,
}

enum State {
    Asking(Pin<Box<dyn Future<Output = Result<Reading, ModelError>> + Send>>),
    Reading(Box<Reading>),
    Over,
}

struct Reading {
    frames: Frames,
    decoder: Decoder,
    /// Of the last frame.
    read: Read,
    /// Runs once the answer is complete: its stream may end by itself, which keeps the connection, but not for long.
    grace: Option<Pin<Box<Sleep>>>,
    ended: bool,
}

impl Reading {
    async fn new(
        response: Response,
        key: Option<&SecretString>,
        protocol: &Protocol,
        patience: Patience,
        bounds: AnswerBounds,
        deadline: Instant,
    ) -> Result<Self, ModelError> {
        let decoder = (protocol.decoder)();
        // Some servers send a whole answer, or an error, although pieces were asked for.
        if protocol.framing == Framing::Events && status::is_json(response.headers()) {
            // Its head came, so the rest cannot be far.
            let until = deadline.min(Instant::now() + patience.silence);
            let late = |_| broke_off(&patient::silent(&patience));
            let body =
                timeout_at(until, bounded_body(response, key, bounds.bytes_max)).await.map_err(late)??;
            // And some only say so.
            let in_pieces = !body.trim_start().starts_with('{');
            let read = if in_pieces { Read::default() } else { Read::whole(&body, protocol) };
            let frames = Frames::new(protocol.framing, stream::iter([Ok(body.into())]));
            return Ok(Self { frames, decoder, read, grace: None, ended: !in_pieces });
        }
        let mut meter = bounds.meter();
        let bytes = response.bytes_stream().map(move |chunk| {
            let chunk = chunk.map_err(|error| ReadError(root_cause(&error)))?;
            meter.take(&chunk).map_err(|what| ReadError(what.into()))?;
            Ok(chunk)
        });
        let bytes = Patient::new(bytes, patience, deadline);
        let frames = Frames::new(protocol.framing, cleaned(bytes, key));
        Ok(Self { frames, decoder, read: Read::default(), grace: None, ended: false })
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<ModelEvent, ModelError>>> {
        loop {
            if let Some(event) = self.read.events.pop_front() {
                if let ModelEvent::Finished(_) = event {
                    self.grace = Some(Box::pin(sleep(GRACE)));
                }
                return Poll::Ready(Some(Ok(event)));
            }
            if let Some(error) = self.read.failed.take() {
                return Poll::Ready(Some(Err(error)));
            }
            if self.ended {
                return Poll::Ready(None);
            }
            let Poll::Ready(frame) = self.frames.poll_next(cx) else {
                return self
                    .grace
                    .as_mut()
                    .map_or(Poll::Pending, |grace| grace.as_mut().poll(cx).map(|()| None));
            };
            let decoded = match frame {
                Some(Ok(frame)) => (self.decoder)(Some(&frame), &mut self.read.events),
                Some(Err(because)) => {
                    self.ended = true;
                    // An answer that was complete stays so, whatever happens to its stream afterwards.
                    (self.decoder)(None, &mut self.read.events).map_err(|_| broke_off(&because))
                }
                None => {
                    self.ended = true;
                    (self.decoder)(None, &mut self.read.events)
                }
            };
            if let Err(error) = decoded {
                self.ended = true;
                self.read.fail(error);
            }
        }
    }
}

impl Stream for Answer {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            match &mut self.state {
                State::Asking(reading) => match ready!(reading.as_mut().poll(cx)) {
                    Ok(reading) => self.state = State::Reading(Box::new(reading)),
                    Err(error) => {
                        self.state = State::Over;
                        return Poll::Ready(Some(Err(error)));
                    }
                },
                State::Reading(reading) => {
                    let event = ready!(reading.poll_event(cx));
                    if !matches!(event, Some(Ok(_))) {
                        self.state = State::Over;
                    }
                    return Poll::Ready(event);
                }
                State::Over => return Poll::Ready(None),
            }
        }
    }
}

#[cfg(test)]
mod tests;
