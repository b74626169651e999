//! Calls that stand in a text: quoted there, or swallowed because the text was never closed.
//!
//! Text may hold anything, whole calls too. But where it holds the end of a call that did not begin in it, the text may
//! be what was left open, and that end the one of its own call. Another call behind it shows this, and so does the end of
//! the turn.

/// What was seen of calls in one text.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct QuotedCalls {
    /// Calls that are open inside it.
    open: usize,
    /// Where the text goes on in the held text behind the first end of a call that did not begin in it.
    over_at: Option<usize>,
}

impl QuotedCalls {
    pub(super) fn count_opened(&mut self) {
        self.open += 1;
    }

    /// A call ends at this place of the held text.
    pub(super) fn count_closed(&mut self, at: usize) {
        match self.open.checked_sub(1) {
            Some(left) => self.open = left,
            None => _ = self.over_at.get_or_insert(at),
        }
    }

    pub(super) fn over_at(self) -> Option<usize> {
        self.over_at
    }
}
