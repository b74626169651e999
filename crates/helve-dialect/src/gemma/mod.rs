//! Calls as Gemma writes them: `call:f{k:<|"|>text<|"|>,n:42,o:{…},a:[…]}`.
//!
//! Names of members are bare, text stands between marks of its own and may hold anything else, and bare words are
//! numbers, `true`, `false`, `null` or text. Turned into JSON as it streams.

pub(crate) mod functiongemma;
pub(crate) mod gemma4;
mod whole;

use crate::body::{Chunk, Ending, Rest, Step};
use crate::calls::{Report, WholeCall};
use crate::coerce;
use crate::dialect::{is_blank, is_name};
use crate::literal::strings;
use crate::signpost::{Found, Signpost};
use crate::{Dropped, End, Tools, json};

/// The marks of one Gemma.
pub(crate) struct GemmaGrammar {
    pub(crate) signs: &'static [(&'static str, Sign)],
    /// Text between its marks is JSON where it looks so.
    pub(crate) decodes: bool,
}

impl GemmaGrammar {
    /// Reads a call at the position, if it lies there whole and in perfect order.
    pub(crate) fn whole<'t>(
        &'static self,
        text: &'t str,
        from: usize,
        tools: &Tools,
    ) -> Option<WholeCall<'t>> {
        whole::read(text, from, self, tools)
    }

    fn mark(&self, sign: Sign) -> &'static str {
        self.signs.iter().find(|(_, known)| *known == sign).map_or("", |(mark, _)| mark)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    /// Around text.
    Quote,
    Close,
}

pub(crate) struct GemmaBody {
    grammar: &'static GemmaGrammar,
    state: State,
    signpost: Signpost,
    /// A name, or a value as far as it was read.
    word: String,
    /// The member of the call that is being read.
    key: String,
    /// The beginning of a member, as it is written.
    member: String,
    /// Open containers inside the call: whether each is an object.
    objects: Vec<bool>,
    first: bool,
    /// A comma of a list that is not told yet.
    comma: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Name,
    Key,
    QuotedKey,
    Colon,
    Value,
    Word,
    Text,
    /// Text between ordinary quotes.
    Quoted {
        escaped: bool,
    },
    AfterValue,
    /// The call is whole; its closing mark may follow.
    Ready,
    /// No call; only the closing mark ends it.
    Broken,
}

/// Deep enough for any argument.
const DEPTH_MAX: usize = 100;

/// No name is longer.
const NAME_MAX: usize = 256;

impl GemmaBody {
    pub(crate) fn new(grammar: &'static GemmaGrammar) -> Self {
        Self {
            grammar,
            state: State::Name,
            signpost: Signpost::default(),
            word: String::new(),
            key: String::new(),
            member: String::new(),
            objects: Vec::new(),
            first: true,
            comma: false,
        }
    }

    /// Begins a new section, with the buffers it has.
    pub(crate) fn restart(&mut self, grammar: &'static GemmaGrammar) {
        self.grammar = grammar;
        self.state = State::Name;
        self.signpost = Signpost::default();
        self.word.clear();
        self.objects.clear();
        self.first = true;
        self.comma = false;
    }

    pub(crate) fn feed(&mut self, text: &str, from: usize, report: &mut Report<'_, '_>) -> Step {
        let mut chunk = Chunk::new(text, from);
        let step = loop {
            if self.state == State::Text && !self.signpost.in_sign() {
                self.plain_text(&mut chunk, report);
            }
            if self.takes_words() {
                self.words(&mut chunk);
            }
            let Some(c) = chunk.char() else { break Step::More };
            if c != '<' && !self.signpost.in_sign() && !matches!(self.state, State::Text | State::Ready) {
                // Every sign begins with a bracket.
                chunk.pos += c.len_utf8();
                match self.char(c, &chunk, report) {
                    Some(step) => break step,
                    None => continue,
                }
            }
            let rest = chunk.rest();
            let (taken, found) = self.signpost.step(self.grammar.signs, rest);
            chunk.pos += taken;
            let step = match found {
                Found::Nothing => None,
                Found::Sign(sign) => self.sign(sign, &mut chunk, report),
                Found::Char => self.passed(&rest[..taken], &mut chunk, report),
                Found::Beginning(text) => self.passed(text, &mut chunk, report),
            };
            if let Some(step) = step {
                break step;
            }
        };
        chunk.keep(report);
        if self.state == State::Text && !self.signpost.in_sign() && !self.grammar.decodes {
            report.calls.flow = Some(&PLAIN);
        }
        step
    }

