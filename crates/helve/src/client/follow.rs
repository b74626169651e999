//! Reading a run as it happens, over as many connections as that takes: no event is lost, none comes twice.

use std::collections::VecDeque;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use helve_types::{EventBody, Live};
use helve_wire::sse::{SseEvent, SseReader};
use reqwest::header::ACCEPT;
use reqwest::{Method, StatusCode};

use super::{Client, ClientError};

/// Before a server that is gone is looked for again.
const PAUSE: Duration = Duration::from_secs(1);
/// Before one that ended a stream is asked again.
const AGAIN: Duration = Duration::from_millis(200);

/// The limit on one event. A server's own are smaller by far: outputs in them are cut.
const EVENT_BYTES_MAX: usize = 64 << 20;

type ByteStream = Pin<Box<dyn Stream<Item = reqwest::Result<Bytes>> + Send>>;

/// One connection to a run's events.
struct Connection {
    bytes: ByteStream,
    reader: SseReader,
}

impl Connection {
    /// The next event; none if the connection ended, broke, or told what no server of ours tells.
    async fn next(&mut self) -> Option<SseEvent> {
        loop {
            match self.reader.next_event() {
                Some(event) => return event.ok(),
                None => self.reader.push(&self.bytes.next().await?.ok()?),
            }
        }
    }
}

/// A reader of one run.
pub(crate) struct Following {
    client: Client,
    run: String,
    /// The last event that was read.
    after: u64,
    connection: Option<Connection>,
    /// To be given out before the stream is read again.
    waiting: VecDeque<Seen>,
    gone: bool,
    pause: Duration,
}

/// What there is to see of a run.
#[derive(Debug)]
pub(crate) enum Seen {
    Event(Box<EventBody>),
    Live(Live),
    /// The server does not answer; it is looked for until it does.
    Gone,
    /// It answers again. What was being written comes again, whole.
    Back,
    /// There is no more to come.
    End,
}

impl Following {
    /// Everything after event `after`.
    pub(crate) fn new(client: &Client, run: &str, after: u64) -> Self {
        let (client, run) = (client.clone(), run.to_owned());
        Self {
            client,
            run,
            after,
            connection: None,
            waiting: VecDeque::new(),
            gone: false,
            pause: Duration::ZERO,
        }
    }

    /// The number of the last event that was given out or waits to be.
    pub(crate) fn last(&self) -> u64 {
        if self.waiting.is_empty() { self.after } else { self.after.saturating_sub(1) }
    }

    /// May be dropped and called again at any time.
    pub(crate) async fn next(&mut self) -> Result<Seen, ClientError> {
        loop {
            if let Some(seen) = self.waiting.pop_front() {
                return Ok(seen);
            }
            let Some(connection) = &mut self.connection else {
                match self.connect().await? {
                    Connected::Streaming => continue,
                    Connected::Over => return Ok(Seen::End),
                    Connected::Gone => return Ok(Seen::Gone),
                }
            };
            match connection.next().await {
                Some(event) => self.take(&event),
                // The server goes down, or the connection broke: asking again tells what there is.
                None => {
                    self.connection = None;
                    self.pause = AGAIN;
                }
            }
        }
    }

    async fn connect(&mut self) -> Result<Connected, ClientError> {
        loop {
            tokio::time::sleep(self.pause).await;
            let request = self
                .client
                .request(Method::GET, &format!("/api/runs/{}/events", self.run), &[])
                .header(ACCEPT, "text/event-stream")
                .header("last-event-id", self.after);
            match self.client.send(request).await {
                Ok(response) => {
                    self.pause = Duration::ZERO;
                    if std::mem::take(&mut self.gone) {
                        self.waiting.push_back(Seen::Back);
                    }
                    if response.status() == StatusCode::NO_CONTENT {
                        return Ok(Connected::Over);
                    }
                    self.connection = Some(Connection {
                        bytes: Box::pin(response.bytes_stream()),
                        reader: SseReader::new(EVENT_BYTES_MAX),
                    });
                    return Ok(Connected::Streaming);
                }
                Err(ClientError::Gone { .. } | ClientError::Refused { status: 502..=504, .. }) => {
                    self.pause = PAUSE;
                    // Told once; then it is waited for.
                    if !std::mem::replace(&mut self.gone, true) {
                        return Ok(Connected::Gone);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes in an event. What another version writes and this one does not know is left out: it can be no answer, no
    /// call and no end of them.
    fn take(&mut self, sse: &SseEvent) {
        let data = &sse.data;
        let Some(seq) = sse.id.as_deref().and_then(|id| id.parse::<u64>().ok()) else {
            self.waiting.extend(serde_json::from_str(data).map(Seen::Live));
            return;
        };
        if seq <= self.after {
            return;
        }
        self.after = seq;
        let Ok(event) = serde_json::from_str::<EventBody>(data) else { return };
        let last = event.fact.is_last();
        self.waiting.push_back(Seen::Event(Box::new(event)));
        if last {
            self.waiting.push_back(Seen::End);
        }
    }
}

enum Connected {
    Streaming,
    Over,
    Gone,
}
