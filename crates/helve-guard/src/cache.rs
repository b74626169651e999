//! Cached answers, and one execution for all callers that ask for the same key at once.
//!
//! `key` says what is equal, `entries` stores within bounds, `invalidation` knows what is out of date,
//! `flight` is work in progress with its followers. This file puts them together under one lock.
//!
//! Promises:
//! - An answer is given only for the key it was made for, and only within its time.
//! - Only what the work marked with [`WorkResult::Store`] is stored. An error never is.
//! - Of the callers that ask for the same key at once, one leads and runs the work, the others follow. When the
//!   leader is cancelled exactly one follower takes over; when it fails the followers get its error.
//! - After an invalidation no caller gets an answer whose work began before it, not even from a flight that is still
//!   in progress; only callers that already waited for that flight do.
//!
//! Why not a cache crate: with moka 0.12 an invalidation does not reach a load in flight, which then stores the old
//! answer; its clock cannot be given, so time could not be tested; and it has no bound per tenant.

mod entries;
mod flight;
mod invalidation;
mod key;
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
use entries::{CacheEntry, EntryStore};
use flight::{FlightKey, FlightLead, FlightMessage, Followers, add_follower};
use invalidation::{Buckets, Generation, Invalidations};

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
pub struct CacheLifetime {
    /// How old an answer may be to be given as it is; a day at most. The time of the request counts, so a
    /// shorter one takes effect on what is already stored.
    pub ttl: Duration,
    /// How much longer an answer is kept as the last good one; a week at most. Counts from when it was
    /// stored.
    pub keep: Duration,
}

const TTL_MAX: Duration = Duration::from_secs(24 * 60 * 60);
const KEEP_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// How the work ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkResult<V, E> {
    /// A complete answer: store it, give it to all.
    Store(V),
    /// An answer that others may have now but not later, such as one cut short.
    ShareOnly(V),
    /// It failed, and would have failed for all who wait.
    Failed(E),
    /// It failed for reasons of this caller alone, such as its own limit: the next in line tries by itself.
    FailedAlone(E),
}

/// A success is kept, an error is shared.
impl<V, E> From<Result<V, E>> for WorkResult<V, E> {
    fn from(result: Result<V, E>) -> Self {
        match result {
            Ok(value) => Self::Store(value),
            Err(error) => Self::Failed(error),
        }
    }
}

/// An answer and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedAnswer<V> {
    pub value: V,
    pub outcome: CacheOutcome,
    /// How long ago it was stored; zero if it is new.
    pub age: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheOutcome {
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
    /// Answers removed for lack of room while they were still valid.
    pub evicted: u64,
}

/// A handle on one cache of `V`, whose work may fail with `E`; clones share it.
///
/// A hit clones the value under the lock, so `V` should be cheap to clone, such as an `Arc`.
pub struct Cache<V, E> {
    shared: Arc<CacheShared<V, E>>,
}

struct CacheShared<V, E> {
    weigh: fn(&V) -> usize,
    state: Mutex<CacheState<V, E>>,
}

