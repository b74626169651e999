//! Whose turn it is: the decision, without the waiting.
//!
//! Every caller has a line of its own, and callers with somebody in line stand in a round. A free place goes to the first
//! caller of the round that has not its share yet; its first waiter goes in, and the caller goes to the end of the
//! round. A caller that has its share keeps its place in the round, so that it is not set back for having waited.
//!
//! After every change whoever can go is let in (`next`), so a newcomer that finds a place free takes it from nobody.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use super::TurnedAway;

#[derive(Debug)]
pub(super) struct Round {
    all: usize,
    each: usize,
    queue_max: usize,
    inside: usize,
    callers: HashMap<Arc<str>, Caller>,
    /// Every caller with somebody in line, once, in the order of their turns.
    order: VecDeque<Arc<str>>,
    /// Those in line who can be turned away.
    queued: usize,
    /// Those in line who cannot.
    sure: usize,
    next_number: u64,
}

#[derive(Debug, Default)]
struct Caller {
    inside: usize,
    line: VecDeque<Waiter>,
    /// Of the line, those who can be turned away.
    queued: usize,
}

#[derive(Debug)]
struct Waiter {
    number: u64,
    sure: bool,
}

/// What a newcomer is willing to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waits {
    Never,
    /// For some time, where the line is not too long.
    InLine,
    /// However long it takes.
    Surely,
}

/// What becomes of a newcomer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    Inside,
    /// It is in line under this number, where it may stand in the place of another.
    Waiting {
        number: u64,
        displaced: Option<u64>,
    },
    TurnedAway(TurnedAway),
}

impl Round {
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

    pub(super) fn inside(&self) -> usize {
        self.inside
    }

    pub(super) fn waiting(&self) -> usize {
        self.queued + self.sure
    }

    pub(super) fn arrive(&mut self, caller: &str, waits: Waits) -> Arrival {
        if self.inside < self.all && self.has_share_left(caller) {
            self.inside += 1;
            self.callers.entry(caller.into()).or_default().inside += 1;
            return Arrival::Inside;
        }
        let displaced = match waits {
            Waits::Never => return Arrival::TurnedAway(self.obstacle(caller)),
            Waits::InLine if self.queued >= self.queue_max => match self.make_room(caller) {
                Ok(displaced) => Some(displaced),
                Err(why) => return Arrival::TurnedAway(why),
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

    /// Somebody inside has ended.
    pub(super) fn release(&mut self, caller: &str) {
        if let Some(known) = self.callers.get_mut(caller)
            && known.inside > 0
        {
            known.inside -= 1;
            self.inside -= 1;
            self.forget_idle(caller);
        }
    }

    /// Lets in whose turn it is, if somebody can go: the waiter's number and whose it is.
    pub(super) fn next(&mut self) -> Option<(u64, Arc<str>)> {
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

    /// The caller's waiter with this number goes away, and what stood in its way; nothing if it is not in line any more.
    pub(super) fn leave(&mut self, caller: &str, number: u64) -> Option<TurnedAway> {
        let line = &self.callers.get(caller)?.line;
        let place = line.binary_search_by_key(&number, |waiter| waiter.number).ok()?;
        let why = self.obstacle(caller);
        self.remove(caller, place);
        Some(why)
    }

    fn has_share_left(&self, caller: &str) -> bool {
        self.callers.get(caller).map_or(0, |known| known.inside) < self.each
    }

    /// What keeps a caller out: itself, if it has its share inside.
    fn obstacle(&self, caller: &str) -> TurnedAway {
        if self.has_share_left(caller) { TurnedAway::ByAll } else { TurnedAway::ByShare }
    }

    /// The latest waiter of the caller that has most in line makes room for one of a caller that has less, if the two
    /// are not the worse off for it.
    fn make_room(&mut self, newcomer: &str) -> Result<u64, TurnedAway> {
        let own = self.callers.get(newcomer).map_or(0, |known| known.queued);
        // Of those with the same number the one whose turn comes last, so that the choice is the same every time.
        let longest = self.order.iter().max_by_key(|name| self.callers.get(*name).map_or(0, |c| c.queued));
        let longest = longest.cloned().filter(|name| {
            let held = self.callers.get(name).map_or(0, |known| known.queued);
            own + 1 < held
        });
        let Some(longest) = longest else {
            return Err(if own > 0 { TurnedAway::ByShare } else { self.obstacle(newcomer) });
        };
        let latest = self.callers.get(&longest).and_then(|known| known.line.iter().rposition(|w| !w.sure));
        let removed = latest.and_then(|place| self.remove(&longest, place));
        removed.ok_or(TurnedAway::ByAll)
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

    /// Nothing is remembered of a caller that has nothing inside and nothing in line.
    fn forget_idle(&mut self, caller: &str) {
        if self.callers.get(caller).is_some_and(|known| known.inside == 0 && known.line.is_empty()) {
            self.callers.remove(caller);
        }
    }

    /// How many callers are remembered.
    #[cfg(test)]
    pub(super) fn remembered(&self) -> usize {
        self.callers.len()
    }
}
