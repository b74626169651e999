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

/// How many events are read from the log at a time, at first and at most.
const PAGE: usize = 16;
const PAGE_MAX: usize = 200;
/// How much of the log a reader should hold who does not read on.
const PAGE_BYTES: usize = 64 << 10;

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
    /// How many events are read at a time.
    page: usize,
    /// The log ended where the feed had not begun: wait for the feed before looking again.
    caught_up: bool,
    /// The last event of a run that is over. Its log may go on behind its end: a result that came late.
    last: Option<u64>,
    over: bool,
}

impl Follower {
    pub(crate) fn new(store: Arc<dyn Store>, feed: Arc<Feed>, run: RunId, after: u64) -> Self {
        // A feed that knows nothing cannot say what it has missed.
        let caught_up = !feed.is_fresh();
        let cursor = Cursor::after(after);
        Self {
            store,
            feed,
            run,
            cursor,
            backlog: VecDeque::new(),
            loading: None,
            page: PAGE,
            caught_up,
            last: None,
            over: false,
        }
    }

    /// For a run that has just begun in this process: the feed holds all of it.
    pub(crate) fn from_start(store: Arc<dyn Store>, feed: Arc<Feed>, run: RunId) -> Self {
        Self { caught_up: true, ..Self::new(store, feed, run, 0) }
    }

    /// For a run that is over: up to the last event of its log, and no further.
    #[must_use]
    pub fn up_to(self, last: u64) -> Self {
        Self { last: Some(last), ..self }
    }

    fn load(&mut self) {
        let (store, run, after, page) = (self.store.clone(), self.run, self.cursor.seq, self.page);
        self.loading = Some(Box::pin(async move { store.events(run, after, page).await }));
    }

    fn poll_loaded(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StoreError>> {
        let Some(loading) = &mut self.loading else { return Poll::Ready(Ok(())) };
        let page = ready!(loading.as_mut().poll(cx));
        self.loading = None;
        let page = page?;
        self.caught_up = page.len() < self.page;
        self.page = next_page(&page);
        self.backlog = page.into();
        Poll::Ready(Ok(()))
    }
}

/// How many events to read next, going by how large these were.
fn next_page(read: &[Recorded]) -> usize {
    let bytes: usize = read.iter().map(|recorded| recorded.json.len()).sum();
    (PAGE_BYTES * read.len() / bytes.max(1)).clamp(1, PAGE_MAX)
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
                this.over = match this.last {
                    Some(last) => recorded.event.seq >= last,
                    None => recorded.event.fact.is_last(),
                };
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

#[cfg(test)]
mod tests {
    use helve_types::{Fact, PartId, Timestamp};

    use super::*;

    #[test]
    fn fewer_events_are_read_at_a_time_the_larger_they_are() {
        let events = |count: usize, bytes: usize| -> Vec<Recorded> {
            let text = "x".repeat(bytes);
            let fact = Fact::TextFinished { step: 1, part: PartId::new(1, 1, 0), text };
            (1..).take(count).map(|seq| Recorded::new(seq, Timestamp(0), fact.clone())).collect()
        };
        assert_eq!(next_page(&events(16, 1)), PAGE_MAX);
        assert!((5..=8).contains(&next_page(&events(16, 8 << 10))));
        assert_eq!(next_page(&events(1, 1 << 20)), 1);
        assert_eq!(next_page(&[]), 1);
    }
}
