//! The body of calls written as JSON.

mod mending;

use super::JsonGrammar;
use crate::End;
use crate::body::{BodyEnding, BodyStep, Bypass, Evidence, TextChunk, Trailing, Unclaimed};
use crate::calls::CallReport;
use crate::envelope::{Envelope, EnvelopeFlow};
use helve_json::Repair;
use helve_json::closer::MarkMatcher;
use helve_json::is_blank;
use helve_json::loose::LooseScanner;
use helve_json::repair::Closing;
use helve_json::string_bytes::PLAIN;

pub(crate) struct JsonBody {
    grammar: &'static JsonGrammar,
    standing: Evidence,
    state: JsonState,
    envelope: Envelope,
    loose: LooseScanner,
    closer: MarkMatcher,
    /// Where the object begins in the held text.
    object_at: usize,
    /// Arrays open around the object.
    lists: usize,
    /// Calls reported, well or badly.
    calls: usize,
    /// A list without calls was closed.
    empty: bool,
    behind: Trailing,
    /// The present object stands in braces of its own that mean nothing.
    doubled: bool,
    /// Calls reported out of the present object, which may be a wrapper.
    of_object: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum JsonState {
    /// Before the second mark.
    Lead,
    Between,
    /// A call is whole and counts as soon as anything follows it.
    Ready {
        in_wrapper: bool,
    },
    Object,
    /// A member's name without quotes: a call only if a colon follows.
    BareKey {
        ended: bool,
    },
    /// The first member's name in Python's quotes, in an object that nothing marks: so much of the held text.
    PythonKey {
        from: usize,
    },
    Loose,
    /// What is read is no call, whatever it is.
    Refused,
    Closing,
}

impl JsonState {
    /// Where a section begins.
    fn initial(grammar: &JsonGrammar) -> Self {
        if grammar.led { Self::Lead } else { Self::Between }
    }
}

impl JsonBody {
    pub(crate) fn new(grammar: &'static JsonGrammar, standing: Evidence) -> Self {
        Self {
            grammar,
            standing,
            state: JsonState::initial(grammar),
            envelope: Envelope::new(grammar.envelope_rules(standing)),
            loose: LooseScanner::new(0),
            closer: MarkMatcher::default(),
            object_at: 0,
            lists: 0,
            calls: 0,
            empty: false,
            behind: Trailing::default(),
            doubled: false,
            of_object: 0,
        }
    }

    /// Begins a new section, with the buffers it has.
    pub(crate) fn restart(&mut self, grammar: &'static JsonGrammar, standing: Evidence) {
        if self.grammar.envelope_rules(self.standing) != grammar.envelope_rules(standing) {
            *self = Self::new(grammar, standing);
            return;
        }
        self.grammar = grammar;
        self.state = JsonState::initial(grammar);
        self.closer = MarkMatcher::default();
        self.lists = 0;
        self.calls = 0;
        self.empty = false;
        self.behind = Trailing::default();
    }

    #[inline(never)]
    pub(crate) fn feed(&mut self, text: &str, from: usize, report: &mut CallReport<'_, '_>) -> BodyStep {
        let mut chunk = TextChunk::new(text, from);
        loop {
            let step = match self.state {
                JsonState::Lead => self.skip_lead(&mut chunk),
                JsonState::Between | JsonState::Ready { .. } | JsonState::Closing => {
                    self.read_between_objects(&mut chunk, report)
                }
                JsonState::Object => self.read_object(&mut chunk, report),
                JsonState::BareKey { ended } => self.read_bare_key(ended, &mut chunk, report),
                JsonState::PythonKey { from } => self.read_python_key(from, &mut chunk, report),
                JsonState::Loose | JsonState::Refused => self.continue_loose_reading(&mut chunk, report),
            };
            if let Some(step) = step {
                chunk.hold_text(report);
                return step;
            }
        }
    }

    /// What of the text that comes next need not be read now.
    pub(crate) fn bypass(&self) -> Bypass {
        match self.state {
            JsonState::Object if self.envelope.is_plain_text() => Bypass::Arguments(&PLAIN),
            _ => Bypass::Nothing,
        }
    }

