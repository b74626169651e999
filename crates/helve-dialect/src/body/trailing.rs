//! What stands behind the last call of a section: separators, brackets, a word.
//!
//! It is the section's if another call or the closing tag follows it, and text if anything else does, or nothing.

use super::{Evidence, TextChunk, Unclaimed};
use crate::calls::CallReport;
use crate::{End, Piece};

/// None of it, or where it begins.
#[derive(Default, Clone, Copy)]
pub(crate) struct Trailing(Option<Doubt>);

#[derive(Clone, Copy)]
struct Doubt {
    /// Where it begins in the held text, and how many brackets were open there.
    at: usize,
    open: usize,
}

impl Trailing {
    /// Something stands at this place of the held text, in so many brackets.
    pub(crate) fn record_position(&mut self, at: usize, open: usize) {
        self.0.get_or_insert(Doubt { at, open });
    }

    /// A bracket was closed, and so many are still open: what stands inside a list is the list's.
    pub(crate) fn close_bracket(&mut self, open: usize) {
        self.0 = self.0.filter(|doubt| doubt.open <= open);
    }

    /// Whether something stands there that no call has followed yet.
    pub(crate) fn has_open_position(&self) -> bool {
        self.0.is_some()
    }

    /// How many brackets are open around the calls, if so many are here.
    pub(crate) fn open_around_calls(&self, open: usize) -> usize {
        self.0.map_or(open, |doubt| doubt.open)
    }

    /// What is not the section's, if what stands at this place of the held text is not.
    pub(crate) fn unclaimed_from(
        &self,
        at: usize,
        chunk: &TextChunk<'_>,
        report: &CallReport<'_, '_>,
    ) -> Unclaimed {
        let from = self.0.map_or(at, |doubt| doubt.at);
        Unclaimed { back: chunk.held_position(report) - from, pos: chunk.pos }
    }

    /// The message is over, and what stands behind its last call is text. Not so behind a call without markup in a message that
    /// was cut: that call is dropped, and tells this text with its own.
    pub(crate) fn emit_text(&self, standing: Evidence, end: End, report: &mut CallReport<'_, '_>) {
        let Some(Doubt { at, open: 0 }) = self.0 else { return };
        if !report.calls.is_waiting() {
            (report.out)(Piece::Text(&report.held[at..]));
        } else if standing == Evidence::Marked || end == End::Normal {
            report.calls.hold_text_back(at..report.held.len());
        }
    }
}
