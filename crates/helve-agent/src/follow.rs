//! Reading a run from any point to its end: first the log, then the feed, without a gap between.
//!
//! The feed is joined before the log is read, so whatever happens in between is in one of the two; numbers
//! without gaps say that nothing is missing and nothing comes twice.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_util::Stream;
use helve_store::{Recorded, Store, StoreError};
use helve_types::RunId;

use crate::feed::{Cursor, Feed, Frame, Look};

/// How many events are read from the log at a time.
const PAGE: usize = 200;

type Loading = Pin<Box<dyn Future<Output = Result<Vec<Recorded>, StoreError>> + Send>>;

/// A stream of everything a run says after some event.
pub struct Follower {
    store: Arc<dyn Store>,
    feed: Arc<Feed>,
    run: RunId,
    cursor: Cursor,
    /// Events from the log that were not yet given out.
    backlog: VecDeque<Recorded>,
    loading: Option<Loading>,
    /// The log ended where the feed had not begun: wait for the feed before looking again.
    caught_up: bool,
    over: bool,
}

impl Follower {
    pub(crate) fn new(store: Arc<dyn Store>, feed: Arc<Feed>, run: RunId, after: u64) -> Self {
        // A feed that knows nothing cannot say what it has missed.
        let caught_up = !feed.is_fresh();
        let cursor = Cursor::after(after);
        Self { store, feed, run, cursor, backlog: VecDeque::new(), loading: None, caught_up, over: false }
    }

    /// For a run that has just begun in this process: the feed holds all of it.
    pub(crate) fn from_start(store: Arc<dyn Store>, feed: Arc<Feed>, run: RunId) -> Self {
        Self { caught_up: true, ..Self::new(store, feed, run, 0) }
    }

    fn load(&mut self) {
        let (store, run, after) = (self.store.clone(), self.run, self.cursor.seq);
        self.loading = Some(Box::pin(async move { store.events(run, after, PAGE).await }));
    }

    fn poll_loaded(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StoreError>> {
        let Some(loading) = &mut self.loading else { return Poll::Ready(Ok(())) };
        let page = ready!(loading.as_mut().poll(cx));
        self.loading = None;
        let page = page?;
        self.caught_up = page.len() < PAGE;
        self.backlog = page.into();
        Poll::Ready(Ok(()))
    }
}

impl Stream for Follower {
    type Item = Result<Frame, StoreError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            if this.over {
                return Poll::Ready(None);
            }
            if let Err(error) = ready!(this.poll_loaded(cx)) {
                this.over = true;
                return Poll::Ready(Some(Err(error)));
            }
            if let Some(recorded) = this.backlog.pop_front() {
                this.cursor.seq = recorded.event.seq;
                this.over = recorded.event.fact.is_last();
                return Poll::Ready(Some(Ok(Frame::Event(Arc::new(recorded)))));
            }
            if !this.caught_up {
                this.load();
                continue;
            }
            match ready!(this.feed.poll(&mut this.cursor, cx)) {
                Look::Frame(frame) => return Poll::Ready(Some(Ok(frame))),
                Look::Behind => this.caught_up = false,
                Look::Over => this.over = true,
            }
        }
    }
}
