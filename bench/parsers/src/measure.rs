//! One parser, one kind of text: its throughput at every size.

use std::time::{Duration, Instant};

use crate::peers::{Peer, Way};
use crate::workload;

pub const SIZES: [usize; 5] = [1_000, 10_000, 100_000, 1_000_000, 10_000_000];

/// A parser is not tried on a text that would take it longer.
const PATIENCE: Duration = Duration::from_secs(3);

/// How long a try takes at least, and all tries of one text together.
const TRY: Duration = Duration::from_micros(20);
const TRIES: Duration = Duration::from_millis(60);

/// Characters in a piece.
const PIECE: usize = 4;

#[derive(Clone, Copy)]
pub enum Figure {
    MegabytesPerSecond(f64),
    /// Not all calls came out.
    Lost,
    /// The parser does not know the format or the way.
    Unknown,
    /// Given up: it would take longer than anyone waits.
    Slow,
}

impl Figure {
    pub fn speed(self) -> Option<f64> {
        match self {
            Self::MegabytesPerSecond(speed) => Some(speed),
            _ => None,
        }
    }
}

/// The figures of one parser at these sizes.
pub fn figures(peer: &Peer, format: &str, workload: &str, way: Way, sizes: &[usize]) -> Vec<Figure> {
    let Some(read) = (peer.set_up)(format, way) else {
        return vec![Figure::Unknown; sizes.len()];
    };
    let mut expected = Duration::ZERO;
    let mut before = None;
    let mut figures = vec![];
    for size in sizes {
        if expected > PATIENCE {
            figures.push(Figure::Slow);
            continue;
        }
        let (text, calls) = workload::text(format, workload, *size);
        let pieces: Vec<&str> = match way {
            Way::Pieces => pieces(&text),
            Way::Whole => vec![&text],
        };
        let took = best(&|| read(&pieces) == Some(calls));
        figures.push(match took {
            Some(took) => Figure::MegabytesPerSecond(text.len() as f64 / 1e6 / took.as_secs_f64()),
            None => Figure::Lost,
        });
        // The next text is ten times as long, and a parser that is not linear needs yet longer.
        let took = took.unwrap_or_default();
        let growth = before.map_or(10.0, |before: Duration| took.div_duration_f64(before));
        expected = took.mul_f64(growth.clamp(10.0, 100.0));
        before = Some(took).filter(|took| !took.is_zero());
    }
    figures
}

/// The time of the best of several tries; `None` as soon as one fails.
fn best(read: &dyn Fn() -> bool) -> Option<Duration> {
    let first = timed(read, 1)?;
    // A short text is read often enough in each try for the clock not to matter.
    let rounds = (TRY.div_duration_f64(first) as u32).clamp(1, 1_000);
    let mut best = first;
    let begun = Instant::now();
    let mut tries = 1;
    while best < PATIENCE / 3 && (tries < 3 || begun.elapsed() < TRIES) {
        best = best.min(timed(read, rounds)?);
        tries += 1;
    }
    Some(best)
}

/// How long one of so many rounds takes.
fn timed(read: &dyn Fn() -> bool, rounds: u32) -> Option<Duration> {
    let start = Instant::now();
    let good = (0..rounds).all(|_| read());
    good.then(|| start.elapsed() / rounds)
}

fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = vec![];
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.char_indices().nth(PIECE).map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    pieces
}
