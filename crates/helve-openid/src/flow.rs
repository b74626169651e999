//! One sign-in on its way: what the browser keeps while it is at the provider.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use helve_types::{Timestamp, World};
use serde::{Deserialize, Serialize};

/// So long a person may take at the provider.
const LASTS_MS: i64 = 10 * 60 * 1_000;

/// Kept in a cookie of the browser that begins the sign-in. Without it an answer counts for nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Comes back beside the code.
    pub state: String,
    /// Comes back in the token.
    pub nonce: String,
    /// What the challenge that is sent first is the hash of; it goes with the code.
    pub verifier: String,
    pub began_at: Timestamp,
}

impl Flow {
    pub fn begin(world: &World) -> Self {
        let random = || URL_SAFE_NO_PAD.encode(world.random_secret());
        Self { state: random(), nonce: random(), verifier: random(), began_at: world.now() }
    }

    pub fn is_open(&self, now: Timestamp) -> bool {
        (0..LASTS_MS).contains(&now.0.saturating_sub(self.began_at.0))
    }

    /// What is sent first: its hash in place of the verifier.
    pub(crate) fn challenge(&self) -> String {
        let hash = ring::digest::digest(&ring::digest::SHA256, self.verifier.as_bytes());
        URL_SAFE_NO_PAD.encode(hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_challenge_is_that_of_the_standard() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".to_owned();
        let flow = Flow { verifier, ..Flow::begin(&World::deterministic()) };
        assert_eq!(flow.challenge(), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }

    #[test]
    fn a_flow_is_open_for_ten_minutes() {
        let flow = Flow { began_at: Timestamp(1_000), ..Flow::begin(&World::deterministic()) };
        assert!(flow.is_open(Timestamp(1_000)) && flow.is_open(Timestamp(600_999)));
        assert!(!flow.is_open(Timestamp(601_000)) && !flow.is_open(Timestamp(999)));
    }
}
