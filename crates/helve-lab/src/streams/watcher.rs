//! A reader that cuts its connections: in the head, in a frame, in a character, and comes back for the rest.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::reader::StreamReader;
use super::server::{Servers, StreamServer};
use super::stream_bug::{BugState, StreamBug};
use super::tally::StreamTally;
use super::wire::{Decoder, ParsedBytes};
use crate::client::lock;
use crate::rng::Rng;

/// Comments come more often than this, so a stream as silent as that is dead.
const SILENCE: Duration = Duration::from_secs(40);
/// What a slow reader takes at once, with a pause before the next.
const SIP: usize = 700;
const SIP_PAUSE: Duration = Duration::from_millis(2);

pub(super) struct Watcher {
    pub(super) reader: StreamReader,
    pub(super) servers: Servers,
    pub(super) rng: Rng,
    pub(super) flaw: Option<StreamBug>,
    /// How many bytes of a connection are read before it is cut, on the average.
    pub(super) bytes_mean: u64,
    /// The last event of the run that any of its readers has seen.
    pub(super) head: Arc<AtomicU64>,
    pub(super) tally: Arc<Mutex<StreamTally>>,
    /// When the last server died, until somebody has an event of the next.
    pub(super) died: Arc<Mutex<Option<Instant>>>,
    /// Whoever is not at the end by then is stuck.
    pub(super) until: Instant,
}

/// How a connection is going to be used.
struct ConnectionPlan {
    cut_after: Option<usize>,
    /// Not right there, but in the middle of the next character of several bytes.
    in_character: bool,
    slow: bool,
    bug: Option<BugState>,
}

impl ConnectionPlan {
    /// How many bytes may be read now.
    fn bytes_allowed(&self, read: usize, buffer: usize) -> usize {
        match self.cut_after {
            Some(cut) if !self.in_character => (cut - read).min(buffer),
            _ => buffer,
        }
    }

    /// How many of the bytes count, if one of their characters is to be cut.
    fn cut_in_character(&self, read: usize, bytes: &[u8]) -> Option<usize> {
        let from = self.cut_after.filter(|_| self.in_character)?.saturating_sub(read);
        let begins = |byte: &u8| *byte >= 0xc0;
        Some(from + 1 + bytes.get(from..)?.iter().position(begins)?)
    }
}

/// How a connection ended.
enum ConnectionEnd {
    /// By its reader.
    Cut,
    /// There is nothing more to read, ever.
    Over,
    /// By a server that goes down.
    Drained,
    /// By the death of the server.
    Broken,
}

impl Watcher {
    /// Reads the run to its end.
    pub(super) async fn watch(mut self) -> StreamReader {
        let mut server: Option<StreamServer> = None;
        loop {
            let known = server.map_or(0, |server| server.generation);
            let Some(now) = self.servers.next_server(known.saturating_sub(1), self.until).await else {
                self.reader.fault("the server did not come back");
                return self.reader;
            };
            server = Some(now);
            let ended = self.connect(now).await;
            match ended {
                ConnectionEnd::Over => break,
                ConnectionEnd::Cut => {}
                // It may be asked again before it is gone.
                ConnectionEnd::Drained if self.rng.chance(50) => {}
                ConnectionEnd::Drained | ConnectionEnd::Broken => {
                    let next = self.servers.next_server(now.generation, self.until).await;
                    if next.is_none() {
                        self.reader.fault("the server broke a connection, and lives");
                        return self.reader;
                    }
                }
            }
            if Instant::now() > self.until {
                return self.reader;
            }
        }
        self.look_behind_the_end(server).await;
        self.reader
    }

    fn plan(&mut self) -> ConnectionPlan {
        let cut_after = match self.rng.below(100) {
            0..8 => Some(1 + self.rng.below(250)),
            8..92 => Some(200 + self.rng.below(2 * self.bytes_mean)),
            _ => None,
        };
        ConnectionPlan {
            cut_after: cut_after.map(|bytes| bytes as usize),
            in_character: self.rng.chance(15),
            slow: self.rng.chance(8),
            bug: self.flaw.map(BugState::new),
        }
    }

    async fn connect(&mut self, server: StreamServer) -> ConnectionEnd {
        let mut plan = self.plan();
        let began = Instant::now();
        let after = self.reader.view.last;
        let Ok(mut stream) = server.connect(plan.slow.then_some(4 << 10)).await else {
            return ConnectionEnd::Broken;
        };
        let request = self.request(server, after);
        if stream.write_all(request.as_bytes()).await.is_err() {
            return ConnectionEnd::Broken;
        }
        {
            let mut tally = lock(&self.tally);
            tally.slow += usize::from(plan.slow);
            tally.reconnects += usize::from(self.reader.connections > 0);
        }
        self.reader.connected();
        let is_replay = self.head.load(Ordering::Relaxed) > after;
        let ended = self.read(&mut stream, &mut plan, is_replay.then_some(began)).await;
        lock(&self.tally).struck += usize::from(plan.bug.is_some_and(|bug| bug.has_struck()));
        ended
    }

    /// A reader says where it is in one of three ways; the header goes before the query.
    fn request(&mut self, server: StreamServer, after: u64) -> String {
        let (query, header) = match self.rng.below(3) {
            0 => (format!("?after={after}"), String::new()),
            1 => (String::new(), format!("Last-Event-ID: {after}\r\n")),
            _ => (format!("?after={}", after / 2), format!("Last-Event-ID: {after}\r\n")),
        };
        let (run, address) = (self.reader.run, server.address);
        format!("GET /api/runs/{run}/events{query} HTTP/1.1\r\nHost: {address}\r\n{header}\r\n")
    }

