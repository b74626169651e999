//! The oracle: what must hold of the disk, the ledger and the clients' logs, whenever the server is dead.
//!
//! Each rule is a pure function over the evidence and says what it finds wrong, one sentence for each. The numbers
//! are those of the reliability specification. Nothing here asks the product anything; the run machine is used only
//! to judge what the model would be shown of each prefix of a log (I10).

mod acks;
mod effects;
mod logs;
#[cfg(test)]
mod story;
mod views;

use std::collections::BTreeMap;

use crate::client::ClientLog;
use crate::ledger::Entry;
use crate::snapshot::Snapshot;

/// Everything a verdict rests on.
pub struct Evidence {
    pub disk: Snapshot,
    pub ledger: Vec<Entry>,
    pub clients: Vec<ClientLog>,
    /// Whether the load is over and everything had its time to end.
    pub at_end: bool,
}

impl Evidence {
    /// The executed effects of each call.
    fn effects(&self) -> BTreeMap<&str, Vec<&Entry>> {
        let mut effects: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
        for entry in &self.ledger {
            effects.entry(entry.call.as_str()).or_default().push(entry);
        }
        effects
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub rule: &'static str,
    pub what: String,
}

/// A rule, and what it says in one sentence.
pub struct Rule {
    pub name: &'static str,
    pub says: &'static str,
    broken: fn(&Evidence) -> Vec<String>,
}

const fn rule(name: &'static str, says: &'static str, broken: fn(&Evidence) -> Vec<String>) -> Rule {
    Rule { name, says, broken }
}

pub const RULES: &[Rule] = &[
    rule("I1", "every event that a client got with an id is in the log, unchanged", acks::events_kept),
    rule("I2", "events are numbered from 1 without gaps", logs::contiguous),
    rule("I3", "an effect that cannot be taken back happens at most once per call", effects::at_most_once),
    rule("I4", "an idempotent call has one key, and happened if it succeeded", effects::one_key),
    rule("I5", "nothing is sent before it is on record that it is being sent", effects::intent_first),
    rule("I6", "a result that is on record is what the ledger answered", effects::results_are_real),
    rule("I7", "what happened is never reported as failed or denied", effects::no_false_failure),
    rule("I8", "the database is sound", logs::sound),
    rule("I9", "every run ends or waits for somebody", logs::ends_or_waits),
    rule("I10", "the model is shown a valid history at every prefix of every log", logs::transcripts),
    rule("I11", "what a reader saw is what the log says", views::readers_agree),
    rule("I12", "what was approved is what was sent", effects::approved_bytes),
    rule("I14", "one request is one run, however often it was repeated", acks::one_run_per_request),
    rule("W1", "a run that was promised is on disk", acks::runs_kept),
    rule("W8", "an answer that was acknowledged is on disk", acks::answers_kept),
    rule("R3", "the message of a run that is over is the fold of its log", views::messages_agree),
];

/// Everything that is wrong.
pub fn check(evidence: &Evidence) -> Vec<Violation> {
    let broken = |rule: &Rule| {
        let name = rule.name;
        (rule.broken)(evidence).into_iter().map(move |what| Violation { rule: name, what })
    };
    RULES.iter().flat_map(broken).collect()
}
