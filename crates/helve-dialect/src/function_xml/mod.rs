//! Calls written as elements: a function with its parameters, each in tags of its own.
//!
//! One body reads all of them. A grammar says which elements there are, how tags are spelt, what frames a value and
//! what an untyped value means where no schema is known. Closing tags of calls and wrappers may be missing.

pub(crate) mod claude_xml;
pub(crate) mod deepseek_v32;
pub(crate) mod deepseek_v4;
pub(crate) mod deepseek_v41;
pub(crate) mod dots;
pub(crate) mod glm45;
pub(crate) mod glm47;
pub(crate) mod hy_v3;
pub(crate) mod hy_v4;
pub(crate) mod kimi_k3;
pub(crate) mod minicpm5;
pub(crate) mod minimax_m2;
pub(crate) mod minimax_m3;
pub(crate) mod muse;
pub(crate) mod nested;
pub(crate) mod poolside_v1;
pub(crate) mod qwen3_coder;
pub(crate) mod seed_oss;
pub(crate) mod step3;
mod tag;
mod value;

use crate::arguments::{Arguments, Flow};
use crate::body::{Chunk, Ending, Rest, Step};
use crate::calls::Report;
use crate::dialect::{is_blank, is_name};
use crate::literal::strings;
use crate::{Dropped, End, Tools, json};
use tag::{Grows, Tag};
pub(crate) use value::escape;
use value::{Gap, Value};

/// How functions and parameters are written.
pub(crate) struct TagGrammar {
    pub(crate) spelling: Spelling,
    /// What may stand before an element's name.
    pub(crate) namespaces: &'static [&'static str],
    /// Elements may carry a suffix behind a colon.
    pub(crate) suffixed: bool,
    pub(crate) elements: &'static [(&'static str, Element)],
    pub(crate) framing: Framing,
    pub(crate) untyped: Untyped,
    /// Text between calls, or before the first, is noise.
    pub(crate) noisy: bool,
    /// Values may be `<![CDATA[…]]>`.
    pub(crate) cdata: bool,
    /// Entities in a value are decoded where it does not fit its type otherwise.
    pub(crate) entities: bool,
    /// A single parameter of this name may wrap the real arguments.
    pub(crate) wraps: &'static [&'static str],
    /// A tag that opens another call ends the one before it. Elsewhere only a closing tag does.
    pub(crate) reopens: bool,
    /// A parameter that is written twice has two readings, and the call none.
    pub(crate) once: bool,
    /// The head of the message has named the call already.
    pub(crate) headed: bool,
    /// The tool that is meant by what is written.
    pub(crate) name: for<'n> fn(&'n str, &Tools) -> &'n str,
}

impl TagGrammar {
    /// What a grammar is unless it says otherwise.
    pub(crate) const PLAIN: Self = Self {
        spelling: Spelling::Angles,
        namespaces: &[],
        suffixed: false,
        elements: &[],
        framing: Framing::Verbatim,
        untyped: Untyped::Look,
        noisy: false,
        cdata: false,
        entities: false,
        wraps: &[],
        reopens: true,
        once: false,
        headed: false,
        name: |name, _| name,
    };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// `<a>` and `</a>`.
    Angles,
    /// `<|open|>a<|sep|>` and `<|close|>a<|sep|>`.
    Tokens,
}

impl Spelling {
    const OPEN: &'static str = "<|open|>";
    const CLOSE: &'static str = "<|close|>";
    const SEPARATOR: &'static str = "<|sep|>";
}

/// What an element is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Element {
    /// Encloses calls.
    Wrapper,
    /// A call; its tag carries the name.
    Call,
    /// A call whose name is the text behind its tag.
    NamedByText,
    /// Holds the name of the call.
    Name,
    /// Encloses parameters that are elements of their own names.
    Group,
    Parameter,
    /// Holds the name of the parameter whose value follows.
    Key,
    Value,
    /// Holds all arguments as JSON.
    Json,
    /// Means nothing.
    Skip,
    /// Ends the section.
    End,
}

