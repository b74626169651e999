//! What is admitted now, what waits, what is refused: the decision of the limiter, without the waiting.
//!
//! A request arrives and is admitted, refused, or put at the end of the queue. Only the head of the queue is ever
//! admitted, and a newcomer only when the queue is empty. Capacity is never handed to a waiter; it stays here until the
//! head comes and takes it, so a waiter that is dropped takes nothing with it.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use tokio::{sync::Notify, time::Instant};

use super::{
    LimitSettings, LimitStatus, Limited, LimitedBy,
    rate::{ARRIVES_WITHIN, OPEN, Rate},
};

#[derive(Debug)]
pub(super) struct RequestQueue {
    settings: LimitSettings,
    rate: Rate,
    in_use: u32,
    waiting: VecDeque<Waiter>,
    next_number: u64,
    /// The rate knows of all requests that were sent before it.
    recalled: bool,
    epoch: Instant,
    latest: u64,
}

#[derive(Debug)]
struct Waiter {
    number: u64,
    deadline: u64,
    waker: Arc<Notify>,
}

/// The decision about a newcomer.
#[derive(Debug)]
pub(super) enum Arrival {
    /// At this time, as the rate counts it.
    Admitted(u64),
    /// It waits under this number; the waker fires when it should check again.
    Waiting(u64, Arc<Notify>),
}

/// What a waiter learns when it checks.
#[derive(Debug)]
pub(super) enum TurnCheck {
    /// It has left the queue and is running since this time, as the rate counts it.
    Admitted(u64),
    /// Check again when the waker fires, and at this time at the latest.
    Wait(Instant),
}

impl RequestQueue {
    pub(super) fn new(settings: LimitSettings, now: Instant) -> Self {
        Self {
            rate: Rate::new(&settings),
            settings,
            in_use: 0,
            waiting: VecDeque::new(),
            next_number: 0,
            recalled: false,
            epoch: now,
            latest: 0,
        }
    }

    /// A request that is willing to wait as the settings say, but not beyond `deadline`.
    pub(super) fn arrive(&mut self, now: Instant, deadline: Option<Instant>) -> Result<Arrival, Limited> {
        let now = self.monotonic_ns(now);
        let ahead = self.waiting.len();
        let Some(obstacle) = self.blocking_limit(now, ahead) else {
            self.admit(now);
            return Ok(Arrival::Admitted(now));
        };
        let patience = now.saturating_add(nanoseconds(self.settings.wait));
        let deadline = deadline.map_or(patience, |deadline| patience.min(self.ns_since_epoch(deadline)));
        if deadline <= now || self.settings.concurrent == Some(0) {
            return Err(obstacle);
        }
        // Waiting would be in vain even if everyone ahead went at the first moment.
        if self.rate.free_at(now, ahead).is_none_or(|free_at| free_at > deadline) {
            return Err(self.limit_error(LimitedBy::Rate, now, ahead));
        }
        if ahead >= self.settings.queue_max {
            return Err(self.limit_error(LimitedBy::Queue, now, ahead));
        }
        let (number, waker) = (self.next_number, Arc::new(Notify::new()));
        self.next_number += 1;
        self.waiting.push_back(Waiter { number, deadline, waker: waker.clone() });
        Ok(Arrival::Waiting(number, waker))
    }

    /// The waiter with this number asks whether it is its turn. Admission and refusal both end its wait.
    pub(super) fn check_turn(&mut self, number: u64, now: Instant) -> Result<TurnCheck, Limited> {
        let now = self.monotonic_ns(now);
        let Ok(position) = self.position(number) else {
            return Err(self.limit_error(LimitedBy::Wait, now, 0));
        };
        let deadline = self.waiting[position].deadline;
        let is_head = position == 0;
        if is_head && now <= deadline && self.blocking_limit(now, 0).is_none() {
            self.waiting.pop_front();
            self.admit(now);
            return Ok(TurnCheck::Admitted(now));
        }
        if now >= deadline {
            let limited = self.limit_error(LimitedBy::Wait, now, position);
            self.waiting.remove(position);
            return Err(limited);
        }
        let free_at = self.rate.free_at(now, 0).filter(|&free_at| is_head && free_at > now);
        let again = free_at.unwrap_or(deadline).min(deadline);
        Ok(TurnCheck::Wait(self.epoch + Duration::from_nanos(again.saturating_sub(EPOCH))))
    }

