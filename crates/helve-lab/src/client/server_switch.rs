//! Whether there is a server to talk to, and a place to wait until there is.
//!
//! The driver opens and shuts the door; clients go through it and come back when their server is gone. A client
//! that waits has read everything the dead server had sent, so once all wait, their logs can be judged.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::watch;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SwitchState {
    Shut,
    Open(ServerAddress),
    /// For good.
    Closed,
}

/// A server to talk to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerAddress {
    /// Counts the starts of the server.
    pub(crate) generation: u64,
    pub(crate) base: String,
    /// Nothing new is begun; what was begun is brought to its end.
    pub(crate) last: bool,
    /// The label that this server is to die at: what leads there is done more often.
    pub(crate) towards: Option<&'static str>,
}

#[derive(Clone)]
pub(crate) struct ServerSwitch {
    state: watch::Sender<SwitchState>,
    /// How many have seen the door as it now is, and wait.
    waiting: Arc<AtomicUsize>,
}

impl ServerSwitch {
    pub(crate) fn new() -> Self {
        Self { state: watch::Sender::new(SwitchState::Shut), waiting: Arc::default() }
    }

    /// Nobody counts as waiting until they have seen it so: a client that has not yet looked may go through.
    pub(crate) fn set(&self, state: SwitchState) {
        self.state.send_modify(|known| {
            *known = state;
            self.waiting.store(0, Ordering::SeqCst);
        });
    }

    /// Waits for a server after the one with this generation. Whoever has nothing left to do waits the last one
    /// out; none comes once the door is closed.
    pub(crate) async fn next_server(&self, after: u64, done: bool) -> Option<ServerAddress> {
        let fits = |open: &ServerAddress| open.generation > after && !(open.last && done);
        let mut state = self.state.subscribe();
        loop {
            match &*state.borrow_and_update() {
                SwitchState::Open(open) if fits(open) => return Some(open.clone()),
                SwitchState::Closed => return None,
                // While it is looked at it cannot change, so this counts for what was seen.
                SwitchState::Open(_) | SwitchState::Shut => _ = self.waiting.fetch_add(1, Ordering::SeqCst),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn open(generation: u64, last: bool) -> SwitchState {
        SwitchState::Open(ServerAddress { generation, base: String::new(), last, towards: None })
    }

    #[tokio::test]
    async fn whoever_may_go_through_does_not_count_as_waiting() {
        let door = ServerSwitch::new();
        let patience = Duration::from_secs(1);
        let [idle, busy] = [true, false].map(|done| {
            let door = door.clone();
            tokio::spawn(async move { door.next_server(0, done).await })
        });
        assert!(door.all_waiting(2, patience).await);
        door.set(open(1, true));
        // Neither has looked yet.
        assert_eq!(door.waiting.load(Ordering::SeqCst), 0);
        assert_eq!(busy.await.unwrap().unwrap().generation, 1);
        assert!(door.all_waiting(1, patience).await, "one has nothing left to do");
        assert!(!door.all_waiting(2, Duration::ZERO).await);
        assert_eq!(door.next_server(0, false).await.unwrap().generation, 1);
        door.set(SwitchState::Closed);
        assert_eq!(idle.await.unwrap(), None);
    }
}
