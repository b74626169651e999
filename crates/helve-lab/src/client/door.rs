//! Whether there is a server to talk to, and a place to wait until there is.
//!
//! The driver opens and shuts the door; clients go through it and come back when their server is gone. A client
//! that waits has read everything the dead server had sent, so once all wait, their logs can be judged.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::watch;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum State {
    Shut,
    Open(Open),
    /// For good.
    Closed,
}

/// A server to talk to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Open {
    /// Counts the starts of the server.
    pub(crate) generation: u64,
    pub(crate) base: String,
    /// Nothing new is begun; what was begun is brought to its end.
    pub(crate) last: bool,
    /// The label that this server is to die at: what leads there is done more often.
    pub(crate) towards: Option<&'static str>,
}

#[derive(Clone)]
pub(crate) struct Door {
    state: watch::Sender<State>,
    waiting: Arc<AtomicUsize>,
}

impl Door {
    pub(crate) fn new() -> Self {
        Self { state: watch::Sender::new(State::Shut), waiting: Arc::default() }
    }

    pub(crate) fn set(&self, state: State) {
        self.state.send_replace(state);
    }

    /// Waits for a server after the one with this generation. Whoever has nothing left to do waits the last one
    /// out; none comes once the door is closed.
    pub(crate) async fn next(&self, after: u64, done: bool) -> Option<Open> {
        let fits = |open: &Open| open.generation > after && !(open.last && done);
        let mut state = self.state.subscribe();
        let _waiting = Waiting::new(&self.waiting);
        loop {
            match &*state.borrow_and_update() {
                State::Open(open) if fits(open) => return Some(open.clone()),
                State::Closed => return None,
                State::Open(_) | State::Shut => {}
            }
            if state.changed().await.is_err() {
                return None;
            }
        }
    }

    /// Returns once so many wait, or false if that takes too long.
    pub(crate) async fn all_waiting(&self, clients: usize, patience: Duration) -> bool {
        let all = async {
            while self.waiting.load(Ordering::SeqCst) < clients {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(patience, all).await.is_ok()
    }
}

struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
