//! Size limits of an answer.

/// The largest answer and the longest line that are read; beyond them reading stops with an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerBounds {
    /// For one line of a stream. A line may contain a whole call.
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

/// Counts the bytes of one stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Meter {
    bounds: AnswerBounds,
    read: usize,
    /// Bytes since the last line end.
    line: usize,
}

impl AnswerBounds {
    pub(crate) fn new_meter(self) -> Meter {
        Meter { bounds: self, read: 0, line: 0 }
    }
}

impl Meter {
    /// Counts the next piece; an error says which limit it exceeds.
    pub(crate) fn count_bytes(&mut self, piece: &[u8]) -> Result<(), &'static str> {
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
    fn line_and_total_limits_do_not_depend_on_the_pieces() {
        let bounds = AnswerBounds { line_bytes_max: 4, bytes_max: 10 };
        for (text, expected) in [
            ("abcd\nabcd\n", Ok(())),
            ("abcde", Err(LINE_TOO_LONG)),
            ("a\nabcde\n", Err(LINE_TOO_LONG)),
            ("abcd\nabcd\na", Err(TOO_LARGE)),
            ("\n\n\n\n\n\n\n\n\n\n", Ok(())),
        ] {
            for size in 1..=text.len() {
                let mut meter = bounds.new_meter();
                let read = text.as_bytes().chunks(size).try_for_each(|piece| meter.count_bytes(piece));
                assert_eq!(read, expected, "{text:?} by {size}");
            }
        }
    }
}
