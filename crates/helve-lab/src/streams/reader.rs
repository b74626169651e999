//! One reader of one run, over any number of connections: what it makes of the frames, and what it must agree with.

use std::hash::{DefaultHasher, Hash, Hasher};

use helve_types::{EventBody, Live, RunId};

use super::wire::StreamFrame;
use crate::snapshot::Event;
use crate::view::View;

#[derive(Debug)]
pub(super) struct StreamReader {
    pub(super) run: RunId,
    pub(super) view: View,
    /// A mark of the bytes of every event, in the order in which they came.
    marks: Vec<u64>,
    pub(super) connections: u32,
}

impl StreamReader {
    pub(super) fn new(run: RunId) -> Self {
        Self { run, view: View::default(), marks: vec![], connections: 0 }
    }

    pub(super) fn connected(&mut self) {
        self.connections += 1;
        self.view.connected();
    }

    pub(super) fn fault(&mut self, what: impl Into<String>) {
        self.view.faults.push(what.into());
    }

    /// What it has of a part that is being written.
    pub(super) fn part(&self, part: &str) -> Option<&str> {
        let open = self.view.open.iter().find(|open| open.part.as_str() == part)?;
        Some(&open.text)
    }

    /// Takes in a frame; whether the server says that it goes down.
    pub(super) fn read_frame(&mut self, frame: &StreamFrame) -> bool {
        match frame.id {
            Some(seq) => {
                self.marks.push(text_hash(&frame.data));
                match serde_json::from_str::<EventBody>(&frame.data) {
                    Ok(body) => self.view.event(seq, &body),
                    Err(error) => self.fault(format!("event {seq} `{}`: {error}", frame.data)),
                }
                false
            }
            None => match serde_json::from_str::<Live>(&frame.data) {
                Ok(Live::ServerDraining) => true,
                Ok(live) => {
                    self.view.apply_live(&live);
                    false
                }
                Err(error) => {
                    self.fault(format!("a live frame `{}`: {error}", frame.data));
                    false
                }
            },
        }
    }

    /// What is wrong with what it was shown, given the log on disk.
    pub(super) fn find_faults(&self, log: &[Event]) -> Vec<String> {
        let mut wrong = self.view.faults.clone();
        if !self.view.over {
            wrong.push(format!(
                "it never came to the end: it has {} of {} events",
                self.view.last,
                log.len()
            ));
        }
        if self.marks.len() != log.len() {
            wrong.push(format!("it was sent {} events and there are {}", self.marks.len(), log.len()));
        }
        let differs = |(had, event): &(&u64, &Event)| **had != text_hash(&event.json);
        if let Some((_, event)) = self.marks.iter().zip(log).find(differs) {
            wrong.push(format!("event {} is not what is on record", event.seq));
        }
        let whole = View::from_log(log.iter().map(|event| (event.seq, &event.body)));
        if !self.view.agrees(&whole) {
            wrong.push("what it saw is not what the log says".into());
        }
        wrong
    }
}

fn text_hash(bytes: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}
