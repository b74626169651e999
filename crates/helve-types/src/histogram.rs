//! How long things took, counted into fixed buckets: one addition for each, and no lock.
//!
//! The buckets are the same everywhere, so that what one process counts can be added to what another counts.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The upper ends of the buckets; what is slower than the last is counted above it.
pub const BOUNDS_US: [u64; 16] = [
    500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000,
    5_000_000, 10_000_000, 30_000_000, 60_000_000,
];

const BUCKETS: usize = BOUNDS_US.len() + 1;

#[derive(Debug)]
pub struct Histogram {
    buckets: [AtomicU64; BUCKETS],
    total_us: AtomicU64,
    least_us: AtomicU64,
    most_us: AtomicU64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            buckets: Default::default(),
            total_us: AtomicU64::new(0),
            least_us: AtomicU64::new(u64::MAX),
            most_us: AtomicU64::new(0),
        }
    }
}

/// What a histogram held at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Distribution {
    /// How many fell into each bucket; one more than there are bounds.
    pub buckets: [u64; BUCKETS],
    pub total_us: u64,
    /// The quickest and the slowest; `u64::MAX` and 0 where there is none.
    pub least_us: u64,
    pub most_us: u64,
}

impl Histogram {
    pub fn record(&self, took: Duration) {
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = BOUNDS_US.partition_point(|bound| us > *bound);
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        self.total_us.fetch_add(us, Ordering::Relaxed);
        self.least_us.fetch_min(us, Ordering::Relaxed);
        self.most_us.fetch_max(us, Ordering::Relaxed);
    }

    pub fn snapshot(&self) -> Distribution {
        let mut buckets = [0; BUCKETS];
        for (held, bucket) in buckets.iter_mut().zip(&self.buckets) {
            *held = bucket.load(Ordering::Relaxed);
        }
        let get = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let (least_us, most_us) = (get(&self.least_us), get(&self.most_us));
        Distribution { buckets, total_us: get(&self.total_us), least_us, most_us }
    }

    pub fn reset(&self) {
        for number in self.buckets.iter().chain([&self.total_us, &self.most_us]) {
            number.store(0, Ordering::Relaxed);
        }
        self.least_us.store(u64::MAX, Ordering::Relaxed);
    }
}

impl Distribution {
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    pub fn mean_us(&self) -> f64 {
        match self.count() {
            0 => 0.0,
            count => self.total_us as f64 / count as f64,
        }
    }

    /// The time that a share of all stayed below: within its bucket they are taken to lie evenly, and never below the
    /// quickest or above the slowest.
    pub fn quantile_us(&self, share: f64) -> f64 {
        match self.count() {
            0 => 0.0,
            _ => self.estimate_us(share).max(self.least_us as f64).min(self.most_us as f64),
        }
    }

    fn estimate_us(&self, share: f64) -> f64 {
        let rank = share * self.count() as f64;
        let (mut below, mut lower) = (0.0, 0.0);
        let last = self.most_us.max(BOUNDS_US[BUCKETS - 2]);
        for (held, upper) in self.buckets.iter().zip(BOUNDS_US.into_iter().chain([last])) {
            let (held, upper) = (*held as f64, upper as f64);
            if held > 0.0 && below + held >= rank {
                return lower + (upper - lower) * ((rank - below) / held).clamp(0.0, 1.0);
            }
            below += held;
            lower = upper;
        }
        lower
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(times_ms: &[u64]) -> Distribution {
        let histogram = Histogram::default();
        times_ms.iter().for_each(|ms| histogram.record(Duration::from_millis(*ms)));
        histogram.snapshot()
    }

    #[test]
    fn nothing_takes_no_time() {
        let empty = held(&[]);
        assert_eq!((empty.count(), empty.mean_us(), empty.quantile_us(0.99)), (0, 0.0, 0.0));
    }

    #[test]
    fn a_quantile_lies_in_the_bucket_of_its_rank() {
        let times: Vec<u64> = (1..=100).collect();
        let held = held(&times);
        assert_eq!(held.count(), 100);
        assert!((held.mean_us() - 50_500.0).abs() < 1.0);
        assert_eq!(held.quantile_us(0.5), 50_000.0);
        assert!((50_000.0..=100_000.0).contains(&held.quantile_us(0.95)));
        assert_eq!(held.quantile_us(1.0), 100_000.0);
    }

    #[test]
    fn what_is_slower_than_the_last_bound_lies_between_it_and_the_slowest() {
        let held = held(&[1, 120_000, 120_000]);
        assert_eq!(held.buckets[BUCKETS - 1], 2);
        assert!((60_000_000.0..=120_000_000.0).contains(&held.quantile_us(0.99)));
        assert_eq!(held.quantile_us(1.0), 120_000_000.0);
    }

    #[test]
    fn no_quantile_lies_above_the_slowest_or_below_the_quickest() {
        for times in [&[300][..], &[30, 31], &[6, 7, 8, 2_000], &[90_000]] {
            let held = held(times);
            let (least, most) = (times[0] as f64 * 1_000.0, times[times.len() - 1] as f64 * 1_000.0);
            for share in [0.0, 0.01, 0.5, 0.95, 0.99, 1.0] {
                let found = held.quantile_us(share);
                assert!((least..=most).contains(&found), "{times:?}: {share} is {found}");
            }
        }
        let histogram = Histogram::default();
        histogram.record(Duration::from_secs(9));
        histogram.reset();
        histogram.record(Duration::from_millis(3));
        assert_eq!(histogram.snapshot().quantile_us(0.99), 3_000.0);
    }

    #[test]
    fn a_time_on_a_bound_belongs_below_it() {
        assert_eq!(held(&[1]).buckets[1], 1);
    }
}
