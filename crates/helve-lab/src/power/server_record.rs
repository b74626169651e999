//! Lives of one server on one data directory, each on record and ended by a kill. The disk goes on from one to the next.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use super::disk::{Disk, Image};
use super::observations::Observations;
use super::record::{Op, Record};
use super::shim::{Recording, Shim};
use crate::check::Violation;
use crate::client::ClientLog;
use crate::database::StoreKind;
use crate::drive::{Lab, Round, ServerCommand};
use crate::ledger::LedgerEntry;
use crate::rng::Rng;

/// Lives of one data directory; then a new one is taken, so that each check stays quick.
pub(super) const LIVES: usize = 4;

/// In this life one sync fails.
const FAILING: usize = 2;

/// How much is on record of a life, once it has begun: some hundred commits.
const LOAD_BYTES: u64 = 6 << 20;
const LOAD_MAX: Duration = Duration::from_secs(10);
const HOLDS_ON: Duration = Duration::from_secs(5);

/// One life, told so that the power can be cut at any moment of it.
pub(super) struct ServerRecord {
    pub(super) number: usize,
    /// The disk before it.
    pub(super) disk: Disk,
    pub(super) ops: Vec<Op>,
}

/// All lives, and what the others know of them.
pub(super) struct Recordings {
    pub(super) lives: Vec<ServerRecord>,
    pub(super) heard: Observations,
    pub(super) clients: Vec<ClientLog>,
    pub(super) ledger: Vec<LedgerEntry>,
    /// What was told to clients, in pieces.
    pub(super) acknowledged: usize,
    /// What was wrong after a kill, power or no power.
    pub(super) violations: Vec<Violation>,
}

/// Lets a server live in `dir`, which is empty and has no links in its name.
pub(super) async fn record_server(
    command: &ServerCommand,
    dir: &Path,
    seed: u64,
) -> anyhow::Result<Recordings> {
    let mut rng = Rng::new(seed);
    let shim = Shim::compile(dir)?;
    let data = dir.join("data");
    let records: Vec<PathBuf> = (0..LIVES).map(|life| dir.join(format!("record-{life}"))).collect();
    let commands: Vec<ServerCommand> = (0..LIVES)
        .map(|life| {
            let fail_sync = (life == FAILING).then(|| 1 + rng.below(60));
            shim.wrap_command(command, &Recording { file: &records[life], under: &data, fail_sync })
        })
        .collect();
    let rounds: Vec<Round<'_>> = commands
        .iter()
        .map(|command| Round { command, dir, seed, kills: &[], mutant: None, store: StoreKind::Sqlite })
        .collect();
    let mut lab = Lab::build(&rounds[0]).await?;
    let (mut disk, mut heard) = (Disk::default(), Observations::default());
    let (mut lives, mut violations) = (vec![], vec![]);
    for number in 0..LIVES {
        lab.round = &rounds[number];
        let pid = record_once(&mut lab, &records[number], number == FAILING).await?;
        let record = Record::read(&records[number], dir)?;
        ensure!(Some(record.pid) == pid, "the record is of process {}, not of {pid:?}", record.pid);
        let before = disk.clone();
        disk.new_process();
        for op in &record.ops {
            disk.apply(op).with_context(|| format!("{op:?}"))?;
        }
        disk.adopt(dir, &read_image(dir, &data)?)?;
        heard.read_record(number, &record.ops);
        lives.push(ServerRecord { number, disk: before, ops: record.ops });
        // Once a sync has failed clients are refused, which is right and which they take for a fault.
        if number < FAILING {
            violations.extend(lab.check_evidence(false).await?);
        }
    }
    let clients = lab.crowd.logs();
    let acknowledged = heard.ensure_complete(&clients)?;
    let ledger = lab.ledger.entries()?;
    Ok(Recordings { lives, heard, clients, ledger, acknowledged, violations })
}

/// From start to kill; which process it was.
async fn record_once(lab: &mut Lab<'_>, record: &Path, may_not_start: bool) -> anyhow::Result<Option<u32>> {
    let mut process = lab.spawn(None)?;
    let pid = process.pid();
    // If the sync that fails is one of its start, it holds on for longer than is of interest here.
    let patience = if may_not_start { HOLDS_ON } else { LOAD_MAX * 3 };
    let ready = match tokio::time::timeout(patience, process.ready()).await {
        Ok(ready) => ready?,
        Err(_) => None,
    };
    match ready {
        Some(base) => lab.open(base, false, None),
        None if may_not_start => {
            process.kill().await?;
            return Ok(pid);
        }
        None => anyhow::bail!("the server ended by itself while starting; see server.log"),
    }
    // It has done enough when enough is on record, however busy the machine is.
    let enough = recorded(record) + LOAD_BYTES;
    let patience = Instant::now() + LOAD_MAX;
    while recorded(record) < enough && Instant::now() < patience {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    process.kill().await?;
    lab.bring_to_rest().await?;
    Ok(pid)
}

fn recorded(record: &Path) -> u64 {
    std::fs::metadata(record).map_or(0, |file| file.len())
}

/// Everything under the data directory.
fn read_image(root: &Path, dir: &Path) -> anyhow::Result<Image> {
    let mut image = Image::new();
    let mut left = vec![dir.to_owned()];
    while let Some(path) = left.pop() {
        let name = path.strip_prefix(root)?.to_str().context("a name that is no text")?.to_owned();
        if path.is_dir() {
            image.insert(name, None);
            for entry in std::fs::read_dir(&path)? {
                left.push(entry?.path());
            }
        } else {
            image.insert(name, Some(std::fs::read(&path)?));
        }
    }
    Ok(image)
}
