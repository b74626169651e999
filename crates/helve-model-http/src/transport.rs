//! POST a question, read the frames of the answer. The only user of the HTTP client.
//!
//! Knows about status codes, frames and bounds, and nothing of what is in a frame. There is no retry here and
//! none in the client: the caller alone knows what has already been shown.

mod redact;
mod status;

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use helve_model::{ModelError, ModelErrorKind, ModelEvent, ModelStream};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, Response, Url};
use secrecy::{ExposeSecret, SecretString};
use sse_stream::SseByteStream;
use tokio::time::{Instant, Sleep, sleep_until, timeout};

use self::redact::{redact, redacted};
use crate::patience::Patience;
use crate::protocol::{Decoder, KeyHeader, Protocol};

/// Whatever is longer is not an answer.
const ANSWER_BYTES_MAX: usize = 8 << 20;
const ERROR_BYTES_MAX: usize = 64 << 10;

/// The client for all models of a process.
pub fn client() -> Result<Client, reqwest::Error> {
    client_with(&Patience::default())
}

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
}

/// Sends the question when the stream is first polled.
pub(crate) fn ask(question: Question<'_>) -> ModelStream {
    let Question { client, url, key, body, stream, protocol, patience } = question;
    let accept = if stream { "text/event-stream" } else { "application/json" };
    let mut request =
        client.post(url.clone()).header(CONTENT_TYPE, "application/json").header(ACCEPT, accept).body(body);
    for (name, value) in protocol.headers {
        request = request.header(*name, *value);
    }
    if let Some(key) = key {
        let (name, text) = match protocol.key {
            KeyHeader::Bearer => (AUTHORIZATION.as_str(), format!("Bearer {}", key.expose_secret())),
            KeyHeader::Named(name) => (name, key.expose_secret().to_owned()),
        };
        match HeaderValue::try_from(text) {
            Ok(mut value) => {
                value.set_sensitive(true);
                request = request.header(name, value);
            }
            Err(_) => {
                return failed(ModelErrorKind::Key, "the key has characters that no key can have".into());
            }
        }
    }
    let (url, key) = (url.clone(), key.cloned());
    let hidden = key.clone();
    if stream {
        let response = Box::pin(send(request, url, key, patience.silence));
        let deadline = Instant::now() + patience.total;
        let answer = Answer { state: State::Asking(response), protocol, patience, deadline };
        return without_key(answer, hidden);
    }
    let whole = async move {
        let late = late(&url);
        let answer = async { whole(send(request, url, key, patience.total).await, protocol).await };
        timeout(patience.total, answer).await.unwrap_or_else(|_| vec![Err(late)])
    };
    without_key(stream::once(whole).flat_map(stream::iter), hidden)
}

fn without_key(
    events: impl Stream<Item = Result<ModelEvent, ModelError>> + Send + 'static,
    key: Option<SecretString>,
) -> ModelStream {
    Box::pin(events.map(move |event| event.map_err(|error| redacted(error, key.as_ref()))))
}

fn failed(kind: ModelErrorKind, message: String) -> ModelStream {
    Box::pin(stream::iter([Err(ModelError::new(kind, message))]))
}

/// The response of a server that took the question, if its head comes in time.
async fn send(
    request: reqwest::RequestBuilder,
    url: Url,
    key: Option<SecretString>,
    patience: Duration,
) -> Result<Response, ModelError> {
    let response = timeout(patience, request.send()).await.map_err(|_| late(&url))?;
    let response = response.map_err(|error| unreachable(&error, &url))?;
    if response.status().is_success() {
        return Ok(response);
    }
    let code = response.status().as_u16();
    let retry_after = status::retry_after(response.headers());
    let body = timeout(patience, bounded_body(response, ERROR_BYTES_MAX)).await;
    let body = body.ok().and_then(Result::ok).unwrap_or_default();
    Err(status::refusal(code, retry_after, &redact(&body, key.as_ref())))
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

async fn bounded_body(response: Response, bytes_max: usize) -> Result<String, ModelError> {
    let mut body = vec![];
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        body.extend_from_slice(&chunk.map_err(|error| broke_off(&root_cause(&error)))?);
        if body.len() > bytes_max {
            return Err(too_large());
        }
    }
    Ok(String::from_utf8_lossy(&body).into_owned())
}

fn broke_off(because: &str) -> ModelError {
    ModelError::new(ModelErrorKind::Broken, format!("the model's answer broke off: {because}"))
}

fn too_large() -> ModelError {
    broke_off("it is larger than any answer should be")
}

