//! Work under way, and those who wait for it.
//!
//! Whoever finds no flight for its key begins one and leads it; whoever finds one follows it. The lead is a
//! value: landing it gives every follower a word, and dropping it passes it to the first follower still
//! there, wherever the drop happens: in a cancelled leader, in one that panicked, or in a follower that went
//! away with the lead already on its way to it.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use tokio::{sync::oneshot, time::Instant};

use super::{
    Found, How, KEEP_MAX, Ran, Shared, TTL_MAX, Terms,
    drops::{Era, Holes},
    key::CacheKey,
    shelf::Entry,
};
use crate::lock::lock;

/// The era is part of its name: who comes after a drop does not find the flight that began before it.
pub(super) type Flight = (CacheKey, Era);
pub(super) type Followers<V, E> = VecDeque<oneshot::Sender<Word<V, E>>>;

pub(super) fn follow<V, E>(followers: &mut Followers<V, E>) -> oneshot::Receiver<Word<V, E>> {
    // Before the list grows, those who have gone away make room.
    if followers.len() == followers.capacity() {
        followers.retain(|follower| !follower.is_closed());
    }
    let (sender, receiver) = oneshot::channel();
    followers.push_back(sender);
    receiver
}

/// What a leader leaves to a follower.
pub(super) enum Word<V, E> {
    Answer(V),
    Failed(E),
    /// The lead itself. If the follower is gone before it reads this, the lead is dropped and goes on to the
    /// next.
    Lead(Lead<V, E>),
}

/// The duty to run the work of one flight. Dropped before landing, it passes to the next follower.
pub(super) struct Lead<V, E> {
    shared: Arc<Shared<V, E>>,
    flight: Flight,
    holes: Holes,
    landed: bool,
}

impl<V, E> Lead<V, E> {
    pub(super) fn new(shared: Arc<Shared<V, E>>, flight: Flight, holes: Holes) -> Self {
        Self { shared, flight, holes, landed: false }
    }
}

impl<V: Clone, E: Clone> Lead<V, E> {
    /// The work has ended: tells the followers, and stores what is to be kept.
    pub(super) fn land(self, ran: Ran<V, E>, terms: Terms) -> Result<Found<V>, E> {
        let (result, keep) = match ran {
            Ran::Keep(value) => (Ok(value), true),
            Ran::Pass(value) => (Ok(value), false),
            Ran::Failed(error) => (Err(error), false),
            // The lead drops here and passes on.
            Ran::Withdrawn(error) => return Err(error),
        };
        let kept = result.as_ref().ok().filter(|_| keep).map(|value| {
            let bytes = (self.shared.weigh)(value);
            (value.clone(), bytes)
        });
        for follower in self.end(kept, terms) {
            // Who is gone needs no word.
            _ = follower.send(match &result {
                Ok(value) => Word::Answer(value.clone()),
                Err(error) => Word::Failed(error.clone()),
            });
        }
        result.map(|value| Found { value, how: How::Miss, age: Duration::ZERO })
    }

    /// Ends the flight and stores its answer in one step, so that whoever comes finds one of them.
    fn end(mut self, kept: Option<(V, usize)>, terms: Terms) -> Followers<V, E> {
        self.landed = true;
        let mut state = lock(&self.shared.state);
        let now = Instant::now();
        state.misses += 1;
        let followers = state.flights.remove(&self.flight).unwrap_or_default();
        let (key, era) = self.flight;
        let kept = kept.filter(|_| era == state.drops.era(self.holes));
        let gone = kept.map(|(value, bytes)| {
            let keep_until = now + terms.ttl.min(TTL_MAX) + terms.keep.min(KEEP_MAX);
            let entry = Entry { key, value, bytes, holes: self.holes, era, stored_at: now, keep_until };
            state.store(entry, now)
        });
        drop(state);
        drop(gone);
        followers
    }
}

impl<V, E> Drop for Lead<V, E> {
    fn drop(&mut self) {
        while !self.landed {
            let mut state = lock(&self.shared.state);
            let Some(follower) = state.flights.get_mut(&self.flight).and_then(VecDeque::pop_front) else {
                state.flights.remove(&self.flight);
                self.landed = true;
                return;
            };
            drop(state);
            let lead = Self::new(self.shared.clone(), self.flight, self.holes);
            match follower.send(Word::Lead(lead)) {
                Ok(()) => self.landed = true,
                // It went away first and hands the lead back, unused.
                Err(Word::Lead(mut unused)) => unused.landed = true,
                Err(_) => {}
            }
        }
    }
}
