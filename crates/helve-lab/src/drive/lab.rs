//! The worlds around a server under test, and what is done to it in them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use helve_types::{Clock, FailPoints, RunId};
use tokio::net::TcpListener;

use super::plan::Kill;
use super::process::{Process, Start};
use super::round::{KillFinding, Round, RoundOutcome};
use super::tally::{KillTally, ResourceCount};
use crate::check::{Evidence, Violation, check};
use crate::client::{Clients, ServerAddress, ServerSwitch, SwitchState, Wire, lock, patience};
use crate::database::{DatabaseKill, StorePlace};
use crate::footprint::Footprint;
use crate::labels::{self, CrashPoint, OUTSIDE};
use crate::ledger::Ledger;
use crate::mock::{Mock, Script};
use crate::mutants::Mutant;
use crate::rng::Rng;
use crate::snapshot::Run;
use crate::test_server::{Calling, server_configuration};

/// A label that is not passed in this time is given up.
const LABEL_MAX: Duration = Duration::from_secs(6);
/// Clients come to rest as soon as their connections break.
const REST_MAX: Duration = Duration::from_secs(20);
/// I9: every run ends or waits so long after the last start.
const END_MAX: Duration = Duration::from_secs(30);

/// The tools that ask for consent are described anew after so many starts.
const WORDING_STARTS: u64 = 2;
/// One start in so many meets a stale writer.
const STALE_WRITER_STARTS: u64 = 4;
/// Days after which no question is open any more.
const WEEK_LATER: u32 = 8;
/// A calm round: how often the server is brought to rest, and how long it is busy before.
const RESTS: usize = 3;
const BUSY: Duration = Duration::from_millis(1_500);

/// The worlds around the server.
pub(crate) struct Lab<'a> {
    pub(crate) round: &'a Round<'a>,
    door: ServerSwitch,
    pub(crate) crowd: Clients,
    pub(crate) ledger: Ledger,
    mock: Mock,
    /// Strikes when the mock or the ledger passes a label.
    trap: Arc<Mutex<Option<FailPoints>>>,
    config: PathBuf,
    pub(crate) data: PathBuf,
    pub(crate) place: StorePlace,
    generation: u64,
    footprints: Vec<Footprint>,
    /// How far the log of each run was found good, and need not be looked at again.
    judged: BTreeMap<RunId, u64>,
    pub(super) tally: KillTally,
}

impl<'a> Lab<'a> {
    pub(crate) async fn build(round: &'a Round<'a>) -> anyhow::Result<Self> {
        let trap: Arc<Mutex<Option<FailPoints>>> = Arc::default();
        let sprung = trap.clone();
        let failpoints = FailPoints::new(move |label| {
            let armed = lock(&sprung).clone();
            if let Some(failpoints) = armed {
                failpoints.reach(label);
            }
        });
        let local = || TcpListener::bind("127.0.0.1:0");
        let ledger = Ledger::start(local().await?, &round.dir.join("ledger.jsonl"), failpoints.clone())?;
        let mock = Mock::start(local().await?, Script::default(), failpoints)?;
        let data = round.dir.join("data");
        let place = StorePlace::build(round.store, round.dir).await?;
        let config = round.dir.join("helve.toml");
        let door = ServerSwitch::new();
        let wire = match round.mutant {
            Some(Mutant::IdOnLiveFrame) => Wire::NumbersEverything,
            _ => Wire::Clean,
        };
        let crowd = Clients::start(&door, &ledger.url(), wire, patience(round.store), Rng::new(round.seed))?;
        let lab = Self {
            round,
            door,
            crowd,
            ledger,
            mock,
            trap,
            config,
            data,
            place,
            generation: 0,
            footprints: vec![],
            judged: BTreeMap::new(),
            tally: KillTally::default(),
        };
        // Half of the rounds read the calls out of the model's text.
        let calling = if round.seed.is_multiple_of(2) { Calling::Native } else { Calling::InText };
        let database = lab.place.url();
        let text = server_configuration(&lab.data, database.as_deref(), &lab.mock.base_url(), calling);
        std::fs::write(&lab.config, text)?;
        Ok(lab)
    }

    pub(crate) fn spawn(&mut self, crash_at: Option<CrashPoint>) -> anyhow::Result<Process> {
        self.spawn_ahead(crash_at, 0)
    }

