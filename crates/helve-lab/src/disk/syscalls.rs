//! Kills at the boundary of a system call: the nth of its kind in its thread, for every n in turn.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::ensure;
use tokio::task::JoinSet;

use super::tools::with_syscall_fault;
use crate::check::Violation;
use crate::database::StoreKind;
use crate::drive::{KILLS_PER_ROUND, Lab, Round, ServerCommand};

/// Calls that write, sync, send and receive.
pub const CALLS: [&str; 4] = ["pwrite64", "fsync", "writev", "recvfrom"];

/// A call that is not made in this time is given up.
const CALL_MAX: Duration = Duration::from_secs(4);

#[derive(Debug, Clone)]
pub struct SyscallPlan {
    pub command: ServerCommand,
    pub seed: u64,
    pub kills: usize,
    /// Data directories at the same time.
    pub jobs: usize,
    pub dir: PathBuf,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct SyscallReport {
    /// Deaths at each kind of call.
    pub at: BTreeMap<&'static str, usize>,
    /// The last nth that was reached.
    pub deepest: BTreeMap<&'static str, usize>,
    /// Where the nth call was not made in time; the server was killed then and there instead.
    pub missed: BTreeMap<&'static str, usize>,
    pub effects: usize,
    pub bad: Vec<(String, Vec<Violation>)>,
    pub time: Duration,
}

/// The nth call of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Boundary {
    call: &'static str,
    nth: usize,
}

fn plan(kills: usize) -> Vec<Boundary> {
    (0..kills).map(|n| Boundary { call: CALLS[n % CALLS.len()], nth: 1 + n / CALLS.len() }).collect()
}

impl SyscallPlan {
    pub async fn run(&self) -> anyhow::Result<SyscallReport> {
        let began = Instant::now();
        let rounds: Vec<Vec<Boundary>> =
            plan(self.kills).chunks(KILLS_PER_ROUND).map(<[Boundary]>::to_vec).collect();
        let mut waiting = rounds.into_iter().enumerate();
        let mut running = JoinSet::new();
        let mut swept = SyscallReport::default();
        loop {
            while running.len() < self.jobs.max(1) {
                let Some((number, boundaries)) = waiting.next() else { break };
                let sweep = self.clone();
                running.spawn(async move { sweep.play_round(number, &boundaries).await });
            }
            let Some(played) = running.join_next().await else { break };
            swept.add(played??);
        }
        swept.time = began.elapsed();
        Ok(swept)
    }

    async fn play_round(&self, number: usize, boundaries: &[Boundary]) -> anyhow::Result<SyscallReport> {
        let dir = tempfile::Builder::new().prefix("helve-calls-").tempdir_in(&self.dir)?;
        let seed = self.seed.wrapping_add(number as u64);
        let commands: Vec<ServerCommand> = boundaries
            .iter()
            .map(|at| with_syscall_fault(&self.command, at.call, &format!("signal=KILL:when={}", at.nth)))
            .collect();
        let round = |command| round(command, dir.path(), seed);
        let rounds: Vec<Round<'_>> = commands.iter().map(round).collect();
        let healthy = round(&self.command);
        let mut lab = Lab::build(&healthy).await?;
        let mut swept = SyscallReport::default();
        for (round, at) in rounds.iter().zip(boundaries) {
            lab.round = round;
            let died = kill_once(&mut lab).await?;
            swept.count(*at, died);
            let violations = lab.check_evidence(false).await?;
            if !violations.is_empty() {
                swept.bad.push((format!("seed {seed}, {} {}", at.call, at.nth), violations));
                return Ok(swept);
            }
        }
        lab.round = &healthy;
        lab.finish().await?;
        let violations = lab.check_evidence(true).await?;
        if !violations.is_empty() {
            swept.bad.push((format!("seed {seed}, at its end"), violations));
        }
        swept.effects = lab.ledger.entries()?.len();
        Ok(swept)
    }
}

fn round<'a>(command: &'a ServerCommand, dir: &'a Path, seed: u64) -> Round<'a> {
    Round { command, dir, seed, kills: &[], mutant: None, store: StoreKind::Sqlite }
}

/// Whether it died at its call.
async fn kill_once(lab: &mut Lab<'_>) -> anyhow::Result<bool> {
    let mut process = lab.spawn(None)?;
    if let Some(base) = process.ready().await? {
        lab.open(base, false, None);
    }
    let died = process.dies_within(CALL_MAX).await?;
    if died {
        ensure!(process.killed_by_signal() != Some(false), "the server ended by itself; see server.log");
    } else {
        process.kill().await?;
    }
    lab.bring_to_rest().await?;
    Ok(died)
}

impl SyscallReport {
    fn count(&mut self, at: Boundary, died: bool) {
        let counted = if died { &mut self.at } else { &mut self.missed };
        *counted.entry(at.call).or_default() += 1;
        if died {
            let deepest = self.deepest.entry(at.call).or_default();
            *deepest = at.nth.max(*deepest);
        }
    }

    fn add(&mut self, other: Self) {
        for (call, count) in other.at {
            *self.at.entry(call).or_default() += count;
        }
        for (call, count) in other.missed {
            *self.missed.entry(call).or_default() += count;
        }
        for (call, nth) in other.deepest {
            let deepest = self.deepest.entry(call).or_default();
            *deepest = nth.max(*deepest);
        }
        self.effects += other.effects;
        self.bad.extend(other.bad);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_nth_call_of_every_kind_is_a_boundary() {
        let plan = plan(4 * 30);
        for call in CALLS {
            for nth in 1..=30 {
                assert!(plan.contains(&Boundary { call, nth }), "{call} {nth}");
            }
        }
    }
}
