//! A call that comes in pieces, from state to state.

mod quoted;
mod state;

use std::borrow::Cow;

use super::{CALL, GemmaGrammar, GemmaSign, NAME_MAX, json_of_text, json_of_word};
use crate::ascii;
use crate::body::{BodyEnding, BodyStep, Bypass, TextChunk, Unclaimed};
use crate::calls::{CallReport, Calls};
use crate::dialect::is_name_char;
use crate::{Dropped, End, Tools};
use helve_json::byte_search::find_byte;
use helve_json::coerce;
use helve_json::inspect;
use helve_json::literal::strings;
use helve_json::string_bytes::UNTAGGED;
use quoted::QuotedCalls;
use state::GemmaState;

pub(crate) struct GemmaBody {
    grammar: &'static GemmaGrammar,
    state: GemmaState,
    /// Where the name, the key or the value that is being read begins in the held text.
    word_at: usize,
    /// The member of the call that is being read.
    key: String,
    /// Open containers inside the call: whether each is an object.
    objects: Vec<bool>,
    first: bool,
    /// The members stand in two pairs of brackets.
    doubled: bool,
    /// A comma of a list that is not told yet.
    comma: bool,
    /// Calls in the text that is being read.
    quoted: QuotedCalls,
}

/// What ends the reading of a chunk, where it has got to.
enum GemmaEnd {
    More,
    Unread,
    Done,
    NotACall,
    /// The call is broken, and was over at this place of the held text.
    BrokenAt(usize),
}

/// Deep enough for any argument.
const DEPTH_MAX: usize = 100;

impl GemmaBody {
    pub(crate) fn new(grammar: &'static GemmaGrammar) -> Self {
        Self {
            grammar,
            state: GemmaState::Begin,
            word_at: 0,
            key: String::new(),
            objects: Vec::new(),
            first: true,
            doubled: false,
            comma: false,
            quoted: QuotedCalls::default(),
        }
    }

    /// Begins a new section, with the buffers it has.
    pub(crate) fn restart(&mut self, grammar: &'static GemmaGrammar) {
        self.grammar = grammar;
        self.state = GemmaState::Begin;
        self.objects.clear();
        self.first = true;
        self.doubled = false;
        self.comma = false;
    }

    #[inline(never)]
    pub(crate) fn feed(&mut self, text: &str, from: usize, report: &mut CallReport<'_, '_>) -> BodyStep {
        let mut chunk = TextChunk::new(text, from);
        if self.state == GemmaState::Begin {
            self.word_at = chunk.held_position(report);
            self.state = GemmaState::Name;
        }
        let over = loop {
            if let Some(over) = self.read_next(&mut chunk, report) {
                break over;
            }
        };
        chunk.hold_text(report);
        match over {
            GemmaEnd::More => BodyStep::More,
            GemmaEnd::Unread => BodyStep::Unread(chunk.pos),
            GemmaEnd::Done => BodyStep::Done(Unclaimed::from_position(chunk.pos)),
            GemmaEnd::NotACall => BodyStep::NotACall(Unclaimed::from_position(chunk.pos)),
            GemmaEnd::BrokenAt(at) => {
                BodyStep::Done(Unclaimed { back: drop_broken_call_at(at, report), pos: chunk.pos })
            }
        }
    }

    /// What need not be read before what follows it.
    pub(crate) fn bypass(&self) -> Bypass {
        match self.state {
            GemmaState::Text if !self.grammar.decodes => Bypass::Arguments(&UNTAGGED),
            state => Bypass::Deferred(state.idle_bytes()),
        }
    }

    /// Reads up to the next character that means something, and what it means.
    fn read_next(&mut self, chunk: &mut TextChunk<'_>, report: &mut CallReport<'_, '_>) -> Option<GemmaEnd> {
        self.skip_idle_bytes(chunk, report);
        match chunk.byte() {
            None => Some(GemmaEnd::More),
            Some(b'<') if self.state == GemmaState::Text => self.handle_mark_in_text(chunk, report),
            Some(b'<') => self.handle_mark(chunk, report),
            Some(byte) => self.handle_byte(byte, chunk, report),
        }
    }

