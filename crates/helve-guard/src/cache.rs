//! Answers that may be given again, and one run for all who ask the same thing at once.
//!
//! `key` says what the same thing is, `shelf` stores within bounds, `drops` knows what has gone out of date,
//! and `flight` is work under way and those who wait for it; here they meet under one lock.
//!
//! Promises:
//! - An answer is given only for the key it was made for, and only within its time.
//! - Only what the work marked with [`Ran::Keep`] is stored. An error never is.
//! - Of those who ask for the same key at once, one leads and runs the work, the others follow. When the
//!   leader is cancelled exactly one follower takes over; when it fails the followers get its error.
//! - After a drop nobody gets an answer whose work began before it, not even from a flight that is still
//!   under way; only those who already waited for that flight do.
//!
//! Why not a cache crate: with moka 0.12 a drop does not reach a load in flight, which then stores the old
//! answer; its clock cannot be given, so time could not be tested; and it has no bound per tenant.

mod drops;
mod flight;
mod key;
mod shelf;
#[cfg(test)]
mod tests;

use std::{
    collections::{HashMap, VecDeque, hash_map},
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{sync::oneshot, time::Instant};

pub use key::{CacheKey, KeyParts, Scope};

use crate::lock::lock;
use drops::{Drops, Era, Holes};
use flight::{Flight, Followers, Lead, Word, follow};
use shelf::{Entry, Shelf};

/// How much is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheSettings {
    /// All entries together. Each counts 256 bytes more than its value weighs.
    pub bytes_max: usize,
    /// The largest value that is stored; larger ones are handed on only.
    pub entry_bytes_max: usize,
    /// All entries of one tenant together. With a single tenant, set it to `bytes_max`.
    pub tenant_bytes_max: usize,
}

impl Default for CacheSettings {
    fn default() -> Self {
        Self { bytes_max: 64 << 20, entry_bytes_max: 256 << 10, tenant_bytes_max: 16 << 20 }
    }
}

/// How long an answer serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// How old an answer may be to be given as it is; a day at most. It is the asker's word that counts, so a
    /// shorter time takes effect on what is already stored.
    pub ttl: Duration,
    /// How much longer an answer is kept as the last good one; a week at most. Counts from when it was
    /// stored.
    pub keep: Duration,
}

const TTL_MAX: Duration = Duration::from_secs(24 * 60 * 60);
const KEEP_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// How the work ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ran<V, E> {
    /// A complete answer: store it, give it to all.
    Keep(V),
    /// An answer that others may have now but not later, such as one cut short.
    Pass(V),
    /// It failed, and would have failed for all who wait.
    Failed(E),
    /// It failed for reasons of this caller alone, such as its own limit: the next in line tries by itself.
    Withdrawn(E),
}

/// A success is kept, an error is shared.
impl<V, E> From<Result<V, E>> for Ran<V, E> {
    fn from(result: Result<V, E>) -> Self {
        match result {
            Ok(value) => Self::Keep(value),
            Err(error) => Self::Failed(error),
        }
    }
}

/// An answer and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found<V> {
    pub value: V,
    pub how: How,
    /// How long ago it was stored; zero if it is new.
    pub age: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// It was stored.
    Hit,
    /// This caller's work made it.
    Miss,
    /// Another caller's work made it meanwhile.
    Shared,
}

/// An answer that may be out of date, to be marked as such wherever it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastGood<V> {
    pub value: V,
    pub age: Duration,
}

/// A cache at one moment; counts are since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheStatus {
    /// Stored answers. Some may be over or dropped and only wait for their place to be needed.
    pub entries: usize,
    pub bytes: usize,
    /// Keys whose work is under way.
    pub in_flight: usize,
    pub hits: u64,
    /// Work that ran to its end.
    pub misses: u64,
    pub shared: u64,
    /// Answers that had to make room for others while they could still have served.
    pub evicted: u64,
}

/// A handle on one cache of `V`, whose work may fail with `E`; clones share it.
///
/// A hit clones the value under the lock, so `V` should be cheap to clone, such as an `Arc`.
pub struct Cache<V, E> {
    shared: Arc<Shared<V, E>>,
}

struct Shared<V, E> {
    weigh: fn(&V) -> usize,
    state: Mutex<State<V, E>>,
}

struct State<V, E> {
    shelf: Shelf<V>,
    drops: Drops,
    flights: HashMap<Flight, Followers<V, E>>,
    hits: u64,
    misses: u64,
    shared: u64,
    evicted: u64,
}