/// What around a value belongs to the markup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    Verbatim,
    /// One line break on either side.
    OneLine,
    /// All blanks on either side.
    Trimmed,
}

/// What a value is where no schema says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Untyped {
    /// The text it is.
    Text,
    /// JSON if it looks so.
    Look,
}

pub(crate) struct TagBody {
    grammar: &'static TagGrammar,
    state: State,
    /// What may become a tag.
    beginning: String,
    /// It begins with the section's mark.
    in_mark: bool,
    value: Value,
    /// A name or a key, as far as it was read.
    word: String,
    has_key: bool,
    gap: Gap,
    in_group: bool,
    json: Arguments,
    /// The one argument that may wrap all others, its value known and not yet told.
    wrapped: Option<String>,
    arguments: usize,
    keys: Vec<String>,
    /// Text stands where none should, so what follows it is no body in JSON.
    stray: bool,
    /// The call cannot be one.
    bad: bool,
    calls: usize,
    over_at: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Between,
    /// A name that is text.
    Word,
    /// Inside a call, outside its parameters.
    Call,
    Key,
    Value,
    Json,
    AfterJson,
}

impl TagBody {
    pub(crate) fn new(grammar: &'static TagGrammar, mark: &str) -> Self {
        let mut body = Self {
            grammar,
            state: State::Between,
            beginning: String::new(),
            in_mark: false,
            value: Value::default(),
            word: String::new(),
            has_key: false,
            gap: Gap::default(),
            in_group: false,
            json: Arguments::new(0),
            wrapped: None,
            arguments: 0,
            keys: Vec::new(),
            stray: false,
            bad: false,
            calls: 0,
            over_at: 0,
        };
        body.restart(grammar, mark);
        body
    }

    /// Begins a section behind this mark, which is a tag or the beginning of one, with the buffers it has.
    pub(crate) fn restart(&mut self, grammar: &'static TagGrammar, mark: &str) {
        self.grammar = grammar;
        self.state = State::Between;
        self.bad = false;
        self.calls = 0;
        self.beginning.clear();
        let whole = grammar.spelling == Spelling::Angles && mark.ends_with('>');
        self.in_mark = !whole;
        if !whole {
            self.beginning.push_str(mark);
        } else if tag::parse(grammar, mark).kind == Some(Element::NamedByText) {
            self.word.clear();
            self.state = State::Word;
        }
    }

    pub(crate) fn feed(&mut self, text: &str, from: usize, report: &mut Report<'_, '_>) -> Step {
        let mut chunk = Chunk::new(text, from);
        loop {
            let step = if self.state == State::Json {
                self.read_json(&mut chunk, report)
            } else if self.state == State::Value && self.value.in_cdata {
                self.read_cdata(&mut chunk, report)
            } else if self.beginning.is_empty() {
                self.read_text(&mut chunk, report)
            } else {
                self.read_tag(&mut chunk, report)
            };
            if let Some(step) = step {
                chunk.keep(report);
                if self.state == State::Value && self.beginning.is_empty() && self.value.flows() {
                    report.calls.flow = Some(&PLAIN);
                }
                return step;
            }
        }
    }

    fn read_text(&mut self, chunk: &mut Chunk<'_>, report: &mut Report<'_, '_>) -> Option<Step> {
        let rest = chunk.rest();
        let run = rest.bytes().position(|b| b == b'<').unwrap_or(rest.len());
        let text = &rest[..run];
        if self.state == State::Call && self.arguments == 0 && self.wrapped.is_none() && !self.stray {
            let blanks = text.len() - text.trim_start_matches(is_blank).len();
            if text[blanks..].starts_with('{') {
                chunk.pos += blanks;
                chunk.keep(report);
                self.json = Arguments::new(report.held.len());
                self.state = State::Json;
                return None;
            }
        }
        let ink = chunk.pos + text.len() - text.trim_start().len();
        chunk.pos += run;
        if let Some(step) = self.text(text, chunk, report) {
            return Some(step);
        }
        if self.state == State::Between && !self.grammar.noisy && ink < chunk.pos {
            chunk.pos = ink;
            return self.over(0, chunk, report);
        }
        if chunk.byte().is_none() {
            return Some(Step::More);
        }
        chunk.pos += 1;
        self.beginning.push('<');
        None
    }

