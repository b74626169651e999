//! The body of a framed section: from sign to sign, with heads and arguments between them.

mod plain;
pub(super) mod text;

use super::{FramedGrammar, FramedSign, HEAD_MAX, HeadMeaning, goes_on_as_prose};
use crate::arguments::{ArgumentFlow, ArgumentReader};
use crate::body::{BodyEnding, BodyStep, Bypass, Evidence, TextChunk, Trailing, Unclaimed};
use crate::calls::CallReport;
use crate::dialect::is_name;
use crate::mark_scanner::{FoundSign, MarkScanner};
use crate::{Dropped, End, Tools};
use helve_json::is_blank;
use helve_json::string_bytes::PLAIN;

pub(crate) struct FramedBody {
    grammar: &'static FramedGrammar,
    state: FramedState,
    mark_scanner: MarkScanner,
    head: String,
    id: String,
    arguments: ArgumentReader,
    /// Arguments that are text, as far as they were read.
    text: String,
    /// Something else than blanks is among it.
    inked: bool,
    unnamed: bool,
    /// Calls reported, well or badly.
    calls: usize,
    /// Where the text after the last call begins in the held text.
    over_at: usize,
    /// The fence around its arguments may end here.
    fenced: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum FramedState {
    Between,
    /// Before arguments whose mark says all about the call.
    Unheaded,
    Head,
    Id,
    BeforeArguments,
    Arguments,
    /// Arguments that are text, or blanks before any.
    Text,
    /// Behind a sign that ends them if a head follows.
    Beyond(&'static str),
    /// In a call that is broken, up to the sign that ends it.
    Broken,
    /// A call is whole and counts as soon as anything follows it.
    Ready,
    /// In words behind such a call, in the fence around its arguments.
    Words,
    /// In a word behind a call that may be the name of another.
    Chained,
    /// In the blanks before the answer.
    Answer,
}

impl FramedBody {
    pub(crate) fn new(grammar: &'static FramedGrammar, mark: &str) -> Self {
        let mut body = Self {
            grammar,
            state: FramedState::Between,
            mark_scanner: MarkScanner::default(),
            head: String::new(),
            id: String::new(),
            arguments: ArgumentReader::new(0),
            text: String::new(),
            inked: false,
            unnamed: false,
            calls: 0,
            over_at: 0,
            fenced: false,
        };
        body.restart(grammar, mark);
        body
    }

    /// Begins a section behind this mark, with the buffers it has. Without a mark, the name is known already.
    pub(crate) fn restart(&mut self, grammar: &'static FramedGrammar, mark: &str) {
        self.grammar = grammar;
        self.mark_scanner = MarkScanner::default();
        self.head.clear();
        self.id.clear();
        self.unnamed = false;
        self.calls = 0;
        self.fenced = false;
        self.state = match grammar.signs.iter().find(|(sign, _)| *sign == mark) {
            Some((_, FramedSign::Call | FramedSign::Beyond)) => FramedState::Head,
            Some((_, FramedSign::Arguments)) => FramedState::Unheaded,
            _ if mark.is_empty() => FramedState::BeforeArguments,
            _ => FramedState::Between,
        };
    }

    #[inline(never)]
    pub(crate) fn feed(&mut self, text: &str, from: usize, report: &mut CallReport<'_, '_>) -> BodyStep {
        let mut chunk = TextChunk::new(text, from);
        loop {
            let step = match self.state {
                FramedState::Arguments => self.read_arguments(&mut chunk, report),
                FramedState::Unheaded => match self.named(report) {
                    true => {
                        self.state = FramedState::BeforeArguments;
                        None
                    }
                    false => self.no_call(&mut chunk, report),
                },
                FramedState::BeforeArguments if !self.grammar.text.signs.is_empty() => {
                    self.text.clear();
                    self.inked = false;
                    self.state = FramedState::Text;
                    None
                }
                FramedState::Text => self.read_text(&mut chunk, report),
                FramedState::Beyond(sign) => self.read_beyond(sign, &mut chunk, report),
                _ => self.walk(&mut chunk, report),
            };
            if let Some(step) = step {
                chunk.keep(report);
                return step;
            }
        }
    }

    /// What of the text that comes next need not be read now.
    pub(crate) fn bypass(&self) -> Bypass {
        match self.state {
            FramedState::Arguments if self.arguments.flows() => Bypass::Arguments(&PLAIN),
            _ => Bypass::Nothing,
        }
    }

    /// Takes one character outside the arguments.
    fn walk(&mut self, chunk: &mut TextChunk<'_>, report: &mut CallReport<'_, '_>) -> Option<BodyStep> {
        let Some(c) = chunk.char() else { return Some(BodyStep::More) };
        let waits = matches!(self.state, FramedState::BeforeArguments | FramedState::Ready);
        if waits && is_blank(c) && !self.mark_scanner.in_sign() {
            chunk.pos += 1;
            return None;
        }
        if self.state == FramedState::Ready {
            let is_value = self.is_value(report);
            if is_value && !self.is_fenced() || self.may_be_sign(c) {
                self.count(chunk, report);
                return None;
            }
            if is_value {
                self.over_at = chunk.held_position(report);
                self.state = FramedState::Words;
                return None;
            }
            chunk.pos += c.len_utf8();
            return self.no_arguments(c.len_utf8(), chunk, report);
        }
        let before_arguments = match self.state {
            FramedState::BeforeArguments if c == '[' => !self.may_be_sign('['),
            FramedState::BeforeArguments => matches!(c, '{' | '"'),
            FramedState::Head => self.grammar.bracket_ends_head && c == '{',
            _ => false,
        };
        if before_arguments && !self.mark_scanner.in_sign() {
            let encoded = self.state == FramedState::Head && self.ends_with_open_quote();
            if encoded {
                self.head.pop();
            }
            if self.state == FramedState::Head && !self.named(report) {
                self.head.push('{');
                return self.no_call(chunk, report);
            }
            match encoded {
                true => self.begin_with("\"", chunk, report),
                false => self.begin_arguments(chunk, report),
            }
            return None;
        }
        if self.state == FramedState::Answer && !is_blank(c) {
            return Some(BodyStep::Done(Unclaimed::at(chunk.pos)));
        }
        if matches!(self.state, FramedState::Head | FramedState::Id) && !self.mark_scanner.in_sign() {
            let run = self.words(chunk);
            if run > 0 {
                return self.not_a_head(run, chunk, report);
            }
        }
        let rest = chunk.rest();
        let (taken, found) = self.mark_scanner.step(self.grammar.signs, rest);
        chunk.pos += taken;
        match found {
            FoundSign::Sign(sign) => self.sign(sign, chunk, report),
            FoundSign::Nothing => None,
            FoundSign::Char => self.passed(&rest[..taken], chunk, report),
            FoundSign::Beginning(text) => self.passed(text, chunk, report),
        }
    }

    /// Takes what can only be part of a head or an id, as far as it is short enough for one. Says how much.
    fn words(&mut self, chunk: &mut TextChunk<'_>) -> usize {
        let rest = chunk.rest();
        let near = &rest[..rest.floor_char_boundary(HEAD_MAX)];
        let signs = MarkScanner::first_bytes(self.grammar.signs);
        let wordy = self.grammar.wordy;
        let ends = |byte: u8| byte == b'{' || signs[byte as usize] || wordy && is_blank(byte as char);
        let run = near.bytes().position(ends).unwrap_or(near.len());
        let word = if self.state == FramedState::Head { &mut self.head } else { &mut self.id };
        if word.len() + run > HEAD_MAX {
            return 0;
        }
        word.push_str(&rest[..run]);
        chunk.pos += run;
        run
    }

    /// With these last bytes, what seemed to be a head of one word is none. They are read again.
    fn not_a_head(
        &mut self,
        last: usize,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        if !self.grammar.wordy || self.state != FramedState::Head {
            return None;
        }
        let (before, word) = self.head.split_at(self.head.len() - last);
        if !before.ends_with(is_blank) || word.starts_with(is_blank) || before.trim().is_empty() {
            return None;
        }
        chunk.keep(report);
        Some(BodyStep::NotACall(Unclaimed { back: last, pos: chunk.pos }))
    }

    /// Text that is no sign has passed.
    fn passed(
        &mut self,
        text: &str,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        match self.state {
            FramedState::Head => {
                self.head.push_str(text);
                if self.head.len() > HEAD_MAX {
                    return self.no_call(chunk, report);
                }
                return self.not_a_head(text.len(), chunk, report);
            }
            FramedState::Id => {
                self.id.push_str(text);
                if self.id.len() > HEAD_MAX {
                    return self.no_call(chunk, report);
                }
            }
            FramedState::Between if self.grammar.chained && self.calls > 0 && text.chars().all(is_name) => {
                self.head.clear();
                self.head.push_str(text);
                self.id.clear();
                self.state = FramedState::Chained;
            }
            FramedState::Between if !text.trim().is_empty() => return self.over(text.len(), chunk, report),
            FramedState::Chained if text.chars().all(is_name) && self.head.len() < HEAD_MAX => {
                self.head.push_str(text);
            }
            FramedState::Chained => return self.over(0, chunk, report),
            // More arguments: nobody knows which are meant.
            FramedState::Words if text.contains('{') => self.state = FramedState::Broken,
            FramedState::BeforeArguments if text.starts_with('[') => self.begin_with(text, chunk, report),
            FramedState::BeforeArguments if !text.trim().is_empty() => {
                return self.no_arguments(text.len(), chunk, report);
            }
            _ => {}
        }
        None
    }

    /// What stands in the place of the arguments is no value, or not with these last bytes. Behind the first name it may be
    /// what somebody says about the marks; else the call is broken, and what follows it is its own only up to a sign that
    /// ends it.
    fn no_arguments(
        &mut self,
        last: usize,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        chunk.keep(report);
        let (before, text) = report.held.split_at(report.held.len() - last);
        let alone = self.state == FramedState::BeforeArguments && self.calls == 0 && !self.head.is_empty();
        let prose = alone && goes_on_as_prose(before, text);
        let ends = self.head.is_empty() || self.has_end();
        if ends && !prose {
            self.state = FramedState::Broken;
            return None;
        }
        self.end_before(last, chunk, report, |body, chunk, report| {
            if !prose {
                body.drop_draft(chunk, report);
            }
        })
    }

    /// Ends the section before its last bytes, which are not its own, once it is settled what the call was.
    pub(super) fn end_before<'t>(
        &mut self,
        back: usize,
        chunk: &mut TextChunk<'t>,
        report: &mut CallReport<'_, '_>,
        settle: impl FnOnce(&mut Self, &mut TextChunk<'t>, &mut CallReport<'_, '_>),
    ) -> Option<BodyStep> {
        chunk.keep(report);
        let beyond = report.held.split_off(report.held.len() - back);
        settle(self, chunk, report);
        report.held.push_str(&beyond);
        Some(self.done(Unclaimed { back, pos: chunk.pos }))
    }

    /// Whether the call that is open has said enough without arguments; then it counts.
    fn counts_without_arguments(
        &mut self,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> bool {
        let vouched = report.named().is_some_and(|name| is_plausible_tool(name, report.tools));
        // The head of a message that is all for one tool says enough.
        let counts = vouched || self.head.is_empty();
        if counts {
            report.arguments("{}");
            self.count(chunk, report);
        }
        counts
    }

    /// Whether the arguments are whole, whatever follows them. A string with more behind it may be a member whose object
    /// lost its brace.
    fn is_value(&self, report: &CallReport<'_, '_>) -> bool {
        report.arguments_so_far().starts_with(['{', '['])
    }

    /// Whether a fence encloses the arguments, and what stands behind them up to its end.
    fn is_fenced(&self) -> bool {
        self.head.contains("```")
    }

    /// Whether a sign ends each call.
    fn has_end(&self) -> bool {
        self.grammar.signs.iter().any(|(_, sign)| *sign == FramedSign::End)
    }

    /// Whether some sign begins with this character.
    fn may_be_sign(&self, c: char) -> bool {
        self.grammar.signs.iter().any(|(sign, _)| sign.starts_with(c))
    }

    /// A sign stands in the text. What it says depends on how far the call is.
    fn sign(
        &mut self,
        sign: FramedSign,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        let ends_call = matches!(sign, FramedSign::End | FramedSign::Call | FramedSign::Close);
        match self.state {
            FramedState::Chained => self.sign_behind_call(sign, chunk, report),
            FramedState::Words if ends_call || sign == FramedSign::Fence => {
                chunk.keep(report);
                let sign_at = report.held.len() - self.mark_scanner.last_sign(self.grammar.signs).len();
                self.finish_with_words(sign_at, report);
                self.counted(chunk, report);
                self.sign(sign, chunk, report)
            }
            FramedState::Broken if ends_call => {
                self.drop_draft(chunk, report);
                self.sign(sign, chunk, report)
            }
            FramedState::BeforeArguments if ends_call => self.sign_for_arguments(sign, chunk, report),
            FramedState::BeforeArguments if sign == FramedSign::Beyond && !self.head.is_empty() => {
                let back = self.mark_scanner.last_sign(self.grammar.signs).len();
                self.end_before(back, chunk, report, |body, chunk, report| {
                    if !body.counts_without_arguments(chunk, report) && body.calls > 0 {
                        body.drop_draft(chunk, report);
                    }
                })
            }
            FramedState::Head | FramedState::Id if sign != FramedSign::Beyond => {
                self.sign_in_head(sign, chunk, report)
            }
            _ => self.sign_between_calls(sign, chunk, report),
        }
    }

    /// Right behind a call, where the name of another may stand: only the sign of its arguments makes it one.
    fn sign_behind_call(
        &mut self,
        sign: FramedSign,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        let calls = sign == FramedSign::Arguments && is_plausible_tool(&self.head, report.tools);
        if !calls || !self.named(report) {
            return self.over(0, chunk, report);
        }
        self.state = FramedState::BeforeArguments;
        None
    }

    /// The call ends where its arguments should begin.
    fn sign_for_arguments(
        &mut self,
        sign: FramedSign,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        if !self.counts_without_arguments(chunk, report) {
            if self.calls == 0 {
                let again = match sign {
                    FramedSign::Call => self.mark_scanner.last_sign(self.grammar.signs),
                    _ => "",
                };
                chunk.keep(report);
                return Some(BodyStep::NotACall(Unclaimed { back: again.len(), pos: chunk.pos }));
            }
            self.drop_draft(chunk, report);
        }
        self.sign(sign, chunk, report)
    }

    /// In the head of a call, or in its id.
    fn sign_in_head(
        &mut self,
        sign: FramedSign,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        let in_head = self.state == FramedState::Head;
        match sign {
            FramedSign::Arguments => {
                if !self.named(report) {
                    return self.no_call(chunk, report);
                }
                self.state = FramedState::BeforeArguments;
            }
            FramedSign::Id if in_head => {
                self.id.clear();
                self.state = FramedState::Id;
            }
            FramedSign::End if in_head && self.is_all_head(report.tools) && self.named(report) => {
                report.arguments("{}");
                self.count(chunk, report);
            }
            FramedSign::End | FramedSign::Close if !self.is_said(report) => {
                self.drop_draft(chunk, report);
                return self.sign(sign, chunk, report);
            }
            FramedSign::End | FramedSign::Close | FramedSign::Id => return self.no_call(chunk, report),
            FramedSign::Answer if in_head && self.names_no_tool(report.tools) => {
                self.state = FramedState::Answer;
            }
            FramedSign::Call | FramedSign::Answer if self.is_said(report) => {
                let back = self.mark_scanner.last_sign(self.grammar.signs).len();
                chunk.keep(report);
                return Some(BodyStep::NotACall(Unclaimed { back, pos: chunk.pos }));
            }
            FramedSign::Call => {
                self.drop_draft(chunk, report);
                return self.sign(sign, chunk, report);
            }
            FramedSign::Fence if in_head => {
                self.head.push_str(self.mark_scanner.last_sign(self.grammar.signs));
            }
            FramedSign::Answer | FramedSign::Fence | FramedSign::Beyond => {}
        }
        None
    }

    /// Whether the head says that no tool is called.
    fn names_no_tool(&self, tools: &Tools) -> bool {
        matches!((self.grammar.name)(&self.head, tools), HeadMeaning::NoTool)
    }

    /// Between calls, or where the sign means the same in every state.
    fn sign_between_calls(
        &mut self,
        sign: FramedSign,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        let between = self.state == FramedState::Between;
        match sign {
            FramedSign::Call => {
                self.head.clear();
                self.id.clear();
                self.state = FramedState::Head;
            }
            // An empty section is markup too.
            FramedSign::Close if between => return Some(BodyStep::Done(Unclaimed::at(chunk.pos))),
            FramedSign::Close => return Some(self.done(Unclaimed::at(chunk.pos))),
            FramedSign::Beyond => {
                let back = self.mark_scanner.last_sign(self.grammar.signs).len();
                return self.end_before(back, chunk, report, |body, chunk, report| {
                    if report.calls.has_started() {
                        body.drop_draft(chunk, report);
                    }
                });
            }
            FramedSign::Fence if between && !self.fenced => {
                let fence = self.mark_scanner.last_sign(self.grammar.signs);
                return self.over(fence.len(), chunk, report);
            }
            FramedSign::End | FramedSign::Fence if between => {
                self.over_at = chunk.held_position(report);
                self.fenced = false;
            }
            _ => {}
        }
        None
    }

    /// Whether the head may be the name of a tool.
    fn may_call(&self, tools: &Tools) -> bool {
        let head = self.head.trim();
        let may_name = |name: &str| tools.is_unknown() || tools.resolve(name).is_some();
        head.is_empty()
            || matches!((self.grammar.name)(head, tools), HeadMeaning::Tool { name, .. } if may_name(&name))
    }

    /// Whether the head is all of a call.
    fn is_all_head(&self, tools: &Tools) -> bool {
        (self.grammar.is_all)(&self.head)
            && matches!((self.grammar.name)(&self.head, tools), HeadMeaning::Tool { name, .. } if is_plausible_tool(&name, tools))
    }

    /// Reads the head; false where it calls nobody.
    fn named(&mut self, report: &mut CallReport<'_, '_>) -> bool {
        self.unnamed = false;
        let id = match (self.grammar.name)(&self.head, report.tools) {
            HeadMeaning::Tool { name, id } => {
                report.name(&name);
                id
            }
            HeadMeaning::Unnamed { id } if !report.tools.is_unknown() => {
                self.unnamed = true;
                id
            }
            HeadMeaning::Unnamed { .. } | HeadMeaning::NoTool | HeadMeaning::Nobody => return false,
        };
        let written = self.id.trim();
        if let Some(id) = id.or_else(|| (!written.is_empty()).then(|| written.to_owned())) {
            report.id(id);
        }
        true
    }

    fn begin_arguments(&mut self, chunk: &mut TextChunk<'_>, report: &mut CallReport<'_, '_>) {
        self.arguments = ArgumentReader::new(chunk.held_position(report));
        self.state = FramedState::Arguments;
    }

    /// Whether the last character of the head is a quote that closes nothing: a string with the arguments inside begins.
    fn ends_with_open_quote(&self) -> bool {
        self.head.ends_with('"') && self.head.matches('"').count() % 2 == 1
    }

    /// Begins arguments whose beginning was taken for something else.
    fn begin_with(&mut self, beginning: &str, chunk: &mut TextChunk<'_>, report: &mut CallReport<'_, '_>) {
        chunk.keep(report);
        report.held.truncate(report.held.len() - beginning.len());
        self.arguments = ArgumentReader::new(report.held.len());
        self.arguments.feed(&mut TextChunk::new(beginning, 0), self.grammar.closers, report);
        self.state = FramedState::Arguments;
    }

    fn read_arguments(
        &mut self,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        let flow = self.arguments.feed(chunk, self.grammar.closers, report);
        match flow {
            ArgumentFlow::More => return Some(BodyStep::More),
            ArgumentFlow::Done | ArgumentFlow::Tag(_) => {}
            ArgumentFlow::Broken => {
                self.drop_draft(chunk, report);
                return None;
            }
        }
        if self.unnamed {
            let whose = report.tools.whose_arguments(report.arguments_so_far()).map(str::to_owned);
            let Some(name) = whose else {
                self.drop_draft(chunk, report);
                return None;
            };
            report.name(&name);
        }
        self.state = FramedState::Ready;
        if let ArgumentFlow::Tag(tag) = flow {
            // The tag is not the call's own, and a sign must be there to be given back.
            chunk.keep(report);
            report.held.truncate(report.held.len() - tag.len());
            self.count(chunk, report);
            report.held.push_str(tag);
            let sign = self.mark_scanner.match_sign(self.grammar.signs, tag);
            return sign.and_then(|sign| self.sign(sign, chunk, report));
        }
        None
    }

    fn count(&mut self, chunk: &mut TextChunk<'_>, report: &mut CallReport<'_, '_>) {
        report.finish();
        self.counted(chunk, report);
    }

    /// The call is whole, and the words that follow it in its fence are text. The blanks before the fence's end are its own.
    fn finish_with_words(&self, end: usize, report: &mut CallReport<'_, '_>) {
        let words = report.held[self.over_at..end].trim_end().len();
        report.finish();
        report.words(self.over_at..self.over_at + words);
    }

    fn counted(&mut self, chunk: &mut TextChunk<'_>, report: &mut CallReport<'_, '_>) {
        self.calls += 1;
        chunk.release_read_text(report);
        self.over_at = chunk.held_position(report);
        self.fenced = true;
        self.state = FramedState::Between;
    }

    fn drop_draft(&mut self, chunk: &mut TextChunk<'_>, report: &mut CallReport<'_, '_>) {
        chunk.keep(report);
        self.calls += 1;
        report.drop_draft(Dropped::Broken);
        self.over_at = report.held.len();
        self.fenced = true;
        self.state = FramedState::Between;
    }

    /// What began like a call is none: what somebody says, or a broken one, up to the sign that ends it.
    fn no_call(&mut self, chunk: &mut TextChunk<'_>, report: &mut CallReport<'_, '_>) -> Option<BodyStep> {
        if self.is_said(report) {
            return Some(BodyStep::NotACall(Unclaimed::at(chunk.pos)));
        }
        match self.has_end() {
            true => self.state = FramedState::Broken,
            false => self.drop_draft(chunk, report),
        }
        None
    }

    /// Whether a head that calls nobody is what somebody says about the marks. In a section that has held calls nobody does.
    fn is_said(&self, report: &CallReport<'_, '_>) -> bool {
        self.calls == 0 && !report.calls.has_started() && (self.grammar.is_said)(&self.head)
    }

    /// Something follows the last call that does not belong to it, and ends with these bytes.
    fn over(
        &mut self,
        last: usize,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        chunk.keep(report);
        let back = if self.calls == 0 { last } else { report.held.len() - self.over_at };
        Some(self.done(Unclaimed { back, pos: chunk.pos }))
    }

    fn done(&self, rest: Unclaimed) -> BodyStep {
        if self.calls == 0 { BodyStep::NotACall(rest) } else { BodyStep::Done(rest) }
    }

    /// The message is over behind the last call. One lone character there may begin a sign, but says too little to be one:
    /// it is text.
    fn tell_lone_character(&self, end: End, report: &mut CallReport<'_, '_>) {
        let rest = report.held.get(self.over_at..).unwrap_or("").trim();
        if end == End::Normal && rest.chars().count() == 1 {
            let mut behind = Trailing::default();
            behind.note_at(self.over_at, 0);
            behind.emit_text(Evidence::Marked, end, report);
        }
    }

    pub(crate) fn finish(&mut self, end: End, report: &mut CallReport<'_, '_>) -> BodyEnding {
        if let FramedState::Beyond(sign) = self.state {
            self.no_head(sign);
        }
        if self.state == FramedState::Text && end == End::Normal && !self.grammar.text.closed {
            self.end_of_text();
            if self.is_text_whole(report)
                && let Some(arguments) = self.text_arguments(report)
            {
                report.arguments(&arguments);
                self.state = FramedState::Ready;
            }
        }
        match self.state {
            FramedState::Ready if end == End::Normal => {
                report.finish();
                BodyEnding::Done
            }
            FramedState::Words if end == End::Normal => {
                self.finish_with_words(report.held.len(), report);
                BodyEnding::Done
            }
            FramedState::Broken if end == End::Normal => {
                report.drop_draft(Dropped::Broken);
                BodyEnding::Done
            }
            FramedState::Between if self.calls > 0 => {
                self.tell_lone_character(end, report);
                BodyEnding::Done
            }
            FramedState::Chained => BodyEnding::NotACall,
            FramedState::Answer => BodyEnding::Done,
            FramedState::Head if self.grammar.wordy && end == End::Normal && !self.may_call(report.tools) => {
                BodyEnding::NotACall
            }
            FramedState::Between if end == End::Normal && !self.mark_scanner.in_sign() => {
                BodyEnding::NotACall
            }
            _ => BodyEnding::Cut,
        }
    }
}

/// Whether a call without arguments is one. Only its name vouches for it, so it must look like one, and be declared where
/// tools are known.
fn is_plausible_tool(name: &str, tools: &Tools) -> bool {
    match tools.is_unknown() {
        true => name.chars().all(is_name),
        false => tools.resolve(name).is_some(),
    }
}
