//! One fault, from a server that works to a server that works again.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;

use super::fault::{Fault, Meanwhile};
use super::guest::{Guest, Told};
use super::tools::{Filler, Mounted, limited, meddled, mount};
use crate::check::{Evidence, check};
use crate::drive::{Lab, Process, Round, ServerCommand};
use crate::snapshot::Snapshot;

/// Enough for a server that keeps a few hundred MiB free.
const DISK: &str = "400m";
/// Requests while the fault lasts.
const ASKED: usize = 40;
/// Of them, after the first refusal.
const ASKED_AFTER: usize = 5;
/// A server that can go on does so in this time.
const RECOVERS: Duration = Duration::from_secs(10);

pub struct Trial<'a> {
    pub command: &'a ServerCommand,
    pub fault: Fault,
    /// Empty, in a mount namespace of its own.
    pub dir: &'a Path,
}

/// How it went.
#[derive(Debug, Default)]
pub struct Tried {
    pub promised: usize,
    pub refused: usize,
    /// Whether the server ended by itself.
    pub ended: bool,
    /// From the end of the fault to the next run that came to its end, without a new start.
    pub recovered_after: Option<Duration>,
    pub wrong: Vec<String>,
}

impl Trial<'_> {
    pub async fn run(&self) -> anyhow::Result<Tried> {
        let healthy = self.round(self.command);
        let command = self.broken();
        let broken = self.round(&command);
        let mut lab = Lab::build(&healthy).await?;
        let disk = mount(&lab.data, DISK)?;
        let mut tried = Tried::default();
        let mut guest = Guest::new()?;

        if self.fault.meanwhile() == Meanwhile::DoesNotStart {
            self.refuse_to_start(&mut lab, &disk, &mut tried).await?;
            return Ok(tried);
        }
        // A disk that fails holds something already.
        let mut process = lab.spawn(None)?;
        let base = process.ready().await?.context("the server does not start on a good disk")?;
        guest.ask(&base).await;
        process.kill().await?;
        lab.round = &broken;
        let mut process = lab.spawn(None)?;
        match process.ready().await? {
            Some(base) => self.endure(&mut process, &disk, &mut guest, &base, &mut tried).await?,
            None => tried.ended = true,
        }
        process.kill().await?;
        self.hold_to_account(&lab, &mut guest, false, &mut tried)?;

        // Whatever it did, it can be started again, and everything comes to its end.
        lab.round = &healthy;
        let mut process = lab.spawn(None)?;
        let base = process.ready().await?.context("it does not start again; see server.log")?;
        if !matches!(guest.ask(&base).await, Told::Run { ended: true }) {
            tried.wrong.push("after a new start it takes no runs".into());
        }
        process.kill().await?;
        lab.finish().await?;
        self.hold_to_account(&lab, &mut guest, true, &mut tried)?;
        Ok(tried)
    }

    fn round<'a>(&'a self, command: &'a ServerCommand) -> Round<'a> {
        Round { command, dir: self.dir, seed: 1, kills: &[], mutant: None }
    }

    /// The server as the fault has it.
    fn broken(&self) -> ServerCommand {
        let plain = self.command;
        match self.fault {
            Fault::Writes { error, from } => {
                meddled(plain, "pwrite64", &format!("error={error}:when={from}+"))
            }
            Fault::Sync { nth } => meddled(plain, "fsync,fdatasync", &format!("error=EIO:when={nth}")),
            Fault::FileSize { bytes } => limited(plain, &format!("--fsize={bytes}")),
            Fault::Files { count } => limited(plain, &format!("--nofile={count}")),
            Fault::Memory { bytes } => limited(plain, &format!("--as={bytes}")),
            Fault::Full { .. } | Fault::ReadOnlyStart => plain.clone(),
        }
    }

    /// Asks again and again while the fault lasts, and once more when it is over.
    async fn endure(
        &self,
        process: &mut Process,
        disk: &Mounted,
        guest: &mut Guest,
        base: &str,
        tried: &mut Tried,
    ) -> anyhow::Result<()> {
        let trouble = self.begin(disk, base).await?;
        let mut left = ASKED;
        while left > 0 {
            left -= 1;
            match guest.ask(base).await {
                Told::Run { .. } => {
                    tried.promised += 1;
                    if tried.refused > 0 && self.fault.meanwhile() == Meanwhile::RefusesUntilRestart {
                        tried.wrong.push("it trusts the disk again after a failed sync".into());
                    }
                }
                Told::No { status: 503, .. } => {
                    if tried.refused == 0 {
                        left = left.min(ASKED_AFTER);
                    }
                    tried.refused += 1;
                }
                Told::No { status, code } => tried.wrong.push(format!("it answers {status} {code}")),
                Told::Nothing => break,
            }
        }
        tried.ended = process.dies_within(Duration::from_millis(100)).await?;
        if tried.ended && self.fault.meanwhile() != Meanwhile::MayEnd {
            tried.wrong.push("the server ended by itself".into());
        }
        if self.fault.must_bite() && tried.refused == 0 && !tried.ended {
            tried.wrong.push("the fault was never felt, so this shows nothing".into());
        }
        drop(trouble);
        if matches!(self.fault.meanwhile(), Meanwhile::Refuses | Meanwhile::GoesOn) {
            tried.recovered_after = recovers(guest, base).await;
            if tried.recovered_after.is_none() {
                tried.wrong.push(format!("no run comes to its end within {RECOVERS:?} of its end"));
            }
        }
        Ok(())
    }

    /// Brings about what is not there from the start.
    async fn begin(&self, disk: &Mounted, base: &str) -> anyhow::Result<Trouble> {
        match self.fault {
            Fault::Full { free } => Ok(Trouble::Full(disk.fill(free)?)),
            Fault::Files { .. } => {
                let address = base.trim_start_matches("http://");
                let mut connections = vec![];
                for _ in 0..400 {
                    // Those that are no longer taken wait in the system's line.
                    #[expect(
                        clippy::disallowed_methods,
                        reason = "the lab crowds the server that it started"
                    )]
                    let connecting = tokio::net::TcpStream::connect(address);
                    if let Ok(Ok(one)) = tokio::time::timeout(Duration::from_millis(200), connecting).await {
                        connections.push(one);
                    }
                }
                // While they last nobody else gets in, so there is nothing to ask.
                drop(connections);
                Ok(Trouble::Nothing)
            }
            _ => Ok(Trouble::Nothing),
        }
    }

    async fn refuse_to_start(
        &self,
        lab: &mut Lab<'_>,
        disk: &Mounted,
        tried: &mut Tried,
    ) -> anyhow::Result<()> {
        // As after a move to a disk that is mounted wrongly: a database is there.
        let mut process = lab.spawn(None)?;
        process.ready().await?.context("the server does not start on a good disk")?;
        process.kill().await?;
        disk.make_read_only()?;
        let log = self.dir.join("server.log");
        let before = std::fs::read_to_string(&log).unwrap_or_default().len();
        let mut process = lab.spawn(None)?;
        if process.ready().await?.is_some() {
            tried.wrong.push("it starts on a disk that it cannot write".into());
        }
        process.kill().await?;
        tried.ended = true;
        let said = std::fs::read_to_string(&log).unwrap_or_default().split_off(before);
        let lines: Vec<&str> = said.lines().collect();
        if lines.len() != 1 || !said.contains("data") || !said.contains("ead-only") {
            tried.wrong.push(format!("it does not say in one line what is wrong: {lines:?}"));
        }
        Ok(())
    }

    /// What disk, ledger and guest say while no server runs.
    fn hold_to_account(
        &self,
        lab: &Lab<'_>,
        guest: &mut Guest,
        at_end: bool,
        tried: &mut Tried,
    ) -> anyhow::Result<()> {
        let disk = Snapshot::take(&lab.data, &self.dir.join("snapshot"))?;
        let evidence = Evidence::of(disk, lab.ledger.entries()?, vec![guest.log.clone()], at_end);
        let found = check(&evidence).into_iter();
        tried.wrong.extend(found.map(|violation| format!("{}: {}", violation.rule, violation.what)));
        Ok(())
    }
}

/// Lasts until it is dropped.
enum Trouble {
    Full(#[expect(dead_code, reason = "held to be dropped")] Filler),
    Nothing,
}

async fn recovers(guest: &mut Guest, base: &str) -> Option<Duration> {
    let over = Instant::now();
    while over.elapsed() < RECOVERS {
        if guest.ask(base).await == (Told::Run { ended: true }) {
            return Some(over.elapsed());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    None
}
