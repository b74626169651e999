//! What is known of the present line.

use helve_json::{is_blank, work};

/// What the present line began with and what it ended with so far, blanks aside.
#[derive(Default, Clone, Copy)]
pub(super) struct LineState {
    first: Option<u8>,
    last: u8,
    /// How many tildes it began with, as long as nothing else has come.
    pub(super) tildes: usize,
}

impl LineState {
    /// Nothing but blanks so far.
    pub(super) fn is_fresh(self) -> bool {
        self.first.is_none()
    }

    /// A quotation, in Markdown.
    pub(super) fn is_quoted(self) -> bool {
        self.first == Some(b'>')
    }

    /// In the middle of something that brackets enclose.
    pub(super) fn is_enclosed(self) -> bool {
        matches!(self.last, b'{' | b'[' | b'(')
    }

    /// Takes more of the same line.
    #[inline]
    pub(super) fn observe(&mut self, bytes: &[u8]) {
        if let Some(last) = bytes.iter().rev().copied().find(|b| !is_blank(*b as char)) {
            self.last = last;
        }
        if !bytes.is_empty() {
            self.tildes = 0;
        }
        if self.first.is_none() {
            self.first = bytes.iter().copied().find(|b| !is_blank(*b as char));
        }
    }

    /// Takes text that may hold several lines.
    #[inline]
    pub(super) fn observe_lines(&mut self, text: &str) {
        let mut line = text.as_bytes();
        let end = match line.len() {
            0..8 => line.iter().rposition(|byte| *byte == b'\n'),
            _ => memchr::memrchr(b'\n', line),
        };
        if let Some(end) = end {
            *self = Self::default();
            line = &line[end + 1..];
        }
        work::count_bytes(line.len());
        self.observe(line);
    }
}
