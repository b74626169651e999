//! The body of calls written as Python.

mod arguments;

use super::PythonGrammar;
use crate::body::{BodyEnding, BodyStep, Bypass, Evidence, TextChunk, Trailing, Unclaimed};
use crate::calls::CallReport;
use crate::{Dropped, End};
use helve_json::closer::MarkMatcher;
use helve_json::is_blank;
use helve_json::literal::LiteralReader;
use helve_json::string_bytes;

pub(crate) struct PythonBody {
    grammar: &'static PythonGrammar,
    standing: Evidence,
    state: PythonState,
    closer: MarkMatcher,
    /// A name, as far as it was read.
    token: String,
    literal: LiteralReader,
    /// JSON of the value being read, and how much of it was reported.
    value: String,
    reported: usize,
    arguments: usize,
    unnamed: usize,
    /// Brackets and `print(`s open around the call.
    around: usize,
    /// The calls stand in a list.
    listed: bool,
    calls: usize,
    behind: Trailing,
    /// How much comment stands behind the last call.
    commented: usize,
}

/// So much comment behind the last call may be read again, as text, if no call follows it. With more, a call that stands
/// alone would be held back for long; a section with markup makes it its own.
const COMMENT_MAX: usize = 256;

#[derive(Clone, Copy, PartialEq)]
enum PythonState {
    Between,
    Comment,
    Name,
    AfterName,
    Argument,
    Key,
    AfterKey,
    Value,
    AfterValue,
    /// A call is whole; what follows it says whether it counts.
    Ready,
    Closing,
    /// What is read is no call, whatever it is; only the closing tag ends it.
    Broken,
}

impl PythonBody {
    pub(crate) fn new(grammar: &'static PythonGrammar, standing: Evidence) -> Self {
        Self {
            grammar,
            standing,
            state: PythonState::Between,
            closer: MarkMatcher::default(),
            token: String::new(),
            literal: LiteralReader::for_python(),
            value: String::new(),
            reported: 0,
            arguments: 0,
            unnamed: 0,
            around: 0,
            listed: false,
            calls: 0,
            behind: Trailing::default(),
            commented: 0,
        }
    }

    #[inline(never)]
    pub(crate) fn feed(&mut self, text: &str, from: usize, report: &mut CallReport<'_, '_>) -> BodyStep {
        let mut chunk = TextChunk::new(text, from);
        let step = loop {
            let Some(c) = chunk.char() else { break BodyStep::More };
            if self.state == PythonState::Value {
                match self.read_value(&mut chunk, report) {
                    Some(step) => break step,
                    None => continue,
                }
            }
            match self.handle_char(c, chunk.held_position(report), report) {
                PythonStep::Take => chunk.pos += c.len_utf8(),
                PythonStep::Again => {}
                PythonStep::Finish => {
                    chunk.release_read_text(report);
                    self.behind = Trailing::default();
                    self.commented = 0;
                }
                PythonStep::Close => break self.read_closing_tag(&mut chunk, report),
                PythonStep::Over => {
                    chunk.pos += c.len_utf8();
                    chunk.hold_text(report);
                    break self.end_section(chunk.pos, report);
                }
                PythonStep::Refuse => break self.reject_section(&mut chunk, report),
            }
        };
        chunk.hold_text(report);
        step
    }

    /// What of the text that comes next need not be read now.
    pub(crate) fn bypass(&self) -> Bypass {
        let told = self.reported == self.value.len();
        match self.state {
            PythonState::Value if told && self.literal.is_plain_text() => Bypass::Arguments(&PLAIN),
            _ => Bypass::Nothing,
        }
    }

    /// What follows is no call. After calls it is the text behind them; an unmarked list of calls must be whole.
    fn reject_section(&mut self, chunk: &mut TextChunk<'_>, report: &mut CallReport<'_, '_>) -> BodyStep {
        let torn = self.standing == Evidence::Alone && self.behind.open_around_calls(self.around) > 0;
        if self.calls == 0 || torn || report.calls.has_started() {
            return BodyStep::NotACall(Unclaimed::from_position(chunk.pos));
        }
        BodyStep::Done(self.behind.unclaimed_from(chunk.held_position(report), chunk, report))
    }

