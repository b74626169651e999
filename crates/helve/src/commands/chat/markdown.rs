//! Markdown for a terminal, while it is being written. Pure: pieces of text in, text with styles out.
//!
//! A line is shown as soon as it is known what it is; of its text only what may still become a span, such as an open
//! `**`, is held back, and of a table all rows, since the widths of its columns depend on the last one. What comes in
//! must be free of control characters: the only escape sequences that go out are ours.

mod inline;
mod line;
mod table;

use self::inline::Inline;
use self::line::{Fence, LineKind, fence_end};
use self::table::Table;

pub(super) const BOLD: &str = "\u{1b}[1m";
pub(super) const DIM: &str = "\u{1b}[2m";
pub(super) const ITALIC: &str = "\u{1b}[3m";
pub(super) const UNDERLINE: &str = "\u{1b}[4m";
pub(super) const STRIKE: &str = "\u{1b}[9m";
pub(super) const CODE: &str = "\u{1b}[36m";
pub(super) const RESET: &str = "\u{1b}[0m";

/// A line whose kind is still open after so many bytes is a paragraph.
const UNDECIDED_BYTES_MAX: usize = 8 << 10;
const RULE_COLUMNS_MAX: usize = 40;

pub(super) struct Markdown {
    columns: usize,
    /// What of the current line is not shown yet.
    held: String,
    at: Place,
    /// The code block that is open.
    fence: Option<Fence>,
    table: Table,
    /// The last character of the current line that was shown.
    before: Option<char>,
    /// Nothing of the current line is on the screen.
    at_line_start: bool,
}

/// Where in a line the text is.
enum Place {
    /// It is not known yet what the line is.
    Start,
    /// In text with spans, on top of this style.
    Text(&'static str),
    /// In a line of a code block.
    Code,
}

impl Markdown {
    /// For a terminal of this width.
    pub(super) fn new(columns: usize) -> Self {
        Self {
            columns,
            held: String::new(),
            at: Place::Start,
            fence: None,
            table: Table::default(),
            before: None,
            at_line_start: true,
        }
    }

    /// Takes more of the text, and gives what can be shown now.
    pub(super) fn push(&mut self, text: &str) -> String {
        self.held.push_str(text);
        let mut out = String::new();
        while self.step(&mut out) {}
        self.note_position(&out);
        out
    }

    /// Gives all that was held back. The text may go on afterwards, in a new line of the screen.
    pub(super) fn flush(&mut self) -> String {
        let mut out = String::new();
        let rest = std::mem::take(&mut self.held);
        match self.at {
            Place::Start if self.fence.is_none() && rest.trim_start().starts_with('|') => {
                self.table.add(rest)
            }
            Place::Start if !rest.is_empty() => {
                out += &self.table.take(self.columns);
                // What it is may be known now, since no more comes.
                self.held = rest;
                self.begin_line(&mut out, true);
                let rest = std::mem::take(&mut self.held);
                self.put_text(&rest, &mut out);
            }
            _ => self.put_text(&rest, &mut out),
        }
        out += &self.table.take(self.columns);
        self.note_position(&out);
        out
    }

    /// Whether what comes next stands at the beginning of a line of the screen.
    pub(super) fn is_at_line_start(&self) -> bool {
        self.at_line_start
    }

    fn note_position(&mut self, out: &str) {
        if !out.is_empty() {
            self.at_line_start = out.trim_end_matches(RESET).ends_with('\n');
        }
    }

    /// Shows the next bit that can be; whether there may be more.
    fn step(&mut self, out: &mut String) -> bool {
        let line_end = self.held.find('\n');
        match self.at {
            Place::Start => self.begin_line(out, line_end.is_some()),
            Place::Code => {
                let end = line_end.unwrap_or(self.held.len());
                out.push_str(&styled(CODE, &self.held[..end]));
                self.held.drain(..end);
                self.end_line(out)
            }
            Place::Text(style) => {
                let end = line_end.unwrap_or(self.held.len());
                let inline = Inline::new(style).after(self.before);
                let (shown, used) = inline.render(&self.held[..end], line_end.is_some());
                out.push_str(&styled(style, &shown));
                self.before = self.held[..used].chars().next_back().or(self.before);
                self.held.drain(..used);
                self.end_line(out)
            }
        }
    }