impl<V, E> Cache<V, E>
where
    V: Clone + Send + Sync + 'static,
    E: Clone + Send + 'static,
{
    /// `weigh` tells how many bytes a value takes.
    pub fn new(settings: CacheSettings, weigh: fn(&V) -> usize) -> Self {
        let state = State {
            shelf: Shelf::new(settings),
            drops: Drops::new(),
            flights: HashMap::new(),
            hits: 0,
            misses: 0,
            shared: 0,
            evicted: 0,
        };
        Self { shared: Arc::new(Shared { weigh, state: Mutex::new(state) }) }
    }

    /// The stored answer, or that of `work`, which runs here if nobody else is running it.
    ///
    /// Dropping the future is always safe, so each caller may set its own time limit around it; if it was the
    /// leader another one takes over with its own work. The work must not ask this cache for the same key.
    pub async fn run<W, F>(&self, parts: &KeyParts<'_>, terms: Terms, work: W) -> Result<Found<V>, E>
    where
        W: FnOnce() -> F,
        F: Future<Output = Ran<V, E>>,
    {
        let lead = loop {
            match self.look(parts, terms) {
                Look::Hit(found) => return Ok(found),
                Look::Lead(lead) => break lead,
                Look::Follow(word) => match word.await {
                    Ok(Word::Answer(value)) => return Ok(self.shared(value)),
                    Ok(Word::Failed(error)) => return Err(error),
                    Ok(Word::Lead(lead)) => break lead,
                    // A leader never leaves without a word; should it, look again.
                    Err(_) => {}
                },
            }
        };
        let ran = work().await;
        lead.land(ran, terms)
    }

    /// For work that runs beside the cache, which is neither answered from it nor shared: what it brings can be kept
    /// all the same. Taken before the work begins.
    pub fn note(&self, parts: &KeyParts<'_>) -> Note<V, E> {
        let state = lock(&self.shared.state);
        let holes = state.drops.holes(&parts.scope);
        let era = state.drops.era(holes);
        drop(state);
        Note { shared: self.shared.clone(), key: parts.key(), holes, era }
    }

    /// What was last stored for this key, also if its time is over, unless it was dropped since.
    pub fn last_good(&self, parts: &KeyParts<'_>) -> Option<LastGood<V>> {
        let key = parts.key();
        let mut state = lock(&self.shared.state);
        let now = Instant::now();
        let State { shelf, drops, .. } = &mut *state;
        let entry =
            shelf.get_if(&key, |entry| now < entry.keep_until && entry.era == drops.era(entry.holes))?;
        Some(LastGood { value: entry.value.clone(), age: now.saturating_duration_since(entry.stored_at) })
    }

    /// Puts all answers of a tool out of date, for every tenant, and frees their memory.
    pub fn drop_tool(&self, tool: &str) {
        let mut state = lock(&self.shared.state);
        state.drops.drop_tool(tool);
        let State { shelf, drops, .. } = &mut *state;
        let gone = shelf.retain(|entry| entry.era == drops.era(entry.holes));
        drop(state);
        drop(gone);
    }

    /// Puts all answers of one scope out of date. Call it when a write has ended. It takes no longer for a
    /// large cache; the memory comes free as its place is needed.
    pub fn drop_scope(&self, scope: &Scope<'_>) {
        lock(&self.shared.state).drops.drop_scope(scope);
    }

    /// Puts everything out of date and frees its memory; the counts go on.
    pub fn clear(&self) {
        let mut state = lock(&self.shared.state);
        state.drops.drop_all();
        let gone = state.shelf.retain(|_| false);
        drop(state);
        drop(gone);
    }

    pub fn status(&self) -> CacheStatus {
        let state = lock(&self.shared.state);
        CacheStatus {
            entries: state.shelf.len(),
            bytes: state.shelf.bytes(),
            in_flight: state.flights.len(),
            hits: state.hits,
            misses: state.misses,
            shared: state.shared,
            evicted: state.evicted,
        }
    }

    fn look(&self, parts: &KeyParts<'_>, terms: Terms) -> Look<V, E> {
        let key = parts.key();
        let mut state = lock(&self.shared.state);
        if let Some(found) = state.fresh(&key, terms.ttl.min(TTL_MAX), Instant::now()) {
            return Look::Hit(found);
        }
        let holes = state.drops.holes(&parts.scope);
        let flight = (key, state.drops.era(holes));
        match state.flights.entry(flight) {
            hash_map::Entry::Occupied(mut followers) => Look::Follow(follow(followers.get_mut())),
            hash_map::Entry::Vacant(vacant) => {
                vacant.insert(VecDeque::new());
                Look::Lead(Lead::new(self.shared.clone(), flight, holes))
            }
        }
    }

    fn shared(&self, value: V) -> Found<V> {
        lock(&self.shared.state).shared += 1;
        Found { value, how: How::Shared, age: Duration::ZERO }
    }
}

/// The place of an answer that is still to come.
pub struct Note<V, E> {
    shared: Arc<Shared<V, E>>,
    key: CacheKey,
    holes: Holes,
    era: Era,
}

impl<V: Clone, E> Note<V, E> {
    /// Stores the answer, unless a drop has covered it since the note was taken.
    pub fn keep(self, value: V, terms: Terms) {
        let Self { shared, key, holes, era } = self;
        let bytes = (shared.weigh)(&value);
        let mut state = lock(&shared.state);
        if era != state.drops.era(holes) {
            return;
        }
        let now = Instant::now();
        let keep_until = now + terms.ttl.min(TTL_MAX) + terms.keep.min(KEEP_MAX);
        let gone = state.store(Entry { key, value, bytes, holes, era, stored_at: now, keep_until }, now);
        drop(state);
        drop(gone);
    }
}

enum Look<V, E> {
    Hit(Found<V>),
    Lead(Lead<V, E>),
    Follow(oneshot::Receiver<Word<V, E>>),
}

impl<V: Clone, E> State<V, E> {
    fn fresh(&mut self, key: &CacheKey, ttl: Duration, now: Instant) -> Option<Found<V>> {
        let Self { shelf, drops, .. } = self;
        let age = |entry: &Entry<V>| now.saturating_duration_since(entry.stored_at);
        let entry = shelf.get_if(key, |entry| {
            age(entry) < ttl && now < entry.keep_until && entry.era == drops.era(entry.holes)
        })?;
        let found = Found { value: entry.value.clone(), how: How::Hit, age: age(entry) };
        self.hits += 1;
        Some(found)
    }

    fn store(&mut self, entry: Entry<V>, now: Instant) -> Vec<Entry<V>> {
        let key = entry.key;
        let gone = self.shelf.insert(entry, now);
        let in_time = |entry: &&Entry<V>| {
            entry.key != key && now < entry.keep_until && entry.era == self.drops.era(entry.holes)
        };
        self.evicted += gone.iter().filter(in_time).count() as u64;
        gone
    }
}

impl<V, E> Clone for Cache<V, E> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

impl<V, E> fmt::Debug for Cache<V, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").finish_non_exhaustive()
    }
}
