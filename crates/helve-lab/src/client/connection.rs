//! One server, as a client talks to it: requests, and frames from a stream of events.

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use helve_types::{CallId, MessageId, RunId};
use helve_wire::sse::{SseEvent, SseReader};
use reqwest::{Client, Response, StatusCode};
use serde_json::{Value, json};
use uuid::Uuid;

use super::requested_run::RequestedRun;
use crate::database::StoreKind;
use crate::tools::CLIENT_TOOL;

/// Whoever is told to come again comes again soon, and not for ever.
const COME_AGAIN: Duration = Duration::from_millis(20);
/// How long a client is told to come again without being surprised: nearly not at all, or for as long as a database
/// server may be away.
const PATIENCE: Duration = Duration::from_secs(2);
const PATIENCE_WITH_DATABASE: Duration = Duration::from_secs(60);

/// The server is gone, or as good as gone.
#[derive(Debug)]
pub(crate) struct ServerGone;

impl From<reqwest::Error> for ServerGone {
    fn from(_: reqwest::Error) -> Self {
        Self
    }
}

pub(super) struct ServerConnection<'a> {
    pub(super) http: &'a Client,
    pub(super) base: &'a str,
    pub(super) wire: Wire,
    pub(super) patience: Duration,
}

/// How long clients of a server with this store come again.
pub(crate) fn patience(store: StoreKind) -> Duration {
    match store {
        StoreKind::Sqlite => PATIENCE,
        StoreKind::Postgres => PATIENCE_WITH_DATABASE,
    }
}

/// What lies between the server and a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    Clean,
    /// The bug "an id on everything": frames without a number get the next one.
    NumbersEverything,
}

/// What came of a request to start a run.
pub(super) enum Started {
    Run {
        run: RunId,
        conversation: Option<String>,
    },
    /// The conversation has a run that is not over.
    Busy,
    /// It cannot be written at present.
    Unavailable,
    Refused(String),
}

impl ServerConnection<'_> {
    /// Whether the server's database may be away for a while.
    pub(super) fn expects_outages(&self) -> bool {
        self.patience == PATIENCE_WITH_DATABASE
    }

    pub(super) async fn start(
        &self,
        wish: &RequestedRun,
        conversation: Option<&str>,
    ) -> Result<Started, ServerGone> {
        let tool = json!({"name": CLIENT_TOOL, "description": "Runs on the user's side.", "parameters": {
            "type": "object",
            "properties": {"note": {"type": "string"}, "then": {"type": "string"}},
            "required": ["note"],
        }});
        let mut body = json!({"message": wish.message, "user": wish.user, "tools": [tool]});
        if let Some(agent) = wish.agent {
            body["agent"] = agent.into();
        }
        if let Some(conversation) = conversation {
            body["conversation"] = conversation.into();
        }
        let mut request = self.http.post(format!("{}/api/runs", self.base)).json(&body);
        if let Some(key) = &wish.key {
            request = request.header("Idempotency-Key", key);
        }
        let response = request.send().await?;
        let status = response.status();
        let text = response.text().await?;
        let said: Value = serde_json::from_str(&text).unwrap_or_default();
        let run = said["run"].as_str().and_then(|run| run.parse().ok());
        Ok(match (status, run) {
            (StatusCode::CREATED, Some(run)) => {
                Started::Run { run, conversation: said["conversation"].as_str().map(str::to_owned) }
            }
            (StatusCode::CONFLICT, _) => Started::Busy,
            (StatusCode::SERVICE_UNAVAILABLE, _) if self.expects_outages() => {
                tokio::time::sleep(COME_AGAIN).await;
                Started::Unavailable
            }
            _ => Started::Refused(format!("{status}: {text}")),
        })
    }

    pub(super) async fn answer_approval(
        &self,
        approval: Uuid,
        answer: &Value,
    ) -> Result<StatusCode, ServerGone> {
        self.post(&format!("approvals/{approval}"), answer).await.map(|(status, _)| status)
    }

    pub(super) async fn cancel(&self, run: RunId) -> Result<StatusCode, ServerGone> {
        self.post(&format!("runs/{run}/cancel"), &json!({})).await.map(|(status, _)| status)
    }

    /// Says something to a run; the same message may come again.
    pub(super) async fn send_message(
        &self,
        run: RunId,
        message: MessageId,
        text: &str,
    ) -> Result<StatusCode, ServerGone> {
        let body = json!({"text": text, "id": message});
        self.post(&format!("runs/{run}/messages"), &body).await.map(|(status, _)| status)
    }

    pub(super) async fn claim(
        &self,
        run: RunId,
        call: &CallId,
        client: &str,
    ) -> Result<(StatusCode, Value), ServerGone> {
        self.post(&format!("runs/{run}/calls/{call}/claim"), &json!({"client": client})).await
    }

    pub(super) async fn deliver_result(
        &self,
        run: RunId,
        call: &CallId,
        body: &Value,
    ) -> Result<StatusCode, ServerGone> {
        self.post(&format!("runs/{run}/calls/{call}/result"), body).await.map(|(status, _)| status)
    }

    async fn post(&self, path: &str, body: &Value) -> Result<(StatusCode, Value), ServerGone> {
        let began = Instant::now();
        loop {
            let response = self.http.post(format!("{}/api/{path}", self.base)).json(body).send().await?;
            let status = response.status();
            // An answer that broke off was not given.
            let text = response.text().await?;
            if status != StatusCode::SERVICE_UNAVAILABLE || began.elapsed() > self.patience {
                return Ok((status, serde_json::from_str(&text).unwrap_or_default()));
            }
            tokio::time::sleep(COME_AGAIN).await;
        }
    }

    /// The run's events after this one.
    pub(super) async fn follow(&self, run: RunId, after: u64) -> Result<Response, ServerGone> {
        let began = Instant::now();
        loop {
            let mut request = self.http.get(format!("{}/api/runs/{run}/events", self.base));
            if after > 0 {
                request = request.header("Last-Event-ID", after);
            }
            let response = request.send().await?;
            if response.status() != StatusCode::SERVICE_UNAVAILABLE || began.elapsed() > self.patience {
                return Ok(response);
            }
            tokio::time::sleep(COME_AGAIN).await;
        }
    }
}

