//! Wake-ups: word that a part of the store was changed, so that it need not be polled often.

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::RowKind;

/// A receiver that is further behind is told to look at everything.
const WAKEUPS_KEPT: usize = 256;

/// A part of the store that was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wakeup {
    /// A row, an offer, a grant or a switch of this kind.
    Rows(RowKind),
    /// Tokens or sessions.
    Access,
    /// Wake-ups were lost: any part may have been changed.
    Missed,
}

/// Wake-ups of all processes that share the store, this one included.
///
/// A wake-up is a hint. It comes after the change is durable, and may be late, doubled or lost, so a subscriber
/// reads the store, and also does so from time to time without one.
pub trait Bus: Send + Sync + 'static {
    /// Receives every wake-up from now on.
    fn subscribe(&self) -> Wakeups;
}

/// The wake-ups that one subscriber has not received yet.
#[derive(Debug)]
pub struct Wakeups(broadcast::Receiver<Wakeup>);

impl Wakeups {
    /// Waits for the next wake-up; for ever once the store is gone.
    pub async fn next_wakeup(&mut self) -> Wakeup {
        match self.0.recv().await {
            Ok(wakeup) => wakeup,
            Err(RecvError::Lagged(_)) => Wakeup::Missed,
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }

    /// Waits until a part that is `meant` may have been changed, and takes all wake-ups that have come by then.
    pub async fn wait_for(&mut self, meant: impl Fn(Wakeup) -> bool) {
        loop {
            let wakeup = self.next_wakeup().await;
            if wakeup == Wakeup::Missed || meant(wakeup) {
                // One look serves for all changes before it.
                self.0 = self.0.resubscribe();
                return;
            }
        }
    }
}

/// The bus of a store that only one process opens: a channel.
#[derive(Debug, Clone)]
pub struct LocalBus(broadcast::Sender<Wakeup>);

impl Default for LocalBus {
    fn default() -> Self {
        Self(broadcast::channel(WAKEUPS_KEPT).0)
    }
}

impl LocalBus {
    /// Wakes all subscribers; without any, nothing happens.
    pub fn wake(&self, wakeup: Wakeup) {
        _ = self.0.send(wakeup);
    }
}

impl Bus for LocalBus {
    fn subscribe(&self) -> Wakeups {
        Wakeups(self.0.subscribe())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_subscriber_that_is_far_behind_is_told_to_look_at_everything() {
        let bus = LocalBus::default();
        let mut wakeups = bus.subscribe();
        for _ in 0..=WAKEUPS_KEPT {
            bus.wake(Wakeup::Access);
        }
        assert_eq!(wakeups.next_wakeup().await, Wakeup::Missed);
        assert_eq!(wakeups.next_wakeup().await, Wakeup::Access);
    }

    #[tokio::test]
    async fn one_look_serves_for_all_wakeups_before_it() {
        let bus = LocalBus::default();
        let mut wakeups = bus.subscribe();
        let rows = Wakeup::Rows(RowKind::new("greeting"));
        for wakeup in [rows, Wakeup::Access, Wakeup::Access] {
            bus.wake(wakeup);
        }
        wakeups.wait_for(|wakeup| wakeup == Wakeup::Access).await;
        bus.wake(rows);
        assert_eq!(wakeups.next_wakeup().await, rows);
    }
}
