//! Schemas that are ready: the same one is made once, and all together have a bound.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use super::Schema;
use super::measure::SchemaMeasure;

/// About what the patterns and nodes of all schemas in use may take.
const LIVE_BYTES_MAX: u64 = 256 << 20;
/// Schemas that are kept although no tool holds them.
const KEPT_BYTES_MAX: u64 = 32 << 20;
const KEPT_MAX: usize = 512;
const BYTES_OF_A_PATTERN_UNIT: u64 = 120;
/// A keyword becomes a small object with its place in words.
const BYTES_OF_A_BYTE: u64 = 12;

static LIVE: AtomicU64 = AtomicU64::new(0);
static KEPT: Mutex<SchemaCache> = Mutex::new(SchemaCache { schemas: VecDeque::new(), bytes: 0 });

/// The bytes that a schema takes, given back when it goes.
#[derive(Debug)]
pub(super) struct MemoryShare(u64);

impl MemoryShare {
    pub(super) fn reserve(schema: &Value, measure: &SchemaMeasure) -> Result<Self, String> {
        let text = schema.to_string().len() as u64;
        let bytes = text * BYTES_OF_A_BYTE + measure.pattern_units().saturating_mul(BYTES_OF_A_PATTERN_UNIT);
        let take = |held: u64| held.checked_add(bytes).filter(|after| *after <= LIVE_BYTES_MAX);
        match LIVE.fetch_update(Ordering::AcqRel, Ordering::Acquire, take) {
            Ok(_) => Ok(Self(bytes)),
            Err(_) => {
                Err("cannot be made ready now: the server holds as many schemas as it may; try again when \
                           some runs have ended"
                    .into())
            }
        }
    }
}

impl Drop for MemoryShare {
    fn drop(&mut self) {
        LIVE.fetch_sub(self.0, Ordering::AcqRel);
    }
}

struct SchemaCache {
    /// The last used is at the end.
    schemas: VecDeque<([u8; 32], Arc<Schema>)>,
    bytes: u64,
}

/// The schema of this text, made if it is not in the cache.
pub(super) fn find_or_compile(
    text: &str,
    make: impl FnOnce() -> Result<Schema, String>,
) -> Result<Arc<Schema>, String> {
    let key = *blake3::hash(text.as_bytes()).as_bytes();
    if let Some(found) = lock_cache().find(&key) {
        return Ok(found);
    }
    let made = Arc::new(make()?);
    lock_cache().insert(key, made.clone());
    Ok(made)
}

fn lock_cache() -> std::sync::MutexGuard<'static, SchemaCache> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SchemaCache {
    fn find(&mut self, key: &[u8; 32]) -> Option<Arc<Schema>> {
        let at = self.schemas.iter().position(|(held, _)| held == key)?;
        let entry = self.schemas.remove(at)?;
        let found = entry.1.clone();
        self.schemas.push_back(entry);
        Some(found)
    }

    fn insert(&mut self, key: [u8; 32], made: Arc<Schema>) {
        let bytes = made.weight.0;
        if bytes > KEPT_BYTES_MAX || self.schemas.iter().any(|(held, _)| *held == key) {
            return;
        }
        while self.bytes + bytes > KEPT_BYTES_MAX || self.schemas.len() >= KEPT_MAX {
            let Some((_, gone)) = self.schemas.pop_front() else { break };
            self.bytes -= gone.weight.0;
        }
        self.bytes += bytes;
        self.schemas.push_back((key, made));
    }
}
