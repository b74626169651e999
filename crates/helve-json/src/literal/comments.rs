//! Comments, which JSON does not have: to the end of the line, or between a slash and a star.

use super::{LiteralReader, LiteralState, LiteralStep};
use crate::Repair;

/// How much of a comment was read.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum CommentPart {
    Slash,
    Line,
    Block,
    Star,
}

impl LiteralReader {
    /// A comment begins, before a value or after one.
    pub(super) fn begin_comment(&mut self, c: char, after: bool) -> LiteralStep {
        self.record_repair(Repair::Comments);
        let part = if c == '#' { CommentPart::Line } else { CommentPart::Slash };
        self.state = LiteralState::Comment { after, part };
        LiteralStep::Next
    }

    pub(super) fn continue_comment(&mut self, c: char, after: bool, part: CommentPart) -> LiteralStep {
        let part = match (part, c) {
            (CommentPart::Slash, '/') => CommentPart::Line,
            (CommentPart::Slash, '*') => CommentPart::Block,
            (CommentPart::Slash, _) => return LiteralStep::Bad,
            (CommentPart::Line, '\n') | (CommentPart::Star, '/') => {
                self.state = if after { LiteralState::After } else { LiteralState::Value };
                return LiteralStep::Next;
            }
            (CommentPart::Line, _) => CommentPart::Line,
            (CommentPart::Block | CommentPart::Star, '*') => CommentPart::Star,
            (CommentPart::Block | CommentPart::Star, _) => CommentPart::Block,
        };
        self.state = LiteralState::Comment { after, part };
        LiteralStep::Next
    }
}
