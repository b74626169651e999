//! What is printed: the figures of every parser, and the tables that the reference shows.

use crate::Cell;
use crate::measure::Figure;
use crate::peers::{OURS, PEERS};
use crate::workload::WORKLOADS;

/// Column of the size to which the cost per byte at the others is compared.
const BASE: usize = 1;

pub fn print_cell(cell: &Cell, title: &str, sizes: &[usize]) {
    println!("\n{}, {}, {title}: MB/s at {sizes:?} bytes", cell.format, cell.workload);
    let peers = PEERS.iter().map(|peer| peer.name).zip(&cell.figures.by_peer);
    for (name, figures) in peers.chain([("the least", &cell.figures.floor)]) {
        let figures: Vec<String> = figures.iter().map(|figure| format!("{:>8}", written(*figure))).collect();
        println!("  {name:<14} {}", figures.join(" "));
    }
}

/// Helve's speed, how many times the fastest other that is, and how flat its cost per byte is.
pub fn print(cells: &[Cell], title: &str) {
    println!("\nHelve {title}, dialect given: MB/s, and times the fastest other\n");
    row("format", WORKLOADS.iter().flat_map(|workload| [(*workload).to_owned(), "times".to_owned()]));
    row("---", (0..2 * WORKLOADS.len()).map(|_| "---".to_owned()));
    for format in cells.chunks(WORKLOADS.len()) {
        row(
            format[0].format,
            format.iter().flat_map(|cell| [speeds(cell), times(&cell.figures.by_peer[0], cell)]),
        );
    }
    println!("\nHelve {title}: cost per byte, in times that at 10 KB\n");
    row("format", WORKLOADS.iter().map(|workload| (*workload).to_owned()));
    row("---", WORKLOADS.iter().map(|_| "---".to_owned()));
    for format in cells.chunks(WORKLOADS.len()) {
        row(format[0].format, format.iter().map(costs));
    }
}

fn row(first: &str, columns: impl Iterator<Item = String>) {
    println!("| {first} | {} |", columns.collect::<Vec<_>>().join(" | "));
}

/// How many times the fastest other a parser would be that did nothing but the least.
pub fn print_bounds(cells: &[Cell]) {
    println!("\nThe least that must be done whole: times the fastest other\n");
    row("format", WORKLOADS.iter().map(|workload| (*workload).to_owned()));
    row("---", WORKLOADS.iter().map(|_| "---".to_owned()));
    for format in cells.chunks(WORKLOADS.len()) {
        row(format[0].format, format.iter().map(|cell| times(&cell.figures.floor, cell)));
    }
}

fn speeds(cell: &Cell) -> String {
    joined(cell.figures.by_peer[0].iter().map(|figure| written(*figure)))
}

fn times(figures: &[Figure], cell: &Cell) -> String {
    let others = &cell.figures.by_peer[OURS..];
    joined(figures.iter().enumerate().map(|(at, own)| {
        let at_size = || others.iter().map(|figures| figures[at]);
        let fastest = at_size().filter_map(Figure::speed).max_by(f64::total_cmp);
        match own.speed().zip(fastest) {
            Some((own, fastest)) => ratio(own / fastest),
            None if at_size().any(|figure| matches!(figure, Figure::Slow)) => "slow".to_owned(),
            None => "lost".to_owned(),
        }
    }))
}

fn costs(cell: &Cell) -> String {
    let ours = &cell.figures.by_peer[0];
    let base = ours.get(BASE).copied().and_then(Figure::speed);
    joined(ours.iter().map(|figure| match base.zip(figure.speed()) {
        Some((base, speed)) => format!("{:.1}", base / speed),
        None => written(*figure),
    }))
}

fn joined(figures: impl Iterator<Item = String>) -> String {
    figures.collect::<Vec<_>>().join(" ")
}

fn ratio(times: f64) -> String {
    if times < 9.95 { format!("{times:.1}") } else { format!("{times:.0}") }
}

fn written(figure: Figure) -> String {
    match figure {
        Figure::MegabytesPerSecond(speed) if speed < 10.0 => format!("{speed:.2}"),
        Figure::MegabytesPerSecond(speed) => format!("{speed:.0}"),
        Figure::Lost => "lost".to_owned(),
        Figure::Unknown => "-".to_owned(),
        Figure::Slow => "slow".to_owned(),
    }
}
