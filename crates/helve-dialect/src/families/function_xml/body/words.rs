//! Words inside a call: what else they may be.

use super::{TagBody, TagState, ValueGap};
use crate::arguments::ArgumentReader;
use crate::body::TextChunk;
use crate::calls::CallReport;

impl TagBody {
    /// Text inside a call, outside its values, of which so many bytes are read.
    pub(super) fn handle_text_in_call(
        &mut self,
        text: &str,
        read: usize,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) {
        if !self.call.words.is_possible() {
            self.call.words.begin_before(read, chunk, report);
            self.gap = ValueGap::default();
        }
        let nonblank = if self.call.words.has_words() { text } else { self.gap.text_after_gap(text) };
        if self.begins_json(nonblank) {
            chunk.pos += text.len() - nonblank.len();
            self.call.words.discard_begun();
            self.json = ArgumentReader::new(chunk.held_position(report));
            self.state = TagState::Json;
            return;
        }
        chunk.pos += text.len() - read;
        self.record_words(nonblank);
    }

    /// Whether the arguments begin here as one object. Where an element is meant to hold them, a string may hold that.
    fn begins_json(&self, nonblank: &str) -> bool {
        let bare =
            self.state == TagState::Call && !self.call.has_key && !self.has_arguments() && !self.call.stray;
        let begins = nonblank.starts_with('{') || self.call.in_json && nonblank.starts_with('"');
        bare && begins && !self.gap.is_open()
    }

    fn record_words(&mut self, nonblank: &str) {
        if nonblank.is_empty() {
            return;
        }
        self.call.words.set_has_words();
        self.call.stray = true;
        // A key must be followed by its value, and what may be an object of arguments must not be missing.
        self.call.bad |= self.call.has_key || self.call.in_json || nonblank.contains('{');
    }

    /// The text inside a call ends here, with a tag or with the message.
    pub(super) fn finish_words(&mut self, at: usize) {
        // A backslash by itself is no line break.
        if self.call.words.is_possible() && self.gap.is_open() {
            self.record_words("\\");
        }
        self.call.words.finish(at);
    }

    /// What follows the name of a call in this text, which ends here.
    pub(super) fn record_words_after_name(&mut self, rest: &str, end: usize) {
        self.call.words.begin(end - rest.len());
        self.gap = ValueGap::default();
        let nonblank = self.gap.text_after_gap(rest);
        self.record_words(nonblank);
        self.finish_words(end);
    }
}