    fn skip_lead(&mut self, chunk: &mut TextChunk<'_>) -> Option<BodyStep> {
        let Some(bracket) = chunk.rest().find(['{', '[']) else {
            chunk.pos = chunk.text.len();
            return Some(BodyStep::More);
        };
        chunk.pos += bracket;
        self.state = JsonState::Between;
        None
    }

    fn read_between_objects(
        &mut self,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        let Some(byte) = chunk.byte() else {
            return Some(BodyStep::More);
        };
        if is_blank(byte as char) && self.state != JsonState::Closing {
            chunk.pos += 1;
            return None;
        }
        if let JsonState::Ready { in_wrapper } = self.state {
            if in_wrapper && self.lost_its_brace(byte, report) {
                self.state = JsonState::Object;
                return None;
            }
            self.count_call(report);
            if in_wrapper {
                self.state = JsonState::Object;
                report.calls.reported_to = chunk.held_position(report);
            } else {
                self.state = JsonState::Between;
                chunk.release_read_text(report);
            }
            return None;
        }
        if self.state == JsonState::Between {
            let marked = self.standing == Evidence::Marked;
            match byte {
                b'{' => {
                    self.begin_object(chunk.held_position(report));
                    return None;
                }
                b'[' if self.lists == 0 && !self.may_close_with(byte) => {
                    self.note_possible_end(chunk.held_position(report));
                    self.lists += 1;
                }
                b']' if self.lists > 0 => {
                    self.lists -= 1;
                    self.empty = self.calls == 0;
                    self.behind.close_bracket(self.lists);
                }
                b',' | b';' if self.calls > 0 => self.note_possible_end(chunk.held_position(report)),
                // Surplus brackets before the closing tag.
                b'}' | b']' if marked && self.calls > 0 => {}
                _ => return self.read_closing_tag(chunk, report),
            }
            chunk.pos += 1;
            return None;
        }
        self.read_closing_tag(chunk, report)
    }

    /// Whether what seems to be the arguments of a tool is only the name of one, whose object has lost its brace: a string
    /// with this behind it. What follows shows that it is not JSON.
    fn lost_its_brace(&self, next: u8, report: &CallReport<'_, '_>) -> bool {
        self.grammar.keyed && next == b':' && !report.arguments_so_far().starts_with('{')
    }

    /// What stands at this place of the held text, a separator or another list, may not be the section's.
    fn note_possible_end(&mut self, at: usize) {
        if self.calls > 0 {
            self.behind.record_position(at, self.lists);
        }
    }

    /// Whether a closing tag begins like this, after a call.
    fn may_close_with(&self, byte: u8) -> bool {
        self.calls > 0 && self.grammar.close.iter().any(|tag| tag.as_bytes()[0] == byte)
    }

    /// A closing tag, or else the end of the section before it.
    fn read_closing_tag(
        &mut self,
        chunk: &mut TextChunk<'_>,
        report: &CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        let carried = self.closer.matched_bytes();
        let begin = chunk.pos;
        if carried == 0 {
            let rest = chunk.rest();
            if let Some(tag) = self.grammar.close.iter().find(|tag| rest.starts_with(**tag)) {
                chunk.pos += tag.len();
                return Some(self.end_section(Unclaimed::from_position(chunk.pos), true));
            }
            if !self.grammar.close.iter().any(|tag| tag.starts_with(rest)) {
                let at = chunk.held_position(report);
                return Some(self.end_section(self.behind.unclaimed_from(at, chunk, report), false));
            }
        }
        while let Some(byte) = chunk.byte() {
            let seen = self.closer.matched_bytes();
            let whole = self.closer.push_byte(self.grammar.close, byte);
            if whole.is_some() {
                chunk.pos += 1;
                return Some(self.end_section(Unclaimed::from_position(chunk.pos), true));
            }
            if self.closer.matched_bytes() != seen + 1 {
                let back = if carried > 0 { seen } else { 0 };
                chunk.pos = if carried > 0 { chunk.pos } else { begin };
                let at = chunk.held_position(report) - back;
                return Some(self.end_section(self.behind.unclaimed_from(at, chunk, report), false));
            }
            chunk.pos += 1;
        }
        self.state = JsonState::Closing;
        Some(BodyStep::More)
    }

