//! Following one run over one connection.

use std::time::Duration;

use helve_types::{EventBody, RunId};
use reqwest::StatusCode;

use super::log::Reader;
use super::talk::{Frames, Gone, Talk};
use super::{SharedLog, lock};

/// A stream that says nothing for so long is left, and whoever waits for the run finds it stuck on disk.
const SILENCE: Duration = Duration::from_secs(12);

/// Where a reader's log is kept: the client's log, and the place in it.
pub(super) struct Place<'a> {
    pub(super) log: &'a SharedLog,
    pub(super) at: usize,
}

impl Place<'_> {
    fn with<T>(&self, look: impl FnOnce(&mut Reader) -> T) -> T {
        look(&mut lock(self.log).readers[self.at])
    }

    pub(super) fn run(&self) -> RunId {
        self.with(|reader| reader.run)
    }

    pub(super) fn is_over(&self) -> bool {
        self.with(|reader| reader.view.over)
    }
}

/// A connection on which a run is followed.
pub(super) struct Following<'a> {
    place: Place<'a>,
    frames: Frames,
    pub(super) seen: usize,
}

/// What a connection brings next.
pub(super) enum Seen {
    Event(Box<EventBody>),
    Live,
    /// The server ended the stream.
    End,
    Silence,
}

impl<'a> Following<'a> {
    /// Connects after the last event that was read; none if there is nothing to follow.
    pub(super) async fn begin(talk: &Talk<'_>, place: Place<'a>) -> Result<Option<Self>, Gone> {
        let (run, after) = place.with(|reader| (reader.run, reader.view.last));
        let response = talk.follow(run, after).await?;
        match response.status() {
            StatusCode::OK => {
                place.with(Reader::connected);
                return Ok(Some(Self { place, frames: Frames::of(response, talk.wire, after), seen: 0 }));
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

    pub(super) async fn next(&mut self) -> Result<Seen, Gone> {
        let Ok(frame) = tokio::time::timeout(SILENCE, self.frames.next()).await else {
            return Ok(Seen::Silence);
        };
        let Some(frame) = frame? else { return Ok(Seen::End) };
        self.seen += 1;
        let event = self.place.with(|reader| reader.take(frame.id, &frame.data));
        Ok(event.map_or(Seen::Live, |event| Seen::Event(Box::new(event))))
    }
}

impl Place<'_> {
    fn fault(&self, what: String) {
        self.with(|reader| reader.view.faults.push(what));
    }
}
