//! How many were sent lately.
//!
//! What counts is when a request arrives at the other side, which is not seen here: only when it is admitted, when it
//! is sent, and when it has ended. So each has a stamp, which is the last moment at which it can arrive: [`OPEN`] until
//! it is sent, then [`ARRIVES_WITHIN`] after that, and its end if that comes sooner. Stamps may lie in the future. A
//! request is admitted when at most `max − 1` stamps are later than one window ago.
//!
//! Up to [`EXACT_MAX`] admissions a window every one is remembered, and the bound holds for every real
//! interval. Beyond that a single number is kept (GCRA), which counts admissions, lets up to 2N−1 of them through in
//! one window and is labelled so.
//!
//! Times are nanoseconds since long before the limiter was made; the caller sees to it that they never go back.

use std::{collections::VecDeque, time::Duration};

use super::LimitSettings;

/// Above this many a window, remembering each admission costs more memory than exactness is worth.
pub(super) const EXACT_MAX: u32 = 10_000;

/// The stamp of what was admitted and may be sent at any moment.
pub(super) const OPEN: u64 = u64::MAX;

/// A request that was sent has arrived after this, answered or not: connections are given up sooner.
pub(super) const ARRIVES_WITHIN: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) enum Rate {
    Unlimited,
    Exact(StampRing),
    Approximate(Gcra),
}

impl Rate {
    pub(super) fn new(settings: &LimitSettings) -> Self {
        match settings.per_window {
            None => Self::Unlimited,
            Some(max) if max <= EXACT_MAX => Self::Exact(StampRing {
                max: max as usize,
                window: settings.window_ns(),
                stamps: VecDeque::new(),
            }),
            Some(max) => Self::Approximate(Gcra {
                max: u128::from(max),
                window: u128::from(settings.window_ns()),
                arrival: 0,
            }),
        }
    }

    /// The same history under new settings. What the old settings had already forgotten stays forgotten.
    pub(super) fn with_settings(self, settings: &LimitSettings, now: u64) -> Self {
        let used = self.count_used(now);
        let mut adapted = Self::new(settings);
        match (&mut adapted, self) {
            (Self::Unlimited, _) => {}
            (Self::Exact(wake), Self::Exact(old)) => {
                wake.stamps = old.stamps;
                wake.forget_before(now);
            }
            // Which admission was when is unknown, so all of them count as just now.
            (Self::Exact(wake), _) => {
                wake.stamps.extend(std::iter::repeat_n(now, wake.max.min(used as usize)))
            }
            (Self::Approximate(gcra), _) => {
                gcra.arrival = u128::from(now) * gcra.max + gcra.max.min(u128::from(used)) * gcra.window;
            }
        }
        adapted
    }

    /// When a request with `ahead` others before it can be admitted at the earliest; `None` means never.
    pub(super) fn free_at(&self, now: u64, ahead: usize) -> Option<u64> {
        match self {
            Self::Unlimited => Some(now),
            Self::Exact(wake) => wake.free_at(now, ahead),
            Self::Approximate(gcra) => Some(gcra.free_at(now, ahead)),
        }
    }

    /// Counts one admission at `now`.
    pub(super) fn count_admission(&mut self, now: u64) {
        match self {
            Self::Unlimited => {}
            Self::Exact(wake) => wake.add(OPEN, now),
            Self::Approximate(gcra) => gcra.count_admission(now),
        }
    }

    /// A request that had one stamp gets another. One that was admitted before there was a rate had none.
    pub(super) fn move_stamp(&mut self, from: u64, to: u64, now: u64) {
        if let Self::Exact(wake) = self {
            if let Ok(index) = wake.stamps.binary_search(&from) {
                wake.stamps.remove(index);
            }
            wake.add(to, now);
        }
    }

    /// Counts a request that arrived at `at`, no earlier than those that were recalled before.
    pub(super) fn count_earlier(&mut self, at: u64, now: u64) {
        match self {
            Self::Unlimited => {}
            Self::Exact(wake) => wake.add(at, now),
            Self::Approximate(gcra) => gcra.count_admission(at),
        }
    }

    /// Those that count in `(now − window, now]`.
    pub(super) fn count_used(&self, now: u64) -> u32 {
        match self {
            Self::Unlimited => 0,
            Self::Exact(wake) => wake.count_used(now),
            Self::Approximate(gcra) => gcra.count_used(now),
        }
    }

    pub(super) fn is_approximate(&self) -> bool {
        matches!(self, Self::Approximate(_))
    }
}

/// The stamps of the last `max` requests and of all that can still arrive, in order.
#[derive(Debug)]
pub(super) struct StampRing {
    max: usize,
    window: u64,
    stamps: VecDeque<u64>,
}

impl StampRing {
    fn free_at(&self, now: u64, ahead: usize) -> Option<u64> {
        if self.max == 0 {
            return None;
        }
        // A request may go one window after the `max`-th before it. Those ahead repeat that pattern, so the
        // k-th round of `max` of them falls k windows later.
        let rounds = (ahead / self.max) as u64;
        let blocker = (self.stamps.len() + ahead % self.max).checked_sub(self.max);
        let first = match blocker.and_then(|index| self.stamps.get(index)) {
            // What is not settled may be settled now, but no sooner: then the answer is the earliest that is possible.
            Some(stamp) => (*stamp).min(now).saturating_add(self.window).max(now),
            None => now,
        };
        Some(first.saturating_add(self.window.saturating_mul(rounds)))
    }