    fn spawn_ahead(&mut self, crash_at: Option<CrashPoint>, days_ahead: u32) -> anyhow::Result<Process> {
        self.generation += 1;
        Process::spawn(&Start {
            command: self.round.command,
            config: &self.config,
            ledger: &self.ledger.url(),
            crash_at,
            mutant: self.round.mutant,
            // Tools change while people think about them, and now and then a former owner walks.
            wording: u32::try_from(self.generation / WORDING_STARTS).unwrap_or(0),
            with_stale_writer: self.generation.is_multiple_of(STALE_WRITER_STARTS),
            days_ahead,
            log: &self.round.dir.join("server.log"),
        })
    }

    pub(crate) fn open(&self, base: String, last: bool, towards: Option<&'static str>) {
        self.door.set(SwitchState::Open(ServerAddress { generation: self.generation, base, last, towards }));
    }

    /// Starts the server, lets clients at it, and ends it as planned. All clients rest when this returns.
    pub(super) async fn kill_once(&mut self, kill: Kill) -> anyhow::Result<()> {
        match kill {
            Kill::At(point) => self.kill_at(point).await?,
            Kill::AfterStart(wait) => {
                let mut process = self.spawn(None)?;
                let until = Instant::now() + wait;
                let ready = tokio::time::timeout(wait, process.ready()).await;
                if let Ok(Ok(Some(base))) = ready {
                    self.open(base, false, None);
                    tokio::time::sleep(until.saturating_duration_since(Instant::now())).await;
                } else if let Ok(result) = ready {
                    result?.context("the server ended by itself while starting")?;
                }
                process.kill().await?;
                self.tally.after_start += 1;
            }
            Kill::AfterReady(wait) => {
                let mut process = self.spawn(None)?;
                let base = self.ready(&mut process).await?;
                self.open(base, false, None);
                tokio::time::sleep(wait).await;
                process.kill().await?;
                self.tally.after_ready += 1;
            }
            Kill::Database(kill) => self.kill_database(kill).await?,
        }
        self.tally.kills += 1;
        self.bring_to_rest().await
    }

    /// Waits until it takes requests, which it must come to.
    async fn ready(&mut self, process: &mut Process) -> anyhow::Result<String> {
        let began = Instant::now();
        let base = process.ready().await?.context("the server ended by itself while starting")?;
        self.tally.starting += began.elapsed();
        Ok(base)
    }

    async fn kill_at(&mut self, point: CrashPoint) -> anyhow::Result<()> {
        let outside = OUTSIDE.contains(&point.label);
        let mut process = self.spawn(Some(point).filter(|_| !outside))?;
        if let Some(pid) = process.pid().filter(|_| outside) {
            *lock(&self.trap) = Some(point.failpoints_with(Arc::new(move || labels::kill(pid))));
        }
        // It may die before it is ready, while it takes runs up.
        if let Some(base) = process.ready().await? {
            self.open(base, false, Some(point.label));
        }
        let died = process.dies_within(LABEL_MAX).await?;
        *lock(&self.trap) = None;
        if died {
            ensure!(process.killed_by_signal() != Some(false), "the server ended by itself; see server.log");
            *self.tally.at.entry(point.label).or_default() += 1;
        } else {
            process.kill().await?;
            *self.tally.missed.entry(point.label).or_default() += 1;
        }
        Ok(())
    }

    /// The database server dies under load and comes back. Helve has to live with that; it is killed while the database is
    /// away, or some time after that.
    async fn kill_database(&mut self, kill: DatabaseKill) -> anyhow::Result<()> {
        let StorePlace::Server(database) = &self.place else { bail!("there is no database server to kill") };
        let database = database.clone();
        let mut process = self.spawn(None)?;
        let base = self.ready(&mut process).await?;
        self.open(base, false, None);
        tokio::time::sleep(kill.after).await;
        database.end(kill.death).await?;
        tokio::time::sleep(kill.away).await;
        ensure!(process.killed_by_signal().is_none(), "the server ended with its database; see server.log");
        if let Some(time) = kill.survived_for {
            database.start().await?;
            tokio::time::sleep(time).await;
            ensure!(process.killed_by_signal().is_none(), "the server ended by itself; see server.log");
            process.kill().await?;
        } else {
            process.kill().await?;
            database.start().await?;
        }
        *self.tally.databases.entry(kill.death).or_default() += 1;
        Ok(())
    }

