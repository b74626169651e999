//! A client that reads along: follows runs that others started, from the beginning.

use reqwest::Client;

use super::follow::{Following, Place, Seen};
use super::log::Reader;
use super::talk::{Gone, Talk};
use super::{Door, Runs, SharedLog, lock};
use crate::dice::Dice;

pub(super) struct Watcher {
    door: Door,
    http: Client,
    log: SharedLog,
    runs: Runs,
    dice: Dice,
    /// The reader that is not at its end.
    reading: Option<usize>,
}

impl Watcher {
    pub(super) fn new(door: Door, http: Client, log: SharedLog, runs: Runs, dice: Dice) -> Self {
        Self { door, http, log, runs, dice, reading: None }
    }

    pub(super) async fn run(mut self) {
        let mut gone = 0;
        loop {
            let Some(open) = self.door.next(gone, self.reading.is_none()).await else { return };
            let (http, base) = (self.http.clone(), open.base);
            let talk = Talk { http: &http, base: &base };
            match self.watch(&talk).await {
                Err(Gone) => gone = open.generation,
                Ok(()) => self.reading = None,
            }
        }
    }

    /// Reads a run to its end, or to where it waits, or for as long as it pleases.
    async fn watch(&mut self, talk: &Talk<'_>) -> Result<(), Gone> {
        let Some(at) = self.reading.or_else(|| self.choose()) else {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            return Ok(());
        };
        self.reading = Some(at);
        let enough = 5 + self.dice.below(60) as usize;
        let log = self.log.clone();
        let Some(mut following) = Following::begin(talk, Place { log: &log, at }).await? else {
            return Ok(());
        };
        while following.seen < enough {
            match following.next().await? {
                Seen::Event(event) if matches!(event.fact, helve_types::Fact::RunWaiting { .. }) => break,
                Seen::Event(_) | Seen::Live => {}
                Seen::End | Seen::Silence => break,
            }
        }
        Ok(())
    }

    /// One of the latest runs.
    fn choose(&mut self) -> Option<usize> {
        let run = {
            let runs = lock(&self.runs);
            let latest = &runs[runs.len().saturating_sub(8)..];
            if latest.is_empty() {
                return None;
            }
            *self.dice.pick(latest)
        };
        let mut log = lock(&self.log);
        log.readers.push(Reader::new(run));
        Some(log.readers.len() - 1)
    }
}
