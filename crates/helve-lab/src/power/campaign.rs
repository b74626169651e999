//! Many cuts of few lives.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use helve_store_sql::Syncs;
use tempfile::TempDir;
use tokio::task::JoinSet;

use super::disk::Mood;
use super::life::{LIVES, Life, Lives, live};
use super::name_of;
use super::record::Op;
use super::tally::Tally;
use super::world::{KEY, World};
use crate::check::Violation;
use crate::dice::Dice;
use crate::drive::ServerCommand;

/// Cuts of the lives on one data directory.
const CUTS_PER_ROUND: usize = 100;

/// How many findings are kept to be looked into.
const KEPT_MAX: usize = 3;

/// A plan of power cuts.
#[derive(Debug, Clone)]
pub struct Cuts {
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
    pub progress: fn(&Tally),
}

/// A cut after which something was wrong.
#[derive(Debug)]
pub struct Loss {
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
pub struct Verdict {
    pub tally: Tally,
    pub bad: Vec<Loss>,
}

/// When the power is cut.
#[derive(Debug, Clone, Copy)]
struct Cut {
    life: usize,
    entries: usize,
    mood: Mood,
    /// Whether the server is started afterwards.
    starts: bool,
    seed: u64,
}

impl Cuts {
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

    pub async fn run(&self) -> anyhow::Result<Verdict> {
        let began = Instant::now();
        let mut verdict = Verdict { tally: Tally::default(), bad: vec![] };
        for round in 0..self.losses.div_ceil(CUTS_PER_ROUND) {
            let cuts = CUTS_PER_ROUND.min(self.losses - round * CUTS_PER_ROUND);
            self.play(round, cuts, &mut verdict).await?;
            verdict.tally.time = began.elapsed();
            (self.progress)(&verdict.tally);
        }
        Ok(verdict)
    }

    async fn play(&self, round: usize, cuts: usize, verdict: &mut Verdict) -> anyhow::Result<()> {
        let seed = self.seed.wrapping_add(round as u64);
        let dir = self.scratch()?;
        let home = dir.path().canonicalize()?;
        let command = self.command();
        let lives = match live(&command, &home, seed).await {
            Ok(lives) => Arc::new(lives),
            Err(error) => {
                let kept = dir.keep();
                return Err(error.context(format!("everything is kept in {}", kept.display())));
            }
        };
        self.count(&lives, &mut verdict.tally);
        if !lives.violations.is_empty() {
            let kept = Some(dir.keep());
            verdict.bad.push(self.loss(round, LIVES, 0, lives.violations.clone(), kept));
            return Ok(());
        }
        let mut waiting = plan(&lives.lives, cuts, self.start_every, &mut Dice::new(seed)).into_iter();
        let mut running = JoinSet::new();
        loop {
            while running.len() < self.jobs.max(1) {
                let Some(cut) = waiting.next() else { break };
                let (lives, command, place) = (lives.clone(), command.clone(), self.scratch()?);
                running.spawn(async move {
                    let judged = judge(&lives, cut, &command, place.path()).await;
                    (cut, judged, place)
                });
            }
            let Some(judged) = running.join_next().await else { break };
            let (cut, violations, place) = judged?;
            let violations = violations?;
            verdict.tally.count(cut.mood, cut.starts, &violations);
            if !violations.is_empty() {
                let kept = (verdict.bad.len() < KEPT_MAX).then(|| place.keep());
                verdict.bad.push(self.loss(round, cut.life, cut.entries, violations, kept));
            }
        }
        Ok(())
    }

    fn command(&self) -> ServerCommand {
        let mut command = self.command.clone();
        command.arguments.extend(["--syncs".into(), name_of(self.syncs).into()]);
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

    fn count(&self, lives: &Lives, tally: &mut Tally) {
        tally.records += lives.lives.len();
        tally.acknowledged += lives.acknowledged;
        tally.effects += lives.ledger.len();
        for life in &lives.lives {
            tally.calls += life.ops.len();
            tally.syncs += life.ops.iter().filter(|op| matches!(op, Op::SyncEnded { .. })).count();
        }
    }

    fn loss(
        &self,
        round: usize,
        life: usize,
        entries: usize,
        violations: Vec<Violation>,
        dir: Option<PathBuf>,
    ) -> Loss {
        let mut replay = format!(
            "faultlab power --seed {} --losses {}",
            self.seed.wrapping_add(round as u64),
            CUTS_PER_ROUND
        );
        if self.syncs != Syncs::Commits {
            replay.push_str(&format!(" --syncs {}", name_of(self.syncs)));
        }
        Loss { round, life, entries, violations, dir, replay }
    }
}

/// Where to cut: anywhere, and as often right after the server has said something, when it must keep its word.
fn plan(lives: &[Life], cuts: usize, start_every: usize, dice: &mut Dice) -> Vec<Cut> {
    (0..cuts)
        .map(|number| {
            let life = &lives[number % lives.len()];
            let said = |(_, op): &(usize, &Op)| matches!(op, Op::Told { .. } | Op::Asked { .. });
            let words: Vec<usize> =
                life.ops.iter().enumerate().filter(said).map(|(entry, _)| entry + 1).collect();
            let entries = if words.is_empty() || dice.percent(50) {
                dice.below(life.ops.len() as u64 + 1) as usize
            } else {
                *dice.pick(&words)
            };
            let mood = match dice.below(20) {
                0..6 => Mood::Clean,
                6 => Mood::Lucky,
                7..12 => Mood::InOrder,
                _ => Mood::Wild,
            };
            let starts = (number / lives.len()).is_multiple_of(start_every.max(1));
            Cut { life: life.number, entries, mood, starts, seed: dice.throw() }
        })
        .collect()
}

async fn judge(
    lives: &Arc<Lives>,
    cut: Cut,
    command: &ServerCommand,
    dir: &Path,
) -> anyhow::Result<Vec<Violation>> {
    let told = lives.clone();
    let world = tokio::task::spawn_blocking(move || world_after(&told, cut)).await??;
    let mut wrong = world.judge(dir).await?;
    if cut.starts {
        wrong.extend(world.start(command, dir, cut.seed).await?);
        wrong.dedup();
    }
    Ok(wrong)
}

fn world_after(lives: &Lives, cut: Cut) -> anyhow::Result<World> {
    let life = &lives.lives[cut.life];
    let mut disk = life.disk.clone();
    disk.new_process();
    for op in &life.ops[..cut.entries] {
        disk.apply(op)?;
    }
    let moment = (cut.life, cut.entries);
    Ok(World {
        image: disk.after_a_cut(cut.mood, &mut Dice::new(cut.seed)),
        key: disk.file(KEY),
        ledger: lives.heard.ledger(&lives.ledger, moment),
        clients: lives.heard.clients(&lives.clients, moment),
    })
}

impl fmt::Display for Loss {
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