    /// Ends the line if its end is all that is left of it.
    fn end_line(&mut self, out: &mut String) -> bool {
        if !self.held.starts_with('\n') {
            return false;
        }
        self.held.remove(0);
        out.push('\n');
        self.at = Place::Start;
        self.before = None;
        true
    }

    /// Finds out what the line is and shows how it begins. Whether that is known.
    fn begin_line(&mut self, out: &mut String, is_complete: bool) -> bool {
        let end = self.held.find('\n').unwrap_or(self.held.len());
        let line = &self.held[..end];
        if line.is_empty() && !is_complete {
            return false;
        }
        let is_complete = is_complete || line.len() > UNDECIDED_BYTES_MAX;
        if let Some(fence) = self.fence {
            match fence_end(fence, line, is_complete) {
                None => return false,
                Some(true) => {
                    self.fence = None;
                    self.take_line(end);
                    out.push_str(&(styled(DIM, "└──") + "\n"));
                }
                Some(false) => self.at = Place::Code,
            }
            return true;
        }
        let Some(kind) = LineKind::of(line, is_complete) else { return false };
        if let LineKind::TableRow = kind {
            if !self.held[end..].starts_with('\n') {
                return false;
            }
            let row = self.take_line(end);
            if self.table.is_full() {
                out.push_str(&self.table.take(self.columns));
            }
            self.table.add(row);
            return true;
        }
        out.push_str(&self.table.take(self.columns));
        match kind {
            LineKind::Fence(fence) => {
                let info = line.trim().trim_start_matches(['`', '~']).trim();
                let info = info.split_whitespace().next().unwrap_or_default();
                out.push_str(&(styled(DIM, &format!("┌── {info}")) + "\n"));
                self.fence = Some(fence);
                self.take_line(end);
            }
            LineKind::Rule => {
                out.push_str(&(styled(DIM, &"─".repeat(self.columns.min(RULE_COLUMNS_MAX))) + "\n"));
                self.take_line(end);
            }
            LineKind::Heading { level, text_at } => {
                self.held.drain(..text_at);
                self.at = Place::Text(if level == 1 { "\u{1b}[1;4m" } else { BOLD });
            }
            LineKind::Quote { text_at } => {
                self.held.drain(..text_at);
                out.push_str(&styled(DIM, "│ "));
                self.at = Place::Text(ITALIC);
            }
            LineKind::Item { indent, mark, text_at } => {
                out.push_str(&" ".repeat(indent));
                out.push_str(&mark);
                self.held.drain(..text_at);
                self.at = Place::Text("");
            }
            LineKind::Paragraph | LineKind::TableRow => self.at = Place::Text(""),
        }
        true
    }

    /// Takes a whole line, with its end, out of what is held.
    fn take_line(&mut self, end: usize) -> String {
        let line = self.held[..end].to_owned();
        self.held.drain(..(end + 1).min(self.held.len()));
        line
    }

    /// Text that nothing follows.
    fn put_text(&mut self, text: &str, out: &mut String) {
        match self.at {
            Place::Code => out.push_str(&styled(CODE, text)),
            Place::Text(style) => {
                let inline = Inline::new(style).after(self.before);
                out.push_str(&styled(style, &inline.render(text, true).0));
                self.before = text.chars().next_back().or(self.before);
            }
            Place::Start => out.push_str(text),
        }
    }
}

fn styled(style: &str, text: &str) -> String {
    if style.is_empty() || text.is_empty() { text.to_owned() } else { format!("{style}{text}{RESET}") }
}

#[cfg(test)]
mod tests;
