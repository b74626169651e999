//! Admission: how much work runs at once, in total and for each caller, with a fair wait.
//!
//! `queue` decides what is admitted, what waits and what is rejected. This file has the handle, the waiting, and the
//! permit that running work owns.
//!
//! Promises:
//! - At most `all` permits exist, and at most `each` of one caller. A permit ends when its owner drops it; no timer ends it.
//! - A free permit is never kept from a waiter that may have it.
//! - Waiting callers take turns: between two turns of one caller every other waiting caller has one. A flood of one
//!   caller delays another by one turn, not by the flood.
//! - When the queue is full, the caller with the most waiters gives one up for a caller with fewer.
//! - A waiter that is dropped leaves the queue and does not hold up the others.

mod queue;
#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{sync::oneshot, time::timeout};

use crate::lock::lock;
use queue::{AdmissionQueue, Arrival, Waits};

/// The bounds of an admission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdmissionSettings {
    /// How many permits exist at once.
    pub all: usize,
    /// How many of one caller.
    pub each: usize,
    /// How many may wait at a time, besides those that are never rejected.
    pub queue_max: usize,
    /// How long a request waits for its turn; zero rejects at once.
    pub wait: Duration,
}

/// A request was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Rejected {
    /// The caller has as many permits, or waiters, as it may.
    #[error("the caller has its share already")]
    CallerLimit,
    /// All callers together do.
    #[error("there are too many of all callers")]
    TotalLimit,
}

/// An admission at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdmissionStatus {
    pub inside: usize,
    /// Including those that are never rejected.
    pub waiting: usize,
    /// Rejections so far, by the bound of one caller and by the bound of all.
    pub rejected: [u64; 2],
    pub settings: AdmissionSettings,
}

/// A handle on one admission; clones share it.
#[derive(Debug, Clone)]
pub struct Admission {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug)]
struct Shared {
    settings: AdmissionSettings,
    queue: AdmissionQueue,
    /// Where each waiter gets its permit or its rejection.
    waiters: HashMap<u64, PermitSender>,
    rejected: [u64; 2],
}

type PermitSender = oneshot::Sender<Result<AdmissionPermit, Rejected>>;

impl Admission {
    pub fn new(settings: AdmissionSettings) -> Self {
        let queue = AdmissionQueue::new(settings.all, settings.each, settings.queue_max);
        let shared = Shared { settings, queue, waiters: HashMap::new(), rejected: [0; 2] };
        Self { shared: Arc::new(Mutex::new(shared)) }
    }

    /// Takes a permit, waiting as long as the settings allow. Drop the future to stop waiting.
    pub async fn enter(&self, caller: &str) -> Result<AdmissionPermit, Rejected> {
        let wait = lock(&self.shared).settings.wait;
        if wait.is_zero() {
            return self.try_enter(caller);
        }
        let mut place = match self.arrive(caller, Waits::InLine)? {
            Entrance::Admitted(permit) => return Ok(permit),
            Entrance::Waiting(place) => place,
        };
        match timeout(wait, &mut place.receiver).await {
            Ok(displaced_waker) => displaced_waker.unwrap_or(Err(Rejected::TotalLimit)),
            Err(_) => place.give_up(),
        }
    }

    /// Takes a permit however long that takes; is never rejected.
    pub async fn enter_unbounded(&self, caller: &str) -> AdmissionPermit {
        loop {
            let mut place = match self.arrive(caller, Waits::Surely) {
                Ok(Entrance::Admitted(permit)) => return permit,
                Ok(Entrance::Waiting(place)) => place,
                Err(_) => unreachable!("an unbounded wait is not rejected"),
            };
            if let Ok(Ok(permit)) = (&mut place.receiver).await {
                return permit;
            }
        }
    }

    /// Takes a permit now or not at all.
    pub fn try_enter(&self, caller: &str) -> Result<AdmissionPermit, Rejected> {
        match self.arrive(caller, Waits::Never)? {
            Entrance::Admitted(permit) => Ok(permit),
            Entrance::Waiting(_) => unreachable!("a request that does not wait is not queued"),
        }
    }