    /// Judges a character, which stands at this place of the held text.
    fn handle_char(&mut self, c: char, at: usize, report: &mut CallReport<'_, '_>) -> PythonStep {
        match self.state {
            PythonState::Between => self.handle_char_between_calls(c, at),
            PythonState::Comment => self.handle_char_in_comment(c),
            PythonState::Name => match c {
                _ if is_python_name_char(c) || matches!(c, '.' | '-') => self.take_into_token(c),
                _ => self.switch_to(PythonState::AfterName),
            },
            PythonState::AfterName => match c {
                '(' => self.begin_call(report),
                // `result = f(…)`: what the result is called does not matter.
                '=' => self.take_and_switch_to(PythonState::Between),
                _ if is_blank(c) => PythonStep::Take,
                _ => self.break_call(report),
            },
            PythonState::Argument => match c {
                ')' => self.end_call(report),
                _ if is_blank(c) => PythonStep::Take,
                _ if c.is_alphabetic() || c == '_' => {
                    self.token.clear();
                    self.switch_to(PythonState::Key)
                }
                _ => self.begin_unnamed_argument(report),
            },
            PythonState::Key => match c {
                _ if is_python_name_char(c) => self.take_into_token(c),
                // Markdown escapes an underscore.
                '\\' => PythonStep::Take,
                _ => self.switch_to(PythonState::AfterKey),
            },
            PythonState::AfterKey => match c {
                '=' if self.is_given_by_position(&self.token, report) => self.break_call(report),
                '=' => {
                    let key = std::mem::take(&mut self.token);
                    self.begin_value(&key, report);
                    PythonStep::Take
                }
                _ if is_blank(c) => PythonStep::Take,
                _ => self.begin_unnamed_argument(report),
            },
            PythonState::AfterValue => match c {
                ',' => self.take_and_switch_to(PythonState::Argument),
                ')' => self.end_call(report),
                _ if is_blank(c) => PythonStep::Take,
                _ => self.break_call(report),
            },
            PythonState::Ready => self.handle_char_after_call(c, report),
            PythonState::Value | PythonState::Closing | PythonState::Broken => PythonStep::Close,
        }
    }

    /// A call counts if it is a statement, or an item of a list: what else stands behind it makes it a part of a program.
    fn handle_char_after_call(&mut self, c: char, report: &mut CallReport<'_, '_>) -> PythonStep {
        match c {
            // Of a `print(`: the statement goes on.
            ')' if self.around > 0 => {
                self.around -= 1;
                PythonStep::Take
            }
            '\n' if self.around == 0 => self.count_call(report),
            // Tags and backticks are no Python.
            ',' | ';' | '#' | ')' | ']' | '<' | '`' => self.count_call(report),
            _ if is_blank(c) => PythonStep::Take,
            _ => self.break_call(report),
        }
    }

    fn count_call(&mut self, report: &mut CallReport<'_, '_>) -> PythonStep {
        self.calls += 1;
        report.finish_call();
        self.state = PythonState::Between;
        PythonStep::Finish
    }

    fn handle_char_between_calls(&mut self, c: char, at: usize) -> PythonStep {
        // Behind a list stands nothing but another one.
        let after_list = self.listed && self.around == 0 && self.calls > 0;
        match c {
            _ if is_blank(c) => PythonStep::Take,
            '[' => {
                self.record_position(at);
                self.around += 1;
                self.listed = true;
                PythonStep::Take
            }
            ',' | ';' if self.calls > 0 => {
                self.note_possible_end(at);
                PythonStep::Take
            }
            _ if after_list => PythonStep::Close,
            '#' => {
                self.note_possible_end(at);
                self.take_and_switch_to(PythonState::Comment)
            }
            ']' | ')' if self.is_program() => PythonStep::Refuse,
            ']' | ')' if self.around > 0 => {
                self.around -= 1;
                self.behind.close_bracket(self.around);
                PythonStep::Take
            }
            _ if c.is_alphabetic() || c == '_' => {
                self.record_position(at);
                self.token.clear();
                self.switch_to(PythonState::Name)
            }
            _ => PythonStep::Close,
        }
    }

    /// What stands at this place of the held text, a separator or a comment, may not be the section's. In a fence it is.
    fn note_possible_end(&mut self, at: usize) {
        if !self.grammar.fenced {
            self.record_position(at);
        }
    }

    /// What stands at this place of the held text is the section's only if a call follows.
    fn record_position(&mut self, at: usize) {
        if self.calls > 0 || self.grammar.fenced {
            self.behind.record_position(at, self.around);
        }
    }

    /// All of a fence is code: a bracket or a word that no call follows makes it a program, and no call in it counts.
    fn is_program(&self) -> bool {
        self.grammar.fenced && self.behind.has_open_position()
    }

    /// Nothing ends a comment but its line and the closing tag.
    fn handle_char_in_comment(&mut self, c: char) -> PythonStep {
        self.commented += c.len_utf8();
        let long = self.commented > COMMENT_MAX && !self.grammar.fenced;
        if long && self.standing == Evidence::Alone && self.calls > 0 && self.around == 0 {
            return PythonStep::Refuse;
        }
        let mut bytes = [0; 4];
        for byte in c.encode_utf8(&mut bytes).bytes() {
            if self.closer.push_byte(self.grammar.close, byte).is_some() {
                return PythonStep::Over;
            }
        }
        if c == '\n' {
            self.closer = MarkMatcher::default();
            self.state = PythonState::Between;
            if long {
                self.behind = Trailing::default();
                self.commented = 0;
            }
        }
        PythonStep::Take
    }

