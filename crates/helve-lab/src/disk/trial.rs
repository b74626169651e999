//! One fault, from a server that works to a server that works again.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;

use super::fault::{ExpectedService, Fault};
use super::http_client::{HttpClient, StartReply};
use super::tools::{DiskFiller, Mount, mount, with_limit, with_syscall_fault};
use crate::check::{Evidence, check};
use crate::database::StoreKind;
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

pub struct DiskTrial<'a> {
    pub command: &'a ServerCommand,
    pub fault: Fault,
    /// Empty, in a mount namespace of its own.
    pub dir: &'a Path,
}

/// How it went.
#[derive(Debug, Default)]
pub struct TrialReport {
    pub promised: usize,
    pub refused: usize,
    /// Whether the server ended by itself.
    pub ended: bool,
    /// From the end of the fault to the next run that came to its end, without a new start.
    pub recovered_after: Option<Duration>,
    pub wrong: Vec<String>,
}

impl DiskTrial<'_> {
    pub async fn run(&self) -> anyhow::Result<TrialReport> {
        let healthy = self.round(self.command);
        let command = self.faulty_command();
        let broken = self.round(&command);
        let mut lab = Lab::build(&healthy).await?;
        let disk = mount(&lab.data, DISK)?;
        let mut tried = TrialReport::default();
        let mut guest = HttpClient::new()?;

        if self.fault.meanwhile() == ExpectedService::DoesNotStart {
            self.refuse_to_start(&mut lab, &disk, &mut tried).await?;
            return Ok(tried);
        }
        // A disk that fails holds something already.
        let mut process = lab.spawn(None)?;
        let base = process.ready().await?.context("the server does not start on a good disk")?;
        guest.start_run(&base).await;
        process.kill().await?;
        lab.round = &broken;
        let mut process = lab.spawn(None)?;
        match process.ready().await? {
            Some(base) => self.ask_during_fault(&mut process, &disk, &mut guest, &base, &mut tried).await?,
            None => tried.ended = true,
        }
        process.kill().await?;
        self.check_evidence(&lab, &mut guest, false, &mut tried)?;

        // Whatever it did, it can be started again, and everything comes to its end.
        lab.round = &healthy;
        let mut process = lab.spawn(None)?;
        let base = process.ready().await?.context("it does not start again; see server.log")?;
        if !matches!(guest.start_run(&base).await, StartReply::Run { ended: true }) {
            tried.wrong.push("after a new start it takes no runs".into());
        }
        process.kill().await?;
        lab.finish().await?;
        self.check_evidence(&lab, &mut guest, true, &mut tried)?;
        Ok(tried)
    }

    fn round<'a>(&'a self, command: &'a ServerCommand) -> Round<'a> {
        Round { command, dir: self.dir, seed: 1, kills: &[], mutant: None, store: StoreKind::Sqlite }
    }

    /// The server as the fault has it.
    fn faulty_command(&self) -> ServerCommand {
        let plain = self.command;
        match self.fault {
            Fault::Writes { error, from } => {
                with_syscall_fault(plain, "pwrite64", &format!("error={error}:when={from}+"))
            }
            Fault::Sync { nth } => {
                with_syscall_fault(plain, "fsync,fdatasync", &format!("error=EIO:when={nth}"))
            }
            Fault::FileSize { bytes } => with_limit(plain, &format!("--fsize={bytes}")),
            Fault::Files { count } => with_limit(plain, &format!("--nofile={count}")),
            Fault::Memory { bytes } => with_limit(plain, &format!("--as={bytes}")),
            Fault::Full { .. } | Fault::ReadOnlyStart => plain.clone(),
        }
    }

    /// Asks again and again while the fault lasts, and once more when it is over.
    async fn ask_during_fault(
        &self,
        process: &mut Process,
        disk: &Mount,
        guest: &mut HttpClient,
        base: &str,
        tried: &mut TrialReport,
    ) -> anyhow::Result<()> {
        let trouble = self.begin(disk, base).await?;
        let mut left = ASKED;
        while left > 0 {
            left -= 1;
            match guest.start_run(base).await {
                StartReply::Run { .. } => {
                    tried.promised += 1;
                    if tried.refused > 0 && self.fault.meanwhile() == ExpectedService::RefusesUntilRestart {
                        tried.wrong.push("it trusts the disk again after a failed sync".into());
                    }
                }
                StartReply::No { status: 503, .. } => {
                    if tried.refused == 0 {
                        left = left.min(ASKED_AFTER);
                    }
                    tried.refused += 1;
                }
                StartReply::No { status, code } => tried.wrong.push(format!("it answers {status} {code}")),
                StartReply::Nothing => break,
            }
        }
        tried.ended = process.dies_within(Duration::from_millis(100)).await?;
        if tried.ended && self.fault.meanwhile() != ExpectedService::MayEnd {
            tried.wrong.push("the server ended by itself".into());
        }
        if self.fault.must_bite() && tried.refused == 0 && !tried.ended {
            tried.wrong.push("the fault was never felt, so this shows nothing".into());
        }
        drop(trouble);
        if matches!(self.fault.meanwhile(), ExpectedService::Refuses | ExpectedService::GoesOn) {
            tried.recovered_after = recovers(guest, base).await;
            if tried.recovered_after.is_none() {
                tried.wrong.push(format!("no run comes to its end within {RECOVERS:?} of its end"));
            }
        }
        Ok(())
    }

    /// Brings about what is not there from the start.
    async fn begin(&self, disk: &Mount, base: &str) -> anyhow::Result<DiskProblem> {
        match self.fault {
            Fault::Full { free } => Ok(DiskProblem::Full(disk.fill(free)?)),
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
                Ok(DiskProblem::Nothing)
            }
            _ => Ok(DiskProblem::Nothing),
        }
    }

    async fn refuse_to_start(
        &self,
        lab: &mut Lab<'_>,
        disk: &Mount,
        tried: &mut TrialReport,
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
    fn check_evidence(
        &self,
        lab: &Lab<'_>,
        guest: &mut HttpClient,
        at_end: bool,
        tried: &mut TrialReport,
    ) -> anyhow::Result<()> {
        let disk = Snapshot::read_copy(&lab.data, &self.dir.join("snapshot"))?;
        let evidence = Evidence::new(disk, lab.ledger.entries()?, vec![guest.log.clone()], at_end);
        let found = check(&evidence).into_iter();
        tried.wrong.extend(found.map(|violation| format!("{}: {}", violation.rule, violation.what)));
        Ok(())
    }
}

/// Lasts until it is dropped.
enum DiskProblem {
    Full(#[expect(dead_code, reason = "held to be dropped")] DiskFiller),
    Nothing,
}

async fn recovers(guest: &mut HttpClient, base: &str) -> Option<Duration> {
    let over = Instant::now();
    while over.elapsed() < RECOVERS {
        if guest.start_run(base).await == (StartReply::Run { ended: true }) {
            return Some(over.elapsed());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    None
}
