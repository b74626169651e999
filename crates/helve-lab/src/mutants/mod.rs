//! Seeded bugs: a checker that cannot find them has not shown anything by finding nothing.
//!
//! The product is never switched into a bug. Each one is put around it: around the store (`store_fault`), into the lab's tools
//! (`SeededBug`), or between the server and its clients. A bug is a row of `SEEDS`, with the rule that is there for it.

mod seeded_bug;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use helve_store::Store;

pub use self::seeded_bug::SeededBug;
use crate::store_fault::{
    AnsweredTwice, EarlyReply, EarlyShown, FactRewrite, FaultyStore, HeldAppends, IgnoredEpoch, LooseKey,
    SkippedBarrier, WriteBehind, attempts_run_together, claim_left_out, consent_as_refusal, consent_unbound,
    late_as_outcome, start_left_out, unknown_as_failed, usage_forgotten,
};
use crate::tools::ToolParts;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    AckBeforeCommit,
    PublishBeforeCommit,
    ShownWhenRecorded,
    BarrierLeftOut,
    EffectBeforeIntent,
    NoStartedRecord,
    EffectStartsEarly,
    BlindRetry,
    UnknownAsFailed,
    LateOverwrites,
    EpochUnchecked,
    KeyOutside,
    MessageForgotten,
    ClaimUnrecorded,
    ConsentUnbound,
    AnsweredTwice,
    DeniedRuns,
    BudgetForgotten,
    CacheForEverybody,
    PermitByTimer,
    IdOnLiveFrame,
    AttemptsRunTogether,
    SecretTold,
    FilesLeaked,
}

/// What can find a bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finder {
    /// Kills at labels and at any moment.
    Kills,
    /// A load without kills.
    Calm,
}

/// A bug as a row of the table.
pub struct Seed {
    pub mutant: Mutant,
    pub name: &'static str,
    pub says: &'static str,
    /// The rule that must be among those that it breaks.
    pub rule: &'static str,
    pub finder: Finder,
}

const fn seed(mutant: Mutant, name: &'static str, rule: &'static str, says: &'static str) -> Seed {
    Seed { mutant, name, says, rule, finder: Finder::Kills }
}

impl Seed {
    const fn found_calmly(self) -> Self {
        Self { finder: Finder::Calm, ..self }
    }
}

pub const SEEDS: &[Seed] = &[
    seed(
        Mutant::AckBeforeCommit,
        "ack_before_commit",
        "I1",
        "what is acknowledged and told is not yet on disk",
    ),
    seed(
        Mutant::PublishBeforeCommit,
        "publish_before_commit",
        "I1",
        "readers are told of events before they are on disk",
    ),
    seed(
        Mutant::ShownWhenRecorded,
        "shown_when_recorded",
        "I1",
        "readers are told of what is recorded before it is on disk",
    ),
    seed(
        Mutant::BarrierLeftOut,
        "barrier_left_out",
        "I5",
        "a call that changes something is sent when its start is recorded, not when that is on disk",
    ),
    seed(
        Mutant::EffectBeforeIntent,
        "effect_before_intent",
        "I5",
        "that a call is started is written when it has ended",
    ),
    seed(Mutant::NoStartedRecord, "no_started_record", "I5", "that a call is started is never written"),
    seed(
        Mutant::EffectStartsEarly,
        "effect_starts_early",
        "I5",
        "a call that changes something is made while the model still writes its message",
    ),
    seed(Mutant::BlindRetry, "blind_retry", "I3", "what cannot be taken back is sent again after a crash"),
    seed(
        Mutant::UnknownAsFailed,
        "unknown_as_failed",
        "I7",
        "an outcome that nobody knows is called a failure",
    ),
    seed(
        Mutant::LateOverwrites,
        "late_overwrites",
        "R4",
        "a result that came too late takes the outcome's place",
    ),
    seed(Mutant::EpochUnchecked, "epoch_unchecked", "F1", "who has lost a run may still write into it"),
    seed(Mutant::KeyOutside, "key_outside", "I14", "an idempotency key is not part of its run's transaction"),
    seed(
        Mutant::MessageForgotten,
        "message_forgotten",
        "W9",
        "a message to a run is acknowledged and written later",
    ),
    seed(Mutant::ClaimUnrecorded, "claim_unrecorded", "A5", "that a client has a call is not written"),
    seed(
        Mutant::ConsentUnbound,
        "consent_unbound",
        "I12",
        "a consent holds although the tool has changed since",
    ),
    seed(Mutant::AnsweredTwice, "answered_twice", "I13", "a question is decided twice"),
    seed(Mutant::DeniedRuns, "denied_runs", "I16", "a call runs that a person said no to"),
    seed(Mutant::BudgetForgotten, "budget_forgotten", "I15", "a restart forgets what a run has used up"),
    seed(
        Mutant::CacheForEverybody,
        "cache_for_everybody",
        "C1",
        "a user is given the answer to another user",
    )
    .found_calmly(),
    seed(Mutant::PermitByTimer, "permit_by_timer", "L1", "a limit lets the next in while work still runs")
        .found_calmly(),
    seed(Mutant::IdOnLiveFrame, "id_on_live_frame", "I11", "text in progress carries an event's number"),
    seed(
        Mutant::AttemptsRunTogether,
        "attempts_run_together",
        "M1",
        "a text that broke off stays in front of the next attempt's",
    ),
    seed(Mutant::SecretTold, "secret_told", "I17", "a result has the key in it that was sent along")
        .found_calmly(),
    seed(Mutant::FilesLeaked, "files_leaked", "I18", "each call leaves a file open").found_calmly(),
];