    pub(crate) async fn bring_to_rest(&self) -> anyhow::Result<()> {
        self.door.set(SwitchState::Shut);
        ensure!(
            self.door.all_waiting(self.crowd.size(), REST_MAX).await,
            "the clients do not come to rest: the harness is broken"
        );
        Ok(())
    }

    /// What disk, ledger and clients say now that nobody changes them.
    pub(crate) async fn check_evidence(&mut self, at_end: bool) -> anyhow::Result<Vec<Violation>> {
        let began = Instant::now();
        let disk = self.place.read_snapshot().await?;
        let evidence = Evidence {
            disk,
            ledger: self.ledger.entries()?,
            clients: self.crowd.logs(),
            server_log: std::fs::read_to_string(self.round.dir.join("server.log"))?,
            footprints: self.footprints.clone(),
            judged: std::mem::take(&mut self.judged),
            at_end,
        };
        self.tally.checks += 1;
        let (violations, evidence) =
            tokio::task::spawn_blocking(move || (check(&evidence), evidence)).await?;
        let last = |run: &Run| run.log.last().map_or(0, |event| event.seq);
        self.judged = evidence.disk.runs.iter().map(|(id, run)| (*id, last(run))).collect();
        self.tally.judging += began.elapsed();
        if at_end || !violations.is_empty() {
            self.tally.counted = ResourceCount::new(&evidence);
        }
        Ok(violations)
    }

    /// A last start without fail points: every run that was begun ends.
    pub(crate) async fn finish(&mut self) -> anyhow::Result<()> {
        let mut process = self.spawn(None)?;
        let base = self.ready(&mut process).await?;
        self.open(base, true, None);
        // A run that waits goes on when somebody answers, so the clients come to their end first: after that nothing
        // sets a run going again.
        self.door.all_waiting(self.crowd.size(), END_MAX).await;
        self.runs_end().await?;
        process.kill().await?;
        self.bring_to_rest().await
    }

    /// Waits until no run is under way, but not for ever: a stuck run is the checker's to report.
    async fn runs_end(&self) -> anyhow::Result<()> {
        let began = Instant::now();
        while began.elapsed() < END_MAX && self.place.runs_under_way().await? > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// A start so much later that whatever nobody answered has expired.
    pub(super) async fn wait_a_week(&mut self) -> anyhow::Result<()> {
        let today = Clock::System.now();
        let mut process = self.spawn_ahead(None, WEEK_LATER)?;
        self.ready(&mut process).await?;
        let began = Instant::now();
        while began.elapsed() < END_MAX
            && self.place.open_questions(today).await? + self.place.runs_under_way().await? > 0
        {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        process.kill().await
    }

    /// Busy and at rest by turns, and what the server takes up whenever it rests.
    pub(super) async fn work_and_rest(&mut self) -> anyhow::Result<()> {
        let mut process = self.spawn(None)?;
        let base = self.ready(&mut process).await?;
        let pid = process.pid().context("the server is gone")?;
        for _ in 0..RESTS {
            self.open(base.clone(), false, None);
            tokio::time::sleep(BUSY).await;
            self.open(base.clone(), true, None);
            ensure!(
                self.door.all_waiting(self.crowd.size(), END_MAX).await,
                "the clients do not come to rest"
            );
            self.footprints.push(Footprint::measure(pid)?);
        }
        self.runs_end().await?;
        process.kill().await?;
        self.bring_to_rest().await
    }

    /// Keeps what is needed to understand a finding.
    pub(super) fn found(self, finding: KillFinding) -> anyhow::Result<RoundOutcome> {
        let logs: Vec<String> = self.crowd.logs().iter().map(crate::client::ClientLog::to_text).collect();
        std::fs::write(self.round.dir.join("clients.txt"), logs.join("\n"))?;
        let lines: Vec<String> =
            finding.violations.iter().map(|found| format!("{}: {}", found.rule, found.what)).collect();
        std::fs::write(self.round.dir.join("violations.txt"), lines.join("\n"))?;
        Ok(RoundOutcome { tally: self.tally, finding: Some(finding) })
    }
}