    /// A section without a call is none, unless nothing or an empty list stands in tags; an unmarked list must be whole.
    fn end_section(&self, rest: Unclaimed, closed: bool) -> BodyStep {
        if self.standing == Evidence::Marked && closed && (self.empty || self.lists == 0) {
            return BodyStep::Done(rest);
        }
        let torn = self.standing == Evidence::Alone && self.behind.open_around_calls(self.lists) > 0;
        if self.calls == 0 || torn {
            return BodyStep::NotACall(rest);
        }
        BodyStep::Done(rest)
    }

    fn begin_object(&mut self, at: usize) {
        self.object_at = at;
        self.of_object = 0;
        self.doubled = false;
        self.envelope.restart();
        self.state = JsonState::Object;
    }

    fn count_call(&mut self, report: &mut CallReport<'_, '_>) {
        self.calls += 1;
        self.behind = Trailing::default();
        self.of_object += 1;
        if self.doubled {
            report.add_repairs(vec![Repair::Closers]);
        }
        match report.call_name().is_some_and(|name| self.grammar.names_of_no_tool.contains(&name)) {
            true => report.drop_silently(),
            false => report.finish_call(),
        }
    }

    fn read_object(
        &mut self,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        let flow = self.envelope.feed(chunk.text, chunk.pos, report);
        let faulty = self.envelope.string_faults().any();
        match flow {
            EnvelopeFlow::More => {
                chunk.pos = chunk.text.len();
                return Some(BodyStep::More);
            }
            EnvelopeFlow::Call(pos) if !faulty => {
                chunk.pos = pos;
                self.state = JsonState::Ready { in_wrapper: true };
            }
            EnvelopeFlow::Call(pos) => {
                chunk.pos = pos;
                self.begin_loose_reading(JsonState::Loose);
            }
            EnvelopeFlow::Done(pos) => {
                chunk.pos = pos;
                if report.call_name().is_some_and(|name| self.grammar.answers.contains(&name)) {
                    return Some(BodyStep::NotACall(Unclaimed::from_position(pos)));
                }
                if faulty {
                    chunk.hold_text(report);
                    return self.repair_object(Closing::AsWritten, 0, pos, report);
                }
                // The calls of a wrapper have been reported.
                self.state = match report.calls.has_started() {
                    true => JsonState::Ready { in_wrapper: false },
                    false => JsonState::Between,
                };
            }
            EnvelopeFlow::Refused(pos) => {
                chunk.pos = pos;
                if self.standing == Evidence::Alone {
                    return Some(self.reject_object(chunk, report));
                }
                if self.envelope.depth() == 0 {
                    chunk.hold_text(report);
                    self.drop_draft(report);
                } else {
                    self.begin_loose_reading(JsonState::Refused);
                }
            }
            EnvelopeFlow::Bad(pos) => {
                chunk.pos = pos;
                return self.handle_malformed_object(chunk, report);
            }
        }
        None
    }

    pub(crate) fn finish(&mut self, end: End, report: &mut CallReport<'_, '_>) -> BodyEnding {
        // An unmarked beginning is known for a call by nothing but a declared name.
        let started = report.calls.has_started() && !report.tools.is_unknown();
        match self.state {
            // A member that is a call counts with its object.
            JsonState::Ready { in_wrapper: true } if self.grammar.keyed => BodyEnding::Cut,
            JsonState::Ready { .. } if end == End::Normal => {
                self.count_call(report);
                BodyEnding::Done
            }
            JsonState::Between if self.calls > 0 => {
                self.behind.emit_text(self.standing, end, report);
                BodyEnding::Done
            }
            JsonState::Closing if self.calls > 0 => {
                self.finish_partial_tag(end, report);
                BodyEnding::Done
            }
            _ if self.standing == Evidence::Marked || started => BodyEnding::Cut,
            _ => BodyEnding::NotACall,
        }
    }

    /// The message is over with the beginning of a closing tag, of which one character says nothing yet.
    fn finish_partial_tag(&mut self, end: End, report: &mut CallReport<'_, '_>) {
        if end == End::Normal && self.closer.matched_bytes() == 1 {
            self.note_possible_end(report.held.len() - 1);
            self.behind.emit_text(self.standing, end, report);
        }
    }
}
