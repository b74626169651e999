//! Sessions that began with a password or at an identity provider. Each has a secret of its own, of which the store has
//! the hash; it ends when its time is up, when its user signs out, gets another password or is disabled.

use std::collections::HashMap;

use helve_store::{ProviderSession, SessionRecord, UserRecord};
use helve_types::{Timestamp, World, hex};
use sha2::{Digest, Sha256};

/// What the cookie of such a session begins with; no id of a token does.
const PREFIX: &str = "us_";
const HOUR_MS: i64 = 60 * 60 * 1_000;

/// The sessions by the hashes of their secrets.
pub(super) type Sessions = HashMap<[u8; 32], SessionRecord>;

/// A new session, and the text of its cookie.
pub(super) fn new_session(
    world: &World,
    user: &UserRecord,
    hours: u32,
    provider: Option<ProviderSession>,
) -> (SessionRecord, String) {
    let text = format!("{PREFIX}{}", hex(&world.random_secret()));
    let now = world.now();
    let session = SessionRecord {
        secret_hash: Sha256::digest(&text).into(),
        user: user.id.clone(),
        started_at: now,
        expires_at: now.plus_ms(i64::from(hours) * HOUR_MS),
        provider,
    };
    (session, text)
}

/// The hash of what a cookie holds, if it is one of such a session.
pub(super) fn hash_of_cookie(cookie: &str) -> Option<[u8; 32]> {
    cookie.starts_with(PREFIX).then(|| Sha256::digest(cookie).into())
}

/// The session of a cookie, if its time is not up.
pub(super) fn find_session(sessions: &Sessions, hash: [u8; 32], now: Timestamp) -> Option<&SessionRecord> {
    sessions.get(&hash).filter(|session| now < session.expires_at && session.started_at <= now)
}
