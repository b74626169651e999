//! What a marker means where it stands, and what it does there.
//!
//! In code and in quotations it means nothing. A mark behind a call to whose dialect it belongs, which opens and closes
//! nothing, is dropped. Calls inside a result that the model writes itself are quotations, if the result ends.

use super::code::Code;
use super::opening::Opening;
use super::trial::CallTrial;
use super::{Parser, ParserPlace};
use crate::End;
use crate::calls::Out;
use crate::dialect::{END_TOKENS, HTML_END_TOKEN, RESULTS};
use crate::registry::{MarkerRole, is_words};

impl Parser {
    /// A marker stands in the text, and it means something here.
    pub(super) fn handle_marker(&mut self, marker: usize, out: &mut Out<'_>) {
        let live = self.live;
        let text = live.markers.text(marker);
        match live.roles[marker] {
            MarkerRole::OpenReasoning(_) => _ = self.closes_first.get_or_insert(false),
            MarkerRole::CloseReasoning => _ = self.closes_first.get_or_insert(true),
            _ => {}
        }
        match &live.roles[marker] {
            MarkerRole::Call(_) => self.begin_opening(Opening::tag(marker), text),
            MarkerRole::OpenReasoning(closers) if !self.speech.in_reasoning() => {
                self.reject_trial(out);
                self.speech.open_reasoning(closers, out);
                self.reset_line();
            }
            MarkerRole::CloseReasoning if self.speech.in_reasoning() => {
                self.reject_trial(out);
                self.speech.close_reasoning();
                self.reset_line();
            }
            MarkerRole::CloseReasoning => self.speech.handle_stray_close(),
            MarkerRole::Over if self.scope.is_some() || self.speech.in_reasoning() => {
                self.reject_trial(out);
                self.leave_channel();
            }
            MarkerRole::EndsOutput => {
                self.settle_trial(End::Normal, out);
                self.place = ParserPlace::OutputOver;
            }
            MarkerRole::Result(begins) => self.handle_result_tag(*begins, text, out),
            MarkerRole::Stray | MarkerRole::Silent if self.is_stray_marker(marker) => {
                self.drop_stray(text, out)
            }
            MarkerRole::Silent if text == HTML_END_TOKEN && self.trials.current.is_none() => {
                self.speech.hold_end_token(text)
            }
            // Of a message in which a call may be quoted.
            MarkerRole::Over if self.trials.current == Some(CallTrial::Marked) => self.held.push_str(text),
            MarkerRole::Over if std::mem::take(&mut self.trials.has_quoted) => self.emit_text(text, out),
            MarkerRole::OpenReasoning(_) | MarkerRole::Silent | MarkerRole::Stray | MarkerRole::Over => {}
        }
    }

    /// Whatever channel was open is over, and its reasoning with it.
    pub(super) fn leave_channel(&mut self) {
        self.scope = None;
        if self.speech.in_reasoning() {
            self.speech.close_reasoning();
        }
        self.reset_line();
    }

    /// A line begins, in no section.
    fn reset_line(&mut self) {
        self.prose.reset_line();
        self.section.unclosed = None;
    }