/// The frames of a stream.
pub(crate) struct Frames {
    bytes: BoxStream<'static, reqwest::Result<bytes::Bytes>>,
    reader: SseReader,
    wire: Wire,
    last: u64,
}

/// One frame: its id, if it has one, and its data.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) id: Option<u64>,
    pub(crate) data: String,
}

impl Frames {
    pub(crate) fn new(response: Response, wire: Wire, after: u64) -> Self {
        Self { bytes: response.bytes_stream().boxed(), reader: reader(), wire, last: after }
    }

    /// The frame as the wire brings it.
    fn distort(&mut self, mut frame: Frame) -> Frame {
        if self.wire == Wire::NumbersEverything {
            self.last = frame.id.unwrap_or(self.last + 1);
            frame.id = Some(self.last);
        }
        frame
    }

    /// The next frame with data, or none at the stream's proper end.
    pub(crate) async fn next(&mut self) -> Result<Option<Frame>, ServerGone> {
        loop {
            if let Some(Ok(event)) = self.reader.next_event() {
                return Ok(Some(self.distort(event.into())));
            }
            match self.bytes.next().await {
                Some(bytes) => self.reader.push(&bytes?),
                None => return Ok(None),
            }
        }
    }
}

impl From<SseEvent> for Frame {
    fn from(event: SseEvent) -> Self {
        Self { id: event.id.and_then(|id| id.parse().ok()), data: event.data }
    }
}

/// No event of a server in the lab is larger.
fn reader() -> SseReader {
    SseReader::new(64 << 20)
}

/// The frame that a text is; none for a comment or `retry:`.
pub(crate) fn parse(text: &str) -> Option<Frame> {
    let mut reader = reader();
    reader.push(text.as_bytes());
    reader.finish();
    reader.next_event()?.ok().map(Frame::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_has_data_and_perhaps_an_id() {
        let frame = |id, data: &str| Some(Frame { id, data: data.into() });
        assert_eq!(parse("id: 7\ndata: {\"a\": 1}\n\n"), frame(Some(7), "{\"a\": 1}"));
        assert_eq!(parse("data: a\ndata: b\n\n"), frame(None, "a\nb"));
        assert_eq!(parse("retry: 1000\n\n"), None);
        assert_eq!(parse(":\n\n"), None);
    }
}
