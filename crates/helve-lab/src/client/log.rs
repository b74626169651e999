//! What a client remembers: what it was promised and what it was shown. The checker holds the server to it.

use std::fmt::Write;

use helve_types::{CallId, EventBody, Live, MessageId, RunId};
use serde_json::Value;
use uuid::Uuid;

use crate::view::View;

#[derive(Debug, Clone, Default)]
pub struct ClientLog {
    pub starts: Vec<Start>,
    pub answers: Vec<AnsweredQuestion>,
    pub said: Vec<AcceptedMessage>,
    pub claims: Vec<Claim>,
    pub brought: Vec<AcceptedResult>,
    pub readers: Vec<Reader>,
    /// What no server should ever have done.
    pub faults: Vec<String>,
}

/// A request to start a run.
#[derive(Debug, Clone)]
pub struct Start {
    /// Stands in the message, and in no other.
    pub nonce: String,
    pub key: Option<String>,
    /// The runs that were promised, one for each 201.
    pub runs: Vec<RunId>,
}

/// A question that was settled with a 200.
#[derive(Debug, Clone)]
pub struct AnsweredQuestion {
    pub approval: Uuid,
    pub answer: Value,
}

/// Something that was said to a run, and taken with a 202.
#[derive(Debug, Clone)]
pub struct AcceptedMessage {
    pub run: RunId,
    pub message: MessageId,
    pub text: String,
}

/// A call that was given to a client with a 200.
#[derive(Debug, Clone)]
pub struct Claim {
    pub call: CallId,
    pub client: String,
}

/// A client's result that was taken with a 202.
#[derive(Debug, Clone)]
pub struct AcceptedResult {
    pub call: CallId,
    pub text: String,
}

/// One reader of one run, over any number of connections.
#[derive(Debug, Clone)]
pub struct Reader {
    pub run: RunId,
    /// Every event that came with an id, and its bytes.
    pub events: Vec<(u64, String)>,
    pub view: View,
    pub connections: u32,
    /// Frames that told a secret.
    pub secrets: Vec<String>,
}

impl Reader {
    pub fn new(run: RunId) -> Self {
        Self { run, events: vec![], view: View::default(), connections: 0, secrets: vec![] }
    }

    pub fn connected(&mut self) {
        self.connections += 1;
        self.view.connected();
    }

    /// Takes in a frame, and returns the event if it was one.
    pub fn read_frame(&mut self, id: Option<u64>, data: &str) -> Option<EventBody> {
        if data.contains(crate::CANARY) {
            self.secrets.push(data.to_owned());
        }
        let Some(seq) = id else {
            match serde_json::from_str::<Live>(data) {
                Ok(live) => self.view.apply_live(&live),
                Err(error) => self.view.faults.push(format!("a live frame `{data}`: {error}")),
            }
            return None;
        };
        self.events.push((seq, data.to_owned()));
        match serde_json::from_str::<EventBody>(data) {
            Ok(body) => {
                self.view.event(seq, &body);
                Some(body)
            }
            Err(error) => {
                self.view.faults.push(format!("event {seq} `{data}`: {error}"));
                None
            }
        }
    }
}

impl ClientLog {
    /// For whoever looks into a failure.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for start in &self.starts {
            _ = writeln!(text, "start {} key {:?} runs {:?}", start.nonce, start.key, start.runs);
        }
        for answered in &self.answers {
            _ = writeln!(text, "answered {} {}", answered.approval, answered.answer);
        }
        for said in &self.said {
            _ = writeln!(text, "said {} {} {}", said.run, said.message, said.text);
        }
        for claim in &self.claims {
            _ = writeln!(text, "claimed {} as {}", claim.call, claim.client);
        }
        for brought in &self.brought {
            _ = writeln!(text, "brought {} {}", brought.call, brought.text);
        }
        for fault in &self.faults {
            _ = writeln!(text, "fault {fault}");
        }
        for reader in &self.readers {
            _ = writeln!(text, "reader of {} over {} connections", reader.run, reader.connections);
            for (seq, data) in &reader.events {
                _ = writeln!(text, "  {seq} {data}");
            }
            for fault in &reader.view.faults {
                _ = writeln!(text, "  fault {fault}");
            }
        }
        text
    }
}
