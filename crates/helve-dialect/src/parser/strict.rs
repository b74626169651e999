//! Strict reading: where a call must stand to count, and which texts it must not repeat.
//!
//! Every section is on trial then. One that begins a line counts when it is over; one in the middle of a line counts if
//! nothing but calls and blanks follows it. A call behind it that counts settles both: no sentence goes on there.

use super::{CallTrial, Parser, ParserPlace};
use crate::calls::Out;
use crate::quotable::begins_without_blanks;
use helve_json::is_blank;

/// A call in the middle of a line.
#[derive(Clone, Copy)]
pub(super) struct InSentence {
    /// How much waited before it.
    waited: usize,
    /// Where it begins in the held text.
    at: usize,
}

impl Parser {
    /// A section begins: from now on its calls wait, if it is on trial. One that is more likely a quotation is not shown.
    pub(super) fn begin_waiting(&mut self) {
        if self.trial.is_some() {
            self.calls.hold_calls();
        }
        self.waited = self.calls.waiting_count();
        self.calls.ends.clear();
        self.calls.hidden = self.strict.is_some() && !self.leads;
        self.speech.update_fast_path(self.trial.is_some());
    }

    /// Whether the section that is over stands in a text that may be quoted, or all of its calls do.
    pub(super) fn repeats_quotable(&mut self) -> bool {
        let Some(strict) = self.strict.as_ref().filter(|_| self.trial.is_some()) else { return false };
        let Some(section) = self.held.get(self.section_at..) else { return false };
        if strict.quotable.contains_call(section, &mut self.count_search) {
            return true;
        }
        let ends = self.calls.ends.iter().filter_map(|end| end.checked_sub(self.section_at));
        let mut from = 0;
        let mut calls = ends.filter_map(|to| section.get(std::mem::replace(&mut from, to)..to)).peekable();
        calls.peek().is_some()
            && calls.all(|call| {
                strict
                    .quotable
                    .contains_call_split(call.trim_matches(is_call_separator), &mut self.count_search)
            })
    }

    /// The section was a quotation. Calls in the same channel that are none stay what they are.
    pub(super) fn quote_section(&mut self, out: &mut Out<'_>) {
        self.place = ParserPlace::Prose;
        self.unclosed = None;
        self.has_quoted = true;
        self.calls.drop_silently(out);
        self.line.observe_lines(&self.held[self.section_at..]);
        let quoted = self.calls.take_waiting_from(self.waited);
        self.emit_dropped(quoted, out);
        match self.trial {
            Some(CallTrial::Inline(_) | CallTrial::Channel) if self.calls.any_call_waits() => {
                let text = self.held.split_off(self.section_at);
                self.emit_text(&text, out);
            }
            _ => self.reject_trial(out),
        }
    }

    /// The section is over, and it is no quotation: whether it counts, for all that is known yet.
    pub(super) fn judge_position(&mut self, out: &mut Out<'_>) {
        match self.trial {
            Some(CallTrial::Alone { firm: true }) => self.accept_trial(out),
            Some(CallTrial::Marked) if self.leads => self.accept_trial(out),
            Some(CallTrial::Alone { .. } | CallTrial::Marked) if self.leads && self.has_profile_form() => {
                self.accept_trial(out)
            }
            Some(CallTrial::Inline(_) | CallTrial::Channel) if self.strict.is_some() => {
                let here = InSentence { waited: self.waited, at: self.section_at };
                match self.leads {
                    true => self.in_sentence = None,
                    false => _ = self.in_sentence.get_or_insert(here),
                }
            }
            _ => {}
        }
    }

    /// Whether the section is written as the model was told to write calls without marks.
    fn has_profile_form(&self) -> bool {
        let Some(strict) = &self.strict else { return false };
        let own = &*strict.own_beginning;
        let section = self.held.get(self.section_at..).unwrap_or_default();
        !own.is_empty() && begins_without_blanks(section, own)
    }

    /// Text comes behind calls that wait. If they stand in a sentence it goes on, and they are quoted there.
    pub(super) fn quote_calls_in_sentence(&mut self, text: &str, out: &mut Out<'_>) {
        let Some(InSentence { waited, at }) = self.in_sentence else { return };
        if text.chars().all(is_blank) {
            return;
        }
        self.in_sentence = None;
        let quoted = self.calls.take_waiting_from(waited);
        self.emit_dropped(quoted, out);
        match self.calls.any_call_waits() {
            true => self.calls.hold_text_back(at..self.held.len()),
            false => self.reject_trial(out),
        }
    }
}

/// What may stand between two calls of a section.
fn is_call_separator(c: char) -> bool {
    is_blank(c) || matches!(c, ',' | ';' | '[' | ']')
}