    pub fn status(&self) -> AdmissionStatus {
        let shared = lock(&self.shared);
        AdmissionStatus {
            inside: shared.queue.admitted_count(),
            waiting: shared.queue.waiting_count(),
            rejected: shared.rejected,
            settings: shared.settings,
        }
    }

    fn arrive(&self, caller: &str, waits: Waits) -> Result<Entrance, Rejected> {
        let (displaced_waker, arrived) = {
            let mut shared = lock(&self.shared);
            match shared.queue.arrive(caller, waits) {
                Arrival::Admitted => (None, Ok(Entrance::Admitted(self.new_permit(caller)))),
                Arrival::Rejected(why) => {
                    shared.count_rejection(why);
                    (None, Err(why))
                }
                Arrival::Waiting { number, displaced } => {
                    let (sender, receiver) = oneshot::channel();
                    shared.waiters.insert(number, sender);
                    let displaced = displaced.and_then(|number| shared.waiters.remove(&number));
                    if displaced.is_some() {
                        shared.count_rejection(Rejected::CallerLimit);
                    }
                    (
                        displaced,
                        Ok(Entrance::Waiting(QueuePlace {
                            admission: self.clone(),
                            caller: caller.into(),
                            number,
                            receiver,
                        })),
                    )
                }
            }
        };
        // Outside the lock, because waking runs foreign code.
        if let Some(receiver) = displaced_waker {
            _ = receiver.send(Err(Rejected::CallerLimit));
        }
        arrived
    }

    fn new_permit(&self, caller: &str) -> AdmissionPermit {
        AdmissionPermit { admission: self.clone(), caller: caller.into() }
    }

    /// Changes the queue and admits every waiter that can go because of it.
    fn update_and_admit<T>(&self, change: impl FnOnce(&mut Shared) -> T) -> T {
        let (changed, let_in) = {
            let mut shared = lock(&self.shared);
            let changed = change(&mut shared);
            let mut let_in = vec![];
            while let Some((number, caller)) = shared.queue.take_next_admissible() {
                let_in.extend(shared.waiters.remove(&number).map(|receiver| (receiver, caller)));
            }
            (changed, let_in)
        };
        for (receiver, caller) in let_in {
            // A waiter that has just gone away drops the permit, which admits the next one.
            _ = receiver.send(Ok(self.new_permit(&caller)));
        }
        changed
    }
}

impl Shared {
    fn remove_waiter(&mut self, caller: &str, number: u64) -> Option<Rejected> {
        self.waiters.remove(&number);
        self.queue.remove_waiter(caller, number)
    }

    fn count_rejection(&mut self, why: Rejected) {
        self.rejected[match why {
            Rejected::CallerLimit => 0,
            Rejected::TotalLimit => 1,
        }] += 1;
    }
}

/// The right to run, owned by the work and given back when dropped.
#[derive(Debug)]
#[must_use = "the place is free again as soon as this is dropped"]
pub struct AdmissionPermit {
    admission: Admission,
    caller: Arc<str>,
}

impl Drop for AdmissionPermit {
    fn drop(&mut self) {
        self.admission.update_and_admit(|shared| shared.queue.release(&self.caller));
    }
}

enum Entrance {
    Admitted(AdmissionPermit),
    Waiting(QueuePlace),
}

/// A place in the queue, given up when dropped.
struct QueuePlace {
    admission: Admission,
    caller: Arc<str>,
    number: u64,
    receiver: oneshot::Receiver<Result<AdmissionPermit, Rejected>>,
}

impl QueuePlace {
    /// The time is over; a turn that came in this very moment still counts.
    fn give_up(mut self) -> Result<AdmissionPermit, Rejected> {
        if let Ok(displaced_waker) = self.receiver.try_recv() {
            return displaced_waker;
        }
        let mut shared = lock(&self.admission.shared);
        let why = shared.remove_waiter(&self.caller, self.number).unwrap_or(Rejected::TotalLimit);
        shared.count_rejection(why);
        Err(why)
    }
}

impl Drop for QueuePlace {
    fn drop(&mut self) {
        // After a turn there is nothing to leave; a permit that was not taken is dropped with the receiver.
        lock(&self.admission.shared).remove_waiter(&self.caller, self.number);
    }
}
