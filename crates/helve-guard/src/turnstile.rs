//! How many at once, in all and for each caller, with a wait in which callers take turns.
//!
//! `round` decides who is let in, who waits and who is turned away; here is the handle, the waiting, and the pass that
//! running work owns.
//!
//! Promises:
//! - At most `all` passes exist, and at most `each` of one caller. A pass ends when its owner drops it; no timer ends it.
//! - A place that is free is never kept from somebody who waits and may have it.
//! - Callers who wait take turns: between two turns of one caller everybody else who waits and may go has one. A flood
//!   of one caller delays another by one turn, not by the flood.
//! - When the line is full, the caller with the most in it makes room for one with less.
//! - A waiter that is dropped vanishes and does not hold up the others.

mod round;
#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{sync::oneshot, time::timeout};

use crate::lock::lock;
use round::{Arrival, Round, Waits};

/// What a turnstile allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnSettings {
    /// How many may be inside at once.
    pub all: usize,
    /// How many of one caller.
    pub each: usize,
    /// How many may wait at a time, besides those that are never turned away.
    pub queue_max: usize,
    /// How long one waits for its turn; zero turns away at once.
    pub wait: Duration,
}

/// Somebody was turned away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum TurnedAway {
    /// By what the same caller has inside or waiting.
    #[error("the caller has its share already")]
    ByShare,
    /// By what all callers have.
    #[error("there are too many of all callers")]
    ByAll,
}

/// A turnstile at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnStatus {
    pub inside: usize,
    /// Those that are never turned away among them.
    pub waiting: usize,
    /// How many were turned away so far, by their own share and by all.
    pub turned_away: [u64; 2],
    pub settings: TurnSettings,
}

/// A handle on one turnstile; clones share it.
#[derive(Debug, Clone)]
pub struct Turnstile {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug)]
struct Shared {
    settings: TurnSettings,
    round: Round,
    /// Where each waiter hears what became of it.
    doors: HashMap<u64, Door>,
    turned_away: [u64; 2],
}

type Door = oneshot::Sender<Result<Pass, TurnedAway>>;

impl Turnstile {
    pub fn new(settings: TurnSettings) -> Self {
        let round = Round::new(settings.all, settings.each, settings.queue_max);
        let shared = Shared { settings, round, doors: HashMap::new(), turned_away: [0; 2] };
        Self { shared: Arc::new(Mutex::new(shared)) }
    }

    /// Goes in, waiting for a turn as long as the settings allow. Drop the future to stop waiting.
    pub async fn enter(&self, caller: &str) -> Result<Pass, TurnedAway> {
        let wait = lock(&self.shared).settings.wait;
        if wait.is_zero() {
            return self.try_enter(caller);
        }
        let mut place = match self.arrive(caller, Waits::InLine)? {
            Entrance::Inside(pass) => return Ok(pass),
            Entrance::Waiting(place) => place,
        };
        match timeout(wait, &mut place.door).await {
            Ok(told) => told.unwrap_or(Err(TurnedAway::ByAll)),
            Err(_) => place.give_up(),
        }
    }

    /// Goes in when its turn comes, however long that takes, and is never turned away.
    pub async fn enter_surely(&self, caller: &str) -> Pass {
        loop {
            let mut place = match self.arrive(caller, Waits::Surely) {
                Ok(Entrance::Inside(pass)) => return pass,
                Ok(Entrance::Waiting(place)) => place,
                Err(_) => unreachable!("whoever waits surely is not turned away"),
            };
            if let Ok(Ok(pass)) = (&mut place.door).await {
                return pass;
            }
        }
    }

    /// Goes in now or not at all.
    pub fn try_enter(&self, caller: &str) -> Result<Pass, TurnedAway> {
        match self.arrive(caller, Waits::Never)? {
            Entrance::Inside(pass) => Ok(pass),
            Entrance::Waiting(_) => unreachable!("whoever never waits is not put in line"),
        }
    }

    pub fn status(&self) -> TurnStatus {
        let shared = lock(&self.shared);
        TurnStatus {
            inside: shared.round.inside(),
            waiting: shared.round.waiting(),
            turned_away: shared.turned_away,
            settings: shared.settings,
        }
    }

    fn arrive(&self, caller: &str, waits: Waits) -> Result<Entrance, TurnedAway> {
        let (told, arrived) = {
            let mut shared = lock(&self.shared);
            match shared.round.arrive(caller, waits) {
                Arrival::Inside => (None, Ok(Entrance::Inside(self.pass(caller)))),
                Arrival::TurnedAway(why) => {
                    shared.count(why);
                    (None, Err(why))
                }
                Arrival::Waiting { number, displaced } => {
                    let (sender, door) = oneshot::channel();
                    shared.doors.insert(number, sender);
                    let displaced = displaced.and_then(|number| shared.doors.remove(&number));
                    if displaced.is_some() {
                        shared.count(TurnedAway::ByShare);
                    }
                    (
                        displaced,
                        Ok(Entrance::Waiting(Place {
                            turnstile: self.clone(),
                            caller: caller.into(),
                            number,
                            door,
                        })),
                    )
                }
            }
        };
        // Outside the lock, because waking runs foreign code.
        if let Some(door) = told {
            _ = door.send(Err(TurnedAway::ByShare));
        }
        arrived
    }

    fn pass(&self, caller: &str) -> Pass {
        Pass { turnstile: self.clone(), caller: caller.into() }
    }

    /// Changes the round and lets in whoever can go because of it.
    fn change<T>(&self, change: impl FnOnce(&mut Shared) -> T) -> T {
        let (changed, let_in) = {
            let mut shared = lock(&self.shared);
            let changed = change(&mut shared);
            let mut let_in = vec![];
            while let Some((number, caller)) = shared.round.next() {
                let_in.extend(shared.doors.remove(&number).map(|door| (door, caller)));
            }
            (changed, let_in)
        };
        for (door, caller) in let_in {
            // Whoever has just gone away drops the pass, which lets in the next.
            _ = door.send(Ok(self.pass(&caller)));
        }
        changed
    }
}

impl Shared {
    fn leave(&mut self, caller: &str, number: u64) -> Option<TurnedAway> {
        self.doors.remove(&number);
        self.round.leave(caller, number)
    }

    fn count(&mut self, why: TurnedAway) {
        self.turned_away[match why {
            TurnedAway::ByShare => 0,
            TurnedAway::ByAll => 1,
        }] += 1;
    }
}

/// The right to be inside, owned by the work and given back when dropped.
#[derive(Debug)]
#[must_use = "the place is free again as soon as this is dropped"]
pub struct Pass {
    turnstile: Turnstile,
    caller: Arc<str>,
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.turnstile.change(|shared| shared.round.release(&self.caller));
    }
}

enum Entrance {
    Inside(Pass),
    Waiting(Place),
}

/// A place in line, given up when dropped.
struct Place {
    turnstile: Turnstile,
    caller: Arc<str>,
    number: u64,
    door: oneshot::Receiver<Result<Pass, TurnedAway>>,
}

impl Place {
    /// The time is over; a turn that came in this very moment still counts.
    fn give_up(mut self) -> Result<Pass, TurnedAway> {
        if let Ok(told) = self.door.try_recv() {
            return told;
        }
        let mut shared = lock(&self.turnstile.shared);
        let why = shared.leave(&self.caller, self.number).unwrap_or(TurnedAway::ByAll);
        shared.count(why);
        Err(why)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // After a turn there is nothing to leave; a pass that nobody took is dropped with the door.
        lock(&self.turnstile.shared).leave(&self.caller, self.number);
    }
}