    fn add(&mut self, stamp: u64, now: u64) {
        let index = self.stamps.partition_point(|held| *held <= stamp);
        self.stamps.insert(index, stamp);
        self.forget_before(now);
    }

    /// Drops stamps that hold up no request: settled stamps before the last `max`.
    fn forget_before(&mut self, now: u64) {
        while self.stamps.len() > self.max && self.stamps.front().is_some_and(|stamp| *stamp <= now) {
            self.stamps.pop_front();
        }
    }

    fn count_used(&self, now: u64) -> u32 {
        let left = self.stamps.partition_point(|stamp| stamp.saturating_add(self.window) <= now);
        (self.stamps.len() - left) as u32
    }
}

/// The generic cell rate algorithm. Times are scaled by `max`, which makes the spacing of two admissions
/// exactly `window` and spares all rounding.
#[derive(Debug)]
pub(super) struct Gcra {
    max: u128,
    window: u128,
    /// The theoretical arrival time, scaled: when the bucket would be empty again.
    arrival: u128,
}

impl Gcra {
    fn free_at(&self, now: u64, ahead: usize) -> u64 {
        let arrival = self.arrival.max(u128::from(now) * self.max) + ahead as u128 * self.window;
        let earliest = arrival.saturating_sub(self.window * (self.max - 1)).div_ceil(self.max);
        u64::try_from(earliest).unwrap_or(u64::MAX).max(now)
    }

    fn count_admission(&mut self, now: u64) {
        self.arrival = self.arrival.max(u128::from(now) * self.max) + self.window;
    }

    fn count_used(&self, now: u64) -> u32 {
        let owed = self.arrival.saturating_sub(u128::from(now) * self.max);
        if self.window == 0 { 0 } else { owed.div_ceil(self.window) as u32 }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn gaps() -> impl Strategy<Value = Vec<u64>> {
        proptest::collection::vec(0u64..40, 0..200)
    }

    proptest! {
        #[test]
        fn the_ring_foresees_what_a_patient_line_will_get(
            max in 1usize..6, window in 0u64..100, gaps in gaps(), ahead in 0usize..20,
        ) {
            let mut wake = StampRing { max, window, stamps: VecDeque::new() };
            let mut now = 0;
            for gap in gaps {
                now += gap;
                if wake.free_at(now, 0) == Some(now) {
                    wake.add(now, now);
                }
            }
            let foreseen = wake.free_at(now, ahead);
            let mut at = now;
            for _ in 0..ahead {
                at = wake.free_at(at, 0).unwrap();
                wake.add(at, at);
            }
            prop_assert_eq!(wake.free_at(at, 0), foreseen);
        }

        #[test]
        fn the_approximation_never_doubles_the_limit(max in 2u32..20, window in 0u64..100, gaps in gaps()) {
            let mut gcra = Gcra { max: u128::from(max), window: u128::from(window), arrival: 0 };
            let (mut now, mut admitted) = (0, Vec::new());
            for gap in gaps {
                now += gap / 4;
                let free_at = gcra.free_at(now, 0);
                if free_at == now {
                    gcra.count_admission(now);
                    admitted.push(now);
                } else {
                    // One nanosecond earlier it would still be too soon.
                    prop_assert_eq!(gcra.free_at(free_at, 0), free_at);
                    prop_assert_eq!(gcra.free_at(free_at - 1, 0), free_at);
                }
                prop_assert!(gcra.count_used(now) <= max);
            }
            for (first, last) in admitted.iter().zip(admitted.iter().skip(2 * max as usize - 1)) {
                prop_assert!(last - first >= window);
            }
        }
    }

    #[test]
    fn a_large_limit_lets_a_full_burst_through_and_then_spaces_evenly() {
        let settings = LimitSettings {
            per_window: Some(20_000),
            window: std::time::Duration::from_secs(20),
            ..LimitSettings::default()
        };
        let mut rate = Rate::new(&settings);
        for _ in 0..20_000 {
            assert_eq!(rate.free_at(0, 0), Some(0));
            rate.count_admission(0);
        }
        assert_eq!(rate.free_at(0, 0), Some(1_000_000));
        assert_eq!(rate.free_at(0, 2), Some(3_000_000));
        assert_eq!((rate.count_used(0), rate.is_approximate()), (20_000, true));
    }

    #[test]
    fn crossing_to_and_from_the_approximation_forgets_nothing() {
        let settings = |max| LimitSettings { per_window: Some(max), ..LimitSettings::default() };
        let mut rate = Rate::new(&settings(10_000));
        for at in 0..50 {
            rate.count_admission(at);
            rate.move_stamp(OPEN, at, at);
        }
        let rate = rate.with_settings(&settings(10_001), 50);
        assert_eq!((rate.count_used(50), rate.is_approximate()), (50, true));
        let rate = rate.with_settings(&settings(40), 50);
        assert_eq!((rate.count_used(50), rate.is_approximate()), (40, false));
    }
}
