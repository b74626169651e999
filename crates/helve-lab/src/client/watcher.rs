//! A client that reads along: follows runs that others started, from the beginning, and takes calls that wait for any
//! client.

use helve_types::Fact;

use super::client_call::ClientCall;
use super::connection::{ServerConnection, ServerGone};
use super::follow::{FollowedRun, LogPosition, StreamItem};
use super::log::Reader;
use super::{ClientParts, lock};
use crate::rng::Rng;

pub(super) struct Watcher {
    number: usize,
    /// Counts the calls that it wanted; each is a client of its own, since a watcher forgets what it has done.
    wanted: usize,
    means: ClientParts,
    rng: Rng,
    /// The reader that is not at its end.
    reading: Option<usize>,
    errand: Option<ClientCall>,
}

impl Watcher {
    pub(super) fn new(number: usize, means: ClientParts, rng: Rng) -> Self {
        Self { number, wanted: 0, means, rng, reading: None, errand: None }
    }

    pub(super) async fn run(mut self) {
        let mut gone = 0;
        loop {
            let done = self.reading.is_none() && self.errand.is_none();
            let Some(open) = self.means.door.next_server(gone, done).await else { return };
            let (http, base) = (self.means.http.clone(), open.base);
            let talk = ServerConnection {
                http: &http,
                base: &base,
                wire: self.means.wire,
                patience: self.means.patience,
            };
            match self.watch(&talk).await {
                Err(ServerGone) => gone = open.generation,
                Ok(()) => self.reading = None,
            }
        }
    }

    /// Reads a run to its end, or to where it waits, or for as long as it pleases.
    async fn watch(&mut self, talk: &ServerConnection<'_>) -> Result<(), ServerGone> {
        self.go_on(talk).await?;
        let Some(at) = self.reading.or_else(|| self.choose()) else {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            return Ok(());
        };
        self.reading = Some(at);
        let enough = 5 + self.rng.below(60) as usize;
        let log = self.means.log.clone();
        let place = LogPosition { log: &log, at };
        let run = place.run();
        let Some(mut following) = FollowedRun::begin(talk, place).await? else {
            return Ok(());
        };
        while following.seen < enough {
            match following.next().await? {
                StreamItem::Event(event) => match event.fact {
                    Fact::RunWaiting { .. } => break,
                    Fact::ToolDelegated { call, .. } if self.rng.chance(50) => {
                        self.wanted += 1;
                        let name = format!("w{}-{}", self.number, self.wanted);
                        let spoils_it = self.rng.chance(10);
                        self.errand = Some(ClientCall::new(run, call, &name, &name, spoils_it));
                        self.go_on(talk).await?;
                    }
                    _ => {}
                },
                StreamItem::Live => {}
                StreamItem::End | StreamItem::Silence => break,
            }
        }
        Ok(())
    }

    async fn go_on(&mut self, talk: &ServerConnection<'_>) -> Result<(), ServerGone> {
        if let Some(errand) = &mut self.errand {
            errand.continue_call(talk, &self.means.ledger, &self.means.log).await?;
        }
        self.errand = None;
        Ok(())
    }

    /// One of the latest runs.
    fn choose(&mut self) -> Option<usize> {
        let run = {
            let runs = lock(&self.means.runs);
            let latest = &runs[runs.len().saturating_sub(8)..];
            if latest.is_empty() {
                return None;
            }
            *self.rng.pick(latest)
        };
        let mut log = lock(&self.means.log);
        log.readers.push(Reader::new(run));
        Some(log.readers.len() - 1)
    }
}