    /// Whether a marker means anything where it stands. In code it is a quotation, and in a quoted line; only the
    /// end of reasoning counts everywhere, since code in reasoning is often left open.
    pub(super) fn is_active(&self, marker: usize) -> bool {
        let reasoning = self.speech.in_reasoning();
        let role = &self.live.roles[marker];
        let plain = self.prose.code == Code::None && !self.prose.line.is_quoted();
        if let Some(scope) = self.scope {
            let text = self.live.markers.text(marker);
            return match role {
                _ if scope.closes.contains(&text) => true,
                _ if END_TOKENS.contains(&text) => self.prose.code == Code::None,
                _ if !scope.opens.contains(&text) => false,
                _ if !reasoning => plain && (self.trials.trusting || !self.in_result),
                _ => self.live.is_head(marker) || self.prose.code == Code::None && self.trials.trusting,
            };
        }
        match role {
            _ if self.belongs_to_unclosed_section(marker) => self.trials.trusting || !self.in_channel(),
            MarkerRole::CloseReasoning if reasoning => self.speech.ends_with(self.live.markers.text(marker)),
            MarkerRole::OpenReasoning(_) if self.live.is_words(marker) => plain && self.prose.line.is_fresh(),
            // Elsewhere than at the beginning, words that close what was not opened are text.
            MarkerRole::CloseReasoning if self.live.is_words(marker) => self.speech.at_start(),
            MarkerRole::Silent if self.live.is_words(marker) => {
                self.prose.code == Code::None && self.speech.at_start()
            }
            MarkerRole::Result(begins) => !reasoning && self.in_result != *begins && (!begins || plain),
            MarkerRole::Over if reasoning => true,
            MarkerRole::Call(_) if self.live.is_head(marker) => reasoning || plain,
            MarkerRole::Call(_) if reasoning => self.prose.code == Code::None && self.trials.trusting,
            MarkerRole::Call(_) if self.in_result => plain && self.trials.trusting,
            MarkerRole::Call(_) => match self.prose.code {
                Code::None => plain,
                Code::Tildes(_) => false,
                Code::Inline(_) => matches!(self.trials.current, None | Some(CallTrial::Inline(_))),
                Code::Fence { headed, .. } => {
                    headed || matches!(self.trials.current, Some(CallTrial::Fence { .. }))
                }
            },
            MarkerRole::Stray if !self.is_stray_marker(marker) || self.prose.line.is_quoted() => false,
            MarkerRole::Stray if matches!(self.prose.code, Code::Inline(_)) => {
                matches!(self.trials.current, Some(CallTrial::Inline(_)))
            }
            _ => self.prose.code == Code::None,
        }
    }

    /// In reasoning, in another channel, or in a result: a call is a quotation if that ends.
    pub(super) fn in_channel(&self) -> bool {
        self.speech.in_reasoning() || self.scope.is_some() || self.in_result
    }

    /// A tool's result begins or ends. Its tags are text, as is what stands between them.
    fn handle_result_tag(&mut self, begins: bool, tag: &str, out: &mut Out<'_>) {
        if !begins && self.trials.current == Some(CallTrial::Channel) {
            self.reject_trial(out);
        }
        self.in_result = begins;
        self.emit_text(tag, out);
        self.prose.line.observe(tag.as_bytes());
    }

    /// Whether the tag is the end of the result around it.
    pub(super) fn ends_result(&self, tag: &str) -> bool {
        self.in_result && RESULTS.iter().any(|(_, close)| *close == tag)
    }

    /// Whether a call has been read, or is on trial, to which the marker could belong.
    pub(super) fn is_stray_marker(&self, marker: usize) -> bool {
        let marked = matches!(
            self.trials.current,
            Some(CallTrial::Marked | CallTrial::Inline(_) | CallTrial::Channel)
        );
        let on_trial = (marked && self.calls.any_call_waits()).then_some(self.calls.dialect);
        self.live.is_stray(marker, |dialect| self.calls.has_call_of(dialect) || on_trial == Some(dialect))
    }

    /// A mark that belongs to no call. What stands without a mark of its own before it repeats the call, and is text;
    /// a quotation keeps it.
    fn drop_stray(&mut self, mark: &str, out: &mut Out<'_>) {
        match self.trials.current {
            Some(CallTrial::Alone { .. } | CallTrial::Fence { .. }) => self.reject_trial(out),
            Some(CallTrial::Marked | CallTrial::Inline(_) | CallTrial::Channel) => self.held.push_str(mark),
            None => self.speech.handle_stray_mark(),
        }
    }

    /// The mark of the present section opened nothing: behind a call of its own dialect it is a stray.
    pub(super) fn discard_mark(&mut self) {
        if is_words(self.section.mark) {
            return;
        }
        if self.held.get(self.section.at..).is_some_and(|text| text.starts_with(self.section.mark)) {
            self.held.drain(self.section.at..self.section.at + self.section.mark.len());
        }
    }
}