    fn read_tag(&mut self, chunk: &mut Chunk<'_>, report: &mut Report<'_, '_>) -> Option<Step> {
        let Some(c) = chunk.char() else { return Some(Step::More) };
        let grows = tag::grows(self.grammar.spelling, &self.beginning, c);
        if grows != Grows::Never {
            self.beginning.push(c);
            chunk.pos += c.len_utf8();
        }
        if grows == Grows::On {
            if self.grammar.cdata && self.state == State::Value && self.beginning == CDATA {
                self.value.in_cdata = true;
                self.beginning.clear();
            }
            return None;
        }
        let beginning = std::mem::take(&mut self.beginning);
        let step = match grows {
            Grows::Whole => self.tag(&beginning, chunk, report),
            _ => self.not_a_tag(&beginning, chunk, report),
        };
        self.in_mark = false;
        if self.beginning.is_empty() {
            self.beginning = beginning;
            self.beginning.clear();
        }
        step
    }

    fn not_a_tag(&mut self, raw: &str, chunk: &mut Chunk<'_>, report: &mut Report<'_, '_>) -> Option<Step> {
        if self.state == State::Value {
            self.value.data(raw, report);
            return None;
        }
        if self.state == State::Between && !self.grammar.noisy {
            return self.over(raw.len(), chunk, report);
        }
        self.text(raw, chunk, report)
    }

    /// Everything is data up to the end of the quotation.
    fn read_cdata(&mut self, chunk: &mut Chunk<'_>, report: &mut Report<'_, '_>) -> Option<Step> {
        let Some(c) = chunk.char() else { return Some(Step::More) };
        chunk.pos += c.len_utf8();
        self.beginning.push(c);
        if self.beginning == "]]>" {
            self.value.in_cdata = false;
            self.beginning.clear();
        } else if !"]]>".starts_with(self.beginning.as_str()) {
            // A third bracket only moves the end on.
            let kept = if self.beginning == "]]]" { 2 } else { 0 };
            let data = self.beginning.len() - kept;
            self.value.data(&self.beginning[..data], report);
            self.beginning.drain(..data);
        }
        None
    }

    /// Text between tags.
    fn text(&mut self, text: &str, chunk: &mut Chunk<'_>, report: &mut Report<'_, '_>) -> Option<Step> {
        match self.state {
            State::Value => self.value.text(text, report),
            State::Key => self.word.push_str(text),
            State::Word if self.word.len() + text.len() > WORD_MAX => {
                // As much as fits, so that it does not matter how the text was cut.
                let room = WORD_MAX - self.word.len();
                let mut ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
                let fits = ends.find(|end| *end > room).unwrap_or(text.len());
                chunk.pos -= text.len() - fits;
                return self.not_a_call(chunk);
            }
            State::Word => self.word.push_str(text),
            // A key must be followed by its value.
            State::Call if self.has_key && !self.gap.takes(text) => self.bad = true,
            State::Call => self.stray |= !text.trim().is_empty(),
            _ => {}
        }
        None
    }