    async fn read(
        &mut self,
        stream: &mut TcpStream,
        plan: &mut ConnectionPlan,
        mut replay: Option<Instant>,
    ) -> ConnectionEnd {
        let mut decoder = Decoder::default();
        let mut buffer = vec![0; if plan.slow { SIP } else { 16 << 10 }];
        let (mut read, mut drained) = (0, false);
        loop {
            let room = plan.bytes_allowed(read, buffer.len());
            if room == 0 {
                self.count_cut(&decoder);
                return ConnectionEnd::Cut;
            }
            let taken = match tokio::time::timeout(SILENCE, stream.read(&mut buffer[..room])).await {
                Ok(Ok(0) | Err(_)) => {
                    lock(&self.tally).broken += 1;
                    return ConnectionEnd::Broken;
                }
                Ok(Ok(taken)) => taken,
                Err(_) => {
                    self.reader.fault(format!("silence after event {}", self.reader.view.last));
                    return ConnectionEnd::Over;
                }
            };
            // What came behind the cut never came.
            let cut = plan.cut_in_character(read, &buffer[..taken]);
            let taken = cut.unwrap_or(taken);
            read += taken;
            lock(&self.tally).bytes += taken;
            let heard = match decoder.read_bytes(&buffer[..taken]) {
                Ok(heard) => heard,
                Err(problem) => {
                    self.reader.fault(problem);
                    return ConnectionEnd::Over;
                }
            };
            for parsed in heard {
                if let Some(end) = self.handle_parsed(parsed, plan, &mut drained, &mut replay) {
                    return end;
                }
            }
            if cut.is_some() {
                self.count_cut(&decoder);
                return ConnectionEnd::Cut;
            }
            if plan.slow {
                tokio::time::sleep(SIP_PAUSE).await;
            }
        }
    }

    /// Takes in one thing that was read, and gives the connection's end if it is one.
    fn handle_parsed(
        &mut self,
        parsed: ParsedBytes,
        plan: &mut ConnectionPlan,
        drained: &mut bool,
        replay: &mut Option<Instant>,
    ) -> Option<ConnectionEnd> {
        match parsed {
            ParsedBytes::Head(200) => {}
            ParsedBytes::Head(204) if self.reader.view.over => {
                lock(&self.tally).at_head += 1;
                return Some(ConnectionEnd::Over);
            }
            ParsedBytes::Head(status) => {
                self.reader.fault(format!("{status} after event {}", self.reader.view.last));
                return Some(ConnectionEnd::Over);
            }
            ParsedBytes::Frame(frame) => {
                let frames = match &mut plan.bug {
                    Some(bug) => bug.distort(frame, &self.reader),
                    None => vec![frame],
                };
                for frame in frames {
                    *drained |= self.reader.read_frame(&frame);
                    self.count(frame.id.is_some(), replay);
                }
            }
            ParsedBytes::End if self.reader.view.over => return Some(ConnectionEnd::Over),
            ParsedBytes::End if *drained => {
                lock(&self.tally).drained += 1;
                return Some(ConnectionEnd::Drained);
            }
            ParsedBytes::End => {
                self.reader.fault(format!(
                    "the stream ended after event {}, which is not the end",
                    self.reader.view.last
                ));
                return Some(ConnectionEnd::Over);
            }
        }
        None
    }

    fn count(&self, is_event: bool, replay: &mut Option<Instant>) {
        let mut tally = lock(&self.tally);
        if !is_event {
            tally.live += 1;
            return;
        }
        tally.events += 1;
        self.head.fetch_max(self.reader.view.last, Ordering::Relaxed);
        if let Some(began) = replay.take() {
            tally.first.push(u32::try_from(began.elapsed().as_micros()).unwrap_or(u32::MAX));
        }
        if let Some(died) = lock(&self.died).take() {
            tally.gaps.push(died.elapsed());
        }
    }

    fn count_cut(&self, decoder: &Decoder) {
        let mut tally = lock(&self.tally);
        tally.cut_in_head += usize::from(decoder.is_inside_the_head());
        tally.cut_in_frame += usize::from(decoder.is_inside_a_frame());
        tally.cut_in_character += usize::from(decoder.is_inside_a_character());
    }

    /// Asks for more of a run that is over, and for what was never there.
    async fn look_behind_the_end(&mut self, server: Option<StreamServer>) {
        let (Some(server), true) = (server, self.reader.view.over) else { return };
        let last = self.reader.view.last;
        for (after, expected) in [(last, 204), (last + 1 + self.rng.below(1_000), 409)] {
            let head = format!("GET /api/runs/{}/events?after={after} HTTP/1.1\r\n", self.reader.run);
            // A server that is gone has nothing to say, which is no fault.
            let Ok((status, _)) = server.ask(&head, "").await else { return };
            if status != expected {
                self.reader.fault(format!("{status} after event {after} of {last}, not {expected}"));
            }
            let mut tally = lock(&self.tally);
            let count = if expected == 204 { &mut tally.at_head } else { &mut tally.beyond };
            *count += 1;
        }
    }
}
