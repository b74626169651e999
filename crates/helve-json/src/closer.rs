//! Closing marks in text that comes in pieces.

/// Recognises a closing mark that may be cut anywhere. Exact as long as a mark's first byte stands in it only once, or the
/// mark is a run of that byte.
#[derive(Default, Clone, Copy)]
pub struct MarkMatcher {
    of: usize,
    at: usize,
}

impl MarkMatcher {
    /// Takes one more byte; gives the mark once it is whole.
    pub fn push_byte(&mut self, marks: &[&'static str], byte: u8) -> Option<&'static str> {
        let so_far = marks.get(self.of).map_or("", |mark| *mark).as_bytes();
        if let Some(next) = so_far.get(self.at)
            && *next == byte
        {
            self.at += 1;
            return self.complete_mark(marks);
        }
        let fits = |mark: &&str| {
            mark.as_bytes().get(self.at) == Some(&byte) && mark.as_bytes()[..self.at] == so_far[..self.at]
        };
        match marks.iter().position(fits) {
            Some(of) => {
                self.of = of;
                self.at += 1;
            }
            None if self.at > 0 => {
                self.at = 0;
                return self.push_byte(marks, byte);
            }
            None => {}
        }
        self.complete_mark(marks)
    }

    fn complete_mark(&mut self, marks: &[&'static str]) -> Option<&'static str> {
        let whole = marks.get(self.of).filter(|mark| mark.len() == self.at).copied();
        if whole.is_some() {
            self.at = 0;
        }
        whole
    }

    /// How many bytes of a mark have been seen.
    pub fn matched_bytes(&self) -> usize {
        self.at
    }
}
