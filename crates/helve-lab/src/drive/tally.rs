//! What a campaign has seen: the numbers that its verdict rests on.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::check::Evidence;
use crate::labels;

#[derive(Debug, Clone, Default)]
pub struct Tally {
    pub kills: usize,
    /// How often the server died at each label.
    pub at: BTreeMap<&'static str, usize>,
    pub after_start: usize,
    pub after_ready: usize,
    /// Labels that were not passed in time; the server was killed then and there instead.
    pub missed: BTreeMap<&'static str, usize>,
    pub checks: usize,
    /// Of the last look at each data directory.
    pub runs: usize,
    pub calls: usize,
    pub events: usize,
    pub effects: usize,
    /// Calls whose outcome nobody knows.
    pub unknown: usize,
    pub resumed: usize,
    pub connections: usize,
    pub events_read: usize,
    pub answers: usize,
    pub time: Duration,
}

impl Tally {
    /// Counts what is there when a data directory is done with.
    pub(super) fn count(&mut self, evidence: &Evidence) {
        self.runs += evidence.disk.runs.len();
        self.calls += evidence.disk.calls.len();
        self.effects += evidence.ledger.len();
        self.unknown += evidence.disk.calls.values().filter(|call| call.state == "unknown").count();
        for run in evidence.disk.runs.values() {
            self.events += run.log.len();
            self.resumed += run.log.iter().filter(|event| event.kind == "run.resumed").count();
        }
        for client in &evidence.clients {
            self.answers += client.answers.len();
            self.connections +=
                client.readers.iter().map(|reader| reader.connections as usize).sum::<usize>();
            self.events_read += client.readers.iter().map(|reader| reader.events.len()).sum::<usize>();
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.kills += other.kills;
        self.after_start += other.after_start;
        self.after_ready += other.after_ready;
        self.checks += other.checks;
        self.runs += other.runs;
        self.calls += other.calls;
        self.events += other.events;
        self.effects += other.effects;
        self.unknown += other.unknown;
        self.resumed += other.resumed;
        self.connections += other.connections;
        self.events_read += other.events_read;
        self.answers += other.answers;
        for (label, count) in other.at {
            *self.at.entry(label).or_default() += count;
        }
        for (label, count) in other.missed {
            *self.missed.entry(label).or_default() += count;
        }
    }

    pub fn kills_per_minute(&self) -> f64 {
        self.kills as f64 * 60.0 / self.time.as_secs_f64().max(0.001)
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at: usize = self.at.values().sum();
        let missed: usize = self.missed.values().sum();
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
        writeln!(
            f,
            "{} checks; {} runs taken up {} times, {} events, {} calls, {} effects in the ledger, {} outcomes unknown",
            self.checks, self.runs, self.resumed, self.events, self.calls, self.effects, self.unknown
        )?;
        writeln!(
            f,
            "clients read {} events over {} connections and had {} answers acknowledged\n",
            self.events_read, self.connections, self.answers
        )?;
        writeln!(f, "{:<26}{:>8}{:>8}", "label", "deaths", "missed")?;
        for label in labels::all() {
            let count = |of: &BTreeMap<&str, usize>| of.get(label).copied().unwrap_or(0);
            writeln!(f, "{label:<26}{:>8}{:>8}", count(&self.at), count(&self.missed))?;
        }
        Ok(())
    }
}
