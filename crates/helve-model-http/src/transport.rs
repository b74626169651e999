//! Sends requests and reads the frames of answers. The only user of the HTTP client.
//!
//! Knows status codes, frames and limits, not the contents of a frame. Neither this module nor the client retries, since
//! only the caller knows what readers have already seen.

mod decoded;
mod frames;
mod listing;
mod redact;
mod status;
mod timed_stream;

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

use self::decoded::DecodedEvents;
use self::frames::Frames;
pub use self::listing::Listing;
pub(crate) use self::listing::list_models;
use self::redact::{redact, redact_error, redact_stream};
use self::timed_stream::{ReadError, TimedStream};
use crate::bounds::{AnswerBounds, TOO_LARGE};
use crate::protocol::{Decoder, Framing, KeyHeader, Protocol};
use crate::server_error;
use crate::timeouts::Timeouts;

/// How long to wait for the end of a stream after its answer is complete.
const END_GRACE: Duration = Duration::from_millis(250);
const ERROR_BYTES_MAX: usize = 64 << 10;

/// The client for all models of a process.
pub fn build_client() -> Result<Client, reqwest::Error> {
    build_client_with(&Timeouts::default())
}

#[expect(
    clippy::disallowed_methods,
    reason = "the operator chooses the addresses of models, which may be local"
)]
pub fn build_client_with(timeouts: &Timeouts) -> Result<Client, reqwest::Error> {
    Client::builder()
        .connect_timeout(timeouts.connect)
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .retry(reqwest::retry::never())
        .user_agent(concat!("helve/", env!("CARGO_PKG_VERSION")))
        .build()
}

pub(crate) struct OutgoingRequest<'a> {
    pub(crate) client: &'a Client,
    pub(crate) url: &'a Url,
    pub(crate) key: Option<&'a SecretString>,
    pub(crate) body: Vec<u8>,
    pub(crate) stream: bool,
    pub(crate) protocol: &'static Protocol,
    pub(crate) timeouts: Timeouts,
    pub(crate) bounds: AnswerBounds,
}

/// Sends the request when the stream is first polled.
pub(crate) fn send_request(outgoing: OutgoingRequest<'_>) -> ModelStream {
    let OutgoingRequest { client, url, key, body, stream, protocol, timeouts, bounds } = outgoing;
    let accept = if stream { protocol.framing.media_type() } else { "application/json" };
    let request =
        client.post(url.clone()).header(CONTENT_TYPE, "application/json").header(ACCEPT, accept).body(body);
    let request = match add_headers(request, protocol, key) {
        Ok(request) => request,
        Err(error) => return Box::pin(stream::iter([Err(error)])),
    };
    let (url, key) = (url.clone(), key.cloned());
    let (hidden, shown) = (key.clone(), key.clone());
    if stream {
        let deadline = Instant::now() + timeouts.total;
        let reader = async move {
            let response = send(request, url, key, timeouts.idle).await?;
            StreamReader::new(response, shown.as_ref(), protocol, timeouts, bounds, deadline).await
        };
        return redact_errors(AnswerStream { state: State::Sending(Box::pin(reader)) }, hidden);
    }
    let complete = async move {
        let on_timeout = timeout_error(&url);
        let answer = async {
            let response = send(request, url, key, timeouts.total).await?;
            read_complete(response, shown.as_ref(), protocol, bounds).await
        };
        match timeout(timeouts.total, answer).await.unwrap_or(Err(on_timeout)) {
            Ok(read) => read.events.into_iter().map(Ok).chain(read.failed.map(Err)).collect(),
            Err(error) => vec![Err(error)],
        }
    };
    redact_errors(stream::once(complete).flat_map(stream::iter), hidden)
}

/// Adds the protocol's headers and the key.
fn add_headers(
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

fn redact_errors(
    events: impl Stream<Item = Result<ModelEvent, ModelError>> + Send + 'static,
    key: Option<SecretString>,
) -> ModelStream {
    Box::pin(events.map(move |event| event.map_err(|error| redact_error(error, key.as_ref()))))
}

/// The successful response of the server, if its head arrives in time.
async fn send(
    request: RequestBuilder,
    url: Url,
    key: Option<SecretString>,
    timeouts: Duration,
) -> Result<Response, ModelError> {
    let response = send_head(request, &url, timeouts).await?;
    check_response(response, &url, key.as_ref(), timeouts).await
}

async fn send_head(request: RequestBuilder, url: &Url, timeouts: Duration) -> Result<Response, ModelError> {
    let response = timeout(timeouts, request.send()).await.map_err(|_| timeout_error(url))?;
    response.map_err(|error| connection_error(&error, url))
}

/// The response if it is successful, otherwise the error.
async fn check_response(
    response: Response,
    url: &Url,
    key: Option<&SecretString>,
    timeouts: Duration,
) -> Result<Response, ModelError> {
    let (status, headers) = (response.status(), response.headers());
    if let Some(error) = status::response_error(status, headers, url) {
        return Err(error);
    }
    if status.is_success() {
        return Ok(response);
    }
    let retry_after = status::retry_after(headers);
    let body = timeout(timeouts, read_head(response, ERROR_BYTES_MAX)).await.unwrap_or_default();
    let error = server_error::from_response(status.as_u16(), &redact(&body, key));
    Err(ModelError { retry_after, ..error })
}

/// Host and port. The whole authority may contain a password.
fn host_of(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}{port}", url.host_str().unwrap_or_default())
}

fn timeout_error(url: &Url) -> ModelError {
    let what = format!("the model server at {} did not answer in time", host_of(url));
    ModelError::new(ModelErrorKind::Unavailable, what)
}

