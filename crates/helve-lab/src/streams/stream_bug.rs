//! Bugs of streams, put between the server and a reader on purpose: whoever looks for such bugs must find these.

use clap::ValueEnum;

use super::reader::StreamReader;
use super::wire::StreamFrame;

/// A bug, on one connection of each reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StreamBug {
    /// One event is lost where the log ends and what is live begins.
    SkipAtJoint,
    /// One event comes twice there.
    DoubleAtJoint,
    /// A frame of the connection has the number of an event.
    NumberedControl,
    /// A piece of live text comes twice.
    DoubleText,
    /// What a part has so far is added to what the reader had of it, in place of replacing it.
    AddedText,
    /// An event is not what is on record.
    Rewritten,
}

impl StreamBug {
    pub const ALL: [Self; 6] = [
        Self::SkipAtJoint,
        Self::DoubleAtJoint,
        Self::NumberedControl,
        Self::DoubleText,
        Self::AddedText,
        Self::Rewritten,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::SkipAtJoint => "skip-at-joint",
            Self::DoubleAtJoint => "double-at-joint",
            Self::NumberedControl => "numbered-control",
            Self::DoubleText => "double-text",
            Self::AddedText => "added-text",
            Self::Rewritten => "rewritten",
        }
    }
}

/// A flaw at work on one connection: it strikes once.
#[derive(Debug)]
pub(super) struct BugState {
    flaw: StreamBug,
    struck: bool,
    /// The reader has been told something live.
    live: bool,
}

impl BugState {
    pub(super) fn new(flaw: StreamBug) -> Self {
        Self { flaw, struck: false, live: false }
    }

    pub(super) fn has_struck(&self) -> bool {
        self.struck
    }

    /// What the reader gets in the place of the frame.
    pub(super) fn distort(&mut self, frame: StreamFrame, reader: &StreamReader) -> Vec<StreamFrame> {
        let is_event = frame.id.is_some();
        // The first event after something live was shown is the first that did not come from the log.
        let is_joint = is_event && self.live;
        self.live |= !is_event;
        if self.struck {
            return vec![frame];
        }
        let bent = match self.flaw {
            StreamBug::SkipAtJoint if is_joint => vec![],
            StreamBug::DoubleAtJoint if is_joint => vec![frame.clone(), frame.clone()],
            StreamBug::NumberedControl if !is_event => {
                vec![StreamFrame { id: Some(reader.view.last + 1), ..frame.clone() }]
            }
            StreamBug::DoubleText if frame.data.contains("\"part.delta\"") => {
                vec![frame.clone(), frame.clone()]
            }
            StreamBug::AddedText => match repeated_text(&frame.data, reader) {
                Some(data) => vec![StreamFrame { data, ..frame.clone() }],
                None => return vec![frame],
            },
            StreamBug::Rewritten if is_joint => {
                vec![StreamFrame { data: frame.data.replacen("\"at\":", "\"at\":1", 1), ..frame.clone() }]
            }
            _ => return vec![frame],
        };
        self.struck = true;
        bent
    }
}

/// A part that the reader has some of, as it would be if its text went on from there.
fn repeated_text(data: &str, reader: &StreamReader) -> Option<String> {
    let mut started = serde_json::from_str::<serde_json::Value>(data).ok()?;
    if started["type"] != "part.started" {
        return None;
    }
    let had = reader.part(started["part"].as_str()?).filter(|had| !had.is_empty())?;
    started["text"] = format!("{had}{}", started["text"].as_str()?).into();
    Some(started.to_string())
}