    fn tag(&mut self, raw: &str, chunk: &mut Chunk<'_>, report: &mut Report<'_, '_>) -> Option<Step> {
        let grammar = self.grammar;
        let tag = tag::parse(grammar, raw);
        match self.state {
            State::Value => {
                if !self.ends_value(raw, &tag, report) {
                    return None;
                }
                self.in_call(raw, &tag, chunk, report)
            }
            State::Word => {
                let name = self.word.split(['\n', '\\']).next().unwrap_or("").trim().to_owned();
                self.begin_call(Some(&name), report);
                if self.bad && self.calls == 0 {
                    return self.not_a_call(chunk);
                }
                self.in_call(raw, &tag, chunk, report)
            }
            State::Key if tag.kind == Some(Element::Key) && tag.closes => {
                self.has_key = true;
                self.gap = Gap::default();
                self.state = State::Call;
                None
            }
            State::Key if tag.kind == Some(Element::Name) && tag.closes => {
                let name = std::mem::take(&mut self.word);
                self.begin_call(Some(name.trim()), report);
                None
            }
            State::Key => {
                self.word.push_str(raw);
                None
            }
            State::Between => self.between(raw, &tag, chunk, report),
            _ => self.in_call(raw, &tag, chunk, report),
        }
    }

    fn between(
        &mut self,
        raw: &str,
        tag: &Tag<'_>,
        chunk: &mut Chunk<'_>,
        report: &mut Report<'_, '_>,
    ) -> Option<Step> {
        match (tag.kind, tag.closes) {
            (Some(Element::Wrapper), true) | (Some(Element::End), _) => {
                return Some(self.done(Rest::at(chunk.pos)));
            }
            (Some(Element::Parameter), false) if self.grammar.headed && report.calls.has_started() => {
                self.begin_call(None, report);
                return self.in_call(raw, tag, chunk, report);
            }
            (Some(Element::Wrapper | Element::Skip), _) => self.settled(chunk, report),
            (Some(Element::Call), false) => {
                self.begin_call(tag.label.as_deref(), report);
                if tag.empty {
                    self.end_call(chunk, report);
                }
            }
            (Some(Element::NamedByText), false) => {
                self.word.clear();
                self.state = State::Word;
            }
            (Some(Element::Call | Element::NamedByText), true) => self.settled(chunk, report),
            _ if !self.grammar.noisy => return self.over(raw.len(), chunk, report),
            _ => {}
        }
        None
    }

    /// A tag inside a call, outside its values.
    fn in_call(
        &mut self,
        raw: &str,
        tag: &Tag<'_>,
        chunk: &mut Chunk<'_>,
        report: &mut Report<'_, '_>,
    ) -> Option<Step> {
        match (tag.kind, tag.closes) {
            (Some(Element::Parameter), false) => match &tag.label {
                Some(label) => self.begin_value(label, tag, report),
                None => self.bad = true,
            },
            (Some(Element::Key), false) => {
                self.bad |= self.has_key;
                self.word.clear();
                self.state = State::Key;
            }
            (Some(Element::Name), false) => {
                self.word.clear();
                self.state = State::Key;
            }
            (Some(Element::Value), false) => {
                let key = std::mem::take(&mut self.word);
                self.bad |= !self.has_key;
                self.begin_value(key.trim(), tag, report);
                self.word = key;
            }
            (Some(Element::Group), closes) => self.in_group = !closes,
            (Some(Element::Json), false) => {}
            (Some(Element::Call | Element::NamedByText), true) => self.end_call(chunk, report),
            (Some(Element::Wrapper | Element::Call), false) if !self.grammar.reopens => {}
            (Some(Element::Wrapper | Element::Call | Element::NamedByText | Element::End), _) => {
                self.end_call(chunk, report);
                return self.between(raw, tag, chunk, report);
            }
            (None, false) if self.in_group => {
                self.begin_value(tag.element, tag, report);
                self.value.element.push_str(tag.element);
            }
            _ => {}
        }
        None
    }

