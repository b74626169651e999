//! From what is said to what happens on the connection: bytes, pauses, and an end. Faults are put in here.

use std::time::Duration;

use bytes::Bytes;

use super::fault::Fault;
use super::protocol::{Frames, Framing, Protocol};
use super::script::{RetryAfter, Script};
use super::scripted_text::ScriptedText;
use super::{date, distortion};

/// Larger than any buffer on the way.
const ENDLESS_PIECE: usize = 64 << 10;
const BOMB: &[u8] = include_bytes!("bomb.gz");

/// What happens on the connection after a question.
#[derive(Debug)]
pub(super) struct ScriptedResponse {
    pub(super) pieces: Vec<ResponseChunk>,
    pub(super) end: End,
    /// The connection is reset after so many bytes.
    pub(super) cut: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ResponseChunk {
    /// As it is.
    Raw(Bytes),
    /// As a chunk.
    Chunk(Bytes),
    Pause(Duration),
    /// As a chunk, with a pause after each byte.
    Drip(Bytes, Duration),
    /// Half of the answer is out.
    Half,
    /// The same as it is, for as long as anybody listens.
    Repeat(Bytes),
}

/// What becomes of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// It takes the next question.
    Keep,
    Close,
    Reset,
    /// It stays, and nothing comes any more.
    Hush,
}

/// A question that was understood, and what is to be said.
pub(super) struct Ask<'a> {
    pub(super) protocol: &'a Protocol,
    pub(super) script: &'a Script,
    /// Where it was sent.
    pub(super) target: &'a str,
    /// What came with it as a key.
    pub(super) key: Option<&'a str>,
    pub(super) said: ScriptedText,
    pub(super) stream: bool,
    /// What goes wrong this time.
    pub(super) fault: Option<Fault>,
}

impl ScriptedResponse {
    fn new(pieces: Vec<ResponseChunk>, end: End) -> Self {
        Self { pieces, end, cut: None }
    }

    /// A short answer of JSON, with its length.
    pub(super) fn json(status: u16, headers: &str, body: &str) -> Self {
        let length = format!("content-length: {}\r\n{headers}", body.len());
        let head = head(status, "application/json", &length);
        Self::new(
            vec![ResponseChunk::Raw(head), ResponseChunk::Raw(Bytes::copy_from_slice(body.as_bytes()))],
            End::Keep,
        )
    }

    pub(super) fn to(ask: Ask<'_>) -> Self {
        fault_response(&ask).unwrap_or_else(|| model_response(ask))
    }
}

fn head(status: u16, content_type: &str, more: &str) -> Bytes {
    Bytes::from(format!("HTTP/1.1 {status} Mock\r\ncontent-type: {content_type}\r\n{more}\r\n"))
}

/// Faults that leave no room for an answer.
fn fault_response(ask: &Ask<'_>) -> Option<ScriptedResponse> {
    let raw = |bytes: Bytes| vec![ResponseChunk::Raw(bytes)];
    Some(match ask.fault? {
        Fault::Mute => ScriptedResponse::new(vec![], End::Hush),
        Fault::HalfHead => {
            ScriptedResponse::new(raw(Bytes::from_static(b"HTTP/1.1 200 Mock\r\ncontent-ty")), End::Hush)
        }
        Fault::EndlessHead => {
            let line = Bytes::from_static(b"x-more: and more\r\n");
            let begin = ResponseChunk::Raw(Bytes::from_static(b"HTTP/1.1 200 Mock\r\n"));
            ScriptedResponse::new(vec![begin, ResponseChunk::Repeat(line)], End::Close)
        }
        Fault::Status(code) => {
            let retry_after = match &ask.script.retry_after {
                None => String::new(),
                Some(RetryAfter::Word(word)) => format!("retry-after: {word}\r\n"),
                Some(RetryAfter::Date(seconds)) => {
                    format!("date: {}\r\nretry-after: {}\r\n", date::http(0), date::http(*seconds))
                }
            };
            // As careless servers do: whoever shows the message shows the key.
            let key = ask.key.map(|key| format!(", also with {key}")).unwrap_or_default();
            let body = (ask.protocol.error)(code, &format!("the mock was told to refuse{key}"));
            ScriptedResponse::json(code, &retry_after, &body.to_string())
        }
        Fault::Redirect => ScriptedResponse::json(307, &format!("location: {}\r\n", ask.target), "{}"),
        Fault::Gzip => {
            let length = format!("content-encoding: gzip\r\ncontent-length: {}\r\n", BOMB.len());
            let head = head(200, ask.protocol.framing.content_type(), &length);
            ScriptedResponse::new(
                vec![ResponseChunk::Raw(head), ResponseChunk::Raw(Bytes::from_static(BOMB))],
                End::Keep,
            )
        }
        _ => return None,
    })
}

