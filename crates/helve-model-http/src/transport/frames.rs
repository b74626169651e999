//! Splits bytes into frames: server-sent events, or lines. The bytes are already bounded.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt};
use helve_wire::sse::SseReader;

use super::timed_stream::ReadError;
use crate::protocol::Framing;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

type ByteStream = Pin<Box<dyn Stream<Item = Result<Bytes, ReadError>> + Send>>;

pub(super) enum Frames {
    Events(Events),
    Lines(Lines),
}

/// The limit on one event. Whole answers have a smaller one (`AnswerBounds`).
const EVENT_BYTES_MAX: usize = 16 << 20;

impl Frames {
    pub(super) fn new(
        framing: Framing,
        bytes: impl Stream<Item = Result<Bytes, ReadError>> + Send + 'static,
    ) -> Self {
        match framing {
            Framing::Events => Self::Events(Events {
                bytes: Box::pin(bytes),
                reader: SseReader::new(EVENT_BYTES_MAX),
                ended: false,
            }),
            Framing::Lines => Self::Lines(Lines::new(Box::pin(bytes))),
        }
    }

    /// The next frame that is not empty, or the reason why the stream failed.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<String, String>>> {
        let frame = match self {
            Self::Lines(lines) => lines.poll_next(cx),
            Self::Events(events) => events.poll_next(cx),
        };
        frame.map(|frame| frame.map(|frame| frame.map(replace_lone_surrogates)))
    }
}

pub(super) struct Events {
    bytes: ByteStream,
    reader: SseReader,
    ended: bool,
}

impl Events {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<String, String>>> {
        loop {
            match self.reader.next_event() {
                Some(Ok(event)) if event.data.trim().is_empty() => continue,
                Some(event) => {
                    return Poll::Ready(Some(
                        event.map(|event| event.data).map_err(|error| error.to_string()),
                    ));
                }
                None => {}
            }
            if self.ended {
                return Poll::Ready(None);
            }
            match ready!(self.bytes.poll_next_unpin(cx)) {
                Some(Ok(chunk)) => self.reader.push(&chunk),
                Some(Err(error)) => {
                    self.ended = true;
                    return Poll::Ready(Some(Err(error.to_string())));
                }
                None => {
                    self.ended = true;
                    // Some servers leave out the empty line behind the last event.
                    self.reader.finish();
                }
            }
        }
    }
}

/// Replaces lone surrogates in the escapes of JSON by U+FFFD. Servers that cut text inside a character write such
/// escapes, and serde would refuse the whole frame.
fn replace_lone_surrogates(mut json: String) -> String {
    let mut from = 0;
    while let Some(found) = memchr::memchr(b'\\', &json.as_bytes()[from..]) {
        let at = from + found;
        match (surrogate_at(&json, at), surrogate_at(&json, at + ESCAPE_BYTES)) {
            (Some(Half::High), Some(Half::Low)) => from = at + 2 * ESCAPE_BYTES,
            (Some(_), _) => {
                json.replace_range(at..at + ESCAPE_BYTES, "\\ufffd");
                from = at + ESCAPE_BYTES;
            }
            // The character after a backslash is part of the escape.
            (None, _) => from = json.len().min(at + 2),
        }
    }
    json
}

/// The length of `\uXXXX`.
const ESCAPE_BYTES: usize = 6;

enum Half {
    High,
    Low,
}

fn surrogate_at(json: &str, at: usize) -> Option<Half> {
    let escape = json.as_bytes().get(at..at + ESCAPE_BYTES)?.strip_prefix(b"\\u")?;
    let code = u16::from_str_radix(std::str::from_utf8(escape).ok()?, 16).ok()?;
    match code {
        0xD800..=0xDBFF => Some(Half::High),
        0xDC00..=0xDFFF => Some(Half::Low),
        _ => None,
    }
}

pub(super) struct Lines {
    bytes: ByteStream,
    buffer: BytesMut,
    /// The length of the buffer's prefix that has no line end.
    searched: usize,
    started: bool,
    ended: bool,
}

