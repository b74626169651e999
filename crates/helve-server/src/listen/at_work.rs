//! When a connection is at work: from the last byte of a request to the last byte of its answer.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::response::Response;
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::body::Incoming;

use super::places::Place;

/// The body of a request, which is at work once all of it is there.
pub(super) fn arriving(body: Incoming, place: Arc<Place>) -> Body {
    if body.is_end_stream() {
        place.is_at_work();
        return Body::empty();
    }
    Body::new(Arriving { body, place })
}

/// The answer, with which the connection is idle again when it is said or given up.
pub(super) fn until_said(response: Response, place: Arc<Place>) -> Response {
    // Whoever answers without having read the whole request is at work too.
    place.is_at_work();
    response.map(|body| Body::new(Said { body, place }))
}

struct Arriving {
    body: Incoming,
    place: Arc<Place>,
}

impl HttpBody for Arriving {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if self.body.is_end_stream() || matches!(polled, Poll::Ready(None)) {
            self.place.is_at_work();
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

struct Said {
    body: Body,
    place: Arc<Place>,
}

impl HttpBody for Said {
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

impl Drop for Said {
    fn drop(&mut self) {
        self.place.is_idle();
    }
}
