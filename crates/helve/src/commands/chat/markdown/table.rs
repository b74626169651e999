//! Tables: rows are collected, and shown with columns of equal width.

use unicode_width::UnicodeWidthChar;

use super::inline::Inline;
use super::{BOLD, DIM, styled};

/// More rows begin a new table.
const ROWS_MAX: usize = 200;
const BYTES_MAX: usize = 64 << 10;
const BETWEEN: &str = " │ ";
const BETWEEN_COLUMNS: usize = 3;

#[derive(Default)]
pub(super) struct Table {
    rows: Vec<String>,
    bytes: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Align {
    Left,
    Middle,
    Right,
}

impl Table {
    pub(super) fn add(&mut self, row: String) {
        self.bytes += row.len();
        self.rows.push(row);
    }

    pub(super) fn is_full(&self) -> bool {
        self.rows.len() >= ROWS_MAX || self.bytes >= BYTES_MAX
    }

    /// Shows the rows that there are, and forgets them.
    pub(super) fn take(&mut self, columns: usize) -> String {
        self.bytes = 0;
        let rows = std::mem::take(&mut self.rows);
        match rows.get(1).and_then(|row| alignments(row)) {
            Some(aligned) => {
                let head = cells(&rows[0]);
                let body: Vec<Vec<String>> = rows[2..].iter().map(|row| cells(row)).collect();
                draw(&head, &body, &aligned, columns)
            }
            // Lines with bars in them, and no table.
            None => rows.iter().map(|row| Inline::new("").render(row, true).0 + "\n").collect(),
        }
    }
}

fn draw(head: &[String], body: &[Vec<String>], aligned: &[Align], columns: usize) -> String {
    let widths: Vec<usize> = (0..head.len())
        .map(|n| {
            body.iter().chain([&head.to_vec()]).map(|row| row.get(n).map_or(0, |cell| width(cell))).max()
        })
        .map(|width| width.unwrap_or(0))
        .collect();
    if widths.iter().sum::<usize>() + BETWEEN_COLUMNS * widths.len().saturating_sub(1) > columns {
        return as_records(head, body);
    }
    let row = |cells: &[String], style: &str| {
        let mut shown: Vec<String> = vec![];
        for (n, &wanted) in widths.iter().enumerate() {
            let cell = cells.get(n).map_or("", String::as_str);
            let align = aligned.get(n).copied().unwrap_or(Align::Left);
            shown.push(styled(style, &padded(cell, wanted, align)));
        }
        shown.join(&styled(DIM, BETWEEN)).trim_end_matches(' ').to_owned() + "\n"
    };
    let line: Vec<String> = widths.iter().map(|&width| "─".repeat(width)).collect();
    let mut out = row(head, BOLD) + &styled(DIM, &line.join("─┼─")) + "\n";
    body.iter().for_each(|cells| out += &row(cells, ""));
    out
}

/// A table that is wider than the terminal: each row as lines of its own.
fn as_records(head: &[String], body: &[Vec<String>]) -> String {
    let record = |cells: &Vec<String>| -> String {
        let lines = head.iter().zip(cells).filter(|(_, cell)| !cell.is_empty());
        lines.map(|(name, cell)| format!("{}: {cell}\n", styled(BOLD, name))).collect()
    };
    body.iter().map(record).collect::<Vec<_>>().join(&(styled(DIM, "──") + "\n"))
}

fn padded(cell: &str, wanted: usize, align: Align) -> String {
    let missing = wanted.saturating_sub(width(cell));
    let left = match align {
        Align::Left => 0,
        Align::Middle => missing / 2,
        Align::Right => missing,
    };
    format!("{}{cell}{}", " ".repeat(left), " ".repeat(missing - left))
}

/// The cells of a row, with their spans. A bar behind a backslash is no border.
fn cells(row: &str) -> Vec<String> {
    let row = row.trim();
    let row = row.strip_prefix('|').unwrap_or(row);
    let row = row.strip_suffix('|').filter(|row| !row.ends_with('\\')).unwrap_or(row);
    let (mut cells, mut cell, mut escaped) = (vec![], String::new(), false);
    for c in row.chars() {
        match c {
            '|' if escaped => {
                cell.pop();
                cell.push('|');
            }
            '|' => cells.push(std::mem::take(&mut cell)),
            c => cell.push(c),
        }
        escaped = c == '\\';
    }
    cells.push(cell);
    cells.iter().map(|cell| Inline::new("").render(cell.trim(), true).0).collect()
}

/// How the columns are aligned, if the row is the one that says so.
fn alignments(row: &str) -> Option<Vec<Align>> {
    let row = row.trim();
    let row = row.strip_prefix('|')?;
    let row = row.strip_suffix('|').unwrap_or(row);
    row.split('|')
        .map(|cell| {
            let cell = cell.trim();
            let dashes = cell.trim_matches(':');
            let is_border = !dashes.is_empty() && dashes.bytes().all(|byte| byte == b'-');
            is_border.then(|| match (cell.starts_with(':'), cell.ends_with(':')) {
                (true, true) => Align::Middle,
                (false, true) => Align::Right,
                _ => Align::Left,
            })
        })
        .collect()
}

/// The columns that a text takes, without the styles in it.
fn width(text: &str) -> usize {
    let mut in_style = false;
    let mut width = 0;
    for c in text.chars() {
        match c {
            '\u{1b}' => in_style = true,
            'm' if in_style => in_style = false,
            _ if in_style => {}
            c => width += c.width().unwrap_or(0),
        }
    }
    width
}