impl Lines {
    fn new(bytes: ByteStream) -> Self {
        Self { bytes, buffer: BytesMut::new(), searched: 0, started: false, ended: false }
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<String, String>>> {
        loop {
            while let Some(line) = self.take_line() {
                if !line.trim().is_empty() {
                    return Poll::Ready(Some(Ok(line)));
                }
            }
            if self.ended {
                return Poll::Ready(None);
            }
            match ready!(self.bytes.poll_next_unpin(cx)) {
                Some(Ok(chunk)) => self.buffer.extend_from_slice(&chunk),
                Some(Err(error)) => {
                    self.ended = true;
                    self.buffer.clear();
                    return Poll::Ready(Some(Err(error.to_string())));
                }
                None => self.ended = true,
            }
        }
    }

    /// The first complete line of the buffer; after the end of the stream also the rest. A line end is never inside a
    /// character, so a complete line has only complete characters.
    fn take_line(&mut self) -> Option<String> {
        let Some(found) = memchr::memchr(b'\n', &self.buffer[self.searched..]) else {
            self.searched = self.buffer.len();
            let rest = self.ended && !self.buffer.is_empty();
            return rest.then(|| {
                self.searched = 0;
                let rest = self.buffer.split();
                self.decode_line(&rest)
            });
        };
        let line = self.buffer.split_to(self.searched + found + 1);
        self.searched = 0;
        Some(self.decode_line(&line[..line.len() - 1]))
    }

    fn decode_line(&mut self, line: &[u8]) -> String {
        let marked = !self.started && line.starts_with(BYTE_ORDER_MARK);
        let line = if marked { &line[BYTE_ORDER_MARK.len()..] } else { line };
        self.started = true;
        String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    async fn frames(framing: Framing, pieces: Vec<Result<Vec<u8>, &str>>) -> Vec<Result<String, String>> {
        let pieces =
            pieces.into_iter().map(|piece| piece.map(Bytes::from).map_err(|why| ReadError(why.to_owned())));
        let pieces: Vec<_> = pieces.collect();
        let mut frames = Frames::new(framing, stream::iter(pieces));
        let mut read = vec![];
        while let Some(frame) = std::future::poll_fn(|cx| frames.poll_next(cx)).await {
            let failed = frame.is_err();
            read.push(frame);
            if failed {
                break;
            }
        }
        read
    }

    /// Checks the frames of a text for pieces of every size.
    async fn check(framing: Framing, text: &str, expected: &[&str]) {
        for size in 1..=text.len() {
            let pieces = text.as_bytes().chunks(size).map(|piece| Ok(piece.to_vec())).collect();
            let read = frames(framing, pieces).await;
            assert_eq!(
                read,
                expected.iter().map(|&frame| Ok(frame.to_owned())).collect::<Vec<_>>(),
                "{size}"
            );
        }
    }

    #[tokio::test]
    async fn lines_may_end_with_lf_crlf_or_the_stream() {
        check(Framing::Lines, "{\"a\":1}\n{\"b\":2}\n", &["{\"a\":1}", "{\"b\":2}"]).await;
        check(Framing::Lines, "{\"a\":1}\r\n\r\n{\"b\":2}", &["{\"a\":1}", "{\"b\":2}"]).await;
        check(Framing::Lines, "\u{feff}{\"文\":\"你好 🦀\"}\n\n", &["{\"文\":\"你好 🦀\"}"]).await;
        check(Framing::Lines, "\n \n", &[]).await;
    }

    #[tokio::test]
    async fn events_may_have_marks_comments_and_unknown_fields() {
        check(Framing::Events, "\u{feff}data: a\r\n\r\ndata:b\r\n\r\n", &["a", "b"]).await;
        check(Framing::Events, ": OPENROUTER PROCESSING\n\nevent: x\nid: 7\nfoo: bar\ndata:a\n\n", &["a"])
            .await;
        check(Framing::Events, "data: 你\n\ndata:\n\ndata: [DONE]", &["你", "[DONE]"]).await;
    }

    #[tokio::test]
    async fn a_lone_surrogate_is_replaced_and_the_frame_is_kept() {
        let cases = [
            (r#"{"a":"x\ud83d"}"#, r#"{"a":"x\ufffd"}"#),
            (r#"{"a":"\udE00\ud83d\ude00\uD83Dé\ud83d\n"}"#, r#"{"a":"\ufffd\ud83d\ude00\ufffdé\ufffd\n"}"#),
            (r#"{"a":"\\ud83d \\\ud83d \u"}"#, r#"{"a":"\\ud83d \\\ufffd \u"}"#),
            (r#"{"a":"\ud8文"}\"#, r#"{"a":"\ud8文"}\"#),
        ];
        for (written, read) in cases {
            check(Framing::Lines, &format!("{written}\n"), &[read]).await;
            check(Framing::Events, &format!("data: {written}\n\n"), &[read]).await;
        }
    }

    #[tokio::test]
    async fn an_incomplete_line_before_an_error_is_no_frame() {
        let broken = vec![Ok(b"{\"a\":1}\n{\"b\"".to_vec()), Err("reset")];
        assert_eq!(
            frames(Framing::Lines, broken).await,
            [Ok("{\"a\":1}".to_owned()), Err("reset".to_owned())]
        );
    }
}
