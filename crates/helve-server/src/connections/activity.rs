//! Marks a connection active from the last byte of a request to the last byte of its response.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::response::Response;
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::body::Incoming;

use super::slots::ConnectionSlot;

/// The request body; the connection becomes active when all of it has arrived.
pub(super) fn track_request(body: Incoming, slot: Arc<ConnectionSlot>) -> Body {
    if body.is_end_stream() {
        slot.mark_active();
        return Body::empty();
    }
    Body::new(TrackedRequest { body, slot })
}

/// The response; the connection becomes idle when its body is written or dropped.
pub(super) fn track_response(response: Response, slot: Arc<ConnectionSlot>) -> Response {
    // A handler may answer before it has read the whole request.
    slot.mark_active();
    response.map(|body| Body::new(TrackedResponse { body, slot }))
}

struct TrackedRequest {
    body: Incoming,
    slot: Arc<ConnectionSlot>,
}

impl HttpBody for TrackedRequest {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if self.body.is_end_stream() || matches!(polled, Poll::Ready(None)) {
            self.slot.mark_active();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

struct TrackedResponse {
    body: Body,
    slot: Arc<ConnectionSlot>,
}

impl HttpBody for TrackedResponse {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for TrackedResponse {
    fn drop(&mut self) {
        self.slot.mark_idle();
    }
}
