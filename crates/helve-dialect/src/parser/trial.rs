//! Calls on trial: meant or quoted?
//!
//! Until that is settled, everything read is held. Accepted, the calls and the text between them go out; rejected,
//! the held text goes out as it was written, and nothing has happened.
//!
//! Where a message is read strictly, every section is on trial. One that begins a line counts when it is over; one in the
//! middle of a line counts if nothing but calls and blanks follows it. A call behind it that counts settles both: no
//! sentence goes on there. One that repeats what was said to the model is a quotation.

use super::code::Code;
use super::{Parser, ParserPlace};
use crate::calls::{CallShown, Calls, Out, WaitingPart};
use crate::quotable::begins_without_blanks;
use crate::reading::Strict;
use crate::{Dropped, End, Piece};
use helve_json::is_blank;

/// Which calls are on trial, and how trials are settled.
pub(super) struct TrialState {
    pub(super) current: Option<CallTrial>,
    /// The first call that waits and stands in the middle of a line, with nothing but calls and blanks behind it yet.
    pub(super) in_sentence: Option<InSentence>,
    /// How calls are told from quotations; not at all where nothing is known of a run.
    pub(super) strict: Option<Strict>,
    /// A quotation swallowed the end of the reasoning once: from then on no call ends reasoning.
    pub(super) trusting: bool,
    /// A section was quoted: the mark that ends its message is a part of it.
    pub(super) has_quoted: bool,
    /// How much was searched for calls that repeat what was said to the model.
    pub(super) count_search: usize,
}

