//! Bytes that may come late, but not too late.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::patience::Patience;

pub(super) struct Patient<S> {
    bytes: S,
    patience: Patience,
    deadline: Instant,
    timer: Pin<Box<Sleep>>,
    /// Whether the timer runs for the piece that is awaited now.
    waiting: bool,
}

/// Why no more bytes come.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct ReadError(pub(super) String);

impl<S> Patient<S> {
    pub(super) fn new(bytes: S, patience: Patience, deadline: Instant) -> Self {
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
        let why =
            if Instant::now() < self.deadline { silent(&self.patience) } else { too_long(&self.patience) };
        Poll::Ready(Some(Err(ReadError(why))))
    }
}

pub(super) fn silent(patience: &Patience) -> String {
    format!("nothing came for {} seconds", patience.silence.as_secs_f64())
}

pub(super) fn too_long(patience: &Patience) -> String {
    format!("it took longer than {} minutes", patience.total.as_secs_f64() / 60.0)
}
