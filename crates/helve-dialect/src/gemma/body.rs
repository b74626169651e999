//! A call that comes in pieces, from state to state.

use std::borrow::Cow;

use super::state::{SIGN, State};
use super::{GemmaGrammar, NAME_MAX, Sign, json_of_text, json_of_word};
use crate::ascii;
use crate::body::{Chunk, Ending, Passing, Rest, Step};
use crate::calls::Report;
use crate::coerce;
use crate::dialect::is_name;
use crate::literal::strings;
use crate::scan::find_byte;
use crate::signpost::{Found, Signpost};
use crate::{Dropped, End, Tools, json};

pub(crate) struct GemmaBody {
    grammar: &'static GemmaGrammar,
    state: State,
    signpost: Signpost,
    /// Where the name, the key or the value that is being read begins in the held text.
    word_at: usize,
    /// The member of the call that is being read.
    key: String,
    /// Open containers inside the call: whether each is an object.
    objects: Vec<bool>,
    first: bool,
    /// A comma of a list that is not told yet.
    comma: bool,
}

/// Deep enough for any argument.
const DEPTH_MAX: usize = 100;

impl GemmaBody {
    pub(crate) fn new(grammar: &'static GemmaGrammar) -> Self {
        Self {
            grammar,
            state: State::Begin,
            signpost: Signpost::default(),
            word_at: 0,
            key: String::new(),
            objects: Vec::new(),
            first: true,
            comma: false,
        }
    }

    /// Begins a new section, with the buffers it has.
    pub(crate) fn restart(&mut self, grammar: &'static GemmaGrammar) {
        self.grammar = grammar;
        self.state = State::Begin;
        self.signpost = Signpost::default();
        self.objects.clear();
        self.first = true;
        self.comma = false;
    }

    #[inline(never)]
    pub(crate) fn feed(&mut self, text: &str, from: usize, report: &mut Report<'_, '_>) -> Step {
        let mut chunk = Chunk::new(text, from);
        if self.state == State::Begin {
            self.begin_word(State::Name, &chunk, report);
        }
        let step = loop {
            let step = match self.signpost.in_sign() {
                true => self.read_sign(&mut chunk, report),
                false => self.read(&mut chunk, report),
            };
            if let Some(step) = step {
                break step;
            }
        };
        chunk.keep(report);
        step
    }

    /// What need not be read before what follows it.
    pub(crate) fn passing(&self) -> Passing {
        match self.state {
            _ if self.signpost.in_sign() => Passing::Later(&SIGN),
            State::Text if !self.grammar.decodes => Passing::Arguments(&json::UNTAGGED),
            state => Passing::Later(state.quiet()),
        }
    }

    /// Reads up to the next character that means something, and what it means.
    fn read(&mut self, chunk: &mut Chunk<'_>, report: &mut Report<'_, '_>) -> Option<Step> {
        self.pass(chunk, report);
        match chunk.byte() {
            None => Some(Step::More),
            Some(b'<') => self.read_sign(chunk, report),
            Some(byte) => {
                let at = chunk.held_at(report);
                chunk.pos += if byte.is_ascii() { 1 } else { chunk.char()?.len_utf8() };
                self.byte(byte, at, chunk, report)
            }
        }
    }

    /// Takes what means nothing but itself.
    fn pass(&mut self, chunk: &mut Chunk<'_>, report: &mut Report<'_, '_>) {
        let rest = chunk.rest();
        let idle = self.state.idle();
        let run = match self.state {
            State::Text => find_byte(rest.as_bytes(), b'<'),
            _ => rest.bytes().position(|byte| !idle[byte as usize]),
        };
        let mut run = run.unwrap_or(rest.len());
        match self.state {
            State::Text if !self.grammar.decodes && run > 0 => {
                report.write(|arguments| strings::push_text(&rest[..run], arguments));
            }
            State::Name => {
                let room = (self.word_at + NAME_MAX + 1).saturating_sub(chunk.held_at(report));
                if run > room {
                    run = rest.floor_char_boundary(room);
                }
            }
            _ => {}
        }
        chunk.pos += run;
    }

    fn read_sign(&mut self, chunk: &mut Chunk<'_>, report: &mut Report<'_, '_>) -> Option<Step> {
        let rest = chunk.rest();
        let (taken, found) = self.signpost.step(self.grammar.signs, rest);
        chunk.pos += taken;
        match found {
            Found::Nothing => Some(Step::More),
            Found::Sign(sign) => self.sign(sign, chunk, report),
            Found::Char => self.passed(&rest[..taken], chunk, report),
            Found::Beginning(text) => self.passed(text, chunk, report),
        }
    }

