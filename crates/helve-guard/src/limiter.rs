//! How many at once and how many a window, with a fair and bounded wait.
//!
//! `queue` decides for a given time, `rate` counts what was admitted. This file has the handle, the waiting, and the slot
//! that running work owns.
//!
//! Promises:
//! - In every real interval `(t − window, t]` at most `per_window` requests arrive at the other side, wherever one
//!   puts it (above 10,000 a window this is approximate and the status says so). A request arrives between
//!   [`Slot::mark_sent`] and the end of its slot, and ten seconds after the former at the latest.
//! - What was sent before the limiter was made counts too, once it is told ([`Limiter::recall_once`]).
//! - At most `concurrent` slots exist. A slot ends when its owner drops it; no timer ends it.
//! - Waiting is first come, first served. A waiter that is dropped vanishes and does not hold up the others.
//! - A rate slot once taken is not given back, also when its work is cancelled: the far side may have counted
//!   it.

mod keyed;
mod queue;
mod rate;
#[cfg(test)]
mod tests;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};

pub use keyed::{KeyedLimiter, KeyedStatus};

use crate::lock::lock;
use queue::{Arrival, RequestQueue, TurnCheck, nanoseconds};
use rate::OPEN;

/// What a limiter allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitSettings {
    /// How many may run at once; `None` is any number.
    pub concurrent: Option<u32>,
    /// How many may start in any `window`; `None` is any number.
    pub per_window: Option<u32>,
    /// The length of the sliding window.
    pub window: Duration,
    /// How long a request waits for its turn; zero refuses at once.
    pub wait: Duration,
    /// How many may wait at a time.
    pub queue_max: usize,
}

/// No limits, and no waiting once there are some.
impl Default for LimitSettings {
    fn default() -> Self {
        Self {
            concurrent: None,
            per_window: None,
            window: Duration::from_secs(60),
            wait: Duration::ZERO,
            queue_max: 1_000,
        }
    }
}

impl LimitSettings {
    fn window_ns(&self) -> u64 {
        nanoseconds(self.window)
    }
}

/// A request was not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{by}")]
pub struct Limited {
    pub by: LimitedBy,
    /// When the rate allows another one, if that is what it hangs on. `None` where that depends on running
    /// work.
    pub retry_after: Option<Duration>,
}

/// Which bound a request ran into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LimitedBy {
    #[error("too many calls are running")]
    Concurrency,
    #[error("too many calls in a short time")]
    Rate,
    #[error("too many calls are waiting")]
    Queue,
    #[error("no turn came while the call waited")]
    Wait,
    /// Only of a [`KeyedLimiter`].
    #[error("too many callers at a time")]
    Keys,
}

/// A limiter at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitStatus {
    pub in_use: u32,
    pub waiting: usize,
    /// Zero where there is no `per_window`.
    pub admitted_in_window: u32,
    /// The rate is above 10,000 a window: up to 2N−1 may pass in one.
    pub approximate: bool,
    pub settings: LimitSettings,
}

/// A handle on one limiter; clones share it.
#[derive(Debug, Clone)]
pub struct Limiter {
    line: Arc<Mutex<RequestQueue>>,
    /// Held while the requests from before are looked up.
    recall: Arc<tokio::sync::Mutex<()>>,
}

impl Limiter {
    pub fn new(settings: LimitSettings) -> Self {
        Self {
            line: Arc::new(Mutex::new(RequestQueue::new(settings, Instant::now()))),
            recall: Arc::default(),
        }
    }

    /// Takes a slot, waiting in line as long as the settings allow. Drop the future to stop waiting.
    pub async fn enter(&self) -> Result<Slot, Limited> {
        self.enter_within(None).await
    }

    /// Like [`enter`](Self::enter), but does not wait beyond `deadline`, and does not begin to wait when the
    /// rate makes that hopeless.
    pub async fn enter_before(&self, deadline: Instant) -> Result<Slot, Limited> {
        self.enter_within(Some(deadline)).await
    }

    /// Takes a slot now or not at all.
    pub fn try_enter(&self) -> Result<Slot, Limited> {
        let mut line = lock(&self.line);
        let now = Instant::now();
        match line.arrive(now, Some(now))? {
            Arrival::Admitted(at) => Ok(self.new_slot(at)),
            // The deadline is now, so there is no waiting.
            Arrival::Waiting(number, _) => {
                line.leave(number);
                Err(Limited { by: LimitedBy::Wait, retry_after: None })
            }
        }
    }

