//! One round of a storm: a data directory, runs that grow, readers that cut, a server that is killed and told to stop.
//!
//! When all readers have come to the end, or are stuck, the server stops for good and each of them is held against the
//! database file.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use helve_types::{RunId, RunState};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::model::{self, EVENTS};
use super::reader::StreamReader;
use super::server::{Servers, StreamServer};
use super::stream_bug::StreamBug;
use super::tally::StreamTally;
use super::watcher::Watcher;
use crate::client::lock;
use crate::drive::process::{Process, ServerCommand, Start};
use crate::rng::Rng;
use crate::snapshot::Snapshot;
use crate::web::ServerTask;

/// Readers of each run.
pub(super) const READERS: usize = 10;
/// Runs at the same time.
const AT_ONCE: usize = 8;
/// Whoever is not at the end so long after the round began is stuck.
const ROUND_MAX: Duration = Duration::from_secs(300);
/// How long a server that was told to stop lets runs go on.
const DRAIN_MS: u64 = 150;
/// A server that was told to stop ends within this, however busy the machine is.
const STOP_MAX: Duration = Duration::from_secs(30);
/// No more than these are told of one round.
const FAULTS_MAX: usize = 20;

/// The servers of a round end when so many hundredths of its events were delivered. There are no more of them than a
/// run may be interrupted in one step without being left alone.
const ENDS: [usize; 3] = [15, 40, 65];

pub(super) struct Round<'a> {
    pub(super) command: &'a ServerCommand,
    pub(super) dir: &'a Path,
    pub(super) seed: u64,
    /// So many events are to be delivered, and so many connections made for that.
    pub(super) events: usize,
    pub(super) reconnects: usize,
    pub(super) flaw: Option<StreamBug>,
}

/// How a round went.
#[derive(Debug)]
pub(super) struct StreamOutcome {
    pub(super) tally: StreamTally,
    /// What readers were shown that they should not have been.
    pub(super) faults: Vec<String>,
}

/// What all of a round share.
struct StreamRound<'a> {
    round: &'a Round<'a>,
    config: PathBuf,
    announce: watch::Sender<Option<StreamServer>>,
    servers: Servers,
    generation: u32,
    tally: Arc<Mutex<StreamTally>>,
    died: Arc<Mutex<Option<Instant>>>,
    _model: ServerTask,
}

impl Round<'_> {
    pub(super) async fn run(&self) -> anyhow::Result<StreamOutcome> {
        let mut storm = StreamRound::build(self).await?;
        let mut process = storm.start().await?;
        let mut rng = Rng::new(self.seed);
        let mut reading = storm.spawn_readers(&mut rng);
        let mut readers = vec![];
        // What a bug does is to be found without the help of a server that dies.
        let ends: &[usize] = if self.flaw.is_none() { &ENDS } else { &[] };
        let mut kill = rng.chance(50);
        let mut ends = ends.iter().map(|share| self.events * share / 100).peekable();
        loop {
            tokio::select! {
                done = reading.join_next() => match done {
                    Some(done) => readers.extend(done??),
                    None => break,
                },
                () = storm.wait_for_deliveries(ends.peek().copied()) => {
                    ends.next();
                    kill = !kill;
                    storm.end(process, kill).await?;
                    process = storm.start().await?;
                }
            }
        }
        storm.terminate(process).await?;
        let disk = Snapshot::read_copy(&self.dir.join("data"), &self.dir.join("snapshot"))?;
        let mut tally = std::mem::take(&mut *lock(&storm.tally));
        tally.runs = disk.runs.len();
        tally.readers = readers.len();
        tally.logged = disk.runs.values().map(|run| run.log.len()).sum();
        Ok(StreamOutcome { tally, faults: check_readers(&disk, &readers) })
    }
}

/// Every reader against the log of its run.
fn check_readers(disk: &Snapshot, readers: &[StreamReader]) -> Vec<String> {
    let mut faults = vec![];
    for (id, run) in &disk.runs {
        if run.state != RunState::Completed {
            faults.push(format!("run {id} is {}", run.state.as_str()));
        }
    }
    for reader in readers {
        let run = reader.run;
        let Some(known) = disk.runs.get(&run) else {
            faults.push(format!("run {run} was promised and is not on record"));
            continue;
        };
        let connections = reader.connections;
        let told = |wrong| format!("run {run}, a reader over {connections} connections: {wrong}");
        faults.extend(reader.find_faults(&known.log).into_iter().map(told));
    }
    faults.truncate(FAULTS_MAX);
    faults
}

impl<'a> StreamRound<'a> {
    async fn build(round: &'a Round<'a>) -> anyhow::Result<Self> {
        let model = model::start().await?;
        let (announce, servers) = Servers::new();
        let config = round.dir.join("helve.toml");
        std::fs::write(&config, configuration(&round.dir.join("data"), &model))?;
        Ok(Self {
            round,
            config,
            announce,
            servers,
            generation: 0,
            tally: Arc::default(),
            died: Arc::default(),
            _model: model,
        })
    }

