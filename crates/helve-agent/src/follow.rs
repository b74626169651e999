//! Reading a run from any point to its end: first the log, then the feed, without a gap between.
//!
//! The feed is joined before the log is read, so whatever happens in between is in one of the two; numbers
//! without gaps say that nothing is missing and nothing comes twice.

mod pages;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_util::Stream;
use helve_store::{Recorded, Store, StoreError};
use helve_types::RunId;

use self::pages::HeldPage;
pub(crate) use self::pages::LogPages;
use crate::feed::{Cursor, Feed, FeedPoll, Frame};

type Loading = Pin<Box<dyn Future<Output = Result<HeldPage, StoreError>> + Send>>;

/// A stream of everything a run says after some event.
pub struct Follower {
    store: Arc<dyn Store>,
    feed: Arc<Feed>,
    run: RunId,
    cursor: Cursor,
    /// The page of the log that is given out, and how many of its events were.
    page: Option<(HeldPage, usize)>,
    loading: Option<Loading>,
    /// The log ended where the feed had not begun: wait for the feed before looking again.
    caught_up: bool,
    /// The last event of a run that is over. Its log may go on behind its end: a result that came late.
    last: Option<u64>,
    over: bool,
}

impl Follower {
    pub fn new(store: Arc<dyn Store>, feed: Arc<Feed>, run: RunId, after: u64) -> Self {
        // A feed that knows nothing cannot say what it has missed.
        let caught_up = !feed.has_no_events();
        let cursor = Cursor::starting_after(after);
        Self { store, feed, run, cursor, page: None, loading: None, caught_up, last: None, over: false }
    }

    /// For a run that has just begun in this process: the feed holds all of it.
    pub fn from_start(store: Arc<dyn Store>, feed: Arc<Feed>, run: RunId) -> Self {
        Self { caught_up: true, ..Self::new(store, feed, run, 0) }
    }

    /// For a run that is over: up to the last event of its log, and no further.
    #[must_use]
    pub fn stop_after(self, last: u64) -> Self {
        Self { last: Some(last), ..self }
    }

    fn start_loading(&mut self) {
        let (store, feed, run, after) = (self.store.clone(), self.feed.clone(), self.run, self.cursor.seq);
        // A task of its own: other readers may wait for the same page while this one's connection stands still.
        let reading = tokio::spawn(async move { feed.log_pages().read_page(&*store, run, after).await });
        self.loading = Some(Box::pin(async move {
            reading.await.unwrap_or_else(|error| Err(StoreError::Unavailable(error.to_string())))
        }));
    }

    fn poll_loading(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StoreError>> {
        let Some(loading) = &mut self.loading else { return Poll::Ready(Ok(())) };
        let held = ready!(loading.as_mut().poll(cx));
        self.loading = None;
        let held = held?;
        self.caught_up = held.page.is_last;
        self.page = Some((held, 0));
        Poll::Ready(Ok(()))
    }

    /// The next event of the page, which is let go of with its last one.
    fn next_event_of_page(&mut self) -> Option<Arc<Recorded>> {
        let (held, given) = self.page.as_mut()?;
        let recorded = held.page.events.get(*given).cloned();
        *given += 1;
        if *given >= held.page.events.len() {
            self.page = None;
        }
        recorded
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
            if let Err(error) = ready!(this.poll_loading(cx)) {
                this.over = true;
                return Poll::Ready(Some(Err(error)));
            }
            if let Some(recorded) = this.next_event_of_page() {
                this.cursor.seq = recorded.event.seq;
                this.over = match this.last {
                    Some(last) => recorded.event.seq >= last,
                    None => recorded.event.fact.is_last(),
                };
                return Poll::Ready(Some(Ok(Frame::Event(recorded))));
            }
            if !this.caught_up {
                this.start_loading();
                continue;
            }
            match ready!(this.feed.poll(&mut this.cursor, cx)) {
                FeedPoll::Frame(frame) => return Poll::Ready(Some(Ok(frame))),
                FeedPoll::Lagged => this.caught_up = false,
                FeedPoll::Over => this.over = true,
            }
        }
    }
}
