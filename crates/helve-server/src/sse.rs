//! Writes a run as a stream of server-sent events.
//!
//! Frames are taken from the follower when the socket can take more and are written together, so a slow reader gets fewer,
//! larger writes and delays no other reader. A `Render` of each protocol writes a frame.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::Stream;
use helve_guard::{AdmissionPermit, Rejected};
use helve_runtime::{Follower, Frame};
use helve_store::StoreError;
use helve_types::{Notice, Question};
use helve_wire::sse::COMMENT as COMMENT_EVENT;
use serde_json::{Value, json};
use tokio::time::{Instant, Sleep};

use crate::access::Principal;
use crate::app::App;
use crate::problem::Problem;

/// A comment is sent at this interval so that proxies keep a quiet stream open.
const COMMENT: Duration = Duration::from_secs(15);
/// How often the access of a subscriber is checked: a revoked token ends its streams within this time.
const RECHECK_ACCESS: Duration = Duration::from_secs(10);
/// The `Retry-After` of a request that exceeds the stream limit.
const TRY_AGAIN_S: u32 = 5;

/// Writes frames in the format of one protocol.
pub(crate) trait Render: Send + Unpin + 'static {
    /// Before the first frame.
    fn render_begin(&mut self, _out: &mut Vec<u8>) {}

    fn render_frame(&mut self, frame: &Frame, out: &mut Vec<u8>);

    /// All available frames have been rendered: buffered text can be written.
    fn render_flush(&mut self, _out: &mut Vec<u8>) {}

    fn render_error(&mut self, error: StoreError, out: &mut Vec<u8>);

    /// After the last frame.
    fn render_end(&mut self, _out: &mut Vec<u8>) {}
}

/// A client with a slot among the open streams.
pub(crate) struct Subscriber {
    app: App,
    principal: Principal,
    place: AdmissionPermit,
}

impl Subscriber {
    /// Takes a slot, or says which limit is reached.
    pub(crate) fn new(app: &App, principal: Principal) -> Result<Self, Problem> {
        let place = app.streams.try_enter(&principal.user.0).map_err(|why| {
            let (status, detail) = match why {
                Rejected::CallerLimit => {
                    let each = app.limits.streams_per_user_max;
                    let detail =
                        format!("you have {each} streams open, as many as one user may have; close one");
                    (StatusCode::TOO_MANY_REQUESTS, detail)
                }
                Rejected::TotalLimit => {
                    let detail = "the server has as many streams open as it can; try again later";
                    (StatusCode::SERVICE_UNAVAILABLE, detail.to_owned())
                }
            };
            Problem::new(status, "too_many_streams", detail).with_retry_after(TRY_AGAIN_S)
        })?;
        Ok(Self { app: app.clone(), principal, place })
    }

    /// The response that streams the run.
    pub(crate) fn stream_response(self, follower: Follower, render: impl Render) -> Response {
        let Self { app, principal, place } = self;
        let (bytes_max, events_max) = (app.limits.stream_bytes_max, app.limits.stream_events_max);
        let admits = move || {
            let _place = &place;
            app.access.is_still_admitted(&principal, app.runtime.world().now())
        };
        let mut response =
            Body::new(SseBody::new(follower, render, admits, bytes_max, events_max)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
        response
    }
}

struct SseBody<F, R, A> {
    frames: F,
    render: R,
    /// Whether the subscriber still has access.
    admits: A,
    /// The bytes of one write. The next frames are taken after it was sent.
    bytes_max: usize,
    events_max: usize,
    comment: Pin<Box<Sleep>>,
    recheck_access: Pin<Box<Sleep>>,
    state: StreamState,
}

#[derive(Clone, Copy, PartialEq)]
enum StreamState {
    Beginning,
    Flowing,
    Over,
}

impl<F, R, A> SseBody<F, R, A>
where
    F: Stream<Item = Result<Frame, StoreError>> + Unpin,
    R: Render,
    A: Fn() -> bool + Unpin,
{
    fn new(frames: F, render: R, admits: A, bytes_max: usize, events_max: usize) -> Self {
        let comment = Box::pin(tokio::time::sleep(COMMENT));
        let recheck_access = Box::pin(tokio::time::sleep(RECHECK_ACCESS));
        let state = StreamState::Beginning;
        Self { frames, render, admits, bytes_max, events_max, comment, recheck_access, state }
    }

    /// Renders the available frames, up to the limits.
    fn render_available(&mut self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        if self.state == StreamState::Beginning {
            self.state = StreamState::Flowing;
            self.render.render_begin(out);
        }
        let mut events = 0;
        while out.len() < self.bytes_max {
            match Pin::new(&mut self.frames).poll_next(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    self.render.render_frame(&frame, out);
                    events += 1;
                    if events % self.events_max == 0 {
                        self.render.render_flush(out);
                        // Frames that render to nothing need no write.
                        if !out.is_empty() {
                            return;
                        }
                    }
                }
                Poll::Ready(Some(Err(error))) => {
                    self.render.render_flush(out);
                    self.render.render_error(error, out);
                    return self.state = StreamState::Over;
                }
                Poll::Ready(None) => {
                    self.render.render_flush(out);
                    self.render.render_end(out);
                    return self.state = StreamState::Over;
                }
                Poll::Pending => break,
            }
        }
        self.render.render_flush(out);
    }

