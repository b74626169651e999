//! One kind of text: the throughput of every parser at every size.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::peers::{NAME, PEERS, Reader, Way};
use crate::workload;

pub const SIZES: [usize; 5] = [1_000, 10_000, 100_000, 1_000_000, 10_000_000];

/// A parser is not tried on a text that would take it longer.
const PATIENCE: Duration = Duration::from_secs(3);

/// How long a try takes at least, and about how long the tries of all parsers with one text together.
const TRY: Duration = Duration::from_micros(100);
const TRIES: Duration = Duration::from_millis(400);

/// What is shorter is not interrupted in the best of several tries. What is longer may be, and then the kernel's count is
/// exact enough, which goes on by four milliseconds.
const SLICE: Duration = Duration::from_millis(40);

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

/// What was measured with one kind of text: by parser and size, and of the least that must be done.
pub struct Figures {
    pub by_peer: Vec<Vec<Figure>>,
    pub floor: Vec<Figure>,
}

/// Measures all parsers with the same texts. They take turns, so that what else the machine does meets all alike.
pub fn figures(format: &str, workload: &str, way: Way, sizes: &[usize]) -> Figures {
    let mut turns: Vec<Turns> = PEERS
        .iter()
        .map(|peer| Turns { read: (peer.set_up)(format, way), figures: vec![], pace: None })
        .collect();
    let mut floor = vec![];
    for size in sizes {
        let (text, calls) = workload::text(format, workload, *size);
        let pieces: Vec<&str> = match way {
            Way::Pieces => pieces(&text),
            Way::Whole => vec![&text],
        };
        let mut tries: Vec<Try<'_>> = turns.iter().map(|turns| turns.begin(&pieces, calls)).collect();
        tries.push(Try::Running { read: Box::new(|| least(&text, calls)), best: None, rounds: 1 });
        let mut results = take_turns(tries, text.len());
        floor.extend(results.pop().map(|(figure, _)| figure));
        for (turns, (figure, took)) in turns.iter_mut().zip(results) {
            turns.figures.push(figure);
            turns.pace = took.map(|took| (took, turns.pace.map(|(before, _)| before)));
        }
    }
    Figures { by_peer: turns.into_iter().map(|turns| turns.figures).collect(), floor }
}

/// Lets all try in turn until they have had their time; says how fast each was, and how long it took.
fn take_turns(mut tries: Vec<Try<'_>>, bytes: usize) -> Vec<(Figure, Option<Duration>)> {
    let begun = Instant::now();
    let mut turn = 0;
    while turn < 4 || begun.elapsed() < TRIES && tries.iter().any(Try::goes_on) {
        tries.iter_mut().filter(|one| turn == 0 || one.goes_on()).for_each(Try::again);
        turn += 1;
    }
    tries.iter().map(|one| (one.figure(bytes), one.took())).collect()
}

/// One parser, from text to longer text.
struct Turns {
    read: Option<Reader>,
    figures: Vec<Figure>,
    /// How long the last text took, and the one before it.
    pace: Option<(Duration, Option<Duration>)>,
}

impl Turns {
    fn begin<'t>(&'t self, pieces: &'t [&'t str], calls: usize) -> Try<'t> {
        let Some(read) = &self.read else { return Try::Over(Figure::Unknown) };
        if self.expected() > PATIENCE || matches!(self.figures.last(), Some(Figure::Slow)) {
            return Try::Over(Figure::Slow);
        }
        Try::Running { read: Box::new(move || read(pieces) == Some(calls)), best: None, rounds: 1 }
    }

    /// How long the next text will take: it is ten times as long, and a parser that is not linear needs yet longer.
    fn expected(&self) -> Duration {
        let Some((took, before)) = self.pace else { return Duration::ZERO };
        let growth = before.map_or(10.0, |before| took.div_duration_f64(before));
        took.mul_f64(growth.clamp(10.0, 100.0))
    }
}

/// The tries of one parser with one text.
enum Try<'t> {
    Running { read: Box<dyn Fn() -> bool + 't>, best: Option<Duration>, rounds: u32 },
    Over(Figure),
}

impl Try<'_> {
    fn goes_on(&self) -> bool {
        matches!(self, Self::Running { best, .. } if best.is_none_or(|best| best < PATIENCE / 30))
    }

    fn again(&mut self) {
        let Self::Running { read, best, rounds } = self else { return };
        let Some(took) = timed(read, *rounds) else {
            *self = Self::Over(Figure::Lost);
            return;
        };
        // A short text is read often enough in each try for the clock not to matter.
        *rounds = (TRY.div_duration_f64(took) as u32).clamp(1, 1_000);
        *best = Some(best.map_or(took, |best| best.min(took)));
    }

    fn took(&self) -> Option<Duration> {
        match self {
            Self::Running { best, .. } => *best,
            Self::Over(_) => None,
        }
    }

    fn figure(&self, bytes: usize) -> Figure {
        match self {
            Self::Running { best: Some(best), .. } => {
                Figure::MegabytesPerSecond(bytes as f64 / 1e6 / best.as_secs_f64())
            }
            Self::Running { .. } => Figure::Unknown,
            Self::Over(figure) => *figure,
        }
    }
}

/// What no parser can do without: one search through the text, and the strings that it gives out.
fn least(text: &str, calls: usize) -> bool {
    black_box(memchr::memchr2(0xfe, 0xff, text.as_bytes()));
    for _ in 0..calls {
        black_box((NAME.to_owned(), text.as_bytes()[..text.len() / calls].to_owned()));
    }
    true
}

/// How long one of so many rounds takes. Where others may have had the processor meanwhile, their time is not counted.
fn timed(read: &dyn Fn() -> bool, rounds: u32) -> Option<Duration> {
    let worked = on_processor();
    let start = Instant::now();
    let good = (0..rounds).all(|_| read());
    let took = start.elapsed();
    let worked = on_processor().zip(worked).map(|(now, then)| now - then);
    let took = if took < SLICE { took } else { worked.map_or(took, |worked| took.min(worked.max(SLICE))) };
    good.then(|| took / rounds)
}

/// How long this thread has had a processor, as the kernel counts: from one of its ticks to the next.
fn on_processor() -> Option<Duration> {
    let counts = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    counts.split(' ').next()?.parse().ok().map(Duration::from_nanos)
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
