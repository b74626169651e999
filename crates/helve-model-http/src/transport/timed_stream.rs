//! A byte stream with time limits.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::timeouts::Timeouts;

pub(super) struct TimedStream<S> {
    bytes: S,
    timeouts: Timeouts,
    deadline: Instant,
    timer: Pin<Box<Sleep>>,
    /// Whether the timer runs for the current piece.
    waiting: bool,
}

/// Why the stream failed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct ReadError(pub(super) String);

impl<S> TimedStream<S> {
    pub(super) fn new(bytes: S, timeouts: Timeouts, deadline: Instant) -> Self {
        Self { bytes, timeouts, deadline, timer: Box::pin(sleep_until(deadline)), waiting: false }
    }
}

impl<S: Stream<Item = Result<Bytes, ReadError>> + Unpin> Stream for TimedStream<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<S::Item>> {
        if let Poll::Ready(item) = self.bytes.poll_next_unpin(cx) {
            self.waiting = false;
            return Poll::Ready(item);
        }
        if !self.waiting {
            let until = self.deadline.min(Instant::now() + self.timeouts.idle);
            self.timer.as_mut().reset(until);
            self.waiting = true;
        }
        ready!(self.timer.as_mut().poll(cx));
        let why = if Instant::now() < self.deadline {
            idle_message(&self.timeouts)
        } else {
            total_message(&self.timeouts)
        };
        Poll::Ready(Some(Err(ReadError(why))))
    }
}

pub(super) fn idle_message(timeouts: &Timeouts) -> String {
    format!("nothing came for {} seconds", timeouts.idle.as_secs_f64())
}

pub(super) fn total_message(timeouts: &Timeouts) -> String {
    format!("it took longer than {} minutes", timeouts.total.as_secs_f64() / 60.0)
}
