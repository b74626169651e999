//! The body of a call written as elements: from tag to tag, with the text between them.

mod brackets;
mod bypass;
mod call;
mod keys;
mod members;
mod split;
pub(crate) mod tag;
mod tags;
mod value;
mod words;
pub(crate) mod words_in_call;

use super::{Element, Spelling, TagGrammar};
use crate::arguments::{ArgumentFlow, ArgumentReader};
use crate::body::{BodyEnding, BodyStep, TextChunk, Unclaimed};
use crate::calls::CallReport;
use crate::dialect::is_name_char;
use crate::{Dropped, End};
use call::TagCall;
use helve_json::byte_search::find_byte;
use helve_json::inspect;
use split::Split;
use value::{Value, ValueGap, skip_blanks};

pub(crate) struct TagBody {
    grammar: &'static TagGrammar,
    state: TagState,
    /// What may become a tag.
    beginning: String,
    /// It begins with the section's mark.
    in_mark: bool,
    /// A wrapper stands around the calls.
    enclosed: bool,
    value: Box<Value>,
    /// A parameter that may have begun inside the value.
    split: Option<Box<Split>>,
    /// A name or a key, as far as it was read.
    word: String,
    gap: ValueGap,
    json: ArgumentReader,
    /// The beginning of a member, as it is written.
    member: String,
    /// The call that is open.
    call: TagCall,
    /// The first calls had no name. Unless others follow them, they are text.
    nameless: bool,
    calls: usize,
    over_at: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum TagState {
    Between,
    /// Behind an element whose word means nothing.
    Kind,
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
            state: TagState::Between,
            beginning: String::new(),
            in_mark: false,
            enclosed: false,
            value: Box::default(),
            split: None,
            word: String::new(),
            gap: ValueGap::default(),
            json: ArgumentReader::new(0),
            member: String::new(),
            call: TagCall::default(),
            nameless: false,
            calls: 0,
            over_at: 0,
        };
        body.restart(grammar, mark);
        body
    }

    /// Begins a section behind this mark, which is a tag or the beginning of one, with the buffers it has.
    pub(crate) fn restart(&mut self, grammar: &'static TagGrammar, mark: &str) {
        self.grammar = grammar;
        self.state = TagState::Between;
        self.call.begin();
        self.nameless = false;
        self.split = None;
        self.calls = 0;
        self.beginning.clear();
        let whole = grammar.spelling == Spelling::Angles && mark.ends_with('>');
        self.in_mark = !whole && !mark.is_empty();
        self.enclosed = whole;
        if !whole {
            self.beginning.push_str(mark);
            return;
        }
        if grammar.has(Element::NamedByText) || grammar.has(Element::Kind) {
            self.word.clear();
            self.state = match tag::parse(grammar, mark).kind {
                Some(Element::NamedByText) => TagState::Word,
                Some(Element::Kind) => TagState::Kind,
                _ => TagState::Between,
            };
        }
    }

    #[inline(never)]
    pub(crate) fn feed(&mut self, text: &str, from: usize, report: &mut CallReport<'_, '_>) -> BodyStep {
        let mut chunk = TextChunk::new(text, from);
        let step = loop {
            if chunk.pos == text.len() {
                break BodyStep::More;
            }
            let step = if self.state == TagState::Json {
                self.read_json(&mut chunk, report)
            } else if self.state == TagState::Value && self.value.in_cdata {
                self.read_cdata(&mut chunk, report)
            } else if self.beginning.is_empty() {
                self.read_text(&mut chunk, report)
            } else {
                self.read_tag(&mut chunk, report)
            };
            if let Some(step) = step {
                break step;
            }
        };
        chunk.hold_text(report);
        step
    }

    /// Reads the text up to the next bracket, or the tag that begins here.
    fn read_text(&mut self, chunk: &mut TextChunk<'_>, report: &mut CallReport<'_, '_>) -> Option<BodyStep> {
        let rest = chunk.rest();
        let text = match find_byte(rest.as_bytes(), b'<') {
            Some(0) => return self.read_bracket(chunk, report),
            Some(run) => &rest[..run],
            None => rest,
        };
        if self.state == TagState::Value {
            chunk.pos += text.len();
            self.push_value_text(text, report);
            return None;
        }
        match self.state {
            TagState::Between | TagState::Call
                if skip_blanks(text).is_empty() && !self.call.words.is_possible() =>
            {
                chunk.pos += text.len();
                None
            }
            TagState::Between => {
                chunk.pos += text.len() - text.trim_start().len();
                self.end_before_trailing(0, chunk, report)
            }
            TagState::Call | TagState::AfterJson => {
                self.handle_text_in_call(text, 0, chunk, report);
                None
            }
            _ => {
                chunk.pos += text.len();
                self.read_name_text(text, chunk, report)
            }
        }
    }

    /// Everything is data up to the end of the quotation.
    fn read_cdata(&mut self, chunk: &mut TextChunk<'_>, report: &mut CallReport<'_, '_>) -> Option<BodyStep> {
        let Some(c) = chunk.char() else { return Some(BodyStep::More) };
        chunk.pos += c.len_utf8();
        self.beginning.push(c);
        if self.beginning == "]]>" {
            self.value.end_cdata();
            self.beginning.clear();
        } else if !"]]>".starts_with(self.beginning.as_str()) {
            // A third bracket only moves the end on.
            let kept = if self.beginning == "]]]" { 2 } else { 0 };
            let data = self.beginning.len() - kept;
            self.value.push_tag_as_data(&self.beginning[..data], report);
            self.beginning.drain(..data);
        }
        None
    }

    /// Text that is or may become a name.
    fn read_name_text(
        &mut self,
        text: &str,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        match self.state {
            TagState::Key => self.word.push_str(text),
            TagState::Word if self.word.len() + text.len() > WORD_MAX => {
                // As much as fits, so that it does not matter how the text was cut.
                let room = WORD_MAX - self.word.len();
                let mut ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
                let fits = ends.find(|end| *end > room).unwrap_or(text.len());
                chunk.pos -= text.len() - fits;
                return self.reject_call(chunk, report);
            }
            TagState::Word => self.word.push_str(text),
            TagState::Kind => {
                self.word.push_str(text);
                if !KIND.starts_with(self.word.trim()) {
                    return self.end_before_trailing(self.word.len(), chunk, report);
                }
            }
            _ => {}
        }
        None
    }

    fn begin_call(&mut self, name: Option<&str>, report: &mut CallReport<'_, '_>) {
        self.state = TagState::Call;
        self.call.begin();
        if let Some(name) = name {
            self.name_call(name, report);
        }
    }

    fn name_call(&mut self, name: &str, report: &mut CallReport<'_, '_>) {
        let name = (self.grammar.name)(name, report.tools);
        match is_callable_name(name) {
            true => report.set_name(name),
            false => self.call.bad = true,
        }
    }

    /// Whether the call that is open has said anything beyond its name.
    fn has_arguments(&self) -> bool {
        self.call.arguments > 0 || self.call.wrapped.is_some() || self.state == TagState::AfterJson
    }

    /// Whether nothing vouches for the call that is open: no wrapper, no argument and no declared tool.
    fn lacks_any_evidence(&self, report: &CallReport<'_, '_>) -> bool {
        let unheard_of = |name| !report.tools.is_unknown() && report.tools.resolve(name).is_none();
        !self.enclosed
            && !self.grammar.headed
            && !self.has_arguments()
            && !self.call.bad
            && report.call_name().is_some_and(unheard_of)
    }

    /// The call is over. It ended with its own tag, or with this one that is not its own.
    fn end_call(&mut self, behind: &str, chunk: &mut TextChunk<'_>, report: &mut CallReport<'_, '_>) {
        let json = self.state == TagState::AfterJson;
        self.state = TagState::Between;
        if std::mem::take(&mut self.call.bad) || self.call.has_key || report.call_name().is_none() {
            self.call.words.clear();
            if self.calls > 0 || report.calls.has_started() {
                self.drop_broken_call_before(behind, chunk, report);
            } else {
                self.nameless = true;
                report.restart();
            }
            return;
        }
        match self.call.wrapped.take() {
            Some(wrapped) => report.push_arguments(&wrapped.all),
            None if json => {}
            None => report.push_arguments(if self.call.arguments == 0 { "{}" } else { "}" }),
        }
        self.calls += 1;
        report.finish_call();
        self.call.words.emit(chunk, report);
        chunk.release_read_text(report);
        self.over_at = chunk.held_position(report);
        if !behind.is_empty() {
            self.hold_back_tag(behind, report);
        }
    }

    /// The tag behind the call is the first thing that is not told.
    fn hold_back_tag(&mut self, tag: &str, report: &mut CallReport<'_, '_>) {
        if !report.held.ends_with(tag) {
            report.held.push_str(tag);
        }
        self.over_at = report.held.len() - tag.len();
        report.calls.reported_to = self.over_at;
    }

    /// What was read up to this tag is a call that cannot be one.
    fn drop_broken_call_before(
        &mut self,
        behind: &str,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) {
        self.calls += 1;
        chunk.hold_text(report);
        report.held.truncate(report.held.len() - behind.len());
        report.drop_draft(Dropped::Broken);
        self.over_at = report.held.len();
        report.held.push_str(behind);
    }

    /// Markup between calls is done with.
    fn take_all_waiting(&mut self, chunk: &mut TextChunk<'_>, report: &mut CallReport<'_, '_>) {
        if self.calls > 0 {
            self.over_at = chunk.held_position(report);
        }
    }

    fn read_json(&mut self, chunk: &mut TextChunk<'_>, report: &mut CallReport<'_, '_>) -> Option<BodyStep> {
        match self.json.feed(chunk, &[], report) {
            ArgumentFlow::More => return Some(BodyStep::More),
            ArgumentFlow::Broken => {
                self.call.bad = true;
                self.state = TagState::Call;
            }
            ArgumentFlow::Done | ArgumentFlow::Tag(_) => {
                self.state = TagState::AfterJson;
                self.call.bad |= self.call.in_json && !inspect::is_object(report.arguments_so_far());
            }
        }
        None
    }

    /// What began like a call is none. Behind calls of the section, that ends it.
    fn reject_call(
        &mut self,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        match self.calls {
            0 => Some(BodyStep::NotACall(Unclaimed::from_position(chunk.pos))),
            _ => self.end_before_trailing(0, chunk, report),
        }
    }

    /// Something follows the last call that does not belong to it; so many bytes of it were taken.
    fn end_before_trailing(
        &mut self,
        taken: usize,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        chunk.hold_text(report);
        let back = match self.calls {
            // The mark itself must not be read again.
            0 if self.in_mark => 0,
            0 => taken,
            _ => report.held.len() - self.over_at,
        };
        Some(self.section_result(Unclaimed { back, pos: chunk.pos }))
    }

    fn section_result(&self, rest: Unclaimed) -> BodyStep {
        if self.calls == 0 { BodyStep::NotACall(rest) } else { BodyStep::Done(rest) }
    }

    pub(crate) fn finish(&mut self, end: End, report: &mut CallReport<'_, '_>) -> BodyEnding {
        let mut nothing = TextChunk::new("", 0);
        if end == End::Normal && self.beginning.is_empty() {
            if self.state == TagState::Value && self.closing_element().is_some() {
                self.accept_split(report);
                self.end_value(report);
            }
            // Every value was closed: only the outer tags are missing.
            let whole = matches!(self.state, TagState::Call | TagState::AfterJson) && self.has_arguments();
            if whole && !self.call.has_key && !self.lacks_argument(report) {
                self.finish_words(report.held.len());
                self.end_call("", &mut nothing, report);
            }
        }
        match self.state {
            TagState::Between | TagState::Kind if self.calls > 0 => {
                if !tag::may_begin_tag(self.grammar, &self.beginning) {
                    report.release_text_from(self.over_at);
                }
                BodyEnding::Done
            }
            TagState::Between if self.in_mark && self.beginning.starts_with("</") => {
                if tags::has_earlier_call(report) { BodyEnding::Done } else { BodyEnding::NotACall }
            }
            TagState::Word if end == End::Normal && self.calls == 0 && self.is_text_in_place_of_name() => {
                BodyEnding::NotACall
            }
            TagState::Between if end == End::Normal && self.is_prose() => BodyEnding::NotACall,
            _ => BodyEnding::Cut,
        }
    }

    /// Whether the tool must be given an argument that is not there: then more of the call was to come.
    fn lacks_argument(&self, report: &CallReport<'_, '_>) -> bool {
        let given_one_by_one = self.state == TagState::Call && self.call.wrapped.is_none();
        let mut required = report.tools.required_parameters(report.call_name().unwrap_or(""));
        given_one_by_one && required.any(|name| !self.call.keys.contains(name))
    }

    /// Whether text stands where a name should.
    fn is_text_in_place_of_name(&self) -> bool {
        let word = self.word.trim();
        !word.is_empty() && !is_callable_name(word)
    }

    /// Whether a word stands behind a mark that is only the beginning of a tag, and that prose may hold too.
    fn is_prose(&self) -> bool {
        let ordinary = self.grammar.namespaces.is_empty() && !self.grammar.suffixed;
        let attribute =
            self.beginning.trim_start_matches("<function").trim_start().trim_start_matches("name");
        let value = attribute.trim_start().trim_start_matches('=').trim_start();
        self.in_mark && ordinary && value.contains(' ')
    }
}

/// Whether a tool may be called so.
fn is_callable_name(name: &str) -> bool {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    !name.is_empty() && (plain || name.chars().all(|c| is_name_char(c) || c == '&'))
}

const CDATA: &str = "<![CDATA[";

/// The one word that elements for it hold.
const KIND: &str = "function";

/// No name is longer.
const WORD_MAX: usize = 256;
