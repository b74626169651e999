//! Work in progress, and the callers that wait for it.
//!
//! A caller that finds no flight for its key begins one and leads it; a caller that finds one follows it. The lead is
//! a value: landing it sends every follower a message, and dropping it passes it to the first follower that is still
//! there, wherever the drop happens: in a cancelled leader, in one that panicked, or in a follower that went away with
//! the lead already on its way to it.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use tokio::{sync::oneshot, time::Instant};

use super::{
    CacheLifetime, CacheOutcome, CacheShared, CachedAnswer, KEEP_MAX, TTL_MAX, WorkResult,
    entries::CacheEntry,
    invalidation::{Buckets, Generation},
    key::CacheKey,
};
use crate::lock::lock;

/// The generation is part of its name: a caller after an invalidation does not find the flight that began before it.
pub(super) type FlightKey = (CacheKey, Generation);
pub(super) type Followers<V, E> = VecDeque<oneshot::Sender<FlightMessage<V, E>>>;

pub(super) fn add_follower<V, E>(followers: &mut Followers<V, E>) -> oneshot::Receiver<FlightMessage<V, E>> {
    // Before the list grows, followers that have gone away are removed.
    if followers.len() == followers.capacity() {
        followers.retain(|follower| !follower.is_closed());
    }
    let (sender, receiver) = oneshot::channel();
    followers.push_back(sender);
    receiver
}

/// What a leader sends to a follower.
pub(super) enum FlightMessage<V, E> {
    Answer(V),
    Failed(E),
    /// The lead itself. If the follower is gone before it reads this, the lead is dropped and goes on to the
    /// next.
    Lead(FlightLead<V, E>),
}

/// The duty to run the work of one flight. Dropped before landing, it passes to the next follower.
pub(super) struct FlightLead<V, E> {
    shared: Arc<CacheShared<V, E>>,
    flight: FlightKey,
    buckets: Buckets,
    landed: bool,
}

impl<V, E> FlightLead<V, E> {
    pub(super) fn new(shared: Arc<CacheShared<V, E>>, flight: FlightKey, buckets: Buckets) -> Self {
        Self { shared, flight, buckets, landed: false }
    }
}

impl<V: Clone, E: Clone> FlightLead<V, E> {
    /// The work has ended: tells the followers, and stores what is to be kept.
    pub(super) fn finish(self, ran: WorkResult<V, E>, lifetime: CacheLifetime) -> Result<CachedAnswer<V>, E> {
        let (result, keep) = match ran {
            WorkResult::Store(value) => (Ok(value), true),
            WorkResult::ShareOnly(value) => (Ok(value), false),
            WorkResult::Failed(error) => (Err(error), false),
            // The lead drops here and passes on.
            WorkResult::FailedAlone(error) => return Err(error),
        };
        let kept = result.as_ref().ok().filter(|_| keep).map(|value| {
            let bytes = (self.shared.weigh)(value);
            (value.clone(), bytes)
        });
        for follower in self.end_and_store(kept, lifetime) {
            // A follower that is gone needs no message.
            _ = follower.send(match &result {
                Ok(value) => FlightMessage::Answer(value.clone()),
                Err(error) => FlightMessage::Failed(error.clone()),
            });
        }
        result.map(|value| CachedAnswer { value, outcome: CacheOutcome::Miss, age: Duration::ZERO })
    }

    /// Ends the flight and stores its answer in one step, so that a new caller finds one of them.
    fn end_and_store(mut self, kept: Option<(V, usize)>, lifetime: CacheLifetime) -> Followers<V, E> {
        self.landed = true;
        let mut state = lock(&self.shared.state);
        let now = Instant::now();
        state.misses += 1;
        let followers = state.flights.remove(&self.flight).unwrap_or_default();
        let (key, generation) = self.flight;
        let kept = kept.filter(|_| generation == state.invalidations.generation(self.buckets));
        let gone = kept.map(|(value, bytes)| {
            let keep_until = now + lifetime.ttl.min(TTL_MAX) + lifetime.keep.min(KEEP_MAX);
            let entry = CacheEntry {
                key,
                value,
                bytes,
                buckets: self.buckets,
                generation,
                stored_at: now,
                keep_until,
            };
            state.store(entry, now)
        });
        drop(state);
        drop(gone);
        followers
    }
}

impl<V, E> Drop for FlightLead<V, E> {
    fn drop(&mut self) {
        while !self.landed {
            let mut state = lock(&self.shared.state);
            let Some(follower) = state.flights.get_mut(&self.flight).and_then(VecDeque::pop_front) else {
                state.flights.remove(&self.flight);
                self.landed = true;
                return;
            };
            drop(state);
            let lead = Self::new(self.shared.clone(), self.flight, self.buckets);
            match follower.send(FlightMessage::Lead(lead)) {
                Ok(()) => self.landed = true,
                // It went away first and hands the lead back, unused.
                Err(FlightMessage::Lead(mut unused)) => unused.landed = true,
                Err(_) => {}
            }
        }
    }
}