    /// Whether the tag shows that the value before it is over. Otherwise it belongs to the value.
    fn ends_value(&mut self, raw: &str, tag: &Tag<'_>, report: &mut Report<'_, '_>) -> bool {
        let structural = match (self.value.closing, tag.kind, tag.closes) {
            (None, ..) => false,
            (Some(_), Some(Element::Wrapper | Element::Call | Element::NamedByText), false) => true,
            (Some(Element::Wrapper), ..) => false,
            (Some(_), Some(Element::Wrapper), true) | (Some(_), Some(Element::End), _) => true,
            (Some(Element::Call), ..) => false,
            (Some(_), Some(Element::Call | Element::NamedByText | Element::Group), true) => true,
            (Some(_), Some(Element::Key | Element::Value | Element::Skip), _) => !tag.closes,
            (Some(_), Some(Element::Parameter), false) => tag.label.is_some(),
            (Some(_), None, false) => !self.value.element.is_empty(),
            _ => false,
        };
        if structural {
            self.end_value(report);
            return true;
        }
        match (tag.kind, tag.closes) {
            (Some(Element::Parameter), false) if tag.label.is_some() => {
                if self.value.quotes(Element::Call) {
                    self.value.quote(Element::Parameter);
                } else if self.parameter_may_begin(tag, report) {
                    self.end_value(report);
                    return true;
                }
            }
            (Some(element @ (Element::Call | Element::Wrapper)), false) => {
                if element == Element::Wrapper || tag.label.is_some() {
                    self.value.quote(element);
                }
            }
            (Some(Element::Parameter | Element::Value), true)
                if self.value.element.is_empty() && !self.value.unquote(Element::Parameter) =>
            {
                self.value.may_close(raw, Element::Parameter, report);
                return false;
            }
            (None, true) if !self.value.element.is_empty() && self.value.element == tag.element => {
                self.value.may_close(raw, Element::Parameter, report);
                return false;
            }
            (Some(element @ (Element::Call | Element::Wrapper)), true)
                if !self.value.unquote(element) && !tag.empty =>
            {
                self.value.may_close(raw, element, report);
                return false;
            }
            _ => {}
        }
        self.value.data(raw, report);
        false
    }

    /// Whether a parameter may begin inside a value that nothing has closed: on a line of its own, or by a declared
    /// name. Elsewhere its tag is data.
    fn parameter_may_begin(&self, tag: &Tag<'_>, report: &Report<'_, '_>) -> bool {
        let declared = |label: &str| {
            report.tools.is_unknown()
                || report.named().is_some_and(|tool| report.tools.has_parameter(tool, label))
        };
        self.value.at_line_start() || tag.label.as_deref().is_some_and(declared)
    }

    fn begin_call(&mut self, name: Option<&str>, report: &mut Report<'_, '_>) {
        self.state = State::Call;
        self.arguments = 0;
        self.keys.clear();
        self.stray = false;
        self.wrapped = None;
        self.has_key = false;
        self.in_group = false;
        let name = name.map(|name| (self.grammar.name)(name, report.tools));
        self.bad = name.is_some_and(|name| name.is_empty() || !name.chars().all(|c| is_name(c) || c == '&'));
        if let Some(name) = name
            && !self.bad
        {
            report.name(name);
        }
    }

    fn begin_value(&mut self, key: &str, tag: &Tag<'_>, report: &mut Report<'_, '_>) {
        self.tell_wrapped(report);
        self.has_key = false;
        if self.grammar.once {
            self.bad |= self.keys.iter().any(|known| known == key);
            self.keys.push(key.to_owned());
        }
        self.state = State::Value;
        self.value.begin(key, tag.typing, self.grammar, report);
        if self.value.streams() {
            self.open_member(key, report);
            report.arguments("\"");
        }
        if tag.empty {
            self.end_value(report);
        }
    }

    fn end_value(&mut self, report: &mut Report<'_, '_>) {
        self.state = State::Call;
        if self.value.streams() {
            report.arguments("\"");
            return;
        }
        let json = self.value.json(self.grammar, report);
        let key = self.value.key.clone();
        let declared = report.named().is_some_and(|tool| report.tools.has_parameter(tool, &key));
        let wraps = self.arguments == 0 && self.grammar.wraps.contains(&key.as_str()) && !declared;
        if wraps && json::is_object(&json) {
            self.wrapped = Some(json);
            return;
        }
        self.open_member(&key, report);
        report.arguments(&json);
    }

