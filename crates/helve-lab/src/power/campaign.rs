//! Many cuts of few lives.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use helve_store_sql::Syncs;
use tempfile::TempDir;
use tokio::task::JoinSet;

use super::disk::Survival;
use super::record::Op;
use super::restart_judge::{KEY, RestartJudge};
use super::server_record::{LIVES, Recordings, ServerRecord, record_server};
use super::syncs_name;
use super::tally::PowerTally;
use crate::check::Violation;
use crate::drive::ServerCommand;
use crate::rng::Rng;

/// Cuts of the lives on one data directory.
const CUTS_PER_ROUND: usize = 100;

/// How many findings are kept to be looked into.
const KEPT_MAX: usize = 3;

/// A plan of power cuts.
#[derive(Debug, Clone)]
pub struct PowerCutPlan {
    pub command: ServerCommand,
    pub seed: u64,
    pub losses: usize,
    /// As the server syncs; all but `Commits` is a bug that must be found.
    pub syncs: Syncs,
    /// In every nth world the server is started, and everything comes to its end; the others are judged as they are.
    pub start_every: usize,
    /// Worlds at the same time.
    pub jobs: usize,
    pub dir: Option<PathBuf>,
    pub progress: fn(&PowerTally),
}

/// A cut after which something was wrong.
#[derive(Debug)]
pub struct FailedCut {
    pub round: usize,
    pub life: usize,
    /// After so many entries of its record.
    pub entries: usize,
    pub violations: Vec<Violation>,
    /// None if it was not kept.
    pub dir: Option<PathBuf>,
    pub replay: String,
}

#[derive(Debug)]
pub struct PowerVerdict {
    pub tally: PowerTally,
    pub bad: Vec<FailedCut>,
}

/// When the power is cut.
#[derive(Debug, Clone, Copy)]
struct PowerCut {
    life: usize,
    entries: usize,
    mood: Survival,
    /// Whether the server is started afterwards.
    starts: bool,
    seed: u64,
}

impl PowerCutPlan {
    pub fn new(command: ServerCommand, seed: u64, losses: usize) -> Self {
        Self {
            command,
            seed,
            losses,
            syncs: Syncs::Commits,
            start_every: 1,
            jobs: 3,
            dir: None,
            progress: |_| {},
        }
    }

    pub async fn run(&self) -> anyhow::Result<PowerVerdict> {
        let began = Instant::now();
        let mut verdict = PowerVerdict { tally: PowerTally::default(), bad: vec![] };
        for round in 0..self.losses.div_ceil(CUTS_PER_ROUND) {
            let cuts = CUTS_PER_ROUND.min(self.losses - round * CUTS_PER_ROUND);
            self.play_round(round, cuts, &mut verdict).await?;
            verdict.tally.time = began.elapsed();
            (self.progress)(&verdict.tally);
        }
        Ok(verdict)
    }

    async fn play_round(&self, round: usize, cuts: usize, verdict: &mut PowerVerdict) -> anyhow::Result<()> {
        let seed = self.seed.wrapping_add(round as u64);
        let dir = self.scratch()?;
        let home = dir.path().canonicalize()?;
        let command = self.command();
        let lives = match record_server(&command, &home, seed).await {
            Ok(lives) => Arc::new(lives),
            Err(error) => {
                let kept = dir.keep();
                return Err(error.context(format!("everything is kept in {}", kept.display())));
            }
        };
        self.count(&lives, &mut verdict.tally);
        if !lives.violations.is_empty() {
            let kept = Some(dir.keep());
            verdict.bad.push(self.failed_cut(round, LIVES, 0, lives.violations.clone(), kept));
            return Ok(());
        }
        let mut waiting = plan(&lives.lives, cuts, self.start_every, &mut Rng::new(seed)).into_iter();
        let mut running = JoinSet::new();
        loop {
            while running.len() < self.jobs.max(1) {
                let Some(cut) = waiting.next() else { break };
                let (lives, command, place) = (lives.clone(), command.clone(), self.scratch()?);
                running.spawn(async move {
                    let judged = check_cut(&lives, cut, &command, place.path()).await;
                    (cut, judged, place)
                });
            }
            let Some(judged) = running.join_next().await else { break };
            let (cut, violations, place) = judged?;
            let violations = violations?;
            verdict.tally.count(cut.mood, cut.starts, &violations);
            if !violations.is_empty() {
                let kept = (verdict.bad.len() < KEPT_MAX).then(|| place.keep());
                verdict.bad.push(self.failed_cut(round, cut.life, cut.entries, violations, kept));
            }
        }
        Ok(())
    }

