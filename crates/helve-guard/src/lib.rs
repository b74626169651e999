//! Rate limit, cache, breaker, turnstile: their exact semantics, in this process.
//!
//! Each guard is two layers. The inner one decides: a plain state machine that is told what time it is and
//! never waits, so that a property test can drive it through any history. The outer one is a handle that
//! holds the machine under a short lock, reads the clock inside that lock, and does the waiting.
//!
//! What is borrowed from a guard is a value that gives itself back when dropped ([`Slot`], [`Ticket`], [`Pass`]), so a
//! cancelled call can neither leak capacity nor leave a verdict behind.
//!
//! Knows nothing of tools, stores or HTTP. Time is `tokio::time::Instant`, so tests run on a paused clock.

mod breaker;
mod cache;
mod limiter;
mod lock;
mod turnstile;

pub use breaker::{
    Admission, Breaker, BreakerSettings, BreakerState, BreakerStatus, Change, Circuit, Ticket, Unavailable,
    UnavailableBecause, Verdict,
};
pub use cache::{
    Cache, CacheKey, CacheSettings, CacheStatus, Found, How, KeyParts, LastGood, Note, Ran, Scope, Terms,
};
pub use limiter::{KeyedLimiter, KeyedStatus, LimitSettings, LimitStatus, Limited, LimitedBy, Limiter, Slot};
pub use turnstile::{Pass, TurnSettings, TurnStatus, TurnedAway, Turnstile};
