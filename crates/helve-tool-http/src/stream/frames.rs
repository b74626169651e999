//! Bytes in, frames out: events, lines, or pieces of text cut between words.

use std::pin::Pin;

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use helve_egress::{EgressError, Incoming};
use helve_wire::sse::SseReader;

use crate::answer::ContentKind;

type ByteStream = Pin<Box<dyn Stream<Item = Result<Bytes, EgressError>> + Send>>;

/// What the names of fields and comments of one event may have in addition to its data.
const FIELD_BYTES_MAX: usize = 64 << 10;

pub(super) enum FrameReader {
    Events { bytes: ByteStream, reader: SseReader, ended: bool, read: usize, bytes_max: usize },
    Text { bytes: ByteStream, buffer: Vec<u8>, lines: bool, ended: bool, read: usize, bytes_max: usize },
}

impl FrameReader {
    pub(super) fn new(kind: &ContentKind, incoming: Incoming, bytes_max: usize) -> Self {
        let chunks = stream::unfold(Some(incoming), |incoming| async move {
            let mut incoming = incoming?;
            match incoming.read_chunk().await {
                Ok(Some(chunk)) => Some((Ok(chunk), Some(incoming))),
                Ok(None) => None,
                Err(error) => Some((Err(error), None)),
            }
        });
        Self::from_bytes(kind, chunks.boxed(), bytes_max)
    }

    pub(super) fn from_bytes(kind: &ContentKind, bytes: ByteStream, bytes_max: usize) -> Self {
        if *kind == ContentKind::Events {
            let reader = SseReader::new(bytes_max.saturating_add(FIELD_BYTES_MAX));
            return Self::Events { bytes, reader, ended: false, read: 0, bytes_max };
        }
        let lines = *kind == ContentKind::Lines;
        Self::Text { bytes, buffer: vec![], lines, ended: false, read: 0, bytes_max }
    }

    /// How much text came.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Events { read, .. } | Self::Text { read, .. } => *read,
        }
    }

    /// The next frame that has anything in it.
    pub(super) async fn next_frame(&mut self) -> Result<Option<String>, EgressError> {
        match self {
            Self::Events { bytes, reader, ended, read, bytes_max } => loop {
                match reader.next_event() {
                    Some(Err(_)) => return Err(too_large(*bytes_max)),
                    Some(Ok(event)) => {
                        *read += event.data.len();
                        check_bytes(*read, *bytes_max)?;
                        if !event.data.trim().is_empty() {
                            return Ok(Some(event.data));
                        }
                        continue;
                    }
                    None if *ended => return Ok(None),
                    None => {}
                }
                match bytes.next().await {
                    Some(chunk) => reader.push(&chunk?),
                    None => {
                        *ended = true;
                        // Some servers leave out the empty line behind the last event.
                        reader.finish();
                    }
                }
            },
            Self::Text { bytes, buffer, lines, ended, read, bytes_max } => loop {
                if let Some(end) = frame_end(buffer, *lines, *ended) {
                    let frame: Vec<u8> = buffer.drain(..end).collect();
                    let frame = String::from_utf8_lossy(&frame);
                    let frame = if *lines { frame.trim() } else { &frame };
                    if frame.is_empty() {
                        continue;
                    }
                    return Ok(Some(frame.to_owned()));
                }
                if *ended {
                    return Ok(None);
                }
                match bytes.next().await {
                    Some(Ok(chunk)) => {
                        *read += chunk.len();
                        check_bytes(*read, *bytes_max)?;
                        buffer.extend_from_slice(&chunk);
                    }
                    Some(Err(error)) => return Err(error),
                    None => *ended = true,
                }
            },
        }
    }
}

/// Where the first frame of the buffer ends: a line at its end, other text behind its last blank, so that neither
/// a character nor a word is ever shown in halves. A word without end is.
fn frame_end(buffer: &[u8], lines: bool, ended: bool) -> Option<usize> {
    const WORD_BYTES_MAX: usize = 4 << 10;
    let found = match lines {
        true => buffer.iter().position(|byte| *byte == b'\n'),
        false => buffer.iter().rposition(u8::is_ascii_whitespace),
    };
    let word = || {
        let long = !lines && buffer.len() > WORD_BYTES_MAX;
        let begins = |byte: &u8| !(0x80..0xc0).contains(byte);
        if long { buffer.iter().rposition(begins).filter(|end| *end > 0) } else { None }
    };
    found.map(|at| at + 1).or_else(word).or_else(|| (ended && !buffer.is_empty()).then_some(buffer.len()))
}

fn check_bytes(bytes: usize, bytes_max: usize) -> Result<(), EgressError> {
    if bytes <= bytes_max { Ok(()) } else { Err(too_large(bytes_max)) }
}

fn too_large(bytes_max: usize) -> EgressError {
    EgressError::TooLarge(format!("the stream is larger than {bytes_max} bytes and was not read to its end"))
}