    async fn start(&mut self) -> anyhow::Result<Process> {
        let mut process = Process::spawn(&Start {
            command: self.round.command,
            config: &self.config,
            // The calls of these runs change nothing that a ledger would have to write down.
            ledger: "http://127.0.0.1:9",
            crash_at: None,
            mutant: None,
            wording: 0,
            with_stale_writer: false,
            days_ahead: 0,
            log: &self.round.dir.join("server.log"),
        })?;
        let base = process.ready().await?.context("the server ended by itself while starting")?;
        let address = base.trim_start_matches("http://").parse().context("where the server listens")?;
        self.generation += 1;
        self.announce.send_replace(Some(StreamServer { generation: self.generation, address }));
        Ok(process)
    }

    /// Ends a server in the middle of everything.
    async fn end(&self, mut process: Process, kill: bool) -> anyhow::Result<()> {
        *lock(&self.died) = Some(Instant::now());
        if kill {
            lock(&self.tally).killed += 1;
            return process.kill().await;
        }
        self.terminate(process).await
    }

    async fn terminate(&self, mut process: Process) -> anyhow::Result<()> {
        lock(&self.tally).terminated += 1;
        process.terminate();
        ensure!(process.dies_within(STOP_MAX).await?, "the server was told to stop and does not");
        ensure!(process.killed_by_signal() == Some(false), "the server was told to stop and ended badly");
        Ok(())
    }

    /// Returns once so many events were delivered; never, if there is nothing to wait for.
    async fn wait_for_deliveries(&self, enough: Option<usize>) {
        let Some(enough) = enough else { return std::future::pending().await };
        while lock(&self.tally).events < enough {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Starts the runs, a few at a time, each with readers that come at different times.
    fn spawn_readers(&self, rng: &mut Rng) -> JoinSet<anyhow::Result<Vec<StreamReader>>> {
        let runs = self.round.events.div_ceil(EVENTS * READERS).max(1);
        // An event has some 300 bytes, with the live frames around it, and some connections are not cut.
        let bytes_mean = 260 * self.round.events as u64 / self.round.reconnects.max(1) as u64;
        let places = Arc::new(Semaphore::new(AT_ONCE));
        let mut reading = JoinSet::new();
        for n in 0..runs {
            let plan = RunPlan {
                n,
                seed: self.round.seed,
                servers: self.servers.clone(),
                flaw: self.round.flaw,
                bytes_mean: bytes_mean.max(200),
                tally: self.tally.clone(),
                died: self.died.clone(),
                until: Instant::now() + ROUND_MAX,
            };
            let (places, rng) = (places.clone(), rng.fork());
            reading.spawn(async move {
                let _place = places.acquire().await?;
                plan.run(rng).await
            });
        }
        reading
    }
}

fn configuration(data: &Path, model: &ServerTask) -> String {
    format!(
        "default_model = \"storm\"\n\n\
         [server]\nlisten = \"127.0.0.1:0\"\ndata = \"{}\"\nlog = \"warn\"\ndrain_ms = {DRAIN_MS}\n\n\
         [[models]]\nname = \"storm\"\nprotocol = \"openai_chat\"\nmodel = \"storm\"\nbase_url = \"http://{}/v1\"\n\
         tools = \"native\"\n\n\
         [[agents]]\nname = \"storm\"\nmax_steps = 50\n\n[budgets.run]\ncalls = 0\nminutes = 0\n\n\
         [limits]\nstreams_per_user_max = 2000\n",
        data.display(),
        model.address()
    )
}

/// One run and its readers.
struct RunPlan {
    n: usize,
    seed: u64,
    servers: Servers,
    flaw: Option<StreamBug>,
    bytes_mean: u64,
    tally: Arc<Mutex<StreamTally>>,
    died: Arc<Mutex<Option<Instant>>>,
    until: Instant,
}

impl RunPlan {
    async fn run(mut self, mut rng: Rng) -> anyhow::Result<Vec<StreamReader>> {
        let run = self.begin().await?;
        let head = Arc::new(AtomicU64::new(0));
        let mut watchers = JoinSet::new();
        for n in 0..READERS {
            let watcher = Watcher {
                reader: StreamReader::new(run),
                servers: self.servers.clone(),
                rng: rng.fork(),
                flaw: self.flaw,
                bytes_mean: self.bytes_mean,
                head: head.clone(),
                tally: self.tally.clone(),
                died: self.died.clone(),
                until: self.until,
            };
            // Most come at the start, some in the middle, one when all is over.
            let from = match n {
                0..6 => 0,
                6..9 => rng.below(EVENTS as u64),
                _ => EVENTS as u64,
            };
            let (head, until) = (head.clone(), self.until);
            watchers.spawn(async move {
                while head.load(Ordering::Relaxed) < from && Instant::now() < until {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                watcher.watch().await
            });
        }
        Ok(watchers.join_all().await)
    }

    /// Asks for the run until it is promised, with a key: however often it takes, it is one run.
    async fn begin(&mut self) -> anyhow::Result<RunId> {
        let head = format!("POST /api/runs HTTP/1.1\r\nIdempotency-Key: storm-{}-{}\r\n", self.seed, self.n);
        let body = json!({"message": format!("run {}", self.n)}).to_string();
        while Instant::now() < self.until {
            let server = self.servers.next_server(0, self.until).await.context("there is no server")?;
            if let Ok((201 | 200, answer)) = server.ask(&head, &body).await {
                let answer: Value = serde_json::from_str(&answer)?;
                let run = answer["run"].as_str().and_then(|run| run.parse().ok());
                return run.with_context(|| format!("no run in {answer}"));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        anyhow::bail!("run {} could not be started", self.n)
    }
}
