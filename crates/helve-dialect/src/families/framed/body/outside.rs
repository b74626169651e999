//! Text outside the arguments: heads, ids, and what stands between calls.

use super::super::{HEAD_MAX, continues_as_prose};
use super::{FramedBody, FramedState};
use crate::body::{BodyStep, TextChunk, Unclaimed};
use crate::calls::CallReport;
use crate::dialect::is_name_char;
use crate::mark_scanner::{FoundSign, MarkScanner};
use helve_json::is_blank;

impl FramedBody {
    /// Takes one character outside the arguments.
    pub(super) fn read_outside_arguments(
        &mut self,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        let Some(c) = chunk.char() else { return Some(BodyStep::More) };
        let waits = matches!(self.state, FramedState::BeforeArguments | FramedState::Ready);
        if waits && is_blank(c) && !self.mark_scanner.is_in_sign() {
            chunk.pos += 1;
            return None;
        }
        if self.state == FramedState::Ready {
            let is_value = self.are_arguments_whole(report);
            if is_value && !self.is_fenced() || self.may_begin_sign(c) {
                self.finish_call(chunk, report);
                return None;
            }
            if is_value {
                self.trailing_at = chunk.held_position(report);
                self.state = FramedState::Words;
                return None;
            }
            chunk.pos += c.len_utf8();
            return self.reject_arguments(c.len_utf8(), chunk, report);
        }
        let before_arguments = match self.state {
            FramedState::BeforeArguments if c == '[' => !self.may_begin_sign('['),
            FramedState::BeforeArguments => matches!(c, '{' | '"'),
            FramedState::Head => self.grammar.bracket_ends_head && c == '{',
            _ => false,
        };
        if before_arguments && !self.mark_scanner.is_in_sign() {
            let encoded = self.state == FramedState::Head && self.ends_with_open_quote();
            if encoded {
                self.head.pop();
            }
            if self.state == FramedState::Head && !self.read_name(report) {
                self.head.push('{');
                return self.reject_call(chunk, report);
            }
            match encoded {
                true => self.begin_arguments_with("\"", chunk, report),
                false => self.begin_arguments(chunk, report),
            }
            return None;
        }
        if self.state == FramedState::Answer && !is_blank(c) {
            return Some(BodyStep::Done(Unclaimed::from_position(chunk.pos)));
        }
        if matches!(self.state, FramedState::Head | FramedState::Id) && !self.mark_scanner.is_in_sign() {
            let run = self.read_word_run(chunk);
            if run > 0 {
                return self.reject_head(run, chunk, report);
            }
        }
        let rest = chunk.rest();
        let (taken, found) = self.mark_scanner.step(self.grammar.signs, rest);
        chunk.pos += taken;
        match found {
            FoundSign::Sign(sign) => self.handle_sign(sign, chunk, report),
            FoundSign::Nothing => None,
            FoundSign::Char => self.read_plain_text(&rest[..taken], chunk, report),
            FoundSign::Beginning(text) => self.read_plain_text(text, chunk, report),
        }
    }

    /// Takes what can only be part of a head or an id, as far as it is short enough for one. Says how much.
    pub(super) fn read_word_run(&mut self, chunk: &mut TextChunk<'_>) -> usize {
        let rest = chunk.rest();
        let near = &rest[..rest.floor_char_boundary(HEAD_MAX)];
        let signs = MarkScanner::first_bytes(self.grammar.signs);
        let wordy = self.grammar.wordy;
        let ends = |byte: u8| byte == b'{' || signs[byte as usize] || wordy && is_blank(byte as char);
        let run = near.bytes().position(ends).unwrap_or(near.len());
        let word = if self.state == FramedState::Head { &mut self.head } else { &mut self.id };
        if word.len() + run > HEAD_MAX {
            return 0;
        }
        word.push_str(&rest[..run]);
        chunk.pos += run;
        run
    }

    /// With these last bytes, what seemed to be a head of one word is none. They are read again.
    pub(super) fn reject_head(
        &mut self,
        last: usize,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        if !self.grammar.wordy || self.state != FramedState::Head {
            return None;
        }
        let (before, word) = self.head.split_at(self.head.len() - last);
        if !before.ends_with(is_blank) || word.starts_with(is_blank) || before.trim().is_empty() {
            return None;
        }
        chunk.hold_text(report);
        Some(BodyStep::NotACall(Unclaimed { back: last, pos: chunk.pos }))
    }

    /// Text that is no sign has passed.
    pub(super) fn read_plain_text(
        &mut self,
        text: &str,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        match self.state {
            FramedState::Head => {
                self.head.push_str(text);
                if self.head.len() > HEAD_MAX {
                    return self.reject_call(chunk, report);
                }
                return self.reject_head(text.len(), chunk, report);
            }
            FramedState::Id => {
                self.id.push_str(text);
                if self.id.len() > HEAD_MAX {
                    return self.reject_call(chunk, report);
                }
            }
            FramedState::Between
                if self.grammar.chained && self.calls > 0 && text.chars().all(is_name_char) =>
            {
                self.head.clear();
                self.head.push_str(text);
                self.id.clear();
                self.state = FramedState::Chained;
            }
            FramedState::Between if !text.trim().is_empty() => {
                return self.end_before_trailing(text.len(), chunk, report);
            }
            FramedState::Chained if text.chars().all(is_name_char) && self.head.len() < HEAD_MAX => {
                self.head.push_str(text);
            }
            FramedState::Chained => return self.end_before_trailing(0, chunk, report),
            // More arguments: it is unknown which are meant.
            FramedState::Words if text.contains('{') => self.state = FramedState::Broken,
            FramedState::BeforeArguments if text.starts_with('[') => {
                self.begin_arguments_with(text, chunk, report)
            }
            FramedState::BeforeArguments if !text.trim().is_empty() => {
                return self.reject_arguments(text.len(), chunk, report);
            }
            _ => {}
        }
        None
    }

    /// What stands in the place of the arguments is no value, or not with these last bytes. Behind the first name it may be
    /// prose about the marks; else the call is broken, and what follows it is its own only up to a sign that
    /// ends it.
    pub(super) fn reject_arguments(
        &mut self,
        last: usize,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        chunk.hold_text(report);
        let (before, text) = report.held.split_at(report.held.len() - last);
        let alone = self.state == FramedState::BeforeArguments && self.calls == 0 && !self.head.is_empty();
        let prose = alone && continues_as_prose(before, text);
        let ends = self.head.is_empty() || self.has_end_sign();
        if ends && !prose {
            self.state = FramedState::Broken;
            return None;
        }
        self.end_before(last, chunk, report, |body, chunk, report| {
            if !prose {
                body.drop_draft(chunk, report);
            }
        })
    }
}
