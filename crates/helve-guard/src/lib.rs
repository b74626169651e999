//! Rate limit, cache, breaker, admission: their exact semantics, in this process.
//!
//! Each guard is two layers. The inner one decides: a plain state machine that is told what time it is and
//! never waits, so that a property test can drive it through any history. The outer one is a handle that
//! holds the machine under a short lock, reads the clock inside that lock, and does the waiting.
//!
//! What is borrowed from a guard is a value that gives itself back when dropped ([`Slot`], [`Ticket`], [`AdmissionPermit`]), so a
//! cancelled call can neither leak capacity nor leave a verdict behind.
//!
//! Knows nothing of tools, stores or HTTP. Time is `tokio::time::Instant`, so tests run on a paused clock.

mod admission;
mod breaker;
mod cache;
mod limiter;
mod lock;

pub use admission::{Admission, AdmissionPermit, AdmissionSettings, AdmissionStatus, Rejected};
pub use breaker::{
    AdmittedCall, Breaker, BreakerSettings, BreakerState, BreakerStatus, Change, Circuit, Ticket,
    Unavailable, UnavailableBecause, Verdict,
};
pub use cache::{
    Cache, CacheKey, CacheLifetime, CacheOutcome, CacheSettings, CacheStatus, CachedAnswer, KeyParts,
    LastGood, PendingEntry, Scope, WorkResult,
};
pub use limiter::{KeyedLimiter, KeyedStatus, LimitSettings, LimitStatus, Limited, LimitedBy, Limiter, Slot};
