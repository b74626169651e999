//! Throughput of tool-call parsers, in pieces of four characters and whole, in one run on one machine.
//!
//! `cargo run --release [-- --format NAME] [--largest BYTES]`. Figures are MB/s, the best of several tries; `lost`
//! means that calls did not come out, `-` that the parser does not know the format, `slow` that it was given up.

mod peers;
mod workload;

use std::time::{Duration, Instant};

use peers::{PEERS, Peer};
use workload::{WORKLOADS, formats};

/// A parser that needs longer for one text is not tried on larger ones.
const PATIENCE: Duration = Duration::from_millis(1500);

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let value = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).cloned()
    };
    let only = value("--format");
    let largest = value("--largest").and_then(|bytes| bytes.parse().ok()).unwrap_or(10_000_000);
    let sizes: Vec<usize> =
        [1_000, 10_000, 100_000, 1_000_000, 10_000_000].into_iter().filter(|size| *size <= largest).collect();
    for (way, chunk) in [("4 chars", Some(4)), ("whole", None)] {
        let mut fastest_ratio: Vec<(f64, String)> = vec![];
        for format in formats().filter(|format| only.as_deref().is_none_or(|only| only == *format)) {
            for workload in WORKLOADS {
                let rows: Vec<(&Peer, Vec<Figure>)> =
                    PEERS.iter().map(|peer| (peer, row(peer, format, workload, chunk, &sizes))).collect();
                println!("\n{format}, {workload}, {way}: MB/s at {sizes:?} bytes");
                for (peer, figures) in &rows {
                    let cells: Vec<String> = figures.iter().map(Figure::cell).collect();
                    println!("  {:<14} {}", peer.name, cells.join(" "));
                }
                if let Some(ratio) = ratio(&rows) {
                    fastest_ratio.push((ratio, format!("{format}, {workload}, {way}")));
                }
            }
        }
        fastest_ratio.sort_by(|a, b| a.0.total_cmp(&b.0));
        println!("\nhelve (given) against the fastest other, {way}, the smallest first:");
        for (ratio, what) in &fastest_ratio {
            println!("  {ratio:>7.1} x  {what}");
        }
    }
}

enum Figure {
    MegabytesPerSecond(f64),
    Lost,
    Unknown,
    Slow,
}

impl Figure {
    fn cell(&self) -> String {
        match self {
            Self::MegabytesPerSecond(figure) if *figure < 10.0 => format!("{figure:>8.2}"),
            Self::MegabytesPerSecond(figure) => format!("{figure:>8.0}"),
            Self::Lost => format!("{:>8}", "lost"),
            Self::Unknown => format!("{:>8}", "-"),
            Self::Slow => format!("{:>8}", "slow"),
        }
    }
}

fn row(peer: &Peer, format: &str, workload: &str, chunk: Option<usize>, sizes: &[usize]) -> Vec<Figure> {
    let mut figures = vec![];
    let mut patience = true;
    for size in sizes {
        figures.push(match patience {
            true => {
                let (figure, took) = measure(peer, format, workload, chunk, *size);
                patience = took < PATIENCE;
                figure
            }
            false => Figure::Slow,
        });
    }
    figures
}

fn measure(
    peer: &Peer,
    format: &str,
    workload: &str,
    chunk: Option<usize>,
    size: usize,
) -> (Figure, Duration) {
    let (text, expected) = workload::text(format, workload, size);
    let pieces: Vec<&str> = match chunk {
        Some(chunk) => pieces(&text, chunk),
        None => vec![&text],
    };
    let mut best = Duration::MAX;
    let begun = Instant::now();
    let mut tries = 0;
    while tries < 3 || begun.elapsed() < Duration::from_millis(60) && tries < 2_000 {
        let start = Instant::now();
        let found = (peer.read)(format, &pieces);
        let took = start.elapsed();
        match found {
            None => return (Figure::Unknown, took),
            Some(found) if found != expected => return (Figure::Lost, took),
            Some(_) => best = best.min(took),
        }
        tries += 1;
        if took > PATIENCE {
            break;
        }
    }
    (Figure::MegabytesPerSecond(text.len() as f64 / 1e6 / best.as_secs_f64()), best)
}

/// Pieces of so many characters.
fn pieces(text: &str, chars: usize) -> Vec<&str> {
    let mut pieces = vec![];
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.char_indices().nth(chars).map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// How much faster Helve is than the fastest other, over the sizes that both read: the smallest of these.
fn ratio(rows: &[(&Peer, Vec<Figure>)]) -> Option<f64> {
    let figure = |figures: &[Figure], at: usize| match figures.get(at) {
        Some(Figure::MegabytesPerSecond(figure)) => Some(*figure),
        _ => None,
    };
    let ours = &rows[0].1;
    let ratios = (0..ours.len()).filter_map(|at| {
        let other = rows[2..].iter().filter_map(|(_, figures)| figure(figures, at)).max_by(f64::total_cmp)?;
        Some(figure(ours, at)? / other)
    });
    ratios.min_by(f64::total_cmp)
}
