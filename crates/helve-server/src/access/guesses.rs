//! Wrong credentials, counted by address: credentials from an address with too many are not checked for a while.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How many wrong credentials an address may show in a window.
const FAILURES_MAX: u32 = 10;
const WINDOW: Duration = Duration::from_secs(60);
/// So many addresses are remembered; the one that began first is forgotten for another.
const ADDRESSES_MAX: usize = 10_000;

/// An address has shown too many wrong credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooManyGuesses {
    pub(super) seconds_left: u64,
}

#[derive(Debug, Default)]
pub(super) struct Guesses(Mutex<Windows>);

/// The windows that are open. All are equally long, so they end in the order in which they began.
#[derive(Debug, Default)]
struct Windows {
    failures: HashMap<IpAddr, (Instant, u32)>,
    begun: VecDeque<(Instant, IpAddr)>,
}

impl Guesses {
    /// Whether a credential from there may be compared at all.
    pub(super) fn check_attempt_allowed(&self, address: IpAddr, now: Instant) -> Result<(), TooManyGuesses> {
        let windows = self.lock_windows(now);
        let Some((since, count)) = windows.failures.get(&address) else { return Ok(()) };
        if *count < FAILURES_MAX {
            return Ok(());
        }
        let left = (*since + WINDOW).saturating_duration_since(now);
        Err(TooManyGuesses { seconds_left: left.as_secs() + u64::from(left.subsec_nanos() > 0) })
    }

    pub(super) fn count_failure(&self, address: IpAddr, now: Instant) {
        let mut windows = self.lock_windows(now);
        if let Some((_, count)) = windows.failures.get_mut(&address) {
            *count = count.saturating_add(1);
            return;
        }
        if windows.failures.len() >= ADDRESSES_MAX {
            windows.forget_first();
        }
        windows.failures.insert(address, (now, 1));
        windows.begun.push_back((now, address));
    }

    fn lock_windows(&self, now: Instant) -> MutexGuard<'_, Windows> {
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while windows.begun.front().is_some_and(|(since, _)| now.saturating_duration_since(*since) >= WINDOW)
        {
            windows.forget_first();
        }
        windows
    }
}

impl Windows {
    fn forget_first(&mut self) {
        if let Some((_, address)) = self.begun.pop_front() {
            self.failures.remove(&address);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn address(number: u32) -> IpAddr {
        Ipv4Addr::from_bits(number).into()
    }

    #[test]
    fn an_address_with_ten_failures_waits_for_the_end_of_its_minute_and_others_do_not() {
        let guesses = Guesses::default();
        let begin = Instant::now();
        for second in 0..10 {
            assert_eq!(
                guesses.check_attempt_allowed(address(1), begin + Duration::from_secs(second)),
                Ok(())
            );
            guesses.count_failure(address(1), begin + Duration::from_secs(second));
        }
        let at = |millis| guesses.check_attempt_allowed(address(1), begin + Duration::from_millis(millis));
        assert_eq!(at(9_000), Err(TooManyGuesses { seconds_left: 51 }));
        assert_eq!(at(59_900), Err(TooManyGuesses { seconds_left: 1 }));
        assert_eq!(guesses.check_attempt_allowed(address(2), begin), Ok(()));
        assert_eq!(at(60_000), Ok(()));
        guesses.count_failure(address(1), begin + WINDOW);
        assert_eq!(at(60_001), Ok(()), "the next window begins with nothing");
    }

    #[test]
    fn the_table_stays_small_under_a_flood_of_addresses() {
        let guesses = Guesses::default();
        let now = Instant::now();
        for number in 0..3 * ADDRESSES_MAX as u32 {
            guesses.count_failure(address(number), now);
        }
        let windows = guesses.lock_windows(now);
        assert_eq!((windows.failures.len(), windows.begun.len()), (ADDRESSES_MAX, ADDRESSES_MAX));
        drop(windows);
        assert!(guesses.lock_windows(now + WINDOW).failures.is_empty());
    }
}
