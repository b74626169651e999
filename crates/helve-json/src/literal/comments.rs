//! Comments, which JSON does not have: to the end of the line, or between a slash and a star.

use super::{Literal, State, Step};
use crate::Repair;

/// How much of a comment was read.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Part {
    Slash,
    Line,
    Block,
    Star,
}

impl Literal {
    /// A comment begins, before a value or after one.
    pub(super) fn comment(&mut self, c: char, after: bool) -> Step {
        self.note(Repair::Comments);
        let part = if c == '#' { Part::Line } else { Part::Slash };
        self.state = State::Comment { after, part };
        Step::Next
    }

    pub(super) fn in_comment(&mut self, c: char, after: bool, part: Part) -> Step {
        let part = match (part, c) {
            (Part::Slash, '/') => Part::Line,
            (Part::Slash, '*') => Part::Block,
            (Part::Slash, _) => return Step::Bad,
            (Part::Line, '\n') | (Part::Star, '/') => {
                self.state = if after { State::After } else { State::Value };
                return Step::Next;
            }
            (Part::Line, _) => Part::Line,
            (Part::Block | Part::Star, '*') => Part::Star,
            (Part::Block | Part::Star, _) => Part::Block,
        };
        self.state = State::Comment { after, part };
        Step::Next
    }
}
