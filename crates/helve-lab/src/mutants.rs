//! Seeded bugs: a checker that cannot find them has not shown anything by finding nothing.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use helve_store::Store;
use helve_types::Effect;

use crate::bend::{Bent, LateIntent, UnknownAsFailed, WriteBehind};
use crate::tools::Kind;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// What is acknowledged and published is not yet on disk.
    AckBeforeCommit,
    /// A call that cannot be taken back is sent again after a crash.
    BlindRetry,
    /// A call is on record as started only when it has ended.
    EffectBeforeIntent,
    /// A call whose outcome nobody knows is reported as failed.
    UnknownAsFailed,
}

impl Mutant {
    pub const ALL: [Self; 4] =
        [Self::AckBeforeCommit, Self::BlindRetry, Self::EffectBeforeIntent, Self::UnknownAsFailed];

    pub fn name(self) -> &'static str {
        match self {
            Self::AckBeforeCommit => "ack_before_commit",
            Self::BlindRetry => "blind_retry",
            Self::EffectBeforeIntent => "effect_before_intent",
            Self::UnknownAsFailed => "unknown_as_failed",
        }
    }

    /// The store with the bug around it, if that is where it is. Must be called inside of a runtime.
    pub(crate) fn around(self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        match self {
            Self::AckBeforeCommit => Bent::around(store.clone(), WriteBehind::new(store)),
            Self::EffectBeforeIntent => Bent::around(store, LateIntent::default()),
            Self::UnknownAsFailed => Bent::around(store, UnknownAsFailed),
            Self::BlindRetry => store,
        }
    }

    /// What a tool says its class is.
    pub(crate) fn declared(mutant: Option<Self>) -> fn(&Kind) -> Effect {
        match mutant {
            Some(Self::BlindRetry) => |kind| match kind.class {
                Effect::NonIdempotent => Effect::Idempotent,
                honest => honest,
            },
            _ => |kind| kind.class,
        }
    }
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Mutant {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|mutant| mutant.name() == text).ok_or_else(|| {
            let known = Self::ALL.map(Self::name);
            format!("there is no mutant `{text}`; the mutants are: {}", known.join(", "))
        })
    }
}
