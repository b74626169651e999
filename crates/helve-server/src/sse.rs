//! A run as a stream of server-sent events.
//!
//! Frames are taken from the follower as the socket drains and written together, so a slow reader gets fewer,
//! larger writes and holds up nobody. How a frame looks is the renderer's business.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::Stream;
use helve_agent::{Follower, Frame};
use helve_store::StoreError;
use tokio::time::{Instant, Sleep};

use crate::access::Principal;
use crate::app::App;

/// A comment is sent so often that proxies do not take the silence for death.
const COMMENT: Duration = Duration::from_secs(15);
/// Whoever has lost the right to ask loses the right to listen this much later, however much there is to hear.
const LOOK_AGAIN: Duration = Duration::from_secs(10);
/// What is written at once.
const WRITE_BYTES_MAX: usize = 16 << 10;

/// How frames look on one endpoint.
pub(crate) trait Render: Send + Unpin + 'static {
    /// Before the first frame.
    fn begin(&mut self, _out: &mut Vec<u8>) {}

    fn frame(&mut self, frame: &Frame, out: &mut Vec<u8>);

    /// All that is available has been rendered: what was gathered can be written.
    fn flush(&mut self, _out: &mut Vec<u8>) {}

    fn failed(&mut self, error: StoreError, out: &mut Vec<u8>);

    /// After the last frame.
    fn end(&mut self, _out: &mut Vec<u8>) {}
}

pub(crate) fn stream(app: &App, principal: Principal, follower: Follower, render: impl Render) -> Response {
    let body = SseBody {
        follower,
        render,
        app: app.clone(),
        principal,
        comment: Box::pin(tokio::time::sleep(COMMENT)),
        look_again: Box::pin(tokio::time::sleep(LOOK_AGAIN)),
        state: State::Beginning,
    };
    let mut response = Body::new(body).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

struct SseBody<R> {
    follower: Follower,
    render: R,
    app: App,
    principal: Principal,
    comment: Pin<Box<Sleep>>,
    look_again: Pin<Box<Sleep>>,
    state: State,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Beginning,
    Flowing,
    Over,
}

impl<R: Render> SseBody<R> {
    /// Renders whatever is there, up to a bound.
    fn render_available(&mut self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        if self.state == State::Beginning {
            self.state = State::Flowing;
            self.render.begin(out);
        }
        while out.len() < WRITE_BYTES_MAX {
            match Pin::new(&mut self.follower).poll_next(cx) {
                Poll::Ready(Some(Ok(frame))) => self.render.frame(&frame, out),
                Poll::Ready(Some(Err(error))) => {
                    self.render.flush(out);
                    self.render.failed(error, out);
                    return self.state = State::Over;
                }
                Poll::Ready(None) => {
                    self.render.flush(out);
                    self.render.end(out);
                    return self.state = State::Over;
                }
                Poll::Pending => break,
            }
        }
        self.render.flush(out);
    }

    /// Whether the reader may go on listening, looked at from time to time.
    fn may_listen(&mut self, cx: &mut Context<'_>) -> bool {
        while self.look_again.as_mut().poll(cx).is_ready() {
            if !self.app.access.still_admits(&self.principal) {
                return false;
            }
            self.look_again.as_mut().reset(Instant::now() + LOOK_AGAIN);
        }
        true
    }
}

impl<R: Render> http_body::Body for SseBody<R> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Infallible>>> {
        let this = &mut *self;
        if this.state == State::Over || !this.may_listen(cx) {
            this.state = State::Over;
            return Poll::Ready(None);
        }
        let mut out = Vec::new();
        this.render_available(cx, &mut out);
        if out.is_empty() {
            if this.state == State::Over {
                return Poll::Ready(None);
            }
            if this.comment.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            out.extend_from_slice(b":\n\n");
        }
        this.comment.as_mut().reset(Instant::now() + COMMENT);
        // The timer must know whom to wake, or silence would last for ever.
        _ = this.comment.as_mut().poll(cx);
        Poll::Ready(Some(Ok(http_body::Frame::data(out.into()))))
    }
}

/// Writes one event without an id.
pub(crate) fn data(out: &mut Vec<u8>, json: &[u8]) {
    out.extend_from_slice(b"data: ");
    out.extend_from_slice(json);
    out.extend_from_slice(b"\n\n");
}

/// Writes a value as an event without an id.
pub(crate) fn data_of(out: &mut Vec<u8>, value: &impl serde::Serialize) {
    out.extend_from_slice(b"data: ");
    if let Err(error) = serde_json::to_writer(&mut *out, value) {
        tracing::error!(%error, "an event could not be written");
    }
    out.extend_from_slice(b"\n\n");
}

pub(crate) const DONE: &[u8] = b"data: [DONE]\n\n";

/// Told where a run ended because its steps did.
pub(crate) const OUT_OF_STEPS: &str =
    "the agent has used all of its steps; the last answer was given without tools and may be incomplete";
