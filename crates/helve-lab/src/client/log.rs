//! What a client remembers: what it was promised and what it was shown. The checker holds the server to it.

use std::fmt::Write;

use helve_types::{EventBody, Live, RunId};
use serde_json::Value;
use uuid::Uuid;

use crate::view::View;

#[derive(Debug, Clone, Default)]
pub struct ClientLog {
    pub starts: Vec<Start>,
    pub answers: Vec<Answered>,
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
pub struct Answered {
    pub approval: Uuid,
    pub answer: Value,
}

/// One reader of one run, over any number of connections.
#[derive(Debug, Clone)]
pub struct Reader {
    pub run: RunId,
    /// Every event that came with an id, and its bytes.
    pub events: Vec<(u64, String)>,
    pub view: View,
    pub connections: u32,
}

impl Reader {
    pub fn new(run: RunId) -> Self {
        Self { run, events: vec![], view: View::default(), connections: 0 }
    }

    pub fn connected(&mut self) {
        self.connections += 1;
        self.view.connected();
    }

    /// Takes in a frame, and returns the event if it was one.
    pub fn take(&mut self, id: Option<u64>, data: &str) -> Option<EventBody> {
        let Some(seq) = id else {
            match serde_json::from_str::<Live>(data) {
                Ok(live) => self.view.live(&live),
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