    /// A mark in text: the one behind it, or another, which does not end it unless it was left open. Anything else is text,
    /// the closing mark of the call too.
    fn handle_mark_in_text(
        &mut self,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<GemmaEnd> {
        match (self.grammar.find_sign(chunk.rest()), self.quoted.over_at()) {
            (GemmaSign::Quote, _) => return self.handle_quote_mark(chunk, report),
            (GemmaSign::Cut(_), _) => return Some(GemmaEnd::Unread),
            (GemmaSign::Open | GemmaSign::Over, Some(at)) => return Some(GemmaEnd::BrokenAt(at)),
            (GemmaSign::Open, None) => self.quoted.count_opened(),
            (GemmaSign::Close, _) => {
                let before = chunk.text[..chunk.pos].bytes().next_back();
                if before.or_else(|| report.held.bytes().next_back()) == Some(b'}') {
                    self.quoted.count_closed(chunk.held_position(report) + self.grammar.close.len());
                }
            }
            _ => {}
        }
        self.handle_byte(b'<', chunk, report)
    }

    fn handle_mark(
        &mut self,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<GemmaEnd> {
        match self.grammar.find_sign(chunk.rest()) {
            GemmaSign::Quote => self.handle_quote_mark(chunk, report),
            GemmaSign::Close => Some(self.handle_closing_mark(chunk, report)),
            // What follows a whole call is not awaited: it is no longer the call's.
            GemmaSign::Cut(mark) if self.state != GemmaState::Ready || !self.grammar.next.contains(&mark) => {
                Some(GemmaEnd::Unread)
            }
            GemmaSign::Open | GemmaSign::Over
                if report.calls.has_started() && self.state != GemmaState::Ready =>
            {
                Some(GemmaEnd::BrokenAt(chunk.held_position(report)))
            }
            GemmaSign::Open if self.state == GemmaState::Name => Some(GemmaEnd::NotACall),
            _ => self.handle_byte(b'<', chunk, report),
        }
    }

    /// Takes what means nothing but itself.
    fn skip_idle_bytes(&mut self, chunk: &mut TextChunk<'_>, report: &mut CallReport<'_, '_>) {
        let rest = chunk.rest();
        let idle = self.state.idle_bytes();
        let run = match self.state {
            GemmaState::Text => find_byte(rest.as_bytes(), b'<'),
            _ => rest.bytes().position(|byte| !idle[byte as usize]),
        };
        let mut run = run.unwrap_or(rest.len());
        match self.state {
            GemmaState::Text if !self.grammar.decodes && run > 0 => {
                strings::push_text(&rest[..run], report.calls.arguments_mut());
            }
            GemmaState::Name => {
                let room = (self.word_at + NAME_MAX + 1).saturating_sub(chunk.held_position(report));
                if run > room {
                    run = rest.floor_char_boundary(room);
                }
            }
            _ => {}
        }
        chunk.pos += run;
    }

    /// The mark around text stands at the position.
    fn handle_quote_mark(
        &mut self,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<GemmaEnd> {
        let at = chunk.held_position(report);
        match self.state {
            GemmaState::Key => {
                match clean_key(chunk.text_between(self.word_at, at, report.held)).is_empty() {
                    true => self.state = GemmaState::QuotedKey,
                    false => self.state = GemmaState::Broken,
                }
            }
            GemmaState::QuotedKey => self.finish_key(at, chunk, report),
            GemmaState::Value => {
                let comma = std::mem::take(&mut self.comma);
                let arguments = report.calls.arguments_mut();
                arguments.push_str(if comma { ", " } else { "" });
                arguments.push_str(if self.grammar.decodes { "" } else { "\"" });
                self.quoted = QuotedCalls::default();
                self.state = GemmaState::Text;
            }
            GemmaState::Text => {
                self.state = GemmaState::AfterValue;
                match self.grammar.decodes {
                    true => self.emit_word(at, json_of_text, chunk, report),
                    false => report.push_arguments("\""),
                }
            }
            _ => self.state = GemmaState::Broken,
        }
        chunk.pos += self.grammar.quote.len();
        if matches!(self.state, GemmaState::QuotedKey | GemmaState::Text) {
            self.word_at = chunk.held_position(report);
        }
        None
    }

    /// The closing mark stands at the position.
    fn handle_closing_mark(
        &mut self,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> GemmaEnd {
        chunk.pos += self.grammar.close.len();
        if self.state == GemmaState::Ready {
            report.finish_call();
            chunk.release_read_text(report);
        } else if report.calls.has_started() {
            chunk.hold_text(report);
            report.drop_draft(Dropped::Broken);
        } else {
            return GemmaEnd::NotACall;
        }
        GemmaEnd::Done
    }

    /// Tells the value that ends at this place of the held text, as JSON.
    fn emit_word(
        &mut self,
        at: usize,
        read: fn(&str, &str, Option<&str>, &Tools) -> String,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) {
        let word = chunk.text_between(self.word_at, at, report.held);
        let json = read(word, report.calls.call_name().unwrap_or(""), self.current_parameter(), report.tools);
        match inspect::fits_inside(&json, self.objects.len() + 1) {
            true => report.calls.arguments_mut().push_str(&json),
            false => report.calls.arguments_mut().push_str(&coerce::quote_text(word)),
        }
    }

    /// The parameter whose value is being read; none inside a container.
    fn current_parameter(&self) -> Option<&str> {
        self.objects.is_empty().then_some(self.key.as_str())
    }

    /// A character that is no mark stands at the position, and begins with this byte.
    fn handle_byte(
        &mut self,
        byte: u8,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<GemmaEnd> {
        let at = chunk.held_position(report);
        let pos = chunk.pos;
        chunk.pos += if byte.is_ascii() { 1 } else { chunk.char()?.len_utf8() };
        match (self.state, byte) {
            (GemmaState::Name, b'{' | b'(') => return self.finish_name(at, chunk, report),
            (GemmaState::Name, _) if at > self.word_at + NAME_MAX => {
                return Some(GemmaEnd::NotACall);
            }
            (GemmaState::Key, b':') => self.finish_key(at, chunk, report),
            (GemmaState::Key, b'}' | b')' | b',') => {
                match clean_key(chunk.text_between(self.word_at, at, report.held)).is_empty() {
                    // A comma too many.
                    true if byte == b',' => self.word_at = at + 1,
                    true => self.close_container(byte, report),
                    // No key holds a bracket; and a comma before it ended no value, so it is unknown where that ended.
                    false => self.state = GemmaState::Broken,
                }
            }
            (GemmaState::Key, b'{') => self.handle_second_bracket(at, chunk, report),
            (GemmaState::Colon, b':') => self.state = GemmaState::Value,
            (GemmaState::Colon, _) => self.state = GemmaState::Broken,
            (GemmaState::Value, _) => self.begin_value(byte, at, report),
            (GemmaState::Word, b',' | b'}' | b']' | b')') => {
                self.emit_word(at, json_of_word, chunk, report);
                self.handle_byte_after_value(byte, at, report);
            }
            (GemmaState::Text, _) if !self.grammar.decodes => report.push_arguments("<"),
            (GemmaState::Quoted(quote), byte) if byte == quote => {
                let word = chunk.text_between(self.word_at, at + 1, report.held);
                let json = json_of_quoted(word);
                report.push_arguments(&json);
                self.state = GemmaState::AfterValue;
            }
            (GemmaState::Quoted(quote), b'\\') => self.state = GemmaState::Escaped(quote),
            (GemmaState::Escaped(quote), _) => self.state = GemmaState::Quoted(quote),
            (GemmaState::Doubled, b'}') => {
                report.push_arguments("}");
                self.state = GemmaState::Ready;
            }
            (GemmaState::Doubled, _) => self.state = GemmaState::Broken,
            (GemmaState::AfterValue, _) => self.handle_byte_after_value(byte, at, report),
            (GemmaState::Ready, _) if !chunk.text[pos..chunk.pos].trim().is_empty() => {
                // Text behind a whole call: the closing mark is missing.
                chunk.pos = pos;
                report.finish_call();
                return Some(GemmaEnd::Done);
            }
            _ => {}
        }
        None
    }

    /// The name ends at this place of the held text, with a bracket.
    fn finish_name(
        &mut self,
        at: usize,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<GemmaEnd> {
        let word = ascii::trim(chunk.text_between(self.word_at, at, report.held));
        let name = word.strip_prefix(CALL).or_else(|| word.strip_prefix(':')).unwrap_or(word);
        let name = ascii::trim(name);
        if name.is_empty() || !name.chars().all(is_name_char) {
            return Some(GemmaEnd::NotACall);
        }
        report.calls.set_name(name, report.out);
        report.push_arguments("{");
        self.begin_members(at);
        None
    }

    /// An object begins, with the bracket at this place of the held text.
    fn begin_members(&mut self, at: usize) {
        self.first = true;
        self.word_at = at + 1;
        self.state = GemmaState::Key;
    }

    /// A bracket stands where a key does, at this place of the held text. Only the first of all may be doubled.
    fn handle_second_bracket(
        &mut self,
        at: usize,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) {
        let empty = chunk.text_between(self.word_at, at, report.held).trim().is_empty();
        if empty && self.first && self.objects.is_empty() && !self.doubled {
            self.doubled = true;
            self.word_at = at + 1;
        } else {
            self.state = GemmaState::Broken;
        }
    }

    /// The key ends at this place of the held text.
    fn finish_key(&mut self, at: usize, chunk: &mut TextChunk<'_>, report: &mut CallReport<'_, '_>) {
        let word = chunk.text_between(self.word_at, at, report.held);
        let key = match self.state {
            GemmaState::QuotedKey => ascii::trim(word).into(),
            _ => clean_key(word),
        };
        self.begin_member(&key, report.calls);
        self.state = if self.state == GemmaState::QuotedKey { GemmaState::Colon } else { GemmaState::Value };
    }

    /// A member with this key begins.
    fn begin_member(&mut self, key: &str, calls: &mut Calls) {
        let first = std::mem::take(&mut self.first);
        let arguments = calls.arguments_mut();
        arguments.push_str(if first { "\"" } else { ", \"" });
        strings::push_text(key, arguments);
        arguments.push_str("\": ");
        if self.objects.is_empty() {
            self.key.clear();
            self.key.push_str(key);
        }
    }

    /// Tells the comma before an item of a list, now that there is one: models also write it behind the last.
    fn emit_pending_comma(&mut self, report: &mut CallReport<'_, '_>) {
        if std::mem::take(&mut self.comma) {
            report.push_arguments(", ");
        }
    }

    fn begin_value(&mut self, byte: u8, at: usize, report: &mut CallReport<'_, '_>) {
        match byte {
            b'{' | b'[' if self.objects.len() < DEPTH_MAX => {
                self.emit_pending_comma(report);
                self.objects.push(byte == b'{');
                report.push_arguments(if byte == b'{' { "{" } else { "[" });
                self.begin_members(at);
                self.state = if byte == b'{' { GemmaState::Key } else { GemmaState::Value };
            }
            b']' => self.close_container(byte, report),
            b',' | b'}' | b')' => self.state = GemmaState::Broken,
            _ => {
                self.emit_pending_comma(report);
                self.word_at = at;
                self.state =
                    if matches!(byte, b'"' | b'\'') { GemmaState::Quoted(byte) } else { GemmaState::Word };
            }
        }
    }

    fn handle_byte_after_value(&mut self, byte: u8, at: usize, report: &mut CallReport<'_, '_>) {
        match byte {
            b',' => {
                let in_list = self.objects.last() == Some(&false);
                self.comma = in_list;
                self.first = in_list;
                self.word_at = at + 1;
                self.state = if in_list { GemmaState::Value } else { GemmaState::Key };
            }
            b'}' | b']' | b')' => self.close_container(byte, report),
            _ => self.state = GemmaState::Broken,
        }
    }

    fn close_container(&mut self, byte: u8, report: &mut CallReport<'_, '_>) {
        self.comma = false;
        self.state = match (self.objects.pop(), byte) {
            (Some(true), b'}') => {
                report.push_arguments("}");
                GemmaState::AfterValue
            }
            (Some(false), b']') => {
                report.push_arguments("]");
                GemmaState::AfterValue
            }
            (None, b'}') if self.doubled => GemmaState::Doubled,
            (None, b'}' | b')') => {
                report.push_arguments("}");
                GemmaState::Ready
            }
            _ => GemmaState::Broken,
        };
        self.first = false;
    }

    pub(crate) fn finish(&mut self, end: End, report: &mut CallReport<'_, '_>) -> BodyEnding {
        match (self.state, self.quoted.over_at()) {
            (GemmaState::Text, Some(at)) if end == End::Normal => {
                release_text(drop_broken_call_at(at, report), report)
            }
            (GemmaState::Ready, _) if end == End::Normal => {
                report.finish_call();
                BodyEnding::Done
            }
            (GemmaState::Name, _)
                if end == End::Normal && report.held[self.word_at..].trim().contains(' ') =>
            {
                BodyEnding::NotACall
            }
            _ => BodyEnding::Cut,
        }
    }
}

/// Gives up the call, which was over at this place of the held text. Says how much of that is not its own.
fn drop_broken_call_at(at: usize, report: &mut CallReport<'_, '_>) -> usize {
    let behind = report.held.split_off(at);
    report.drop_draft(Dropped::Broken);
    report.held.push_str(&behind);
    behind.len()
}

/// The message is over, and so much of the held text is what was said behind the call.
fn release_text(back: usize, report: &mut CallReport<'_, '_>) -> BodyEnding {
    let from = report.held.len() - back;
    if report.held[from..].trim().is_empty() {
        return BodyEnding::Done;
    }
    if report.calls.is_waiting() {
        report.calls.hold_text_back(from..report.held.len());
        return BodyEnding::Done;
    }
    BodyEnding::NotACall
}

/// Text between ordinary quotes of either kind, which may hold escapes.
fn json_of_quoted(word: &str) -> String {
    let inside = word.get(1..word.len() - 1).unwrap_or("");
    let word = match word.starts_with('"') {
        true => Cow::Borrowed(word),
        false => Cow::Owned(to_double_quotes(inside)),
    };
    inspect::decode_string(&word).map_or_else(|| coerce::quote_text(inside), |text| coerce::quote_text(&text))
}

/// The same text as it would stand between double quotes.
fn to_double_quotes(inside: &str) -> String {
    let mut text = String::from("\"");
    let mut escaped = false;
    for c in inside.chars() {
        if c == '"' && !escaped {
            text.push('\\');
        } else if c == '\'' && escaped {
            text.pop();
        }
        text.push(c);
        escaped = c == '\\' && !escaped;
    }
    text.push('"');
    text
}

/// A key as it is meant: blanks around it and ordinary quotes are no part of it.
fn clean_key(word: &str) -> Cow<'_, str> {
    match word.bytes().any(|byte| byte == b'"') {
        true => Cow::Owned(word.replace('"', "").trim().to_owned()),
        false => Cow::Borrowed(ascii::trim(word)),
    }
}
