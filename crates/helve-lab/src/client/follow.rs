//! Following one run over one connection.

use std::time::Duration;

use helve_types::{EventBody, RunId};
use reqwest::StatusCode;

use super::connection::{Frames, ServerConnection, ServerGone};
use super::log::Reader;
use super::{SharedLog, lock};

/// A stream that says nothing for so long is left, and whoever waits for the run finds it stuck on disk.
const SILENCE: Duration = Duration::from_secs(12);

/// What a server sends at the end of a stream whose log it cannot read at present.
const UNREADABLE: &str = "\"type\":\"stream.failed\"";

/// Where a reader's log is kept: the client's log, and the place in it.
pub(super) struct LogPosition<'a> {
    pub(super) log: &'a SharedLog,
    pub(super) at: usize,
}

impl LogPosition<'_> {
    fn with_reader<T>(&self, look: impl FnOnce(&mut Reader) -> T) -> T {
        look(&mut lock(self.log).readers[self.at])
    }

    pub(super) fn run(&self) -> RunId {
        self.with_reader(|reader| reader.run)
    }

    pub(super) fn is_over(&self) -> bool {
        self.with_reader(|reader| reader.view.over)
    }
}

/// A connection on which a run is followed.
pub(super) struct FollowedRun<'a> {
    place: LogPosition<'a>,
    frames: Frames,
    expects_outages: bool,
    pub(super) seen: usize,
}

/// What a connection brings next.
pub(super) enum StreamItem {
    Event(Box<EventBody>),
    Live,
    /// The server ended the stream.
    End,
    Silence,
}

impl<'a> FollowedRun<'a> {
    /// Connects after the last event that was read; none if there is nothing to follow.
    pub(super) async fn begin(
        talk: &ServerConnection<'_>,
        place: LogPosition<'a>,
    ) -> Result<Option<Self>, ServerGone> {
        let (run, after) = place.with_reader(|reader| (reader.run, reader.view.last));
        let response = talk.follow(run, after).await?;
        match response.status() {
            StatusCode::OK => {
                place.with_reader(Reader::connected);
                let frames = Frames::new(response, talk.wire, after);
                return Ok(Some(Self { place, frames, expects_outages: talk.expects_outages(), seen: 0 }));
            }
            StatusCode::NO_CONTENT => {
                if !place.is_over() {
                    place.fault(format!("204 after event {after}, and the end was never sent"));
                }
            }
            status => place.fault(format!("{status} when asked for events after {after}")),
        }
        Ok(None)
    }

    pub(super) async fn next(&mut self) -> Result<StreamItem, ServerGone> {
        let Ok(frame) = tokio::time::timeout(SILENCE, self.frames.next()).await else {
            return Ok(StreamItem::Silence);
        };
        let Some(frame) = frame? else { return Ok(StreamItem::End) };
        self.seen += 1;
        if self.expects_outages && frame.id.is_none() && frame.data.contains(UNREADABLE) {
            return Ok(StreamItem::End);
        }
        let event = self.place.with_reader(|reader| reader.read_frame(frame.id, &frame.data));
        Ok(event.map_or(StreamItem::Live, |event| StreamItem::Event(Box::new(event))))
    }
}

impl LogPosition<'_> {
    fn fault(&self, what: String) {
        self.with_reader(|reader| reader.view.faults.push(what));
    }
}
