//! Throughput of tool-call parsers, in pieces of four characters and whole, in one run on one machine.
//!
//! `cargo run --release [-- --format NAME] [--largest BYTES]`. Every parser's figures come first, then the tables of
//! `docs/evidence/parsers.md`. Figures are MB/s, the best of several tries; `lost` means that calls did not come
//! out, `-` that the parser does not know the format, `slow` that it was given up.

mod measure;
mod peers;
mod tables;
mod workload;

use measure::{Figures, SIZES, figures};
use peers::Way;
use workload::{WORKLOADS, formats};

/// What was measured of one format with one kind of text.
struct Cell {
    format: &'static str,
    workload: &'static str,
    figures: Figures,
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let value = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).cloned()
    };
    let only = value("--format");
    let largest = value("--largest").and_then(|bytes| bytes.parse().ok()).unwrap_or(usize::MAX);
    let sizes: Vec<usize> = SIZES.into_iter().filter(|size| *size <= largest).collect();
    for (title, way) in [("in pieces of four characters", Way::Pieces), ("whole", Way::Whole)] {
        let mut cells = vec![];
        for format in formats().filter(|format| only.as_deref().is_none_or(|only| only == *format)) {
            for workload in WORKLOADS {
                let cell = Cell { format, workload, figures: figures(format, workload, way, &sizes) };
                tables::print_cell(&cell, title, &sizes);
                cells.push(cell);
            }
        }
        tables::print(&cells, title);
        if way == Way::Whole {
            tables::print_bounds(&cells);
        }
    }
}
