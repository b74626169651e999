//! What a campaign of power cuts has seen.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use super::disk::Survival;
use crate::check::Violation;

#[derive(Debug, Default)]
pub struct PowerTally {
    pub losses: usize,
    /// After how many of them the server was started.
    pub starts: usize,
    pub records: usize,
    /// Calls on record: writes, syncs, and what was said.
    pub calls: usize,
    pub syncs: usize,
    /// Events, promises and answers that clients got.
    pub acknowledged: usize,
    pub effects: usize,
    moods: BTreeMap<&'static str, usize>,
    /// In how many losses each rule was broken.
    pub broken: BTreeMap<&'static str, usize>,
    /// In how many losses anything was.
    pub bad: usize,
    pub time: Duration,
}

impl PowerTally {
    pub(super) fn count(&mut self, mood: Survival, started: bool, violations: &[Violation]) {
        self.losses += 1;
        self.starts += usize::from(started);
        *self.moods.entry(word(mood)).or_default() += 1;
        let rules: BTreeSet<&'static str> = violations.iter().map(|violation| violation.rule).collect();
        self.bad += usize::from(!rules.is_empty());
        for rule in rules {
            *self.broken.entry(rule).or_default() += 1;
        }
    }

    /// In how many losses something acknowledged was gone, by rule.
    pub fn lost(&self, rule: &str) -> usize {
        self.broken.get(rule).copied().unwrap_or(0)
    }
}

fn word(mood: Survival) -> &'static str {
    match mood {
        Survival::Clean => "nothing",
        Survival::Lucky => "everything",
        Survival::InOrder => "a beginning",
        Survival::Wild => "any of it, torn",
    }
}

impl fmt::Display for PowerTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moods: Vec<String> = self.moods.iter().map(|(mood, count)| format!("{mood} {count}")).collect();
        writeln!(
            f,
            "{} losses, {} of them with a new start, in {:.1} s, out of {} records with {} calls, {} of them syncs; clients \
             were told {} things, the ledger had {} effects",
            self.losses,
            self.starts,
            self.time.as_secs_f64(),
            self.records,
            self.calls,
            self.syncs,
            self.acknowledged,
            self.effects
        )?;
        writeln!(f, "what was left of the unsynced: {}", moods.join(", "))?;
        writeln!(f, "{:<8}{:>8}", "rule", "losses")?;
        for (rule, count) in &self.broken {
            writeln!(f, "{rule:<8}{count:>8}")?;
        }
        write!(f, "{:<8}{:>8}", "any", self.bad)
    }
}
