//! What a campaign has seen: the numbers that its verdict rests on.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;
use std::time::Duration;

use helve_types::{Answer, CallState, Fact};

use crate::check::Evidence;
use crate::database::DatabaseDeath;
use crate::labels;

#[derive(Debug, Clone, Default)]
pub struct KillTally {
    pub kills: usize,
    /// How often the server died at each label.
    pub at: BTreeMap<&'static str, usize>,
    pub after_start: usize,
    pub after_ready: usize,
    /// Deaths of the database server, with one of Helve each.
    pub databases: BTreeMap<DatabaseDeath, usize>,
    /// Labels that were not passed in time; the server was killed then and there instead.
    pub missed: BTreeMap<&'static str, usize>,
    pub checks: usize,
    /// Of the last look at each data directory.
    pub counted: ResourceCount,
    /// Until servers were ready, and until what they left was judged; of all rounds together.
    pub starting: Duration,
    pub judging: Duration,
    pub time: Duration,
}

/// What is there when a data directory is done with.
#[derive(Debug, Clone, Default)]
pub struct ResourceCount {
    pub runs: usize,
    pub calls: usize,
    pub events: usize,
    pub effects: usize,
    /// Calls whose outcome nobody knows.
    pub unknown: usize,
    pub resumed: usize,
    pub connections: usize,
    pub events_read: usize,
    /// Answers, claims, results and messages that were acknowledged.
    pub acknowledged: usize,
    pub denied: usize,
    pub expired: usize,
    pub claims: usize,
    pub budgets: usize,
    pub compactions: usize,
    pub messages: usize,
}

impl ResourceCount {
    pub(super) fn new(evidence: &Evidence) -> Self {
        let mut counted = Self {
            runs: evidence.disk.runs.len(),
            calls: evidence.disk.calls.len(),
            effects: evidence.ledger.len(),
            unknown: evidence.disk.calls.values().filter(|call| call.state == CallState::Unknown).count(),
            ..Self::default()
        };
        for event in evidence.disk.runs.values().flat_map(|run| &run.log) {
            counted.events += 1;
            match &event.body.fact {
                Fact::RunResumed { .. } => counted.resumed += 1,
                Fact::ApprovalAnswered { answer: Answer::Reject { .. }, .. } => counted.denied += 1,
                Fact::ApprovalAnswered { answer: Answer::Expire, .. } => counted.expired += 1,
                Fact::ToolClaimed { .. } => counted.claims += 1,
                Fact::BudgetSpent { .. } => counted.budgets += 1,
                Fact::HistoryCompacted(_) => counted.compactions += 1,
                Fact::MessageQueued { .. } => counted.messages += 1,
                _ => {}
            }
        }
        for client in &evidence.clients {
            counted.acknowledged +=
                client.answers.len() + client.claims.len() + client.brought.len() + client.said.len();
            counted.connections +=
                client.readers.iter().map(|reader| reader.connections as usize).sum::<usize>();
            counted.events_read += client.readers.iter().map(|reader| reader.events.len()).sum::<usize>();
        }
        counted
    }
}

impl AddAssign for ResourceCount {
    fn add_assign(&mut self, other: Self) {
        self.runs += other.runs;
        self.calls += other.calls;
        self.events += other.events;
        self.effects += other.effects;
        self.unknown += other.unknown;
        self.resumed += other.resumed;
        self.connections += other.connections;
        self.events_read += other.events_read;
        self.acknowledged += other.acknowledged;
        self.denied += other.denied;
        self.expired += other.expired;
        self.claims += other.claims;
        self.budgets += other.budgets;
        self.compactions += other.compactions;
        self.messages += other.messages;
    }
}

impl KillTally {
    pub(super) fn add(&mut self, other: Self) {
        self.kills += other.kills;
        self.after_start += other.after_start;
        self.after_ready += other.after_ready;
        self.checks += other.checks;
        self.counted += other.counted;
        self.starting += other.starting;
        self.judging += other.judging;
        for (label, count) in other.at {
            *self.at.entry(label).or_default() += count;
        }
        for (death, count) in other.databases {
            *self.databases.entry(death).or_default() += count;
        }
        for (label, count) in other.missed {
            *self.missed.entry(label).or_default() += count;
        }
    }

    pub fn kills_per_minute(&self) -> f64 {
        self.kills as f64 * 60.0 / self.time.as_secs_f64().max(0.001)
    }

    fn ms_per_kill(&self, time: Duration) -> f64 {
        time.as_secs_f64() * 1e3 / self.kills.max(1) as f64
    }
}

impl fmt::Display for KillTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at: usize = self.at.values().sum();
        let missed: usize = self.missed.values().sum();
        let counted = &self.counted;
        writeln!(
            f,
            "{} kills in {:.1} s ({:.0} a minute): {at} at labels, {} while starting, {} at any moment, {missed} \
             where a label was not passed",
            self.kills,
            self.time.as_secs_f64(),
            self.kills_per_minute(),
            self.after_start,
            self.after_ready
        )?;
        if !self.databases.is_empty() {
            let deaths = |(death, count): (&DatabaseDeath, &usize)| format!("{count} {death}");
            let deaths: Vec<String> = self.databases.iter().map(deaths).collect();
            writeln!(f, "deaths of PostgreSQL: {}", deaths.join(", "))?;
        }
        writeln!(
            f,
            "of each kill {:.0} ms were for starting and {:.0} ms for {} checks",
            self.ms_per_kill(self.starting),
            self.ms_per_kill(self.judging),
            self.checks
        )?;
        writeln!(
            f,
            "{} runs taken up {} times, {} events, {} calls, {} effects in the ledger, {} outcomes unknown",
            counted.runs, counted.resumed, counted.events, counted.calls, counted.effects, counted.unknown
        )?;
        writeln!(
            f,
            "{} questions denied and {} expired, {} calls taken by clients, {} budgets used up, {} histories made \
             shorter, {} messages to runs",
            counted.denied,
            counted.expired,
            counted.claims,
            counted.budgets,
            counted.compactions,
            counted.messages
        )?;
        writeln!(
            f,
            "clients read {} events over {} connections and had {} answers, claims, results and messages \
             acknowledged\n",
            counted.events_read, counted.connections, counted.acknowledged
        )?;
        writeln!(f, "{:<26}{:>8}{:>8}", "label", "deaths", "missed")?;
        for label in labels::all() {
            let count = |of: &BTreeMap<&str, usize>| of.get(label).copied().unwrap_or(0);
            writeln!(f, "{label:<26}{:>8}{:>8}", count(&self.at), count(&self.missed))?;
        }
        Ok(())
    }
}
