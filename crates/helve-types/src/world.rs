//! The clock, the source of ids, and the fail points of a process.
//!
//! Whatever a run cannot decide by itself comes through a `World`, so that a test can hold the clock, count
//! the ids and choose where the process dies. This is the only place that asks the system for any of them.

use std::fmt;
use std::sync::Arc;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::{Builder, Uuid};

use crate::{ApprovalId, ConversationId, MessageId, RowId, RunId};

/// Milliseconds since 1970.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema, Default,
)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    pub fn plus_ms(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// How long after `earlier` this is; never negative, since clocks step back.
    pub fn since_ms(self, earlier: Self) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0)
    }
}

/// Tells the date, and measures durations. The date is the system's, which an administrator or NTP may set forward or
/// back at any moment; a duration is measured by a clock that is never set.
#[derive(Clone, Debug)]
pub enum Clock {
    System,
    /// Stands still until it is moved.
    Manual(Arc<ManualClock>),
}

#[derive(Debug)]
pub struct ManualClock {
    date_ms: AtomicI64,
    steady_ms: AtomicU64,
}

/// The moment from which this process measures.
static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);

impl Clock {
    pub fn manual(at: Timestamp) -> Self {
        Self::Manual(Arc::new(ManualClock { date_ms: AtomicI64::new(at.0), steady_ms: AtomicU64::new(0) }))
    }

    pub fn now(&self) -> Timestamp {
        match self {
            Self::System => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
            }
            Self::Manual(clock) => Timestamp(clock.date_ms.load(Ordering::Relaxed)),
        }
    }

    /// The time since some moment in this process: for durations, whatever happens to the date.
    pub fn monotonic_time(&self) -> Duration {
        match self {
            Self::System => BEGAN.elapsed(),
            Self::Manual(clock) => Duration::from_millis(clock.steady_ms.load(Ordering::Relaxed)),
        }
    }

    /// Lets time go by on a manual clock; the system's clock is not ours to move.
    pub fn advance_ms(&self, ms: i64) {
        if let Self::Manual(clock) = self {
            clock.steady_ms.fetch_add(u64::try_from(ms).unwrap_or(0), Ordering::Relaxed);
            self.shift_date_ms(ms);
        }
    }

    /// Sets the date of a manual clock forward, or back, without any time going by.
    pub fn shift_date_ms(&self, ms: i64) {
        if let Self::Manual(clock) = self {
            clock.date_ms.fetch_add(ms, Ordering::Relaxed);
        }
    }
}

#[derive(Clone, Debug)]
pub enum Ids {
    Random,
    /// 1, 2, 3 …: for tests whose output is compared.
    Counting(Arc<AtomicU64>),
}

impl Ids {
    pub fn counting() -> Self {
        Self::Counting(Arc::new(AtomicU64::new(0)))
    }

    fn random_bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        match self {
            Self::Random => fill_random(&mut bytes),
            Self::Counting(last) => {
                let n = last.fetch_add(1, Ordering::Relaxed) + 1;
                let tail = N.saturating_sub(8);
                bytes[tail..].copy_from_slice(&n.to_be_bytes()[8 - (N - tail)..]);
            }
        }
        bytes
    }

    fn time_ordered_uuid(&self, now: Timestamp) -> Uuid {
        let ms = u64::try_from(now.0).unwrap_or(0);
        Builder::from_unix_timestamp_millis(ms, &self.random_bytes()).into_uuid()
    }
}

fn fill_random(bytes: &mut [u8]) {
    if let Err(error) = getrandom::fill(bytes) {
        // Ids that can be guessed are worse than no server.
        panic!("the system gives no random bytes: {error}");
    }
}

/// Labelled points at which the fault lab ends the process. Elsewhere they do nothing.
#[derive(Clone, Default)]
pub struct FailPoints(Option<Arc<dyn Fn(&'static str) + Send + Sync>>);

impl FailPoints {
    /// `action` is called with the label of each point that is reached.
    pub fn new(action: impl Fn(&'static str) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(action)))
    }

    /// Reports that a point is reached. The action may end the process.
    pub fn reach(&self, label: &'static str) {
        if let Some(action) = &self.0 {
            action(label);
        }
    }
}

impl fmt::Debug for FailPoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "FailPoints(armed)" } else { "FailPoints(none)" })
    }
}