    /// What seemed to be a sign is none, and was taken.
    fn passed(&mut self, passed: &str, chunk: &mut Chunk<'_>, report: &mut Report<'_, '_>) -> Option<Step> {
        match self.state {
            State::Text if self.grammar.decodes => return None,
            State::Text => {
                report.write(|arguments| strings::push_text(passed, arguments));
                return None;
            }
            State::Ready => return self.followed(passed.len(), chunk, report),
            _ => {}
        }
        let begin = chunk.held_at(report) - passed.len();
        passed.bytes().enumerate().find_map(|(at, byte)| self.byte(byte, begin + at, chunk, report))
    }

    /// Text behind a whole call, of which so much was taken: the closing mark is missing.
    fn followed(&mut self, taken: usize, chunk: &mut Chunk<'_>, report: &mut Report<'_, '_>) -> Option<Step> {
        chunk.keep(report);
        report.finish();
        Some(Step::Done(Rest { back: taken, pos: chunk.pos }))
    }

    /// A name, a key or a value begins behind what was taken.
    fn begin_word(&mut self, state: State, chunk: &Chunk<'_>, report: &Report<'_, '_>) {
        self.word_at = chunk.held_at(report);
        self.state = state;
    }

    fn sign(&mut self, sign: Sign, chunk: &mut Chunk<'_>, report: &mut Report<'_, '_>) -> Option<Step> {
        let at = chunk.held_at(report) - self.grammar.mark(sign).len();
        match (sign, self.state) {
            (Sign::Quote, State::Key) => {
                chunk.keep(report);
                match key_of(&report.held[self.word_at..at]).is_empty() {
                    true => self.begin_word(State::QuotedKey, chunk, report),
                    false => self.state = State::Broken,
                }
            }
            (Sign::Quote, State::QuotedKey) => self.key_read(at, chunk, report),
            (Sign::Quote, State::Value) => {
                let comma = std::mem::take(&mut self.comma);
                let quote = if self.grammar.decodes { "" } else { "\"" };
                report.write(|arguments| {
                    arguments.push_str(if comma { ", " } else { "" });
                    arguments.push_str(quote);
                });
                self.begin_word(State::Text, chunk, report);
            }
            (Sign::Quote, State::Text) => {
                self.state = State::AfterValue;
                match self.grammar.decodes {
                    true => self.tell_word(at, json_of_text, chunk, report),
                    false => report.arguments("\""),
                }
            }
            (Sign::Close, State::Ready) => {
                report.finish();
                chunk.let_go(report);
                return Some(Step::Done(Rest::at(chunk.pos)));
            }
            (Sign::Close, _) if report.calls.has_started() => {
                chunk.keep(report);
                report.give_up(Dropped::Broken);
                return Some(Step::Done(Rest::at(chunk.pos)));
            }
            (Sign::Close, _) => return Some(Step::NotACall(Rest::at(chunk.pos))),
            (Sign::Quote, _) => self.state = State::Broken,
        }
        None
    }

    /// Tells the value that ends at this place of the held text, as JSON.
    fn tell_word(
        &mut self,
        at: usize,
        json: fn(&str, &str, Option<&str>, &Tools) -> String,
        chunk: &mut Chunk<'_>,
        report: &mut Report<'_, '_>,
    ) {
        chunk.keep(report);
        let word = &report.held[self.word_at..at];
        let json = json(word, report.calls.named().unwrap_or(""), self.parameter(), report.tools);
        report.arguments(&json);
    }

    /// The parameter whose value is being read; none inside a container.
    fn parameter(&self) -> Option<&str> {
        self.objects.is_empty().then_some(self.key.as_str())
    }

    /// A character begins with this byte, at this place of the held text. What follows it in the chunk may be taken too.
    fn byte(
        &mut self,
        byte: u8,
        at: usize,
        chunk: &mut Chunk<'_>,
        report: &mut Report<'_, '_>,
    ) -> Option<Step> {
        match (self.state, byte) {
            (State::Name, b'{' | b'(') => return self.name_read(at, chunk, report),
            (State::Name, _) if at > self.word_at + NAME_MAX => {
                return Some(Step::NotACall(Rest::at(chunk.pos)));
            }
            (State::Key, b':') => self.key_read(at, chunk, report),
            (State::Key, b'}' | b')') => {
                chunk.keep(report);
                if key_of(&report.held[self.word_at..at]).is_empty() {
                    self.close(byte, report);
                }
            }
            (State::Colon, b':') => self.state = State::Value,
            (State::Colon, _) => self.state = State::Broken,
            (State::Value, _) => self.value(byte, at, report),
            (State::Word, b',' | b'}' | b']' | b')') => {
                self.tell_word(at, json_of_word, chunk, report);
                self.after(byte, at, report);
            }
            (State::Quoted, b'"') => {
                chunk.keep(report);
                let word = &report.held[self.word_at..=at];
                let text = json::unquoted(word).map(|text| coerce::quoted(&text));
                let text = text.unwrap_or_else(|| coerce::quoted(word.trim_matches('"')));
                report.arguments(&text);
                self.state = State::AfterValue;
            }
            (State::Quoted, b'\\') => self.state = State::Escaped,
            (State::Escaped, _) => self.state = State::Quoted,
            (State::AfterValue, _) => self.after(byte, at, report),
            (State::Ready, _) => {
                let taken = chunk.held_at(report) - at;
                let blank = chunk.text[chunk.pos - taken..chunk.pos].trim().is_empty();
                return if blank { None } else { self.followed(taken, chunk, report) };
            }
            _ => {}
        }
        None
    }