    fn command(&self) -> ServerCommand {
        let mut command = self.command.clone();
        command.arguments.extend(["--syncs".into(), syncs_name(self.syncs).into()]);
        command
    }

    fn scratch(&self) -> anyhow::Result<TempDir> {
        let memory = Path::new("/dev/shm");
        let place = self
            .dir
            .clone()
            .unwrap_or_else(|| if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() });
        Ok(tempfile::Builder::new().prefix("helve-power-").tempdir_in(place)?)
    }

    fn count(&self, lives: &Recordings, tally: &mut PowerTally) {
        tally.records += lives.lives.len();
        tally.acknowledged += lives.acknowledged;
        tally.effects += lives.ledger.len();
        for life in &lives.lives {
            tally.calls += life.ops.len();
            tally.syncs += life.ops.iter().filter(|op| matches!(op, Op::SyncEnded { .. })).count();
        }
    }

    fn failed_cut(
        &self,
        round: usize,
        life: usize,
        entries: usize,
        violations: Vec<Violation>,
        dir: Option<PathBuf>,
    ) -> FailedCut {
        let mut replay = format!(
            "faultlab power --seed {} --losses {}",
            self.seed.wrapping_add(round as u64),
            CUTS_PER_ROUND
        );
        if self.syncs != Syncs::Commits {
            replay.push_str(&format!(" --syncs {}", syncs_name(self.syncs)));
        }
        FailedCut { round, life, entries, violations, dir, replay }
    }
}

/// Where to cut: anywhere, and as often right after the server has said something, when it must keep its word.
fn plan(lives: &[ServerRecord], cuts: usize, start_every: usize, rng: &mut Rng) -> Vec<PowerCut> {
    (0..cuts)
        .map(|number| {
            let life = &lives[number % lives.len()];
            let said = |(_, op): &(usize, &Op)| matches!(op, Op::Told { .. } | Op::Asked { .. });
            let words: Vec<usize> =
                life.ops.iter().enumerate().filter(said).map(|(entry, _)| entry + 1).collect();
            let entries = if words.is_empty() || rng.chance(50) {
                rng.below(life.ops.len() as u64 + 1) as usize
            } else {
                *rng.pick(&words)
            };
            let mood = match rng.below(20) {
                0..6 => Survival::Clean,
                6 => Survival::Lucky,
                7..12 => Survival::InOrder,
                _ => Survival::Wild,
            };
            let starts = (number / lives.len()).is_multiple_of(start_every.max(1));
            PowerCut { life: life.number, entries, mood, starts, seed: rng.next_u64() }
        })
        .collect()
}

async fn check_cut(
    lives: &Arc<Recordings>,
    cut: PowerCut,
    command: &ServerCommand,
    dir: &Path,
) -> anyhow::Result<Vec<Violation>> {
    let told = lives.clone();
    let world = tokio::task::spawn_blocking(move || world_after(&told, cut)).await??;
    let mut wrong = world.check_restart(dir).await?;
    if cut.starts {
        wrong.extend(world.start(command, dir, cut.seed).await?);
        wrong.dedup();
    }
    Ok(wrong)
}

fn world_after(lives: &Recordings, cut: PowerCut) -> anyhow::Result<RestartJudge> {
    let life = &lives.lives[cut.life];
    let mut disk = life.disk.clone();
    disk.new_process();
    for op in &life.ops[..cut.entries] {
        disk.apply(op)?;
    }
    let moment = (cut.life, cut.entries);
    Ok(RestartJudge {
        image: disk.image_after_cut(cut.mood, &mut Rng::new(cut.seed)),
        key: disk.file(KEY),
        ledger: lives.heard.ledger(&lives.ledger, moment),
        clients: lives.heard.clients(&lives.clients, moment),
    })
}

impl fmt::Display for FailedCut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "round {}, life {}, after {} entries of its record:",
            self.round, self.life, self.entries
        )?;
        for violation in &self.violations {
            writeln!(f, "  {}  {}", violation.rule, violation.what)?;
        }
        if let Some(dir) = &self.dir {
            writeln!(f, "  kept in {}", dir.display())?;
        }
        writeln!(f, "  the same plan, though not the same run: {}", self.replay)
    }
}
