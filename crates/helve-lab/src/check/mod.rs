//! The oracle: what must hold of the disk, the ledger and the clients' logs, whenever the server is dead.
//!
//! Each rule is a pure function over the evidence and says what it finds wrong, one sentence for each. The numbers
//! are those of the reliability specification. Nothing here asks the product anything; the run machine is used only
//! to judge what the model would be shown of each prefix of a log (I10).

mod acks;
mod allowances;
mod bounds;
mod claims;
mod consent;
mod effects;
mod logs;
#[cfg(test)]
mod story;
mod views;

use std::collections::BTreeMap;

use helve_types::{CallId, Effect, RunId};

use crate::client::ClientLog;
use crate::footprint::Footprint;
use crate::ledger::LedgerEntry;
use crate::snapshot::{Event, Run, Snapshot};

/// Everything a verdict rests on.
pub struct Evidence {
    pub disk: Snapshot,
    pub ledger: Vec<LedgerEntry>,
    pub clients: Vec<ClientLog>,
    /// What the server wrote for its operator.
    pub server_log: String,
    /// What the server took up of the machine whenever it was at rest, in this order.
    pub footprints: Vec<Footprint>,
    /// Up to which event a log was found to be valid for models before; logs only grow.
    pub judged: BTreeMap<RunId, u64>,
    /// Whether the load is over and everything had its time to end.
    pub at_end: bool,
}

impl Evidence {
    /// What disk, ledger and clients say, and nobody else.
    pub fn new(disk: Snapshot, ledger: Vec<LedgerEntry>, clients: Vec<ClientLog>, at_end: bool) -> Self {
        let (server_log, footprints, judged) = (String::new(), vec![], BTreeMap::new());
        Self { disk, ledger, clients, server_log, footprints, judged, at_end }
    }

    /// What the ledger was asked for in each call.
    fn requests_by_call(&self) -> BTreeMap<&str, Vec<&LedgerEntry>> {
        by_call(self.ledger.iter())
    }

    /// The executed effects of each call. Reads are none: one whose record was lost in a crash is made again, or its
    /// number goes to another call of the step that is asked for again.
    fn effects(&self) -> BTreeMap<&str, Vec<&LedgerEntry>> {
        by_call(self.ledger.iter().filter(|entry| entry.class != Effect::Read))
    }

    /// The run that a call is of.
    fn run_of(&self, call: &str) -> Option<(RunId, &Run)> {
        let run = call.parse::<CallId>().ok()?.run;
        Some((run, self.disk.runs.get(&run)?))
    }

    fn log_of(&self, call: &str) -> &[Event] {
        self.run_of(call).map_or(&[][..], |(_, run)| &run.log)
    }
}

fn by_call<'a>(entries: impl Iterator<Item = &'a LedgerEntry>) -> BTreeMap<&'a str, Vec<&'a LedgerEntry>> {
    let mut calls: BTreeMap<&str, Vec<&LedgerEntry>> = BTreeMap::new();
    for entry in entries {
        calls.entry(entry.call.as_str()).or_default().push(entry);
    }
    calls
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
    rule("I2", "events are numbered from 1 without gaps", logs::check_contiguous),
    rule(
        "I3",
        "an effect that cannot be taken back happens at most once per call",
        effects::check_at_most_once,
    ),
    rule("I4", "an idempotent call has one key, and happened if it succeeded", effects::check_one_key),
    rule(
        "I5",
        "nothing but a read is sent before it is on record that it is being sent",
        effects::check_intent_first,
    ),
    rule("I6", "a result that is on record is what the ledger answered", effects::check_results),
    rule("I7", "what happened is never reported as failed or denied", effects::check_failures),
    rule("I8", "the database is sound", logs::check_files),
    rule("I9", "every run ends or waits for somebody", logs::check_ends),
    rule("I10", "the model is shown a valid history at every prefix of every log", logs::check_transcripts),
    rule("I11", "what a reader saw is what the log says", views::check_readers),
    rule("I12", "what was approved, of the tool as it was, is what was sent", consent::approved_bytes),
    rule("I13", "a question is decided once", consent::check_one_decision),
    rule("I14", "one request is one run, however often it was repeated", acks::one_run_per_request),
    rule("I15", "no step and no call is begun beyond the budget", bounds::check_budgets),
    rule("I16", "what was denied, or not answered in time, never happened", consent::check_denied_calls),
    rule("I17", "no secret is in events, messages, streams or the server's log", views::check_secrets),
    rule(
        "I18",
        "memory, files and threads are as before once the load is over",
        bounds::check_resources_at_rest,
    ),
    rule("W1", "a run that was promised is on disk", acks::runs_kept),
    rule("W8", "an answer that was acknowledged is on disk", acks::answers_kept),
    rule("W9", "a message to a run that was acknowledged is on disk, once", acks::messages_kept),
    rule("A5", "one client has a call, and its claim and its result are on disk", claims::check_claims),
    rule("C1", "nobody is given the answer to another user", effects::check_answer_owners),
    rule("F1", "who has lost a run writes nothing into it", logs::check_fencing),
    rule("L1", "no more calls of a tool are at work at once than it allows", bounds::check_parallel_calls),
    rule("M1", "a text on record is one that the model said, whole and once", views::check_texts),
    rule("P1", "private data leaves only with a person's consent", consent::check_data_leaks),
    rule("R3", "the message of a run that is over is the fold of its log", views::check_messages),
    rule("R4", "an outcome is final, and so is the end of a run", logs::check_outcomes_final),
];

/// Everything that is wrong.
pub fn check(evidence: &Evidence) -> Vec<Violation> {
    let broken = |rule: &Rule| {
        let name = rule.name;
        (rule.broken)(evidence).into_iter().map(move |what| Violation { rule: name, what })
    };
    RULES.iter().flat_map(broken).collect()
}
