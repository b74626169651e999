//! Whose turn it is: the decision of the admission, without the waiting.
//!
//! Every caller has a queue of its own, and callers with waiters take turns in `order`. A free permit goes to the first
//! caller in `order` that is below its bound; its first waiter is admitted, and the caller moves to the end. A caller at
//! its bound keeps its place in `order`, so that waiting does not set it back.
//!
//! After every change each waiter that can go is admitted (`next`), so a newcomer that finds a permit free takes it from
//! no waiter.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use super::Rejected;

#[derive(Debug)]
pub(super) struct AdmissionQueue {
    all: usize,
    each: usize,
    queue_max: usize,
    inside: usize,
    callers: HashMap<Arc<str>, Caller>,
    /// Every caller with waiters, once, in the order of their turns.
    order: VecDeque<Arc<str>>,
    /// Waiters that can be rejected.
    queued: usize,
    /// Waiters that cannot.
    sure: usize,
    next_number: u64,
}

#[derive(Debug, Default)]
struct Caller {
    inside: usize,
    line: VecDeque<Waiter>,
    /// Its waiters that can be rejected.
    queued: usize,
}

#[derive(Debug)]
struct Waiter {
    number: u64,
    sure: bool,
}

/// How long a newcomer is willing to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waits {
    Never,
    /// For some time, where the line is not too long.
    InLine,
    /// However long it takes.
    Surely,
}

/// The decision about a newcomer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    Admitted,
    /// It waits under this number, perhaps in the place of another waiter.
    Waiting {
        number: u64,
        displaced: Option<u64>,
    },
    Rejected(Rejected),
}

impl AdmissionQueue {
    pub(super) fn new(all: usize, each: usize, queue_max: usize) -> Self {
        Self {
            all,
            each,
            queue_max,
            inside: 0,
            callers: HashMap::new(),
            order: VecDeque::new(),
            queued: 0,
            sure: 0,
            next_number: 0,
        }
    }

    pub(super) fn admitted_count(&self) -> usize {
        self.inside
    }

    pub(super) fn waiting_count(&self) -> usize {
        self.queued + self.sure
    }

    pub(super) fn arrive(&mut self, caller: &str, waits: Waits) -> Arrival {
        if self.inside < self.all && self.has_share_left(caller) {
            self.inside += 1;
            self.callers.entry(caller.into()).or_default().inside += 1;
            return Arrival::Admitted;
        }
        let displaced = match waits {
            Waits::Never => return Arrival::Rejected(self.blocking_limit(caller)),
            Waits::InLine if self.queued >= self.queue_max => match self.make_room(caller) {
                Ok(displaced) => Some(displaced),
                Err(why) => return Arrival::Rejected(why),
            },
            Waits::InLine | Waits::Surely => None,
        };
        let number = self.next_number;
        self.next_number += 1;
        let sure = waits == Waits::Surely;
        let known: Arc<str> = caller.into();
        let line = self.callers.entry(known.clone()).or_default();
        if line.line.is_empty() {
            self.order.push_back(known);
        }
        line.line.push_back(Waiter { number, sure });
        if sure {
            self.sure += 1;
        } else {
            line.queued += 1;
            self.queued += 1;
        }
        Arrival::Waiting { number, displaced }
    }

    /// Work of this caller has ended.
    pub(super) fn release(&mut self, caller: &str) {
        if let Some(known) = self.callers.get_mut(caller)
            && known.inside > 0
        {
            known.inside -= 1;
            self.inside -= 1;
            self.forget_idle(caller);
        }
    }

    /// Admits the waiter whose turn it is, if one can go: its number and its caller.
    pub(super) fn take_next_admissible(&mut self) -> Option<(u64, Arc<str>)> {
        if self.inside >= self.all {
            return None;
        }
        let place = self.order.iter().position(|caller| self.has_share_left(caller))?;
        let caller = self.order.remove(place)?;
        let known = self.callers.get_mut(&caller)?;
        let waiter = known.line.pop_front()?;
        known.inside += 1;
        self.inside += 1;
        if waiter.sure {
            self.sure -= 1;
        } else {
            known.queued -= 1;
            self.queued -= 1;
        }
        if !known.line.is_empty() {
            self.order.push_back(caller.clone());
        }
        Some((waiter.number, caller))
    }

    /// Removes the caller's waiter with this number and says what kept it waiting; nothing if it no longer waits.
    pub(super) fn remove_waiter(&mut self, caller: &str, number: u64) -> Option<Rejected> {
        let line = &self.callers.get(caller)?.line;
        let place = line.binary_search_by_key(&number, |waiter| waiter.number).ok()?;
        let why = self.blocking_limit(caller);
        self.remove(caller, place);
        Some(why)
    }

    fn has_share_left(&self, caller: &str) -> bool {
        self.callers.get(caller).map_or(0, |known| known.inside) < self.each
    }

    /// The bound that keeps a caller waiting: its own, if it has reached that.
    fn blocking_limit(&self, caller: &str) -> Rejected {
        if self.has_share_left(caller) { Rejected::TotalLimit } else { Rejected::CallerLimit }
    }

    /// The latest waiter of the caller with the most waiters gives its place to a caller that has fewer, if neither of
    /// the two is worse off for it.
    fn make_room(&mut self, newcomer: &str) -> Result<u64, Rejected> {
        let own = self.callers.get(newcomer).map_or(0, |known| known.queued);
        // Of those with the same number the one whose turn comes last, so that the choice is the same every time.
        let longest = self.order.iter().max_by_key(|name| self.callers.get(*name).map_or(0, |c| c.queued));
        let longest = longest.cloned().filter(|name| {
            let held = self.callers.get(name).map_or(0, |known| known.queued);
            own + 1 < held
        });
        let Some(longest) = longest else {
            return Err(if own > 0 { Rejected::CallerLimit } else { self.blocking_limit(newcomer) });
        };
        let latest = self.callers.get(&longest).and_then(|known| known.line.iter().rposition(|w| !w.sure));
        let removed = latest.and_then(|place| self.remove(&longest, place));
        removed.ok_or(Rejected::TotalLimit)
    }

    fn remove(&mut self, caller: &str, place: usize) -> Option<u64> {
        let known = self.callers.get_mut(caller)?;
        let waiter = known.line.remove(place)?;
        if waiter.sure {
            self.sure -= 1;
        } else {
            known.queued -= 1;
            self.queued -= 1;
        }
        if known.line.is_empty() {
            self.order.retain(|name| &**name != caller);
        }
        self.forget_idle(caller);
        Some(waiter.number)
    }

    /// A caller without permits and waiters is forgotten.
    fn forget_idle(&mut self, caller: &str) {
        if self.callers.get(caller).is_some_and(|known| known.inside == 0 && known.line.is_empty()) {
            self.callers.remove(caller);
        }
    }

    /// The number of callers that are known.
    #[cfg(test)]
    pub(super) fn caller_count(&self) -> usize {
        self.callers.len()
    }
}