    /// The name ends at this place of the held text, with a bracket.
    fn name_read(&mut self, at: usize, chunk: &mut Chunk<'_>, report: &mut Report<'_, '_>) -> Option<Step> {
        chunk.keep(report);
        let word = ascii::trim(&report.held[self.word_at..at]);
        let name = word.strip_prefix("call:").or_else(|| word.strip_prefix(':')).unwrap_or(word);
        let name = ascii::trim(name);
        if name.is_empty() || !name.chars().all(is_name) {
            return Some(Step::NotACall(Rest::at(chunk.pos)));
        }
        report.calls.name(name, report.out);
        report.arguments("{");
        self.begin_members(at);
        None
    }

    /// An object begins, with the bracket at this place of the held text.
    fn begin_members(&mut self, at: usize) {
        self.first = true;
        self.word_at = at + 1;
        self.state = State::Key;
    }

    /// The key ends at this place of the held text.
    fn key_read(&mut self, at: usize, chunk: &mut Chunk<'_>, report: &mut Report<'_, '_>) {
        chunk.keep(report);
        let word = &report.held[self.word_at..at];
        let key = match self.state {
            State::QuotedKey => ascii::trim(word).into(),
            _ => key_of(word),
        };
        let first = std::mem::take(&mut self.first);
        report.calls.write(report.out, |arguments| {
            arguments.push_str(if first { "\"" } else { ", \"" });
            strings::push_text(&key, arguments);
            arguments.push_str("\": ");
        });
        if self.objects.is_empty() {
            self.key.clear();
            self.key.push_str(&key);
        }
        self.state = if self.state == State::QuotedKey { State::Colon } else { State::Value };
    }

    /// Tells the comma before an item of a list, now that there is one: models also write it behind the last.
    fn separate(&mut self, report: &mut Report<'_, '_>) {
        if std::mem::take(&mut self.comma) {
            report.arguments(", ");
        }
    }

    fn value(&mut self, byte: u8, at: usize, report: &mut Report<'_, '_>) {
        match byte {
            b'{' | b'[' if self.objects.len() < DEPTH_MAX => {
                self.separate(report);
                self.objects.push(byte == b'{');
                report.arguments(if byte == b'{' { "{" } else { "[" });
                self.begin_members(at);
                self.state = if byte == b'{' { State::Key } else { State::Value };
            }
            b']' => self.close(byte, report),
            b',' | b'}' | b')' => self.state = State::Broken,
            _ => {
                self.separate(report);
                self.word_at = at;
                self.state = if byte == b'"' { State::Quoted } else { State::Word };
            }
        }
    }

    fn after(&mut self, byte: u8, at: usize, report: &mut Report<'_, '_>) {
        match byte {
            b',' => {
                let in_list = self.objects.last() == Some(&false);
                self.comma = in_list;
                self.first = in_list;
                self.word_at = at + 1;
                self.state = if in_list { State::Value } else { State::Key };
            }
            b'}' | b']' | b')' => self.close(byte, report),
            _ => self.state = State::Broken,
        }
    }

    fn close(&mut self, byte: u8, report: &mut Report<'_, '_>) {
        self.comma = false;
        self.state = match (self.objects.pop(), byte) {
            (Some(true), b'}') => {
                report.arguments("}");
                State::AfterValue
            }
            (Some(false), b']') => {
                report.arguments("]");
                State::AfterValue
            }
            (None, b'}' | b')') => {
                report.arguments("}");
                State::Ready
            }
            _ => State::Broken,
        };
        self.first = false;
    }

    pub(crate) fn finish(&mut self, end: End, report: &mut Report<'_, '_>) -> Ending {
        match self.state {
            State::Ready if end == End::Normal => {
                report.finish();
                Ending::Done
            }
            State::Name if end == End::Normal && report.held[self.word_at..].trim().contains(' ') => {
                Ending::NotACall
            }
            _ => Ending::Cut,
        }
    }
}

/// A key as it is meant: blanks around it and ordinary quotes are no part of it.
fn key_of(word: &str) -> Cow<'_, str> {
    match word.bytes().any(|byte| byte == b'"') {
        true => Cow::Owned(word.replace('"', "").trim().to_owned()),
        false => Cow::Borrowed(ascii::trim(word)),
    }
}
