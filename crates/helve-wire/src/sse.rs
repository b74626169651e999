//! Server-sent events as the WHATWG standard writes them: an incremental reader with a size limit, and a writer.
//!
//! The reader takes bytes in pieces of any size. Lines end with LF, CR or CRLF; a character may be cut by the end of a
//! piece; a byte order mark at the beginning is skipped. In two points it serves its callers and not the standard: an
//! event has an id only if it says one itself (Helve's events without an id are not durable), and `finish` gives the last
//! event of a stream whose end is missing (some model servers leave it out).

use std::collections::VecDeque;
use std::fmt;

use memchr::{memchr, memchr2};

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// An event with data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// The id that this event says; none if only an earlier one did.
    pub id: Option<String>,
    /// The type of the event, where it says one.
    pub event: Option<String>,
    /// The lines of `data`, joined with LF; never empty.
    pub data: String,
}

/// An event was larger than the reader's limit; nothing behind it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SseTooLarge {
    pub bytes_max: usize,
}

impl fmt::Display for SseTooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a server-sent event is larger than {} bytes", self.bytes_max)
    }
}

impl std::error::Error for SseTooLarge {}

/// Reads events from pieces of a stream. Holds at most one unfinished event and the events of the last piece.
#[derive(Debug)]
pub struct SseReader {
    /// The limit on the bytes of one event, field names and comments included.
    event_bytes_max: usize,
    /// The bytes of the unfinished event so far.
    event_bytes: usize,
    /// The unfinished line.
    line: Vec<u8>,
    /// The last byte was a CR; an LF behind it belongs to the same line end.
    after_cr: bool,
    is_first_line: bool,
    /// The unfinished event, and whether a line of `data` was among its lines.
    event: SseEvent,
    has_data: bool,
    complete: VecDeque<SseEvent>,
    state: ReadState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReadState {
    Reading,
    /// The error is to be given out behind the events that came before it.
    TooLarge,
    Over,
}

impl SseReader {
    pub fn new(event_bytes_max: usize) -> Self {
        Self {
            event_bytes_max,
            event_bytes: 0,
            line: vec![],
            after_cr: false,
            is_first_line: true,
            event: SseEvent::default(),
            has_data: false,
            complete: VecDeque::new(),
            state: ReadState::Reading,
        }
    }

    /// Takes the next piece of the stream.
    pub fn push(&mut self, mut piece: &[u8]) {
        while self.state == ReadState::Reading && !piece.is_empty() {
            if std::mem::take(&mut self.after_cr)
                && let Some(rest) = piece.strip_prefix(b"\n")
            {
                piece = rest;
                continue;
            }
            let end = memchr2(b'\n', b'\r', piece);
            let (text, rest) = piece.split_at(end.unwrap_or(piece.len()));
            self.event_bytes += text.len();
            // An empty line ends the event, so the line end before it never makes the event too large.
            if !text.is_empty() && self.event_bytes > self.event_bytes_max {
                return self.fail();
            }
            self.line.extend_from_slice(text);
            let Some((&line_end, rest)) = rest.split_first() else { return };
            self.after_cr = line_end == b'\r';
            self.event_bytes += 1;
            self.end_line();
            piece = rest;
        }
    }

    /// The next event that is complete.
    pub fn next_event(&mut self) -> Option<Result<SseEvent, SseTooLarge>> {
        if let Some(event) = self.complete.pop_front() {
            return Some(Ok(event));
        }
        if self.state == ReadState::TooLarge {
            self.state = ReadState::Over;
            return Some(Err(SseTooLarge { bytes_max: self.event_bytes_max }));
        }
        None
    }

    /// Takes the end of the stream as the end of its last event. The standard drops that event: call this only for
    /// streams whose senders are known to leave out the empty line.
    pub fn finish(&mut self) {
        if self.state == ReadState::Reading {
            self.end_line();
            self.end_event();
            self.state = ReadState::Over;
        }
    }

    fn fail(&mut self) {
        self.state = ReadState::TooLarge;
        self.line = vec![];
        self.event = SseEvent::default();
    }

    fn end_line(&mut self) {
        let mut line = std::mem::take(&mut self.line);
        let mut text = line.as_slice();
        if std::mem::take(&mut self.is_first_line) {
            text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        }
        if text.is_empty() {
            self.end_event();
        } else {
            self.read_field(text);
        }
        // Its memory serves the next line.
        line.clear();
        self.line = line;
    }

    /// A line `name: value`, `name:value` or `name`. One without a name is a comment.
    fn read_field(&mut self, line: &[u8]) {
        let (name, value) = match memchr(b':', line) {
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (line, &[][..]),
        };
        let value = String::from_utf8_lossy(value.strip_prefix(b" ").unwrap_or(value));
        match name {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(&value);
            }
            b"id" if !value.contains('\0') => self.event.id = Some(value.into_owned()),
            b"event" => self.event.event = Some(value.into_owned()),
            // `retry` tells browsers when to connect again; Helve's readers have their own times.
            _ => {}
        }
    }

    /// An event without data is none.
    fn end_event(&mut self) {
        let event = std::mem::take(&mut self.event);
        (self.has_data, self.event_bytes) = (false, 0);
        if !event.data.is_empty() {
            self.complete.push_back(event);
        }
    }
}

/// The last frame of a stream of chat protocols.
pub const DONE: &[u8] = b"data: [DONE]\n\n";

/// A comment, which readers skip.
pub const COMMENT: &[u8] = b":\n\n";

/// Writes an event without an id.
pub fn write_data(out: &mut Vec<u8>, data: &[u8]) {
    let mut rest = data;
    while let Some(end) = memchr(b'\n', rest) {
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(&rest[..=end]);
        rest = &rest[end + 1..];
    }
    out.extend_from_slice(b"data: ");
    out.extend_from_slice(rest);
    out.extend_from_slice(b"\n\n");
}

/// Writes an event with an id.
pub fn write_event(out: &mut Vec<u8>, id: u64, data: &[u8]) {
    out.extend_from_slice(b"id: ");
    out.extend_from_slice(id.to_string().as_bytes());
    out.push(b'\n');
    write_data(out, data);
}

#[cfg(test)]
mod tests;