async fn whole(
    response: Result<Response, ModelError>,
    protocol: &Protocol,
) -> Vec<Result<ModelEvent, ModelError>> {
    let read = async {
        let body = bounded_body(response?, ANSWER_BYTES_MAX).await?;
        let mut events = VecDeque::new();
        (protocol.whole)(&body, &mut events)?;
        Ok(events)
    };
    match read.await {
        Ok(events) => events.into_iter().map(Ok).collect(),
        Err(error) => vec![Err(error)],
    }
}

type ByteStream = Pin<Box<dyn Stream<Item = Result<Bytes, ReadError>> + Send>>;

/// An answer on its way.
struct Answer {
    state: State,
    protocol: &'static Protocol,
    patience: Patience,
    deadline: Instant,
}

enum State {
    Asking(Pin<Box<dyn Future<Output = Result<Response, ModelError>> + Send>>),
    Reading(Box<Reading>),
    Over,
}

struct Reading {
    frames: SseByteStream<ByteStream>,
    decoder: Decoder,
    /// Events of the last frame that were not yet given out.
    events: VecDeque<ModelEvent>,
    ended: bool,
}

impl Reading {
    fn new(response: Response, protocol: &Protocol, patience: Patience, deadline: Instant) -> Self {
        let mut bytes_left = ANSWER_BYTES_MAX;
        let bytes = response.bytes_stream().map(move |chunk| {
            let chunk = chunk.map_err(|error| ReadError(root_cause(&error)))?;
            bytes_left = bytes_left.checked_sub(chunk.len()).ok_or_else(|| ReadError(too_large().message))?;
            Ok(chunk)
        });
        // A last frame without its empty line would be lost.
        let bytes =
            Patient::new(bytes, patience, deadline).chain(stream::iter([Ok(Bytes::from_static(b"\n\n"))]));
        Self {
            frames: SseByteStream::new(Box::pin(bytes)),
            decoder: (protocol.decoder)(),
            events: VecDeque::new(),
            ended: false,
        }
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<ModelEvent, ModelError>>> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Poll::Ready(Some(Ok(event)));
            }
            if self.ended {
                return Poll::Ready(None);
            }
            let decoded = match ready!(self.frames.poll_next_unpin(cx)) {
                Some(Ok(frame)) => match frame.data {
                    Some(data) => (self.decoder)(Some(&data), &mut self.events),
                    None => continue,
                },
                Some(Err(error)) => {
                    self.ended = true;
                    // An answer that was complete stays so, whatever happens to its stream afterwards.
                    (self.decoder)(None, &mut self.events).map_err(|_| broke_off(&root_cause(&error)))
                }
                None => {
                    self.ended = true;
                    (self.decoder)(None, &mut self.events)
                }
            };
            if let Err(error) = decoded {
                self.ended = true;
                self.events.clear();
                return Poll::Ready(Some(Err(error)));
            }
        }
    }
}

impl Stream for Answer {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            match &mut self.state {
                State::Asking(response) => match ready!(response.as_mut().poll(cx)) {
                    Ok(response) => {
                        let reading = Reading::new(response, self.protocol, self.patience, self.deadline);
                        self.state = State::Reading(Box::new(reading));
                    }
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

/// Bytes that may come late, but not too late.
struct Patient<S> {
    bytes: S,
    patience: Patience,
    deadline: Instant,
    timer: Pin<Box<Sleep>>,
    /// Whether the timer runs for the piece that is awaited now.
    waiting: bool,
}

impl<S> Patient<S> {
    fn new(bytes: S, patience: Patience, deadline: Instant) -> Self {
        Self { bytes, patience, deadline, timer: Box::pin(sleep_until(deadline)), waiting: false }
    }
}

impl<S: Stream<Item = Result<Bytes, ReadError>> + Unpin> Stream for Patient<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<S::Item>> {
        if let Poll::Ready(item) = self.bytes.poll_next_unpin(cx) {
            self.waiting = false;
            return Poll::Ready(item);
        }
        if !self.waiting {
            let until = self.deadline.min(Instant::now() + self.patience.silence);
            self.timer.as_mut().reset(until);
            self.waiting = true;
        }
        ready!(self.timer.as_mut().poll(cx));
        let why = if Instant::now() < self.deadline {
            format!("nothing came for {} seconds", self.patience.silence.as_secs_f64())
        } else {
            format!("it took longer than {} minutes", self.patience.total.as_secs_f64() / 60.0)
        };
        Poll::Ready(Some(Err(ReadError(why))))
    }
}

/// Why no more bytes come.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct ReadError(String);

#[cfg(test)]
mod tests;