impl Mutant {
    pub fn seed(self) -> &'static Seed {
        let found = SEEDS.iter().find(|seed| seed.mutant == self);
        found.unwrap_or_else(|| unreachable!("a test holds every mutant to have its row"))
    }

    pub fn name(self) -> &'static str {
        self.seed().name
    }

    /// The store with the bug around it, if that is where it is. Must be called inside of a runtime.
    pub(crate) fn wrap_store(self, store: Arc<dyn Store>, bench: &ToolParts) -> Arc<dyn Store> {
        let behind = |early| FaultyStore::wrap(store.clone(), WriteBehind::new(store.clone(), early));
        let rewritten = |rewrite| FaultyStore::wrap(store.clone(), FactRewrite(rewrite));
        match self {
            Self::AckBeforeCommit => behind(EarlyReply::Acknowledgement),
            Self::PublishBeforeCommit => behind(EarlyReply::Publication),
            Self::ShownWhenRecorded => FaultyStore::wrap(store, EarlyShown),
            Self::BarrierLeftOut => FaultyStore::wrap(store, SkippedBarrier),
            Self::EffectBeforeIntent => FaultyStore::wrap(store, HeldAppends::hold_intent()),
            Self::NoStartedRecord => rewritten(start_left_out),
            Self::UnknownAsFailed => rewritten(unknown_as_failed),
            Self::LateOverwrites => rewritten(late_as_outcome),
            Self::EpochUnchecked => FaultyStore::wrap(store, IgnoredEpoch::default()),
            Self::KeyOutside => FaultyStore::wrap(store, LooseKey::default()),
            Self::MessageForgotten => FaultyStore::wrap(store, HeldAppends::hold_messages()),
            Self::ClaimUnrecorded => rewritten(claim_left_out),
            Self::ConsentUnbound => FaultyStore::wrap(store, consent_unbound(bench.clone())),
            Self::AnsweredTwice => FaultyStore::wrap(store, AnsweredTwice::default()),
            Self::DeniedRuns => rewritten(consent_as_refusal),
            Self::BudgetForgotten => FaultyStore::wrap(store, usage_forgotten()),
            Self::AttemptsRunTogether => rewritten(attempts_run_together),
            Self::EffectStartsEarly
            | Self::BlindRetry
            | Self::CacheForEverybody
            | Self::PermitByTimer
            | Self::IdOnLiveFrame
            | Self::SecretTold
            | Self::FilesLeaked => store,
        }
    }

    /// What is wrong with the lab's tools, if that is where the bug is.
    pub(crate) fn flaw(self) -> Option<SeededBug> {
        match self {
            Self::EffectStartsEarly => Some(SeededBug::CallsItselfRead),
            Self::BlindRetry => Some(SeededBug::CallsItselfIdempotent),
            Self::CacheForEverybody => Some(SeededBug::AnswersEverybodyAlike),
            Self::PermitByTimer => Some(SeededBug::LeavesByTimer),
            Self::SecretTold => Some(SeededBug::TellsSecret),
            Self::FilesLeaked => Some(SeededBug::LeavesFilesOpen),
            _ => None,
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
        SEEDS.iter().find(|seed| seed.name == text).map(|seed| seed.mutant).ok_or_else(|| {
            let known: Vec<_> = SEEDS.iter().map(|seed| seed.name).collect();
            format!("there is no mutant `{text}`; the mutants are: {}", known.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::RULES;

    #[test]
    fn every_bug_has_a_name_of_its_own_and_a_rule_that_exists() {
        for (at, seed) in SEEDS.iter().enumerate() {
            assert_eq!(seed.name.parse::<Mutant>(), Ok(seed.mutant));
            assert_eq!(seed.mutant.name(), seed.name);
            assert!(RULES.iter().any(|rule| rule.name == seed.rule), "{}", seed.rule);
            assert!(SEEDS[..at].iter().all(|other| other.mutant != seed.mutant), "{}", seed.name);
        }
        assert!("effect_before_breakfast".parse::<Mutant>().is_err());
    }
}