    fn begin_call(&mut self, report: &mut CallReport<'_, '_>) -> PythonStep {
        if self.token == "print" {
            self.around += 1;
            return self.take_and_switch_to(PythonState::Between);
        }
        let prefix = self.grammar.prefixes.iter().find_map(|p| self.token.strip_prefix(p));
        let name = prefix.unwrap_or(&self.token);
        // Built-in tools are written as objects with one method: `brave_search.call(query="…")`.
        let name = name.strip_suffix(".call").unwrap_or(name);
        if !self.standing.accepts_name(name, report.tools) {
            return PythonStep::Refuse;
        }
        report.set_name(name);
        self.token.clear();
        self.arguments = 0;
        self.unnamed = 0;
        self.take_and_switch_to(PythonState::Argument)
    }

    /// A closing tag, or else the end of the section before it.
    fn read_closing_tag(&mut self, chunk: &mut TextChunk<'_>, report: &mut CallReport<'_, '_>) -> BodyStep {
        let carried = self.closer.matched_bytes();
        let from = chunk.pos;
        while let Some(byte) = chunk.byte() {
            let seen = self.closer.matched_bytes();
            if self.closer.push_byte(self.grammar.close, byte).is_some() {
                chunk.pos += 1;
                chunk.hold_text(report);
                return self.end_section(chunk.pos, report);
            }
            if self.state != PythonState::Broken && self.closer.matched_bytes() != seen + 1 {
                if carried == 0 {
                    chunk.pos = from;
                }
                let back = if carried > 0 { seen } else { 0 };
                let rest = self.behind.unclaimed_from(chunk.held_position(report) - back, chunk, report);
                return if self.calls == 0 { BodyStep::NotACall(rest) } else { BodyStep::Done(rest) };
            }
            chunk.pos += 1;
        }
        if self.state != PythonState::Broken {
            self.state = PythonState::Closing;
        }
        BodyStep::More
    }

    fn end_section(&mut self, pos: usize, report: &mut CallReport<'_, '_>) -> BodyStep {
        if self.state == PythonState::Broken {
            report.drop_draft(Dropped::Broken);
        } else if self.calls == 0 {
            return BodyStep::NotACall(Unclaimed::from_position(pos));
        }
        BodyStep::Done(Unclaimed::from_position(pos))
    }

    pub(crate) fn finish(&mut self, end: End, report: &mut CallReport<'_, '_>) -> BodyEnding {
        let started = report.calls.has_started();
        match self.state {
            PythonState::Ready if end == End::Normal => {
                report.finish_call();
                BodyEnding::Done
            }
            PythonState::Between | PythonState::Comment | PythonState::Closing
                if end == End::Normal && self.is_program() =>
            {
                BodyEnding::NotACall
            }
            PythonState::Between | PythonState::Comment | PythonState::Closing if self.calls > 0 => {
                self.finish_after_calls(end, report);
                BodyEnding::Done
            }
            // A word behind the tag and a blank is prose about the tag, unless the stream was cut there.
            _ if self.standing == Evidence::Marked && (started || end == End::Cut) => BodyEnding::Cut,
            PythonState::Name if self.standing == Evidence::Marked && !self.follows_blank(report) => {
                BodyEnding::Cut
            }
            _ if started && !report.tools.is_unknown() => BodyEnding::Cut,
            _ => BodyEnding::NotACall,
        }
    }

    /// The message is over behind the calls. Of the beginning of a closing tag one character says nothing yet, and a
    /// comment is code where markup says so.
    fn finish_after_calls(&mut self, end: End, report: &mut CallReport<'_, '_>) {
        match self.state {
            _ if self.commented > 0 && self.standing == Evidence::Marked => return,
            PythonState::Closing if end == End::Cut || self.closer.matched_bytes() > 1 => return,
            PythonState::Closing => self.note_possible_end(report.held.len() - 1),
            _ => {}
        }
        self.behind.emit_text(self.standing, end, report);
    }

    /// Whether a blank stands before the name that is being read.
    fn follows_blank(&self, report: &CallReport<'_, '_>) -> bool {
        report.held.strip_suffix(&self.token).is_some_and(|before| before.ends_with(' '))
    }

    fn take_into_token(&mut self, c: char) -> PythonStep {
        self.token.push(c);
        PythonStep::Take
    }

    fn switch_to(&mut self, state: PythonState) -> PythonStep {
        self.state = state;
        PythonStep::Again
    }

    fn take_and_switch_to(&mut self, state: PythonState) -> PythonStep {
        self.state = state;
        PythonStep::Take
    }

    /// Before a call has named its tool, what is no call is text.
    fn break_call(&mut self, report: &CallReport<'_, '_>) -> PythonStep {
        if self.standing == Evidence::Alone || report.call_name().is_none() {
            return PythonStep::Refuse;
        }
        self.switch_to(PythonState::Broken)
    }
}

/// Bytes that mean nothing but themselves in a string of either quote, in Python and in JSON.
static PLAIN: [bool; 256] = {
    let mut plain = string_bytes::PLAIN;
    plain[b'\'' as usize] = false;
    plain
};

fn is_python_name_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[derive(PartialEq)]
enum PythonStep {
    Take,
    /// The state changed; the same character is judged again.
    Again,
    /// A call counts from here on; the same character is judged again.
    Finish,
    /// Nothing but the closing tag can stand here.
    Close,
    /// The closing tag ends with this character.
    Over,
    Refuse,
}