    /// Whether the subscriber still has access, checked at the interval.
    fn has_access(&mut self, cx: &mut Context<'_>) -> bool {
        while self.recheck_access.as_mut().poll(cx).is_ready() {
            if !(self.admits)() {
                return false;
            }
            self.recheck_access.as_mut().reset(Instant::now() + RECHECK_ACCESS);
        }
        true
    }
}

impl<F, R, A> http_body::Body for SseBody<F, R, A>
where
    F: Stream<Item = Result<Frame, StoreError>> + Unpin,
    R: Render,
    A: Fn() -> bool + Unpin,
{
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Infallible>>> {
        let this = &mut *self;
        if this.state == StreamState::Over || !this.has_access(cx) {
            this.state = StreamState::Over;
            return Poll::Ready(None);
        }
        let mut out = Vec::new();
        this.render_available(cx, &mut out);
        if out.is_empty() {
            if this.state == StreamState::Over {
                return Poll::Ready(None);
            }
            if this.comment.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            out.extend_from_slice(COMMENT_EVENT);
        }
        this.comment.as_mut().reset(Instant::now() + COMMENT);
        // Registers the waker with the timer.
        _ = this.comment.as_mut().poll(cx);
        Poll::Ready(Some(Ok(http_body::Frame::data(out.into()))))
    }
}

/// Writes a value as an event without an id. JSON has no line ends, so it is written in place.
pub(crate) fn write_value(out: &mut Vec<u8>, value: &impl serde::Serialize) {
    out.extend_from_slice(b"data: ");
    if let Err(error) = serde_json::to_writer(&mut *out, value) {
        tracing::error!(%error, "event not written");
    }
    out.extend_from_slice(b"\n\n");
}

/// What a stream that ends because the server stops says last: the answer is not complete, and the run is not over.
pub(crate) fn server_stopping_event() -> Value {
    json!({"error": {
        "code": "closing",
        "message": "the server is stopping; the run goes on when it is back: follow it, or ask again with the same Idempotency-Key"
    }})
}

/// Why a run failed: a code for programs, a sentence, and what exactly it was where the code says less.
pub(crate) fn run_error(code: &str, message: &str, notice: Option<&Notice>) -> Value {
    let mut error = json!({"code": code, "message": message});
    if let Some(notice) = notice {
        error["notice"] = json!(notice);
    }
    error
}

/// The event of a question about the run, not about a call.
pub(crate) fn question_event(question: &Question) -> Value {
    json!({"waiting": {"for": "budget", "approvalId": question.approval, "message": question.because}})
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use helve_types::{Live, PartId};
    use http_body_util::BodyExt;

    use super::*;

    /// Collects text, as the renderers of chats do.
    #[derive(Default)]
    struct TextRender(String);

    impl Render for TextRender {
        fn render_frame(&mut self, frame: &Frame, _: &mut Vec<u8>) {
            if let Frame::Live(Live::PartDelta { text, .. }) = frame {
                self.0.push_str(text);
            }
        }

        fn render_flush(&mut self, out: &mut Vec<u8>) {
            out.extend_from_slice(std::mem::take(&mut self.0).as_bytes());
        }

        fn render_error(&mut self, _: StoreError, out: &mut Vec<u8>) {
            out.extend_from_slice(b" failed ");
            out.extend_from_slice(helve_wire::sse::DONE);
        }
    }

    fn word(text: &str) -> Result<Frame, StoreError> {
        Ok(Frame::Live(Live::PartDelta { part: PartId::new(1, 1, 0), text: text.into() }))
    }

    async fn written(body: impl http_body::Body<Data = Bytes, Error = Infallible>) -> String {
        let bytes = body.collect().await.unwrap().to_bytes();
        String::from_utf8(bytes.into()).unwrap()
    }

    #[tokio::test]
    async fn a_stream_ends_at_its_first_error() {
        let frames = [word("Once "), word("upon"), Err(StoreError::Unavailable("gone".into())), word("late")];
        let body = SseBody::new(stream::iter(frames), TextRender::default(), || true, 1 << 16, 256);
        assert_eq!(written(body).await, "Once upon failed data: [DONE]\n\n");
    }

    #[tokio::test(start_paused = true)]
    async fn a_quiet_stream_gets_comments_until_access_ends() {
        let began = Instant::now();
        let admits = || began.elapsed() < COMMENT * 3;
        let body = SseBody::new(stream::pending(), TextRender::default(), admits, 1 << 16, 256);
        assert_eq!(written(body).await, ":\n\n:\n\n:\n\n");
        assert!(began.elapsed() <= COMMENT * 3 + RECHECK_ACCESS, "{:?}", began.elapsed());
    }
}
