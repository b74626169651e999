//! Words inside a call, outside its values. They are no part of it, and text behind it.
//!
//! Most calls have none, so nothing is noted before some come.

use std::ops::Range;

use super::value::is_tokenizer_residue;
use crate::body::TextChunk;
use crate::calls::CallReport;

/// Where they stand in the held text.
#[derive(Default)]
pub(crate) struct WordsInCall {
    /// All that stands between two tags, blanks included.
    runs: Vec<Range<usize>>,
    /// Where those begin behind the last tag, if there may be some, and whether there are.
    from: Option<usize>,
    any: bool,
}

impl WordsInCall {
    pub(crate) fn clear(&mut self) {
        self.runs.clear();
        self.from = None;
    }

    /// Whether something has come behind the last tag that is more than blanks.
    #[inline]
    pub(crate) fn is_possible(&self) -> bool {
        self.from.is_some()
    }

    pub(crate) fn has_words(&self) -> bool {
        self.is_possible() && self.any
    }

    /// Some may begin here.
    pub(crate) fn begin(&mut self, at: usize) {
        self.from = Some(at);
        self.any = false;
    }

    /// Some may begin so many bytes before the position, and with the blanks before that.
    pub(crate) fn begin_before(&mut self, back: usize, chunk: &TextChunk<'_>, report: &CallReport<'_, '_>) {
        let at = chunk.held_position(report) - back;
        let blank = |c: char| c.is_whitespace() || is_tokenizer_residue(c);
        let (held, read) = chunk.text_before(at, report);
        let nonblank = read.trim_end_matches(blank);
        self.begin(match nonblank.is_empty() {
            true => held.trim_end_matches(blank).len(),
            false => at - (read.len() - nonblank.len()),
        });
    }

    pub(crate) fn set_has_words(&mut self) {
        self.any = true;
    }

    /// There were none.
    pub(crate) fn discard_begun(&mut self) {
        self.from = None;
    }

    /// The next tag begins here, or the message is over.
    pub(crate) fn finish(&mut self, at: usize) {
        if let Some(from) = self.from.take()
            && self.any
        {
            self.runs.push(from..at);
        }
    }

    /// Whether some end here.
    pub(crate) fn ends_at(&self, at: usize) -> bool {
        self.runs.last().is_some_and(|last| last.end == at)
    }

    /// The tag that ended the last of them is one of them.
    pub(crate) fn reopen_last(&mut self) {
        if let Some(last) = self.runs.pop() {
            self.begin(last.start);
            self.set_has_words();
        }
    }

    /// The call counts, and is told.
    #[inline]
    pub(crate) fn emit(&mut self, chunk: &mut TextChunk<'_>, report: &mut CallReport<'_, '_>) {
        if !self.runs.is_empty() {
            chunk.hold_text(report);
            self.runs.drain(..).for_each(|run| report.record_words(run));
        }
    }
}
