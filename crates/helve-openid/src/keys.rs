//! The keys of a provider, and when they are read again. Pure but for the clock that is passed in.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::OpenIdError;
use crate::jwt::{Jwk, UnverifiedToken};

/// After so long the keys are read again, since a key may have been withdrawn.
pub(crate) const FRESH_FOR: Duration = Duration::from_secs(10 * 60);
/// A token with an unknown key makes them be read again at most so often.
const AGAIN_AFTER: Duration = Duration::from_secs(10);
/// More keys are not looked at.
const KEYS_MAX: usize = 64;

#[derive(Debug, Clone)]
pub(crate) struct KeySet {
    keys: Vec<Jwk>,
    read_at: Duration,
}

#[derive(Deserialize)]
struct WrittenSet {
    keys: Vec<Value>,
}

impl KeySet {
    /// Keys of kinds that are not known are left out.
    pub(crate) fn parse(text: &str, now: Duration) -> Result<Self, OpenIdError> {
        let set: WrittenSet = serde_json::from_str(text)
            .map_err(|error| OpenIdError::BadAnswer(format!("the provider's keys: {error}")))?;
        let keys = set.keys.into_iter().take(KEYS_MAX);
        let keys = keys.filter_map(|key| serde_json::from_value(key).ok()).collect();
        Ok(Self { keys, read_at: now })
    }

    pub(crate) fn is_fresh(&self, now: Duration) -> bool {
        now.saturating_sub(self.read_at) < FRESH_FOR
    }

    /// Whether the provider may be asked again for a key that is missing.
    pub(crate) fn may_be_read_again(&self, now: Duration) -> bool {
        now.saturating_sub(self.read_at) >= AGAIN_AFTER
    }

    /// The key of a token. One that does not say which is accepted only if a single key fits.
    pub(crate) fn find_key(&self, token: &UnverifiedToken<'_>) -> Option<&Jwk> {
        let mut fitting = self.keys.iter().filter(|key| token.fits(key));
        let first = fitting.next()?;
        fitting.next().is_none().then_some(first)
    }
}