fn connection_error(error: &reqwest::Error, url: &Url) -> ModelError {
    if error.is_timeout() {
        return timeout_error(url);
    }
    let host = host_of(url);
    let what = if error.is_connect() {
        format!("the model server at {host} cannot be reached; is it running, and is the address right?")
    } else {
        format!("the request to the model server at {host} could not be sent: {}", root_cause(error))
    };
    ModelError::new(ModelErrorKind::Unavailable, what)
}

/// The innermost cause. The outer ones repeat the address, which may contain secrets.
fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

async fn read_body(
    response: Response,
    key: Option<&SecretString>,
    bytes_max: usize,
) -> Result<String, ModelError> {
    let mut body = vec![];
    let mut chunks = pin!(redact_stream(response.bytes_stream(), key));
    while let Some(chunk) = chunks.next().await {
        body.extend_from_slice(&chunk.map_err(|error| broken_answer(&root_cause(&error)))?);
        if body.len() > bytes_max {
            return Err(broken_answer(TOO_LARGE));
        }
    }
    Ok(String::from_utf8_lossy(&body).into_owned())
}

/// The beginning of the body of a failed response; a read error ends it.
async fn read_head(response: Response, bytes_max: usize) -> String {
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

fn broken_answer(reason: &str) -> ModelError {
    ModelError::new(ModelErrorKind::Broken, format!("the model's answer broke off: {reason}"))
}

async fn read_complete(
    response: Response,
    key: Option<&SecretString>,
    protocol: &Protocol,
    bounds: AnswerBounds,
) -> Result<DecodedEvents, ModelError> {
    let body = read_body(response, key, bounds.bytes_max).await?;
    Ok(DecodedEvents::read_complete(&body, protocol))
}

/// An answer whose events are polled.
struct AnswerStream {
    state: State,
}

enum State {
    Sending(Pin<Box<dyn Future<Output = Result<StreamReader, ModelError>> + Send>>),
    StreamReader(Box<StreamReader>),
    Ended,
}

struct StreamReader {
    frames: Frames,
    decoder: Decoder,
    /// Decoded, but not yet returned by the stream.
    decoded: DecodedEvents,
    /// Runs once the answer is complete. A stream that ends by itself keeps its connection usable, but the wait is short.
    grace: Option<Pin<Box<Sleep>>>,
    ended: bool,
}

impl StreamReader {
    async fn new(
        response: Response,
        key: Option<&SecretString>,
        protocol: &Protocol,
        timeouts: Timeouts,
        bounds: AnswerBounds,
        deadline: Instant,
    ) -> Result<Self, ModelError> {
        let decoder = (protocol.decoder)();
        // Some servers send a complete answer, or an error, to a request for a stream.
        if protocol.framing == Framing::Events && status::is_json(response.headers()) {
            // After its head the rest should arrive soon.
            let until = deadline.min(Instant::now() + timeouts.idle);
            let on_timeout = |_| broken_answer(&timed_stream::idle_message(&timeouts));
            let body =
                timeout_at(until, read_body(response, key, bounds.bytes_max)).await.map_err(on_timeout)??;
            // Others only declare a stream as JSON.
            let is_stream = !body.trim_start().starts_with('{');
            let decoded = if is_stream {
                DecodedEvents::default()
            } else {
                DecodedEvents::read_complete(&body, protocol)
            };
            let frames = Frames::new(protocol.framing, stream::iter([Ok(body.into())]));
            return Ok(Self { frames, decoder, decoded, grace: None, ended: !is_stream });
        }
        let mut meter = bounds.new_meter();
        let bytes = response.bytes_stream().map(move |chunk| {
            let chunk = chunk.map_err(|error| ReadError(root_cause(&error)))?;
            meter.count_bytes(&chunk).map_err(|what| ReadError(what.into()))?;
            Ok(chunk)
        });
        let bytes = TimedStream::new(bytes, timeouts, deadline);
        let frames = Frames::new(protocol.framing, redact_stream(bytes, key));
        Ok(Self { frames, decoder, decoded: DecodedEvents::default(), grace: None, ended: false })
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<ModelEvent, ModelError>>> {
        loop {
            if let Some(event) = self.decoded.events.pop_front() {
                if let ModelEvent::Finished(_) = event {
                    self.grace = Some(Box::pin(sleep(END_GRACE)));
                }
                return Poll::Ready(Some(Ok(event)));
            }
            if let Some(error) = self.decoded.failed.take() {
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
                Some(Ok(frame)) => (self.decoder)(Some(&frame), &mut self.decoded.events),
                Some(Err(reason)) => {
                    self.ended = true;
                    // A complete answer stays complete if its stream fails afterwards.
                    (self.decoder)(None, &mut self.decoded.events).map_err(|_| broken_answer(&reason))
                }
                None => {
                    self.ended = true;
                    (self.decoder)(None, &mut self.decoded.events)
                }
            };
            if let Err(error) = decoded {
                self.ended = true;
                self.decoded.fail(error);
            }
        }
    }
}

impl Stream for AnswerStream {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            match &mut self.state {
                State::Sending(reading) => match ready!(reading.as_mut().poll(cx)) {
                    Ok(reading) => self.state = State::StreamReader(Box::new(reading)),
                    Err(error) => {
                        self.state = State::Ended;
                        return Poll::Ready(Some(Err(error)));
                    }
                },
                State::StreamReader(reading) => {
                    let event = ready!(reading.poll_event(cx));
                    if !matches!(event, Some(Ok(_))) {
                        self.state = State::Ended;
                    }
                    return Poll::Ready(event);
                }
                State::Ended => return Poll::Ready(None),
            }
        }
    }
}

#[cfg(test)]
mod tests;