impl TrialState {
    pub(super) fn new(strict: Option<Strict>) -> Self {
        Self { current: None, in_sentence: None, strict, trusting: true, has_quoted: false, count_search: 0 }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallTrial {
    /// Unmarked: rejected by any text after it, unless it stands firm.
    Alone { firm: bool },
    /// In a fence: rejected by any text after it inside the fence, and behind it unless the fence is a mark of calls.
    Fence { ticks: usize, closed: bool, firm: bool },
    /// Behind an odd run of backticks: rejected by another on the same line.
    Inline(usize),
    /// Marked, in a message that is read strictly: rejected by any text after it, unless it begins a line.
    Marked,
    /// In open reasoning, or in another channel that is open: rejected by its end.
    Channel,
}

/// A call in the middle of a line.
#[derive(Clone, Copy)]
pub(super) struct InSentence {
    /// How much waited before it.
    waited: usize,
    /// Where it begins in the held text.
    at: usize,
}

impl Parser {
    /// Gives text out, or keeps it while a trial is on.
    #[inline]
    pub(super) fn emit_text(&mut self, text: &str, out: &mut Out<'_>) {
        if text.is_empty() {
            return;
        }
        if self.speech.is_fast_path() && !self.speech.in_reasoning() {
            out(Piece::Text(text));
            return;
        }
        self.emit_text_carefully(text, out);
    }

    fn emit_text_carefully(&mut self, text: &str, out: &mut Out<'_>) {
        self.release_fence_head(out);
        self.quote_calls_in_sentence(text, out);
        match self.trials.current {
            None => {}
            Some(CallTrial::Alone { .. } | CallTrial::Fence { .. } | CallTrial::Marked) => {
                if text.chars().all(is_blank) {
                    self.held.push_str(text);
                    return;
                }
                self.reject_trial(out);
            }
            Some(CallTrial::Inline(_) | CallTrial::Channel) => {
                let from = self.held.len();
                self.held.push_str(text);
                self.calls.hold_text_back(from..self.held.len());
                return;
            }
        }
        self.speech.emit_text(text, out);
        self.speech.update_fast_path(self.trials.current.is_some() || self.prose.is_headed());
    }

    /// Nothing on trial was a call.
    pub(super) fn reject_trial(&mut self, out: &mut Out<'_>) {
        let Some(trial) = self.trials.current.take() else {
            self.release_fence_head(out);
            return;
        };
        self.trials.in_sentence = None;
        if trial == CallTrial::Marked {
            self.section.unclosed = None;
        }
        self.drop_waiting(out);
        self.calls.drop_silently(out);
        if let CallTrial::Fence { ticks, closed: false, .. } = trial {
            self.prose.code = Code::Fence { ticks, headed: false };
        }
        self.release_held(out);
    }

    /// A head ends the channel that was open, so that nothing on trial in it was a call; one that the head begins may be. The
    /// first line of a fence that waited for a call is text.
    pub(super) fn reject_before_head(&mut self, out: &mut Out<'_>) {
        match self.trials.current {
            Some(CallTrial::Channel) => {}
            None if self.section.at > 0 => {}
            _ => return,
        }
        let head = self.held.split_off(self.section.at);
        self.trials.current = None;
        self.drop_waiting(out);
        self.release_held(out);
        self.section.at = 0;
        self.calls.reported_to = 0;
        self.held = head;
    }

    pub(super) fn drop_waiting(&mut self, out: &mut Out<'_>) {
        let waiting = self.calls.take_all_waiting();
        self.emit_dropped(waiting, out);
    }

    pub(super) fn emit_dropped(&mut self, waiting: Vec<WaitingPart>, out: &mut Out<'_>) {
        for waiting in waiting {
            let (index, name) = match waiting {
                WaitingPart::Text(_) | WaitingPart::Words(_) | WaitingPart::Dropped(None, ..) => continue,
                // It was not shown.
                WaitingPart::Call(_, _, CallShown::No) => continue,
                WaitingPart::Call(index, call, CallShown::Yes) => (Some(index), Some(call.name)),
                WaitingPart::Dropped(index, name, ..) => (index, name),
            };
            self.calls.emit_dropped(index, name.as_deref(), Dropped::Quoted, "", out);
        }
    }

    /// Everything on trial was meant.
    pub(super) fn accept_trial(&mut self, out: &mut Out<'_>) {
        if self.trials.current.take() == Some(CallTrial::Channel) && self.speech.in_reasoning() {
            self.speech.close_reasoning();
        }
        self.trials.in_sentence = None;
        let held = std::mem::take(&mut self.held);
        for waiting in self.calls.take_all_waiting() {
            match waiting {
                WaitingPart::Text(range) | WaitingPart::Words(range) => self.emit_text(&held[range], out),
                WaitingPart::Call(index, call, shown) => {
                    if shown == CallShown::No {
                        Calls::emit_hidden_call(index, &call, out);
                    }
                    self.calls.emit_finished(index, call, out);
                    self.speech.begin_after_call();
                }
                WaitingPart::Dropped(index, name, why, range) => {
                    self.calls.emit_dropped(index, name.as_deref(), why, &held[range], out);
                    self.speech.begin_after_call();
                }
            }
        }
        self.speech.update_fast_path(false);
    }

    /// The stream is over, and with it every trial. Where it was cut, it is unknown what would have followed.
    pub(super) fn settle_trial(&mut self, end: End, out: &mut Out<'_>) {
        if self.trials.current.is_none() {
            return;
        }
        if end == End::Normal {
            self.accept_trial(out);
            return;
        }
        self.trials.current = None;
        self.trials.in_sentence = None;
        let held = std::mem::take(&mut self.held);
        let waiting = self.calls.take_all_waiting();
        // The first call tells what the model wrote, for all that would have counted.
        let mut untold = text_not_yet_emitted(&held, &waiting);
        for waiting in waiting {
            match waiting {
                WaitingPart::Text(range) => self.emit_text(&held[range], out),
                WaitingPart::Words(_) => {}
                WaitingPart::Call(index, call, _) => {
                    let text = std::mem::take(&mut untold);
                    self.calls.emit_dropped(Some(index), Some(&call.name), Dropped::Cut, &text, out);
                }
                WaitingPart::Dropped(index, name, why, range) => {
                    self.calls.emit_dropped(index, name.as_deref(), why, &held[range], out);
                }
            }
        }
    }

    /// Gives out the held text as text.
    pub(super) fn release_held(&mut self, out: &mut Out<'_>) {
        let mut held = std::mem::take(&mut self.held);
        self.speech.update_fast_path(false);
        self.emit_text(&held, out);
        held.clear();
        self.held = held;
    }

    /// A section begins: from now on its calls wait, if it is on trial. One that is more likely a quotation is not shown.
    pub(super) fn begin_waiting(&mut self) {
        if self.trials.current.is_some() {
            self.calls.hold_calls();
        }
        self.section.waited = self.calls.waiting_count();
        self.calls.ends.clear();
        self.calls.hidden = self.trials.strict.is_some() && !self.section.leads;
        self.speech.update_fast_path(self.trials.current.is_some());
    }

    /// Whether the section that is over stands in a text that may be quoted, or all of its calls do.
    pub(super) fn repeats_quotable(&mut self) -> bool {
        let Some(strict) = self.trials.strict.as_ref().filter(|_| self.trials.current.is_some()) else {
            return false;
        };
        let Some(section) = self.held.get(self.section.at..) else { return false };
        if strict.quotable.contains_call(section, &mut self.trials.count_search) {
            return true;
        }
        let ends = self.calls.ends.iter().filter_map(|end| end.checked_sub(self.section.at));
        let mut from = 0;
        let mut calls = ends.filter_map(|to| section.get(std::mem::replace(&mut from, to)..to)).peekable();
        calls.peek().is_some()
            && calls.all(|call| {
                strict
                    .quotable
                    .contains_call_split(call.trim_matches(is_call_separator), &mut self.trials.count_search)
            })
    }

    /// The section was a quotation. Calls in the same channel that are none stay what they are.
    pub(super) fn quote_section(&mut self, out: &mut Out<'_>) {
        self.place = ParserPlace::Prose;
        self.section.unclosed = None;
        self.trials.has_quoted = true;
        self.calls.drop_silently(out);
        self.prose.line.observe_lines(&self.held[self.section.at..]);
        let quoted = self.calls.take_waiting_from(self.section.waited);
        self.emit_dropped(quoted, out);
        match self.trials.current {
            Some(CallTrial::Inline(_) | CallTrial::Channel) if self.calls.any_call_waits() => {
                let text = self.held.split_off(self.section.at);
                self.emit_text(&text, out);
            }
            _ => self.reject_trial(out),
        }
    }

    /// The section is over, and it is no quotation: whether it counts, for all that is known yet.
    pub(super) fn judge_position(&mut self, out: &mut Out<'_>) {
        match self.trials.current {
            Some(CallTrial::Alone { firm: true }) => self.accept_trial(out),
            Some(CallTrial::Marked) if self.section.leads => self.accept_trial(out),
            Some(CallTrial::Alone { .. } | CallTrial::Marked)
                if self.section.leads && self.has_profile_form() =>
            {
                self.accept_trial(out)
            }
            Some(CallTrial::Inline(_) | CallTrial::Channel) if self.trials.strict.is_some() => {
                let here = InSentence { waited: self.section.waited, at: self.section.at };
                match self.section.leads {
                    true => self.trials.in_sentence = None,
                    false => _ = self.trials.in_sentence.get_or_insert(here),
                }
            }
            _ => {}
        }
    }

    /// Whether the section is written as the model was told to write calls without marks.
    fn has_profile_form(&self) -> bool {
        let Some(strict) = &self.trials.strict else { return false };
        let own = &*strict.own_beginning;
        let section = self.held.get(self.section.at..).unwrap_or_default();
        !own.is_empty() && begins_without_blanks(section, own)
    }

    /// Text comes behind calls that wait. If they stand in a sentence it goes on, and they are quoted there.
    pub(super) fn quote_calls_in_sentence(&mut self, text: &str, out: &mut Out<'_>) {
        let Some(InSentence { waited, at }) = self.trials.in_sentence else { return };
        if text.chars().all(is_blank) {
            return;
        }
        self.trials.in_sentence = None;
        let quoted = self.calls.take_waiting_from(waited);
        self.emit_dropped(quoted, out);
        match self.calls.any_call_waits() {
            true => self.calls.hold_text_back(at..self.held.len()),
            false => self.reject_trial(out),
        }
    }
}

/// What of the held text is neither said nor told by a call that was none anyway.
fn text_not_yet_emitted(held: &str, waiting: &[WaitingPart]) -> String {
    let mut untold = String::new();
    let mut from = 0;
    for waiting in waiting {
        if let WaitingPart::Text(range) | WaitingPart::Dropped(.., range) = waiting {
            untold.push_str(held.get(from..range.start).unwrap_or(""));
            from = range.end;
        }
    }
    untold + &held[from..]
}

/// What may stand between two calls of a section.
fn is_call_separator(c: char) -> bool {
    is_blank(c) || matches!(c, ',' | ';' | '[' | ']')
}
