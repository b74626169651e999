//! Many rounds, a few at a time.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;
use tempfile::TempDir;
use tokio::task::JoinSet;

use super::plan::{KILLS_PER_ROUND, Kill, LabelFilter, plan};
use super::process::ServerCommand;
use super::round::{KillFinding, Round, RoundOutcome};
use super::tally::KillTally;
use crate::database::StoreKind;
use crate::mutants::Mutant;

/// So many calm rounds a bug may survive. Chance has a say in each, and a larger one where the machine has other work to do.
const CALM_MAX: usize = 15;

#[derive(Debug, Clone)]
pub struct Campaign {
    pub command: ServerCommand,
    pub seed: u64,
    pub kills: usize,
    pub places: LabelFilter,
    pub mutant: Option<Mutant>,
    /// What the server keeps its data in; with PostgreSQL each round has a database server of its own.
    pub store: StoreKind,
    /// Without kills: one round, or a few until a rule is broken.
    pub calm: bool,
    /// Rounds at the same time.
    pub jobs: usize,
    /// Whether rounds go on being started when one has found something.
    pub keep_going: bool,
    /// Goes on until this rule is broken, whatever else is.
    pub until: Option<&'static str>,
    /// Only this round of the plan.
    pub round: Option<usize>,
    /// Where data directories are made; in memory, if the machine has such a place, since a killed process cannot
    /// tell a synced page from an unsynced one anyway.
    pub dir: Option<PathBuf>,
    /// Called after each round with everything so far.
    pub progress: fn(&KillTally, usize),
}

/// A round that found something, and where it can be looked into.
#[derive(Debug)]
pub struct Failure {
    pub round: usize,
    pub finding: KillFinding,
    pub dir: PathBuf,
    pub replay: String,
}

#[derive(Debug)]
pub struct KillVerdict {
    pub tally: KillTally,
    pub failures: Vec<Failure>,
}

impl KillVerdict {
    /// The rules that were broken.
    pub fn rules(&self) -> Vec<&'static str> {
        let violations = self.failures.iter().flat_map(|failure| &failure.finding.violations);
        let rules: BTreeSet<&str> = violations.map(|violation| violation.rule).collect();
        rules.into_iter().collect()
    }

    pub fn broke(&self, rule: &str) -> bool {
        self.rules().contains(&rule)
    }
}

impl Campaign {
    pub fn new(command: ServerCommand, seed: u64, kills: usize) -> Self {
        Self {
            command,
            seed,
            kills,
            places: LabelFilter::Everywhere,
            mutant: None,
            store: StoreKind::Sqlite,
            calm: false,
            jobs: 3,
            keep_going: false,
            until: None,
            round: None,
            dir: None,
            progress: |_, _| {},
        }
    }

    /// To the end of the plan, or of the rounds that were under way when something was found. Where one rule is waited
    /// for, the others' rounds are given up with it.
    pub async fn run(&self) -> anyhow::Result<KillVerdict> {
        let began = Instant::now();
        let mut rounds: Vec<Vec<Kill>> =
            plan(self.seed, self.kills, self.places).chunks(KILLS_PER_ROUND).map(<[Kill]>::to_vec).collect();
        if self.calm {
            rounds = vec![vec![]; if self.until.is_some() { CALM_MAX } else { 1 }];
        }
        // A calm round is about what happens at the same time in one server, so it has the machine for itself.
        let jobs = if self.calm { 1 } else { self.jobs.max(1) };
        let wanted = |number: &usize| self.round.is_none_or(|only| only == *number);
        let mut waiting = (0..rounds.len()).filter(wanted).collect::<Vec<_>>().into_iter();
        let mut running = JoinSet::new();
        let mut verdict = KillVerdict { tally: KillTally::default(), failures: vec![] };
        loop {
            while running.len() < jobs && self.goes_on(&verdict) {
                let Some(number) = waiting.next() else { break };
                let (campaign, kills) = (self.clone(), rounds[number].clone());
                running.spawn(async move { (number, campaign.play_round(number, &kills).await) });
            }
            let Some(played) = running.join_next().await else { break };
            let (number, played) = played?;
            let (outcome, dir) = played.with_context(|| self.replay(number))?;
            verdict.tally.add(outcome.tally);
            verdict.tally.time = began.elapsed();
            if let Some(finding) = outcome.finding {
                let failure =
                    Failure { round: number, finding, dir: dir.keep(), replay: self.replay(number) };
                verdict.failures.push(failure);
            }
            (self.progress)(&verdict.tally, verdict.failures.len());
            if self.until.is_some_and(|rule| verdict.broke(rule)) {
                break;
            }
        }
        Ok(verdict)
    }

    /// Whether another round is to be started.
    fn goes_on(&self, verdict: &KillVerdict) -> bool {
        match self.until {
            Some(rule) => !verdict.broke(rule),
            None => self.keep_going || verdict.failures.is_empty(),
        }
    }

    /// Plays one round in a directory of its own, which is kept if something goes wrong.
    async fn play_round(&self, number: usize, kills: &[Kill]) -> anyhow::Result<(RoundOutcome, TempDir)> {
        let place = self.dir.clone().unwrap_or_else(fast_place);
        let dir = tempfile::Builder::new().prefix("helve-lab-").tempdir_in(&place)?;
        let round = Round {
            command: &self.command,
            dir: dir.path(),
            seed: self.seed.wrapping_add(number as u64),
            kills,
            mutant: self.mutant,
            store: self.store,
        };
        let played = if self.calm { round.run_calmly().await } else { round.run().await };
        match played {
            Ok(outcome) => Ok((outcome, dir)),
            Err(error) => {
                let kept = dir.keep();
                Err(error.context(format!("everything is kept in {}", kept.display())))
            }
        }
    }

    fn replay(&self, round: usize) -> String {
        let mut line = format!("faultlab kill --seed {} --kills {} --round {round}", self.seed, self.kills);
        match self.places {
            LabelFilter::Everywhere => {}
            LabelFilter::Labels => line.push_str(" --labels"),
            LabelFilter::Only(point) => line.push_str(&format!(" --at {point}")),
            LabelFilter::AnyMoment => line.push_str(" --any-moment"),
            LabelFilter::Database => line.push_str(" --database"),
        }
        if self.store != StoreKind::Sqlite {
            line.push_str(&format!(" --store {}", self.store));
        }
        if let Some(mutant) = self.mutant {
            line.push_str(&format!(" --mutant {mutant}"));
        }
        line
    }
}

pub(crate) fn fast_place() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.finding.kill {
            Some((number, kill)) => writeln!(f, "round {}, kill {number}, {kill}:", self.round)?,
            None => writeln!(f, "round {}, at its end:", self.round)?,
        }
        for violation in &self.finding.violations {
            writeln!(f, "  {}  {}", violation.rule, violation.what)?;
        }
        writeln!(f, "  kept in {}", self.dir.display())?;
        writeln!(f, "  replay with: {}", self.replay)
    }
}