#[derive(Clone, Debug)]
pub struct World {
    pub clock: Clock,
    pub ids: Ids,
    pub failpoints: FailPoints,
}

impl World {
    /// Marks a place at which the fault lab may end the process.
    pub fn failpoint(&self, label: &'static str) {
        self.failpoints.reach(label);
    }

    pub fn real() -> Self {
        Self { clock: Clock::System, ids: Ids::Random, failpoints: FailPoints::default() }
    }

    /// A world in which the same script gives the same log.
    pub fn deterministic() -> Self {
        Self {
            clock: Clock::manual(Timestamp(1_700_000_000_000)),
            ids: Ids::counting(),
            failpoints: FailPoints::default(),
        }
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub fn run_id(&self) -> RunId {
        RunId(self.ids.time_ordered_uuid(self.now()))
    }

    pub fn conversation_id(&self) -> ConversationId {
        ConversationId(self.ids.time_ordered_uuid(self.now()))
    }

    pub fn message_id(&self) -> MessageId {
        MessageId(self.ids.time_ordered_uuid(self.now()))
    }

    pub fn row_id(&self) -> RowId {
        RowId(self.ids.time_ordered_uuid(self.now()))
    }

    pub fn approval_id(&self) -> ApprovalId {
        ApprovalId(Builder::from_random_bytes(self.ids.random_bytes()).into_uuid())
    }

    /// 256 bits for a token or a key.
    pub fn random_secret(&self) -> [u8; 32] {
        self.ids.random_bytes()
    }

    /// A number in `0.0..1.0`, for jitter.
    pub fn random_fraction(&self) -> f64 {
        let bits = u64::from_be_bytes(self.ids.random_bytes()) >> 11;
        bits as f64 / (1u64 << 53) as f64
    }
}

/// A date that goes on from where it was when this was made, at the pace of time: a date that is set meanwhile does not
/// move it, so that two of its moments are as far apart as they really were.
#[derive(Clone, Debug)]
pub struct SteadyDate {
    clock: Clock,
    date: Timestamp,
    steady: Duration,
}

impl SteadyDate {
    pub fn from_now(clock: &Clock) -> Self {
        Self { clock: clock.clone(), date: clock.now(), steady: clock.monotonic_time() }
    }

    pub fn now(&self) -> Timestamp {
        let passed = self.clock.monotonic_time().saturating_sub(self.steady);
        self.date.plus_ms(i64::try_from(passed.as_millis()).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_date_does_not_follow_a_date_that_is_set() {
        let clock = Clock::manual(Timestamp(1_000_000));
        let date = SteadyDate::from_now(&clock);
        for (passes, is_set, expected) in
            [(5, 0, 1_000_005), (0, 3_600_000, 1_000_005), (7, -7_200_000, 1_000_012)]
        {
            clock.advance_ms(passes);
            clock.shift_date_ms(is_set);
            assert_eq!(date.now(), Timestamp(expected));
        }
        assert_eq!(clock.now(), Timestamp(1_000_012 - 3_600_000));
    }

    #[test]
    fn the_systems_steady_clock_goes_on() {
        let before = Clock::System.monotonic_time();
        while Clock::System.monotonic_time() == before {
            std::thread::yield_now();
        }
        assert!(Clock::System.monotonic_time() > before);
    }

    #[test]
    fn ids_made_later_sort_later() {
        let world = World::deterministic();
        let first = world.run_id();
        world.clock.advance_ms(1);
        assert!(first < world.run_id());
    }

    #[test]
    fn a_still_world_repeats_itself() {
        assert_eq!(World::deterministic().run_id(), World::deterministic().run_id());
        assert_eq!(World::deterministic().random_secret(), World::deterministic().random_secret());
    }

    #[test]
    fn a_real_world_does_not() {
        assert_ne!(World::real().random_secret(), World::real().random_secret());
        assert_ne!(World::real().approval_id(), World::real().approval_id());
    }
}
