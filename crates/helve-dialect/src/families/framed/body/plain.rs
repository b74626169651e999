//! Arguments that are plain text, as the body of a framed call reads them: where they end, and whether they are whole.

use super::super::HEAD_MAX;
use super::{FramedBody, FramedSign, FramedState, text};
use crate::body::{BodyStep, TextChunk};
use crate::calls::CallReport;
use crate::dialect::{HTML_END_TOKEN, is_name_char};
use crate::mark_scanner::FoundSign;

impl FramedBody {
    /// Takes one character of arguments that are text. An object is what it looks like.
    pub(super) fn read_text(
        &mut self,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        let Some(c) = chunk.char() else { return Some(BodyStep::More) };
        if c == '{' && !self.mark_scanner.is_in_sign() && !self.has_nonblank {
            self.begin_arguments(chunk, report);
            return None;
        }
        let rest = chunk.rest();
        let (taken, found) = self.mark_scanner.step(self.grammar.text.signs, rest);
        chunk.pos += taken;
        match found {
            FoundSign::Nothing => {}
            FoundSign::Char => self.push_text(&rest[..taken]),
            FoundSign::Beginning(text) => self.push_text(text),
            FoundSign::Sign(FramedSign::Beyond) => {
                let sign = self.mark_scanner.last_sign(self.grammar.text.signs);
                if self.grammar.text.heads.is_none() {
                    return self.finish_text_before(sign.len(), chunk, report);
                }
                self.head.clear();
                self.state = FramedState::Beyond(sign);
            }
            FoundSign::Sign(_) => return self.finish_text_before(0, chunk, report),
        }
        None
    }

    fn push_text(&mut self, text: &str) {
        self.has_nonblank |= !text.trim().is_empty();
        self.text.push_str(text);
    }

    /// Takes one character behind a sign that ends the text before a head, and is part of it elsewhere.
    pub(super) fn read_possible_head(
        &mut self,
        sign: &'static str,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        let Some(c) = chunk.char() else { return Some(BodyStep::More) };
        if c == '\n' && self.grammar.text.heads.is_some_and(|fits| fits(&self.head, report.tools)) {
            return self.finish_text_before(sign.len() + self.head.len(), chunk, report);
        }
        if is_name_char(c) && self.head.len() < HEAD_MAX {
            self.head.push(c);
            chunk.pos += c.len_utf8();
        } else {
            self.reject_possible_head(sign);
        }
        None
    }

    /// What stands behind the sign is no head, so both are text.
    pub(super) fn reject_possible_head(&mut self, sign: &str) {
        self.push_text(sign);
        self.text.push_str(&self.head);
        self.state = FramedState::Text;
    }

    /// The text is over, and so many bytes behind it are not the section's own.
    fn finish_text_before(
        &mut self,
        back: usize,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        self.end_before(back, chunk, report, |body, chunk, report| match body.arguments_from_text(report) {
            Some(arguments) => {
                report.push_arguments(&arguments);
                body.finish_call(chunk, report);
            }
            None => body.drop_draft(chunk, report),
        })
    }

    /// No more text follows. What seemed to begin a sign is text, unless it is the beginning of a line, and of a label there.
    pub(super) fn finish_partial_sign(&mut self) {
        let begun = self.mark_scanner.partial_sign(self.grammar.text.signs);
        let is_label = begun.starts_with('\n') || self.text.ends_with('\n');
        if self.grammar.text.code || !is_label {
            self.text.push_str(begun);
        }
        if !self.grammar.text.code && self.text.ends_with(HTML_END_TOKEN) {
            self.text.truncate(self.text.len() - HTML_END_TOKEN.len());
        }
    }

    /// Whether nothing shows that the end of the message cut the text off.
    pub(super) fn is_text_whole(&self, report: &CallReport<'_, '_>) -> bool {
        let tool = report.call_name().unwrap_or("");
        self.grammar.text.code || text::is_text_whole(&self.text, tool, report.tools)
    }

    pub(super) fn arguments_from_text(&self, report: &CallReport<'_, '_>) -> Option<String> {
        let read = if self.grammar.text.code { text::arguments_from_code } else { text::arguments_from_text };
        read(&self.text, report.call_name()?, report.tools)
    }
}