    /// Whether letters are part of a name, a key or a bare word, and nothing else.
    fn takes_words(&self) -> bool {
        let in_word = matches!(self.state, State::Name | State::Key | State::QuotedKey | State::Word);
        in_word && !self.signpost.in_sign()
    }

    fn words(&mut self, chunk: &mut Chunk<'_>) {
        let rest = chunk.rest();
        let letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let run = rest.bytes().position(|byte| !letter(byte)).unwrap_or(rest.len());
        if self.state != State::Name || self.word.len() + run <= NAME_MAX {
            self.word.push_str(&rest[..run]);
            chunk.pos += run;
        }
    }

    /// Takes text up to whatever may be a mark.
    fn plain_text(&mut self, chunk: &mut Chunk<'_>, report: &mut Report<'_, '_>) {
        let rest = chunk.rest();
        let run = memchr::memchr(b'<', rest.as_bytes()).unwrap_or(rest.len());
        self.more_text(&rest[..run], report);
        chunk.pos += run;
    }

    /// Text that is no sign has passed.
    fn passed(&mut self, passed: &str, chunk: &mut Chunk<'_>, report: &mut Report<'_, '_>) -> Option<Step> {
        if self.state == State::Text {
            self.more_text(passed, report);
            return None;
        }
        if self.state == State::Ready && !passed.trim().is_empty() {
            // Text behind a whole call: the closing mark is missing.
            chunk.keep(report);
            report.finish();
            return Some(Step::Done(Rest { back: passed.len(), pos: chunk.pos }));
        }
        passed.chars().find_map(|c| self.char(c, chunk, report))
    }

    fn more_text(&mut self, text: &str, report: &mut Report<'_, '_>) {
        if self.grammar.decodes {
            self.word.push_str(text);
        } else {
            crate::function_xml::escape(text, report);
        }
    }

