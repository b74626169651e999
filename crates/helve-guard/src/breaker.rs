//! Stops calling what is down, and finds out carefully when it is up again.
//!
//! `state` decides over a given time, `window` counts; here is the handle and the ticket that a call carries.
//! One breaker watches one far side, such as a tool and its host. It lives in this process and begins closed.
//!
//! Promises:
//! - While open nothing is let through. Half-open, at most `probes_max` calls are under way.
//! - A ticket dropped without a verdict counts as nothing and gives its probe back.
//! - A verdict that comes after the circuit has moved on changes nothing.

mod state;
#[cfg(test)]
mod tests;
mod window;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::time::Instant;

pub use state::{AdmittedCall, BreakerState};

use crate::lock::lock;

/// When a circuit opens and how it closes again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerSettings {
    /// This many failures in a row open it; 0 is taken as 1.
    pub failures_in_row: u32,
    /// So many calls within thirty seconds are needed before their share of failures is looked at.
    pub calls_min: u32,
    /// This share of failures among them opens it; more than 100 turns the rule off.
    pub failure_percent: u32,
    /// How long it stays open the first time. Each further opening doubles it, until there has been no
    /// failure for two windows of thirty seconds.
    pub open: Duration,
    /// Where the doubling ends; the jitter of ± 10 % comes on top.
    pub open_max: Duration,
    /// How many probes may be under way at once; 0 is taken as 1.
    pub probes_max: u32,
    /// This many probes in a row must succeed.
    pub successes_to_close: u32,
    /// The longest cool-down that the far side can ask for.
    pub cool_down_max: Duration,
}

impl Default for BreakerSettings {
    fn default() -> Self {
        Self {
            failures_in_row: 5,
            calls_min: 10,
            failure_percent: 50,
            open: Duration::from_secs(60),
            open_max: Duration::from_secs(300),
            probes_max: 1,
            successes_to_close: 3,
            cool_down_max: Duration::from_secs(300),
        }
    }
}

/// How an admitted call ended, as far as the health of the far side goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Succeeded,
    Failed,
    /// Says nothing about the far side.
    Ignored,
    /// The far side asked to be left alone for so long.
    Throttled(Duration),
}

/// The circuit has changed: worth a line in the log, or an alarm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// For so long.
    Opened(Duration),
    Closed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Circuit {
    Closed,
    Open,
    HalfOpen,
}

/// A call may not be made now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{because}")]
pub struct Unavailable {
    pub because: UnavailableBecause,
    /// `None` while it hangs on a probe that is under way.
    pub retry_after: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnavailableBecause {
    #[error("calls failed lately and are held back")]
    Open,
    #[error("another call is finding out whether it works again")]
    Probing,
    #[error("the other side asked for a pause")]
    CoolingDown,
}

/// A breaker at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerStatus {
    pub circuit: Circuit,
    pub failures_in_row: u32,
    /// Of the last 29 to 30 seconds, and since it last closed.
    pub calls_in_window: u32,
    pub failures_in_window: u32,
    /// Probes under way.
    pub probes: u32,
    /// What a call would be told now, with the time after which to try again.
    pub refusing: Option<Unavailable>,
    /// Counts the changes of the circuit.
    pub generation: u64,
}

/// A handle on one breaker; clones share it.
#[derive(Debug, Clone)]
pub struct Breaker {
    shared: Arc<Mutex<BreakerShared>>,
}

#[derive(Debug)]
struct BreakerShared {
    state: BreakerState,
    seed: u64,
}

impl Breaker {
    /// A closed circuit. `seed` makes its jitter; give each process another one, so that they do not all come
    /// back at the same moment.
    pub fn new(settings: BreakerSettings, seed: u64) -> Self {
        let state = BreakerState::new(settings, Instant::now());
        Self { shared: Arc::new(Mutex::new(BreakerShared { state, seed })) }
    }

    /// Asks to make one call. Every ticket should get a verdict when the call has ended, also when it ended
    /// by the caller's time-out.
    pub fn admit(&self) -> Result<Ticket, Unavailable> {
        let admission = lock(&self.shared).state.admit(Instant::now())?;
        Ok(Ticket { shared: self.shared.clone(), admission, open: true })
    }

    /// Closes the circuit by hand and forgets every failure and pause. Tells whether that changed anything.
    pub fn reset(&self) -> Option<Change> {
        lock(&self.shared).state.reset(Instant::now())
    }

    pub fn status(&self) -> BreakerStatus {
        lock(&self.shared).state.status(Instant::now())
    }
}

/// Leave to make one call. Dropped without a verdict it counts as nothing.
#[derive(Debug)]
#[must_use = "a dropped ticket counts as nothing"]
pub struct Ticket {
    shared: Arc<Mutex<BreakerShared>>,
    admission: AdmittedCall,
    open: bool,
}

impl Ticket {
    /// The far side works. That includes answers such as "not found": it was there to say so.
    pub fn report_success(self) -> Option<Change> {
        self.report_verdict(Verdict::Succeeded)
    }

    /// The far side does not work: unreachable, timed out, broken, or saying so itself.
    pub fn report_failure(self) -> Option<Change> {
        self.report_verdict(Verdict::Failed)
    }

    /// Nothing was learnt: the user cancelled, or one of our own guards refused.
    pub fn release_without_report(self) {
        self.report_verdict(Verdict::Ignored);
    }

    /// The far side works but wants a pause; until then no call is admitted. Not a failure.
    pub fn report_throttling(self, retry_after: Duration) {
        self.report_verdict(Verdict::Throttled(retry_after));
    }

    /// The call decides whether a broken circuit closes again.
    pub fn is_probe(&self) -> bool {
        self.admission.is_probe()
    }

    fn report_verdict(mut self, verdict: Verdict) -> Option<Change> {
        self.open = false;
        let mut shared = lock(&self.shared);
        let jitter = jitter(shared.seed);
        let change = shared.state.report(self.admission, verdict, Instant::now(), jitter);
        if change.is_some() {
            shared.seed = shared.seed.wrapping_add(1);
        }
        change
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        // Only a probe holds something that others wait for.
        if self.open && self.admission.is_probe() {
            lock(&self.shared).state.report(self.admission, Verdict::Ignored, Instant::now(), 0.0);
        }
    }
}

/// A number between −1 and 1 for each seed, spread evenly (the finaliser of SplitMix64).
fn jitter(seed: u64) -> f64 {
    let mut bits = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^= bits >> 31;
    (bits >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}
