//! The same limits for each of many callers, in bounded memory.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex},
};

use tokio::time::Instant;

use super::{LimitSettings, LimitStatus, Limited, LimitedBy, Limiter, Slot};
use crate::lock::lock;

/// How many limiters each new key looks at for one that may be forgotten. More than one, so that the map
/// shrinks towards those in use; few, so that no caller pays for a sweep.
const LOOKED_AT: usize = 32;

/// One limiter per key, all with the same settings, such as one per user.
///
/// A key's limiter is forgotten only when it is idle: nothing runs or waits and its window is empty. So
/// forgetting never lets a caller start afresh. When `keys_max` keys are all busy a new one is refused.
#[derive(Debug)]
pub struct KeyedLimiter {
    keys: Mutex<KeyMap>,
    keys_max: usize,
}

/// A keyed limiter at one moment, over all its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyedStatus {
    /// Those that have something running, waiting or in their window, and some that had.
    pub keys: usize,
    pub in_use: u32,
    pub waiting: usize,
    /// Of each key.
    pub settings: LimitSettings,
}

#[derive(Debug)]
struct KeyMap {
    settings: LimitSettings,
    limiters: HashMap<Arc<str>, Limiter>,
    /// Every key once, in the order in which they are looked at.
    round: VecDeque<Arc<str>>,
}

impl KeyedLimiter {
    pub fn new(settings: LimitSettings, keys_max: usize) -> Self {
        let keys = KeyMap { settings, limiters: HashMap::new(), round: VecDeque::new() };
        Self { keys: Mutex::new(keys), keys_max }
    }

    /// Takes one of the key's slots, waiting behind others of the same key only.
    pub async fn enter(&self, key: &str) -> Result<Slot, Limited> {
        let limiter = self.limiter_for_key(key)?;
        limiter.enter().await
    }

    /// Like [`enter`](Self::enter), but does not wait beyond `deadline`.
    pub async fn enter_before(&self, key: &str, deadline: Instant) -> Result<Slot, Limited> {
        let limiter = self.limiter_for_key(key)?;
        limiter.enter_before(deadline).await
    }

    /// Takes one of the key's slots now or not at all.
    pub fn try_enter(&self, key: &str) -> Result<Slot, Limited> {
        self.limiter_for_key(key)?.try_enter()
    }

    /// Changes the limits of every key, known or not; see [`Limiter::reconfigure`].
    pub fn reconfigure(&self, settings: LimitSettings) {
        let mut keys = lock(&self.keys);
        keys.settings = settings;
        for limiter in keys.limiters.values() {
            limiter.reconfigure(settings);
        }
    }

    /// The key's limiter, or `None` when nothing is remembered of it.
    pub fn status(&self, key: &str) -> Option<LimitStatus> {
        lock(&self.keys).limiters.get(key).map(Limiter::status)
    }

    /// All keys together.
    pub fn totals(&self) -> KeyedStatus {
        let keys = lock(&self.keys);
        let mut totals =
            KeyedStatus { keys: keys.limiters.len(), in_use: 0, waiting: 0, settings: keys.settings };
        for status in keys.limiters.values().map(Limiter::status) {
            totals.in_use += status.in_use;
            totals.waiting += status.waiting;
        }
        totals
    }

    /// How many keys are remembered.
    pub fn key_count(&self) -> usize {
        lock(&self.keys).limiters.len()
    }

    /// The key's own limiter. It is not forgotten as long as the caller holds it.
    pub fn limiter_for_key(&self, key: &str) -> Result<Limiter, Limited> {
        let mut keys = lock(&self.keys);
        if let Some(limiter) = keys.limiters.get(key) {
            return Ok(limiter.clone());
        }
        keys.forget_idle();
        if keys.limiters.len() >= self.keys_max {
            return Err(Limited { by: LimitedBy::Keys, retry_after: None });
        }
        let (key, limiter): (Arc<str>, _) = (key.into(), Limiter::new(keys.settings));
        keys.round.push_back(key.clone());
        keys.limiters.insert(key, limiter.clone());
        Ok(limiter)
    }
}

impl KeyMap {
    fn forget_idle(&mut self) {
        for _ in 0..LOOKED_AT.min(self.round.len()) {
            let Some(key) = self.round.pop_front() else { return };
            if self.limiters.get(&key).is_some_and(Limiter::is_idle) {
                self.limiters.remove(&key);
            } else {
                self.round.push_back(key);
            }
        }
    }
}
