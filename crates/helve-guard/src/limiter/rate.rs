//! How many were admitted lately.
//!
//! Up to [`EXACT_MAX`] admissions a window every one is remembered, and the bound holds for every real
//! interval. Beyond that a single number is kept (GCRA), which lets up to 2N−1 through in one window and is
//! labelled so.
//!
//! Times are nanoseconds since the limiter was made; the caller sees to it that they never go back.

use std::collections::VecDeque;

use super::LimitSettings;

/// Above this many a window, remembering each admission costs more memory than exactness is worth.
pub(super) const EXACT_MAX: u32 = 10_000;

#[derive(Debug)]
pub(super) enum Rate {
    Unlimited,
    Exact(Ring),
    Approximate(Gcra),
}

impl Rate {
    pub(super) fn new(settings: &LimitSettings) -> Self {
        match settings.per_window {
            None => Self::Unlimited,
            Some(max) if max <= EXACT_MAX => {
                Self::Exact(Ring { max: max as usize, window: settings.window_ns(), stamps: VecDeque::new() })
            }
            Some(max) => Self::Approximate(Gcra {
                max: u128::from(max),
                window: u128::from(settings.window_ns()),
                arrival: 0,
            }),
        }
    }

    /// The same history under new settings. What the old settings had already forgotten stays forgotten.
    pub(super) fn adapted(self, settings: &LimitSettings, now: u64) -> Self {
        let used = self.used(now);
        let mut adapted = Self::new(settings);
        match (&mut adapted, self) {
            (Self::Unlimited, _) => {}
            (Self::Exact(ring), Self::Exact(old)) => {
                let forgotten = old.stamps.len().saturating_sub(ring.max);
                ring.stamps.extend(old.stamps.into_iter().skip(forgotten));
            }
            // Which admission was when is unknown, so all of them count as just now.
            (Self::Exact(ring), _) => {
                ring.stamps.extend(std::iter::repeat_n(now, ring.max.min(used as usize)))
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
            Self::Exact(ring) => ring.free_at(now, ahead),
            Self::Approximate(gcra) => Some(gcra.free_at(now, ahead)),
        }
    }

    /// Counts one admission at `now`.
    pub(super) fn take(&mut self, now: u64) {
        match self {
            Self::Unlimited => {}
            Self::Exact(ring) => ring.take(now),
            Self::Approximate(gcra) => gcra.take(now),
        }
    }

    /// Admissions in `(now − window, now]`.
    pub(super) fn used(&self, now: u64) -> u32 {
        match self {
            Self::Unlimited => 0,
            Self::Exact(ring) => ring.used(now),
            Self::Approximate(gcra) => gcra.used(now),
        }
    }

    pub(super) fn is_approximate(&self) -> bool {
        matches!(self, Self::Approximate(_))
    }
}

/// The last `max` admissions, oldest first. It grows to `max` and then stays, so it soon stops allocating.
#[derive(Debug)]
pub(super) struct Ring {
    max: usize,
    window: u64,
    stamps: VecDeque<u64>,
}

impl Ring {
    fn free_at(&self, now: u64, ahead: usize) -> Option<u64> {
        if self.max == 0 {
            return None;
        }
        // A request may go one window after the `max`-th before it. Those ahead repeat that pattern, so the
        // k-th round of `max` of them falls k windows later.
        let rounds = (ahead / self.max) as u64;
        let blocker = (self.stamps.len() + ahead % self.max).checked_sub(self.max);
        let first = match blocker.and_then(|index| self.stamps.get(index)) {
            Some(stamp) => stamp.saturating_add(self.window).max(now),
            None => now,
        };
        Some(first.saturating_add(self.window.saturating_mul(rounds)))
    }

    fn take(&mut self, now: u64) {
        if self.stamps.len() >= self.max {
            self.stamps.pop_front();
        }
        self.stamps.push_back(now);
    }

    fn used(&self, now: u64) -> u32 {
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

    fn take(&mut self, now: u64) {
        self.arrival = self.arrival.max(u128::from(now) * self.max) + self.window;
    }

    fn used(&self, now: u64) -> u32 {
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
            let mut ring = Ring { max, window, stamps: VecDeque::new() };
            let mut now = 0;
            for gap in gaps {
                now += gap;
                if ring.free_at(now, 0) == Some(now) {
                    ring.take(now);
                }
            }
            let foreseen = ring.free_at(now, ahead);
            let mut at = now;
            for _ in 0..ahead {
                at = ring.free_at(at, 0).unwrap();
                ring.take(at);
            }
            prop_assert_eq!(ring.free_at(at, 0), foreseen);
        }

        #[test]
        fn the_approximation_never_doubles_the_limit(max in 2u32..20, window in 0u64..100, gaps in gaps()) {
            let mut gcra = Gcra { max: u128::from(max), window: u128::from(window), arrival: 0 };
            let (mut now, mut admitted) = (0, Vec::new());
            for gap in gaps {
                now += gap / 4;
                let free_at = gcra.free_at(now, 0);
                if free_at == now {
                    gcra.take(now);
                    admitted.push(now);
                } else {
                    // One nanosecond earlier it would still be too soon.
                    prop_assert_eq!(gcra.free_at(free_at, 0), free_at);
                    prop_assert_eq!(gcra.free_at(free_at - 1, 0), free_at);
                }
                prop_assert!(gcra.used(now) <= max);
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
            rate.take(0);
        }
        assert_eq!(rate.free_at(0, 0), Some(1_000_000));
        assert_eq!(rate.free_at(0, 2), Some(3_000_000));
        assert_eq!((rate.used(0), rate.is_approximate()), (20_000, true));
    }

    #[test]
    fn crossing_to_and_from_the_approximation_forgets_nothing() {
        let settings = |max| LimitSettings { per_window: Some(max), ..LimitSettings::default() };
        let mut rate = Rate::new(&settings(10_000));
        for at in 0..50 {
            rate.take(at);
        }
        let rate = rate.adapted(&settings(10_001), 50);
        assert_eq!((rate.used(50), rate.is_approximate()), (50, true));
        let rate = rate.adapted(&settings(40), 50);
        assert_eq!((rate.used(50), rate.is_approximate()), (40, false));
    }
}