    /// What seemed to wrap the arguments is one of them.
    fn tell_wrapped(&mut self, report: &mut Report<'_, '_>) {
        if let Some(json) = self.wrapped.take() {
            let key = self.value.key.clone();
            self.open_member(&key, report);
            report.arguments(&json);
        }
    }

    fn open_member(&mut self, key: &str, report: &mut Report<'_, '_>) {
        let mut member = String::from(if self.arguments == 0 { "{\"" } else { ", \"" });
        key.chars().for_each(|c| strings::push(c, &mut member));
        member.push_str("\": ");
        report.arguments(&member);
        self.arguments += 1;
    }

    fn end_call(&mut self, chunk: &mut Chunk<'_>, report: &mut Report<'_, '_>) {
        chunk.keep(report);
        let json = self.state == State::AfterJson;
        self.state = State::Between;
        if self.bad || self.has_key || report.named().is_none() {
            self.bad = false;
            if report.calls.has_started() {
                self.calls += 1;
                report.give_up(Dropped::Broken);
                self.over_at = report.held.len();
            }
            return;
        }
        match self.wrapped.take() {
            Some(wrapped) => report.arguments(&wrapped),
            None if json => {}
            None => report.arguments(if self.arguments == 0 { "{}" } else { "}" }),
        }
        self.calls += 1;
        report.finish();
        report.let_go();
        self.over_at = report.held.len();
    }

    /// Markup between calls is done with.
    fn settled(&mut self, chunk: &mut Chunk<'_>, report: &mut Report<'_, '_>) {
        if self.calls > 0 {
            chunk.keep(report);
            self.over_at = report.held.len();
        }
    }

    fn read_json(&mut self, chunk: &mut Chunk<'_>, report: &mut Report<'_, '_>) -> Option<Step> {
        match self.json.feed(chunk, &[], report) {
            Flow::More => return Some(Step::More),
            Flow::Broken => {
                self.bad = true;
                self.state = State::Call;
            }
            Flow::Done | Flow::Tag(_) => self.state = State::AfterJson,
        }
        None
    }

    fn not_a_call(&mut self, chunk: &Chunk<'_>) -> Option<Step> {
        Some(Step::NotACall(Rest::at(chunk.pos)))
    }

    /// Something follows the last call that does not belong to it; so many bytes of it were taken.
    fn over(&mut self, taken: usize, chunk: &mut Chunk<'_>, report: &mut Report<'_, '_>) -> Option<Step> {
        chunk.keep(report);
        let back = match self.calls {
            // The mark itself must not be read again.
            0 if self.in_mark => 0,
            0 => taken,
            _ => report.held.len() - self.over_at,
        };
        Some(self.done(Rest { back, pos: chunk.pos }))
    }

    fn done(&self, rest: Rest) -> Step {
        if self.calls == 0 { Step::NotACall(rest) } else { Step::Done(rest) }
    }

    pub(crate) fn finish(&mut self, end: End, report: &mut Report<'_, '_>) -> Ending {
        let mut nothing = Chunk::new("", 0);
        if end == End::Normal && self.beginning.is_empty() {
            if self.state == State::Value && self.value.closing.is_some() {
                self.end_value(report);
            }
            // Every value was closed: only the outer tags are missing.
            let any = self.arguments > 0 || self.wrapped.is_some() || self.state == State::AfterJson;
            if matches!(self.state, State::Call | State::AfterJson) && any && !self.has_key {
                self.end_call(&mut nothing, report);
            }
        }
        match self.state {
            State::Between if self.calls > 0 => Ending::Done,
            State::Between if end == End::Normal => Ending::NotACall,
            _ => Ending::Cut,
        }
    }
}

const CDATA: &str = "<![CDATA[";

/// No name is longer.
const WORD_MAX: usize = 256;

/// Bytes that mean nothing but themselves in a value that becomes a JSON string.
static PLAIN: [bool; 256] = {
    let mut plain = json::PLAIN;
    plain[b'<' as usize] = false;
    plain
};
