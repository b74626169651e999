//! From a script to an answer: the pieces in order, and the body that plays them.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use std::vec;

use bytes::Bytes;
use helve_types::Fate;
use http_body::Frame;
use tokio::time::{Instant, Sleep};

use super::openai_chat as wire;
use super::script::{Fault, Script};
use crate::web::HungUp;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Bytes(Bytes),
    Pause(Duration),
    /// Half of the answer is out.
    Half,
    /// The connection breaks.
    Break,
    /// Nothing comes any more, and the connection stays.
    Hush,
}

/// What is called in this message.
pub(super) fn calls(script: &Script, request: &wire::Request<'_>) -> Vec<String> {
    if !request.has_tools() {
        return vec![];
    }
    match &script.rounds {
        None if request.round() == 0 => request.first_tool().into_iter().collect(),
        None => vec![],
        Some(rounds) => rounds.get(request.round()).cloned().unwrap_or_default(),
    }
}

/// The pieces of a streamed answer.
pub(super) fn pieces(
    script: &Script,
    round: usize,
    calls: &[String],
    in_text: bool,
    fault: Option<Fault>,
) -> Vec<Piece> {
    let mut tokens: Vec<Bytes> = Vec::with_capacity(script.think + script.text + 8);
    tokens.extend((0..script.think).map(wire::reasoning));
    if calls.is_empty() {
        tokens.extend((0..script.text).map(wire::text));
    }
    for (index, tool) in calls.iter().enumerate() {
        if in_text {
            tokens.extend(wire::call_in_text(tool, &script.arguments));
        } else {
            tokens.extend(wire::call(round, index, tool, &script.arguments));
        }
    }

    let mut pieces = Vec::with_capacity(tokens.len() + 8);
    pieces.push(Piece::Bytes(wire::role()));
    let count = tokens.len();
    for (n, token) in tokens.into_iter().enumerate() {
        match fault {
            // What was said before must be out before the connection goes.
            Some(Fault::Break(after)) if after == n => {
                pieces.extend([Piece::Pause(Duration::from_millis(1)), Piece::Break]);
                return pieces;
            }
            Some(Fault::Error(after)) if after == n => {
                pieces.push(Piece::Bytes(wire::error()));
                return pieces;
            }
            Some(Fault::Hush(after)) if after == n => {
                pieces.push(Piece::Hush);
                return pieces;
            }
            _ => {}
        }
        if !script.gap.is_zero() {
            pieces.push(Piece::Pause(script.gap));
        }
        if n == count / 2 {
            pieces.push(Piece::Half);
        }
        pieces.push(Piece::Bytes(token));
    }
    if fault == Some(Fault::Open) {
        return pieces;
    }
    pieces.push(Piece::Bytes(wire::finish(!calls.is_empty() && !in_text)));
    pieces.push(Piece::Bytes(wire::usage_chunk(count)));
    if fault != Some(Fault::NoDone) {
        pieces.push(Piece::Bytes(wire::DONE));
    }
    pieces
}

/// A body that sends pieces at their times.
pub(super) struct Playing {
    pieces: vec::IntoIter<Piece>,
    pause: Option<Pin<Box<Sleep>>>,
    hushed: bool,
    fate: Fate,
}

impl Playing {
    pub(super) fn new(pieces: Vec<Piece>, fate: Fate) -> Self {
        Self { pieces: pieces.into_iter(), pause: None, hushed: false, fate }
    }

    pub(super) fn once(bytes: Bytes) -> Self {
        Self::new(vec![Piece::Bytes(bytes)], Fate::default())
    }
}

impl http_body::Body for Playing {
    type Data = Bytes;
    type Error = HungUp;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HungUp>>> {
        let this = &mut *self;
        loop {
            if this.hushed {
                return Poll::Pending;
            }
            if let Some(pause) = &mut this.pause {
                ready!(pause.as_mut().poll(cx));
                this.pause = None;
            }
            match this.pieces.next() {
                Some(Piece::Bytes(bytes)) => return Poll::Ready(Some(Ok(Frame::data(bytes)))),
                Some(Piece::Pause(pause)) => {
                    this.pause = Some(Box::pin(tokio::time::sleep_until(Instant::now() + pause)));
                }
                Some(Piece::Half) => this.fate.at("mock.half_said"),
                Some(Piece::Break) => return Poll::Ready(Some(Err(HungUp))),
                Some(Piece::Hush) => this.hushed = true,
                None => return Poll::Ready(None),
            }
        }
    }
}