struct CacheState<V, E> {
    entries: EntryStore<V>,
    invalidations: Invalidations,
    flights: HashMap<FlightKey, Followers<V, E>>,
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
        let state = CacheState {
            entries: EntryStore::new(settings),
            invalidations: Invalidations::new(),
            flights: HashMap::new(),
            hits: 0,
            misses: 0,
            shared: 0,
            evicted: 0,
        };
        Self { shared: Arc::new(CacheShared { weigh, state: Mutex::new(state) }) }
    }

    /// The stored answer, or that of `work`, which runs here unless another caller is running it.
    ///
    /// Dropping the future is always safe, so each caller may set its own time limit around it; if it was the
    /// leader another one takes over with its own work. The work must not ask this cache for the same key.
    pub async fn run<W, F>(
        &self,
        parts: &KeyParts<'_>,
        lifetime: CacheLifetime,
        work: W,
    ) -> Result<CachedAnswer<V>, E>
    where
        W: FnOnce() -> F,
        F: Future<Output = WorkResult<V, E>>,
    {
        let lead = loop {
            match self.look_up(parts, lifetime) {
                Lookup::Hit(found) => return Ok(found),
                Lookup::Lead(lead) => break lead,
                Lookup::Follow(message) => match message.await {
                    Ok(FlightMessage::Answer(value)) => return Ok(self.shared_answer(value)),
                    Ok(FlightMessage::Failed(error)) => return Err(error),
                    Ok(FlightMessage::Lead(lead)) => break lead,
                    // A leader always sends a message; should it not, look again.
                    Err(_) => {}
                },
            }
        };
        let ran = work().await;
        lead.finish(ran, lifetime)
    }

    /// For work that bypasses the cache, so is neither answered from it nor shared, but whose answer is to be stored.
    /// Called before the work begins.
    pub fn reserve(&self, parts: &KeyParts<'_>) -> PendingEntry<V, E> {
        let state = lock(&self.shared.state);
        let buckets = state.invalidations.buckets(&parts.scope);
        let generation = state.invalidations.generation(buckets);
        drop(state);
        PendingEntry { shared: self.shared.clone(), key: parts.to_key(), buckets, generation }
    }

    /// What was last stored for this key, also if its time is over, unless it was dropped since.
    pub fn last_good(&self, parts: &KeyParts<'_>) -> Option<LastGood<V>> {
        let key = parts.to_key();
        let mut state = lock(&self.shared.state);
        let now = Instant::now();
        let CacheState { entries, invalidations, .. } = &mut *state;
        let entry = entries.get_if(&key, |entry| {
            now < entry.keep_until && entry.generation == invalidations.generation(entry.buckets)
        })?;
        Some(LastGood { value: entry.value.clone(), age: now.saturating_duration_since(entry.stored_at) })
    }

    /// Puts all answers of a tool out of date, for every tenant, and frees their memory.
    pub fn invalidate_tool(&self, tool: &str) {
        let mut state = lock(&self.shared.state);
        state.invalidations.invalidate_tool(tool);
        let CacheState { entries, invalidations, .. } = &mut *state;
        let gone = entries.retain(|entry| entry.generation == invalidations.generation(entry.buckets));
        drop(state);
        drop(gone);
    }

    /// Puts all answers of one scope out of date. Call it when a write has ended. It takes no longer for a
    /// large cache; the memory comes free as its place is needed.
    pub fn invalidate_scope(&self, scope: &Scope<'_>) {
        lock(&self.shared.state).invalidations.invalidate_scope(scope);
    }

    /// Puts everything out of date and frees its memory; the counts go on.
    pub fn clear(&self) {
        let mut state = lock(&self.shared.state);
        state.invalidations.invalidate_all();
        let gone = state.entries.retain(|_| false);
        drop(state);
        drop(gone);
    }

    pub fn status(&self) -> CacheStatus {
        let state = lock(&self.shared.state);
        CacheStatus {
            entries: state.entries.len(),
            bytes: state.entries.bytes(),
            in_flight: state.flights.len(),
            hits: state.hits,
            misses: state.misses,
            shared: state.shared,
            evicted: state.evicted,
        }
    }

    fn look_up(&self, parts: &KeyParts<'_>, lifetime: CacheLifetime) -> Lookup<V, E> {
        let key = parts.to_key();
        let mut state = lock(&self.shared.state);
        if let Some(found) = state.find_fresh(&key, lifetime.ttl.min(TTL_MAX), Instant::now()) {
            return Lookup::Hit(found);
        }
        let buckets = state.invalidations.buckets(&parts.scope);
        let flight = (key, state.invalidations.generation(buckets));
        match state.flights.entry(flight) {
            hash_map::Entry::Occupied(mut followers) => Lookup::Follow(add_follower(followers.get_mut())),
            hash_map::Entry::Vacant(vacant) => {
                vacant.insert(VecDeque::new());
                Lookup::Lead(FlightLead::new(self.shared.clone(), flight, buckets))
            }
        }
    }

    fn shared_answer(&self, value: V) -> CachedAnswer<V> {
        lock(&self.shared.state).shared += 1;
        CachedAnswer { value, outcome: CacheOutcome::Shared, age: Duration::ZERO }
    }
}

/// The entry of an answer that is not there yet.
pub struct PendingEntry<V, E> {
    shared: Arc<CacheShared<V, E>>,
    key: CacheKey,
    buckets: Buckets,
    generation: Generation,
}

impl<V: Clone, E> PendingEntry<V, E> {
    /// Stores the answer, unless it was invalidated since the entry was reserved.
    pub fn keep(self, value: V, lifetime: CacheLifetime) {
        let Self { shared, key, buckets, generation } = self;
        let bytes = (shared.weigh)(&value);
        let mut state = lock(&shared.state);
        if generation != state.invalidations.generation(buckets) {
            return;
        }
        let now = Instant::now();
        let keep_until = now + lifetime.ttl.min(TTL_MAX) + lifetime.keep.min(KEEP_MAX);
        let gone = state
            .store(CacheEntry { key, value, bytes, buckets, generation, stored_at: now, keep_until }, now);
        drop(state);
        drop(gone);
    }
}

enum Lookup<V, E> {
    Hit(CachedAnswer<V>),
    Lead(FlightLead<V, E>),
    Follow(oneshot::Receiver<FlightMessage<V, E>>),
}

impl<V: Clone, E> CacheState<V, E> {
    fn find_fresh(&mut self, key: &CacheKey, ttl: Duration, now: Instant) -> Option<CachedAnswer<V>> {
        let Self { entries, invalidations, .. } = self;
        let age = |entry: &CacheEntry<V>| now.saturating_duration_since(entry.stored_at);
        let entry = entries.get_if(key, |entry| {
            age(entry) < ttl
                && now < entry.keep_until
                && entry.generation == invalidations.generation(entry.buckets)
        })?;
        let found = CachedAnswer { value: entry.value.clone(), outcome: CacheOutcome::Hit, age: age(entry) };
        self.hits += 1;
        Some(found)
    }

    fn store(&mut self, entry: CacheEntry<V>, now: Instant) -> Vec<CacheEntry<V>> {
        let key = entry.key;
        let gone = self.entries.insert(entry, now);
        let in_time = |entry: &&CacheEntry<V>| {
            entry.key != key
                && now < entry.keep_until
                && entry.generation == self.invalidations.generation(entry.buckets)
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