/// An answer, with what goes wrong in the middle of it.
fn model_response(ask: Ask<'_>) -> ScriptedResponse {
    let Ask { protocol, script, stream, fault, .. } = ask;
    let said = ask.said.bent(fault);
    let (frames, framing) = if stream {
        ((protocol.frames)(&said), protocol.framing)
    } else {
        // The same faults, on an answer that is one token.
        let body = Framing::Lines.frame(&(protocol.whole)(&said));
        (Frames { begin: None, tokens: vec![body], finish: vec![], done: None }, Framing::Lines)
    };
    let content_type = if stream { framing.content_type() } else { "application/json" };
    let (pieces, end) = schedule_frames(frames, framing, protocol, script, fault);
    let mut pieces = distortion::distort(pieces, fault);
    match fault {
        Some(Fault::Long | Fault::Short) => return with_content_length_fault(pieces, content_type, fault),
        Some(Fault::Endless) => {
            let more = if stream {
                (protocol.frames)(&ScriptedText::only(ENDLESS_PIECE)).tokens.concat()
            } else {
                vec![b' '; ENDLESS_PIECE]
            };
            pieces.push(ResponseChunk::Repeat(chunked(&more)));
        }
        _ => {}
    }
    let chunked = head(200, content_type, "transfer-encoding: chunked\r\n");
    pieces.insert(0, ResponseChunk::Raw(chunked));
    if end == End::Keep {
        pieces.push(ResponseChunk::Raw(Bytes::from_static(b"0\r\n\r\n")));
    }
    let cut = if let Some(Fault::Cut(bytes)) = fault { Some(bytes) } else { None };
    ScriptedResponse { pieces, end, cut }
}

fn chunked(bytes: &[u8]) -> Bytes {
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    chunk.into()
}

/// The frames at their times, up to where it ends.
fn schedule_frames(
    frames: Frames,
    framing: Framing,
    protocol: &Protocol,
    script: &Script,
    fault: Option<Fault>,
) -> (Vec<ResponseChunk>, End) {
    let Frames { begin, tokens, finish, done } = frames;
    let count = tokens.len();
    let at = |after: usize| after.min(count);
    let mut pieces = Vec::with_capacity(count + 8);
    pieces.extend(begin.map(ResponseChunk::Chunk));
    for n in 0..=count {
        match fault {
            Some(Fault::Break(after)) if at(after) == n => return (pieces, End::Reset),
            Some(Fault::Close(after)) if at(after) == n => return (pieces, End::Close),
            Some(Fault::Hush(after)) if at(after) == n => return (pieces, End::Hush),
            Some(Fault::Error(after)) if at(after) == n => {
                let error = (protocol.error)(529, "the mock is overloaded");
                pieces.push(ResponseChunk::Chunk(framing.frame(&error)));
                return (pieces, End::Keep);
            }
            Some(Fault::Stall(after)) if after == n && n < count => {
                pieces.push(ResponseChunk::Raw(distortion::halve_chunk(&tokens[n])));
                return (pieces, End::Hush);
            }
            _ => {}
        }
        let Some(token) = tokens.get(n) else { break };
        if !script.gap.is_zero() {
            pieces.push(ResponseChunk::Pause(script.gap));
        }
        if n == count / 2 {
            pieces.push(ResponseChunk::Half);
        }
        pieces.extend(distortion::token(n, token, framing, fault).map(ResponseChunk::Chunk));
    }
    if matches!(fault, Some(Fault::Open | Fault::Endless)) {
        return (pieces, End::Keep);
    }
    pieces.extend(finish.into_iter().map(ResponseChunk::Chunk));
    if fault == Some(Fault::Late) {
        return (pieces, End::Reset);
    }
    pieces.extend(done.filter(|_| fault != Some(Fault::NoDone)).map(ResponseChunk::Chunk));
    (pieces, End::Keep)
}

/// The answer under a wrong `content-length`.
fn with_content_length_fault(
    pieces: Vec<ResponseChunk>,
    content_type: &str,
    fault: Option<Fault>,
) -> ScriptedResponse {
    let bytes = pieces.into_iter().filter_map(|piece| match piece {
        ResponseChunk::Chunk(bytes) => Some(bytes),
        _ => None,
    });
    let body = bytes.collect::<Vec<_>>().concat();
    let (promised, sent) = if fault == Some(Fault::Long) {
        (body.len() + 100, body.len())
    } else {
        (body.len() / 2, body.len() / 2)
    };
    let head = head(200, content_type, &format!("content-length: {promised}\r\n"));
    let body = Bytes::from(body).slice(..sent);
    ScriptedResponse::new(vec![ResponseChunk::Raw(head), ResponseChunk::Raw(body)], End::Close)
}