    /// Changes the limits and keeps the history: who runs, who waits, what was admitted. Those who already
    /// wait keep the deadline they came with.
    pub fn reconfigure(&self, settings: LimitSettings) {
        let head = {
            let mut line = lock(&self.line);
            line.reconfigure(settings, Instant::now());
            line.head_waker()
        };
        wake(head);
    }

    /// Counts the requests that were sent before the limiter knew of its rate, such as before a restart: `ages` looks
    /// up how long ago that was. It is awaited once, by the first caller; the others wait for it.
    pub async fn count_earlier_once<E>(
        &self,
        ages: impl Future<Output = Result<Vec<Duration>, E>>,
    ) -> Result<(), E> {
        if lock(&self.line).has_counted_earlier() {
            return Ok(());
        }
        let _one_at_a_time = self.recall.lock().await;
        if !lock(&self.line).has_counted_earlier() {
            let ages = ages.await?;
            lock(&self.line).count_earlier(ages, Instant::now());
        }
        Ok(())
    }

    pub fn status(&self) -> LimitStatus {
        let mut line = lock(&self.line);
        line.status(Instant::now())
    }

    async fn enter_within(&self, deadline: Option<Instant>) -> Result<Slot, Limited> {
        match self.arrive(deadline)? {
            LimiterEntry::Admitted(slot) => Ok(slot),
            LimiterEntry::Waiting(place) => place.wait_for_turn().await,
        }
    }

    fn arrive(&self, deadline: Option<Instant>) -> Result<LimiterEntry, Limited> {
        let mut line = lock(&self.line);
        // The clock is read under the lock: the order of admissions is the order of their times.
        match line.arrive(Instant::now(), deadline)? {
            Arrival::Admitted(at) => Ok(LimiterEntry::Admitted(self.new_slot(at))),
            Arrival::Waiting(number, waker) => {
                Ok(LimiterEntry::Waiting(QueuePlace { limiter: self.clone(), number, waker }))
            }
        }
    }

    fn new_slot(&self, admitted_at: u64) -> Slot {
        Slot { line: self.line.clone(), admitted_at, stamp: OPEN }
    }

    /// Nothing but this handle knows the limiter, and its window is empty: forgetting it loses nothing.
    fn is_idle(&self) -> bool {
        Arc::strong_count(&self.line) == 1 && self.status().admitted_in_window == 0
    }
}

/// The right to run, owned by the work and given back when dropped.
#[derive(Debug)]
#[must_use = "the slot is free again as soon as this is dropped"]
pub struct Slot {
    line: Arc<Mutex<RequestQueue>>,
    admitted_at: u64,
    /// What the rate holds for it.
    stamp: u64,
}

impl Slot {
    /// The request is sent now. Until this is said the slot counts as if it were sent at any moment; one that ends
    /// without it was not sent, and counts from its admission.
    pub fn mark_sent(&mut self) {
        self.stamp = lock(&self.line).mark_sent(self.stamp, Instant::now());
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let head = {
            let mut line = lock(&self.line);
            line.release(self.admitted_at, self.stamp, Instant::now());
            line.head_waker()
        };
        wake(head);
    }
}

enum LimiterEntry {
    Admitted(Slot),
    Waiting(QueuePlace),
}

/// A place in line, given up when dropped.
struct QueuePlace {
    limiter: Limiter,
    number: u64,
    waker: Arc<Notify>,
}

impl QueuePlace {
    async fn wait_for_turn(self) -> Result<Slot, Limited> {
        loop {
            let check_turn = lock(&self.limiter.line).check_turn(self.number, Instant::now())?;
            match check_turn {
                TurnCheck::Admitted(at) => return Ok(self.limiter.new_slot(at)),
                TurnCheck::Wait(until) => _ = timeout_at(until, self.waker.notified()).await,
            }
        }
    }
}

impl Drop for QueuePlace {
    fn drop(&mut self) {
        // Also after an admission or a refusal: then there is nothing to leave, but there is a new head.
        let head = {
            let mut line = lock(&self.limiter.line);
            line.leave(self.number);
            line.head_waker()
        };
        wake(head);
    }
}

/// Outside the lock, because waking runs foreign code.
fn wake(waker: Option<Arc<Notify>>) {
    if let Some(waker) = waker {
        waker.notify_one();
    }
}