    /// The waiter with this number has gone away.
    pub(super) fn leave(&mut self, number: u64) {
        if let Ok(position) = self.position(number) {
            self.waiting.remove(position);
        }
    }

    /// A request that was admitted is sent now; gives its new stamp.
    pub(super) fn mark_sent(&mut self, stamp: u64, now: Instant) -> u64 {
        let now = self.monotonic_ns(now);
        let latest = now.saturating_add(nanoseconds(ARRIVES_WITHIN));
        self.rate.move_stamp(stamp, latest, now);
        latest
    }

    /// Work that was admitted has ended.
    pub(super) fn release(&mut self, admitted_at: u64, stamp: u64, now: Instant) {
        let now = self.monotonic_ns(now);
        match stamp {
            OPEN => self.rate.move_stamp(OPEN, admitted_at, now),
            // It has arrived, if it ever did.
            _ if stamp > now => self.rate.move_stamp(stamp, now, now),
            _ => {}
        }
        self.in_use = self.in_use.saturating_sub(1);
    }

    pub(super) fn has_counted_earlier(&self) -> bool {
        self.recalled || self.settings.per_window.is_none()
    }

    /// Counts requests that arrived so long ago.
    pub(super) fn count_earlier(&mut self, mut ages: Vec<Duration>, now: Instant) {
        let now = self.monotonic_ns(now);
        ages.retain(|age| *age < self.settings.window);
        ages.sort_unstable();
        for age in ages.into_iter().rev() {
            self.rate.count_earlier(now.saturating_sub(nanoseconds(age)), now);
        }
        self.recalled = true;
    }

    /// Who must look again after anything above has changed: only the head can have become free to go.
    pub(super) fn head_waker(&self) -> Option<Arc<Notify>> {
        self.waiting.front().map(|waiter| waiter.waker.clone())
    }

    pub(super) fn reconfigure(&mut self, settings: LimitSettings, now: Instant) {
        let now = self.monotonic_ns(now);
        self.recalled &= self.settings.per_window.is_some();
        self.rate = std::mem::replace(&mut self.rate, Rate::Unlimited).with_settings(&settings, now);
        self.settings = settings;
    }

    pub(super) fn status(&mut self, now: Instant) -> LimitStatus {
        let now = self.monotonic_ns(now);
        LimitStatus {
            in_use: self.in_use,
            waiting: self.waiting.len(),
            admitted_in_window: self.rate.count_used(now),
            approximate: self.rate.is_approximate(),
            settings: self.settings,
        }
    }

    fn admit(&mut self, now: u64) {
        self.in_use += 1;
        self.rate.count_admission(now);
    }

    /// Why a request with `ahead` others before it cannot go at once.
    fn blocking_limit(&self, now: u64, ahead: usize) -> Option<Limited> {
        if self.rate.free_at(now, ahead) != Some(now) {
            return Some(self.limit_error(LimitedBy::Rate, now, ahead));
        }
        let full = self.settings.concurrent.is_some_and(|max| self.in_use >= max);
        (full || ahead > 0).then_some(Limited { by: LimitedBy::Concurrency, retry_after: None })
    }

    fn limit_error(&self, by: LimitedBy, now: u64, ahead: usize) -> Limited {
        let free_at = self.rate.free_at(now, ahead).filter(|&free_at| free_at > now);
        Limited { by, retry_after: free_at.map(|free_at| Duration::from_nanos(free_at - now)) }
    }

    fn position(&self, number: u64) -> Result<usize, usize> {
        self.waiting.binary_search_by_key(&number, |waiter| waiter.number)
    }

    /// Time as the rate counts it, which never goes back.
    fn monotonic_ns(&mut self, now: Instant) -> u64 {
        self.latest = self.latest.max(self.ns_since_epoch(now));
        self.latest
    }

    fn ns_since_epoch(&self, at: Instant) -> u64 {
        EPOCH.saturating_add(nanoseconds(at.saturating_duration_since(self.epoch)))
    }
}

/// What the clock says when the limiter is made: there is room before it for a window of half a year.
pub(super) const EPOCH: u64 = 1 << 54;

pub(super) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
