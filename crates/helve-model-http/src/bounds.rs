//! How much of an answer is read.

/// Whatever is longer is not an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerBounds {
    /// Of one line of a stream: a call that comes in one piece may be long, but not this long.
    pub line_bytes_max: usize,
    pub bytes_max: usize,
}

impl Default for AnswerBounds {
    fn default() -> Self {
        Self { line_bytes_max: 1 << 20, bytes_max: 8 << 20 }
    }
}

pub(crate) const TOO_LARGE: &str = "it is larger than any answer should be";
const LINE_TOO_LONG: &str = "a line of it is longer than any line should be";

/// Counts what has come of one stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Meter {
    bounds: AnswerBounds,
    read: usize,
    /// Since the last end of a line.
    line: usize,
}

impl AnswerBounds {
    pub(crate) fn meter(self) -> Meter {
        Meter { bounds: self, read: 0, line: 0 }
    }
}

impl Meter {
    /// The next piece of the stream, before anybody keeps it; or what is wrong with it.
    pub(crate) fn take(&mut self, piece: &[u8]) -> Result<(), &'static str> {
        self.read += piece.len();
        if self.read > self.bounds.bytes_max {
            return Err(TOO_LARGE);
        }
        let mut rest = piece;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            self.add_to_line(end)?;
            self.line = 0;
            rest = &rest[end + 1..];
        }
        self.add_to_line(rest.len())
    }

    fn add_to_line(&mut self, bytes: usize) -> Result<(), &'static str> {
        self.line += bytes;
        if self.line > self.bounds.line_bytes_max { Err(LINE_TOO_LONG) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_the_whole_are_measured_however_they_are_cut() {
        let bounds = AnswerBounds { line_bytes_max: 4, bytes_max: 10 };
        for (text, expected) in [
            ("abcd\nabcd\n", Ok(())),
            ("abcde", Err(LINE_TOO_LONG)),
            ("a\nabcde\n", Err(LINE_TOO_LONG)),
            ("abcd\nabcd\na", Err(TOO_LARGE)),
            ("\n\n\n\n\n\n\n\n\n\n", Ok(())),
        ] {
            for size in 1..=text.len() {
                let mut meter = bounds.meter();
                let read = text.as_bytes().chunks(size).try_for_each(|piece| meter.take(piece));
                assert_eq!(read, expected, "{text:?} by {size}");
            }
        }
    }
}
