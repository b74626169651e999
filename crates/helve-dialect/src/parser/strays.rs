//! Marks that open and close nothing, behind a call to whose dialect they belong.

use super::{CallTrial, Parser};
use crate::calls::Out;
use crate::registry::is_words;

impl Parser {
    /// Whether a call has been read, or is on trial, to which the marker could belong.
    pub(super) fn is_stray_marker(&self, marker: usize) -> bool {
        let marked =
            matches!(self.trial, Some(CallTrial::Marked | CallTrial::Inline(_) | CallTrial::Channel));
        let on_trial = (marked && self.calls.any_call_waits()).then_some(self.calls.dialect);
        self.live.is_stray(marker, |dialect| self.calls.has_call_of(dialect) || on_trial == Some(dialect))
    }

    /// A mark that belongs to no call. What stands without a mark of its own before it repeats the call, and is text;
    /// a quotation keeps it.
    pub(super) fn drop_stray(&mut self, mark: &str, out: &mut Out<'_>) {
        match self.trial {
            Some(CallTrial::Alone { .. } | CallTrial::Fence { .. }) => self.reject_trial(out),
            Some(CallTrial::Marked | CallTrial::Inline(_) | CallTrial::Channel) => self.held.push_str(mark),
            None => self.speech.handle_stray_mark(),
        }
    }

    /// The mark of the present section opened nothing: behind a call of its own dialect it is a stray.
    pub(super) fn discard_mark(&mut self) {
        if is_words(self.mark) {
            return;
        }
        if self.held.get(self.section_at..).is_some_and(|text| text.starts_with(self.mark)) {
            self.held.drain(self.section_at..self.section_at + self.mark.len());
        }
    }
}
