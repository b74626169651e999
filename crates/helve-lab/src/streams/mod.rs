//! A storm of reconnects: readers that are cut off at any byte, over servers that die, and none of them may lose an
//! event or get one twice.
//!
//! `model` makes runs whose logs grow while they are read. A `watcher` follows one run over as many connections as it
//! takes, through `wire`, and folds what it gets (`reader`). `round` starts the real server, ends it in between, and
//! holds every reader against the database file. `stream_bug`s are bugs put between server and reader, which must be found.

mod model;
mod reader;
mod round;
mod server;
mod stream_bug;
mod tally;
mod watcher;
mod wire;

use std::path::PathBuf;
use std::time::Instant;

use self::round::{Round, StreamOutcome};
pub use self::stream_bug::StreamBug;
pub use self::tally::StreamTally;
use crate::drive::{ServerCommand, fast_place};

/// More than this in one round, and too many readers would wait for their turn.
const ROUND_EVENTS_MAX: usize = 50_000;

#[derive(Debug, Clone)]
pub struct StreamPlan {
    pub command: ServerCommand,
    pub seed: u64,
    /// It goes on until so many events were delivered …
    pub events: usize,
    /// … and so many connections were made to get them.
    pub reconnects: usize,
    /// With this bug.
    pub flaw: Option<StreamBug>,
    /// Where data directories are made; in memory, if the machine has such a place.
    pub dir: Option<PathBuf>,
    /// Called after each round with everything so far.
    pub progress: fn(&StreamTally),
}

#[derive(Debug)]
pub struct StreamVerdict {
    pub tally: StreamTally,
    /// What was found in the last round, and where it can be looked into.
    pub faults: Vec<String>,
    pub kept: Option<PathBuf>,
}

impl StreamPlan {
    /// To the end, or to the end of the round in which something was found.
    pub async fn run(&self) -> anyhow::Result<StreamVerdict> {
        let began = Instant::now();
        let mut tally = StreamTally::default();
        for n in 0.. {
            if tally.events >= self.events && tally.reconnects >= self.reconnects {
                break;
            }
            let place = self.dir.clone().unwrap_or_else(fast_place);
            let dir = tempfile::Builder::new().prefix("helve-storm-").tempdir_in(place)?;
            // As many connections for each event as are left for all of them.
            let left = self.events.saturating_sub(tally.events).max(1);
            let events = left.min(ROUND_EVENTS_MAX);
            let reconnects = self.reconnects.saturating_sub(tally.reconnects) * events / left;
            let round = Round {
                command: &self.command,
                dir: dir.path(),
                seed: self.seed.wrapping_add(n),
                events,
                reconnects,
                flaw: self.flaw,
            };
            let played = round.run().await;
            let StreamOutcome { tally: more, faults } = match played {
                Ok(outcome) => outcome,
                Err(error) => {
                    let kept = dir.keep();
                    return Err(error.context(format!("everything is kept in {}", kept.display())));
                }
            };
            tally.add(more);
            tally.time = began.elapsed();
            (self.progress)(&tally);
            if !faults.is_empty() {
                return Ok(StreamVerdict { tally, faults, kept: Some(dir.keep()) });
            }
        }
        Ok(StreamVerdict { tally, faults: vec![], kept: None })
    }
}