    fn sign(&mut self, sign: Sign, chunk: &mut Chunk<'_>, report: &mut Report<'_, '_>) -> Option<Step> {
        match (sign, self.state) {
            (Sign::Quote, State::Key) => self.state = State::QuotedKey,
            (Sign::Quote, State::QuotedKey) => self.key_read(report),
            (Sign::Quote, State::Value) => {
                self.separate(report);
                self.word.clear();
                self.state = State::Text;
                if !self.grammar.decodes {
                    report.arguments("\"");
                }
            }
            (Sign::Quote, State::Text) => {
                self.state = State::AfterValue;
                match self.grammar.decodes {
                    true => self.decoded(report),
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

    fn decoded(&mut self, report: &mut Report<'_, '_>) {
        let json = json_of_text(&self.word, report.named().unwrap_or(""), self.parameter(), report.tools);
        report.arguments(&json);
    }

    /// The parameter whose value is being read; none inside a container.
    fn parameter(&self) -> Option<&str> {
        self.objects.is_empty().then_some(self.key.as_str())
    }

    fn char(&mut self, c: char, chunk: &Chunk<'_>, report: &mut Report<'_, '_>) -> Option<Step> {
        match self.state {
            State::Name => return self.name(c, chunk, report),
            State::Key => match c {
                '}' | ')' if self.word.trim().is_empty() => self.close(c, report),
                ':' => self.key_read(report),
                '"' => {}
                _ if is_blank(c) && self.word.is_empty() => {}
                _ => self.word.push(c),
            },
            State::QuotedKey => self.word.push(c),
            State::Colon => match c {
                ':' => self.state = State::Value,
                _ if is_blank(c) => {}
                _ => self.state = State::Broken,
            },
            State::Value => self.value(c, report),
            State::Word => match c {
                ',' | '}' | ']' | ')' => {
                    self.word_read(report);
                    self.after(c, report);
                }
                _ => self.word.push(c),
            },
            State::Quoted { escaped } => {
                self.word.push(c);
                self.state = State::Quoted { escaped: c == '\\' && !escaped };
                if c == '"' && !escaped {
                    let text = json::unquoted(&self.word).map(|text| coerce::quoted(&text));
                    report.arguments(&text.unwrap_or_else(|| coerce::quoted(self.word.trim_matches('"'))));
                    self.state = State::AfterValue;
                }
            }
            State::AfterValue => self.after(c, report),
            State::Ready | State::Broken | State::Text => {}
        }
        None
    }

    fn name(&mut self, c: char, chunk: &Chunk<'_>, report: &mut Report<'_, '_>) -> Option<Step> {
        match c {
            '{' | '(' => {
                let written = std::mem::take(&mut self.word);
                let word = written.trim();
                let name =
                    word.strip_prefix("call:").or_else(|| word.strip_prefix(':')).unwrap_or(word).trim();
                if name.is_empty() || !name.chars().all(is_name) {
                    return Some(Step::NotACall(Rest::at(chunk.pos)));
                }
                report.name(name);
                self.word = written;
                report.arguments("{");
                self.word.clear();
                self.first = true;
                self.state = State::Key;
            }
            _ if self.word.len() > NAME_MAX => return Some(Step::NotACall(Rest::at(chunk.pos))),
            _ => self.word.push(c),
        }
        None
    }

    fn key_read(&mut self, report: &mut Report<'_, '_>) {
        self.member.clear();
        self.member.push_str(if self.first { "\"" } else { ", \"" });
        strings::push_text(self.word.trim(), &mut self.member);
        self.member.push_str("\": ");
        report.arguments(&self.member);
        if self.objects.is_empty() {
            self.key.clear();
            self.key.push_str(self.word.trim());
        }
        self.word.clear();
        self.first = false;
        self.state = if self.state == State::QuotedKey { State::Colon } else { State::Value };
    }

    /// Tells the comma before an item of a list, now that there is one: models also write it behind the last.
    fn separate(&mut self, report: &mut Report<'_, '_>) {
        if std::mem::take(&mut self.comma) {
            report.arguments(", ");
        }
    }

    fn value(&mut self, c: char, report: &mut Report<'_, '_>) {
        match c {
            '{' | '[' if self.objects.len() < DEPTH_MAX => {
                self.separate(report);
                self.objects.push(c == '{');
                report.arguments(if c == '{' { "{" } else { "[" });
                self.first = true;
                self.word.clear();
                self.state = if c == '{' { State::Key } else { State::Value };
            }
            ']' => self.close(c, report),
            '"' => {
                self.separate(report);
                self.word.clear();
                self.word.push(c);
                self.state = State::Quoted { escaped: false };
            }
            ',' | '}' | ')' => self.state = State::Broken,
            _ if is_blank(c) => {}
            _ => {
                self.separate(report);
                self.word.clear();
                self.word.push(c);
                self.state = State::Word;
            }
        }
    }

    fn word_read(&mut self, report: &mut Report<'_, '_>) {
        let json = json_of_word(&self.word, report.named().unwrap_or(""), self.parameter(), report.tools);
        report.arguments(&json);
        self.word.clear();
    }

    fn after(&mut self, c: char, report: &mut Report<'_, '_>) {
        match c {
            ',' => {
                let in_list = self.objects.last() == Some(&false);
                self.comma = in_list;
                self.first = in_list;
                self.word.clear();
                self.state = if in_list { State::Value } else { State::Key };
            }
            '}' | ']' | ')' => self.close(c, report),
            _ if is_blank(c) => self.state = State::AfterValue,
            _ => self.state = State::Broken,
        }
    }

    fn close(&mut self, c: char, report: &mut Report<'_, '_>) {
        self.comma = false;
        self.state = match (self.objects.pop(), c) {
            (Some(true), '}') => {
                report.arguments("}");
                State::AfterValue
            }
            (Some(false), ']') => {
                report.arguments("]");
                State::AfterValue
            }
            (None, '}' | ')') => {
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
            State::Name if end == End::Normal && self.word.trim().contains(' ') => Ending::NotACall,
            _ => Ending::Cut,
        }
    }
}

/// Text that may be JSON: what the schema of the parameter says, and else what it looks like.
fn json_of_text(text: &str, tool: &str, parameter: Option<&str>, tools: &Tools) -> String {
    match parameter {
        Some(parameter) => tools.typed(tool, parameter, text),
        None => coerce::by_look(text),
    }
}

/// A bare word: what it looks like, unless the schema of the parameter knows better. Text would stand in quotes.
fn json_of_word(word: &str, tool: &str, parameter: Option<&str>, tools: &Tools) -> String {
    let word = word.trim();
    match parameter {
        Some(parameter) if word != "null" || tools.is_text(tool, parameter) == Some(true) => {
            tools.typed(tool, parameter, word)
        }
        _ => coerce::by_look(word),
    }
}

/// Bytes that mean nothing but themselves inside text, and in JSON.
static PLAIN: [bool; 256] = {
    let mut plain = json::PLAIN;
    plain[b'<' as usize] = false;
    plain
};
