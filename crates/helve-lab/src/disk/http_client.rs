//! One client that takes no for an answer: it asks, follows what it was promised, and remembers both.

use std::time::Duration;

use helve_types::RunId;
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};

use crate::client::connection::{Frames, ServerGone};
use crate::client::{ClientLog, Reader, Start, Wire};

/// A stream that says nothing for so long is left.
const SILENCE: Duration = Duration::from_secs(3);

/// What came of asking for a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StartReply {
    /// It was promised, and read as far as it went. Whether to its end.
    Run {
        ended: bool,
    },
    No {
        status: u16,
        code: String,
    },
    /// Nobody is there.
    Nothing,
}

pub(super) struct HttpClient {
    http: Client,
    asked: usize,
    pub(super) log: ClientLog,
}

impl HttpClient {
    pub(super) fn new() -> Result<Self, reqwest::Error> {
        #[expect(clippy::disallowed_methods, reason = "the lab's guest asks the server that it started")]
        let http = Client::builder()
            .no_proxy()
            .retry(reqwest::retry::never())
            .pool_max_idle_per_host(0)
            .timeout(Duration::from_secs(10))
            .build()?;
        Ok(Self { http, asked: 0, log: ClientLog::default() })
    }

    /// Asks for a run that sends something, and follows it.
    pub(super) async fn start_run(&mut self, base: &str) -> StartReply {
        self.asked += 1;
        let nonce = format!("guest-{}", self.asked);
        let script = "text=3,tools=effect_send,args={\"note\":\"n\"}";
        self.log.starts.push(Start { nonce: nonce.clone(), key: None, runs: vec![] });
        let body = json!({"message": format!("{nonce} please [[{script}]]")});
        let Ok(answer) = self.http.post(format!("{base}/api/runs")).json(&body).send().await else {
            return StartReply::Nothing;
        };
        let status = answer.status();
        let Ok(text) = answer.text().await else { return StartReply::Nothing };
        let said: Value = serde_json::from_str(&text).unwrap_or_default();
        let run: Option<RunId> = said["run"].as_str().and_then(|run| run.parse().ok());
        match (status, run) {
            (StatusCode::CREATED, Some(run)) => {
                if let Some(start) = self.log.starts.last_mut() {
                    start.runs.push(run);
                }
                StartReply::Run { ended: self.follow(base, run).await }
            }
            _ => {
                let code = said["code"].as_str().unwrap_or(&text).to_owned();
                StartReply::No { status: status.as_u16(), code }
            }
        }
    }

    async fn follow(&mut self, base: &str, run: RunId) -> bool {
        let mut reader = Reader::new(run);
        let answer = self.http.get(format!("{base}/api/runs/{run}/events")).send().await;
        if let Ok(answer) = answer
            && answer.status() == StatusCode::OK
        {
            reader.connected();
            let mut frames = Frames::new(answer, Wire::Clean, 0);
            while !reader.view.over {
                match tokio::time::timeout(SILENCE, frames.next()).await {
                    Ok(Ok(Some(frame))) => _ = reader.read_frame(frame.id, &frame.data),
                    Ok(Ok(None) | Err(ServerGone)) | Err(_) => break,
                }
            }
        }
        let ended = reader.view.over;
        self.log.readers.push(reader);
        ended
    }
}
