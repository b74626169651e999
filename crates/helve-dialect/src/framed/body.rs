//! The body of a framed section: from sign to sign, with heads and arguments between them.

mod plain;

use super::{Called, FramedGrammar, HEAD_MAX, Sign, goes_on_as_prose, text};
use crate::arguments::{Arguments, Flow};
use crate::body::{Behind, Chunk, Ending, Passing, Rest, Standing, Step};
use crate::calls::Report;
use crate::dialect::is_name;
use crate::signpost::{Found, Signpost};
use crate::{Dropped, End, Tools};
use helve_json::is_blank;
use helve_json::string_bytes::PLAIN;

pub(crate) struct FramedBody {
    grammar: &'static FramedGrammar,
    state: State,
    signpost: Signpost,
    head: String,
    id: String,
    arguments: Arguments,
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
enum State {
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
            state: State::Between,
            signpost: Signpost::default(),
            head: String::new(),
            id: String::new(),
            arguments: Arguments::new(0),
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
        self.signpost = Signpost::default();
        self.head.clear();
        self.id.clear();
        self.unnamed = false;
        self.calls = 0;
        self.fenced = false;
        self.state = match grammar.signs.iter().find(|(sign, _)| *sign == mark) {
            Some((_, Sign::Call | Sign::Beyond)) => State::Head,
            Some((_, Sign::Arguments)) => State::Unheaded,
            _ if mark.is_empty() => State::BeforeArguments,
            _ => State::Between,
        };
    }

    #[inline(never)]
    pub(crate) fn feed(&mut self, text: &str, from: usize, report: &mut Report<'_, '_>) -> Step {
        let mut chunk = Chunk::new(text, from);
        loop {
            let step = match self.state {
                State::Arguments => self.read_arguments(&mut chunk, report),
                State::Unheaded => match self.named(report) {
                    true => {
                        self.state = State::BeforeArguments;
                        None
                    }
                    false => self.no_call(&mut chunk, report),
                },
                State::BeforeArguments if !self.grammar.text.signs.is_empty() => {
                    self.text.clear();
                    self.inked = false;
                    self.state = State::Text;
                    None
                }
                State::Text => self.read_text(&mut chunk, report),
                State::Beyond(sign) => self.read_beyond(sign, &mut chunk, report),
                _ => self.walk(&mut chunk, report),
            };
            if let Some(step) = step {
                chunk.keep(report);
                return step;
            }
        }
    }

    /// What of the text that comes next need not be read now.
    pub(crate) fn passing(&self) -> Passing {
        match self.state {
            State::Arguments if self.arguments.flows() => Passing::Arguments(&PLAIN),
            _ => Passing::Nothing,
        }
    }

    /// Takes one character outside the arguments.
    fn walk(&mut self, chunk: &mut Chunk<'_>, report: &mut Report<'_, '_>) -> Option<Step> {
        let Some(c) = chunk.char() else { return Some(Step::More) };
        let waits = matches!(self.state, State::BeforeArguments | State::Ready);
        if waits && is_blank(c) && !self.signpost.in_sign() {
            chunk.pos += 1;
            return None;
        }
        if self.state == State::Ready {
            let is_value = self.is_value(report);
            if is_value && !self.is_fenced() || self.may_be_sign(c) {
                self.count(chunk, report);
                return None;
            }
            if is_value {
                self.over_at = chunk.held_at(report);
                self.state = State::Words;
                return None;
            }
            chunk.pos += c.len_utf8();
            return self.no_arguments(c.len_utf8(), chunk, report);
        }
        let before_arguments = match self.state {
            State::BeforeArguments if c == '[' => !self.may_be_sign('['),
            State::BeforeArguments => matches!(c, '{' | '"'),
            State::Head => self.grammar.bracket_ends_head && c == '{',
            _ => false,
        };
        if before_arguments && !self.signpost.in_sign() {
            let encoded = self.state == State::Head && self.ends_with_open_quote();
            if encoded {
                self.head.pop();
            }
            if self.state == State::Head && !self.named(report) {
                self.head.push('{');
                return self.no_call(chunk, report);
            }
            match encoded {
                true => self.begin_with("\"", chunk, report),
                false => self.begin_arguments(chunk, report),
            }
            return None;
        }
        if self.state == State::Answer && !is_blank(c) {
            return Some(Step::Done(Rest::at(chunk.pos)));
        }
        if matches!(self.state, State::Head | State::Id) && !self.signpost.in_sign() {
            let run = self.words(chunk);
            if run > 0 {
                return self.not_a_head(run, chunk, report);
            }
        }
        let rest = chunk.rest();
        let (taken, found) = self.signpost.step(self.grammar.signs, rest);
        chunk.pos += taken;
        match found {
            Found::Sign(sign) => self.sign(sign, chunk, report),
            Found::Nothing => None,
            Found::Char => self.passed(&rest[..taken], chunk, report),
            Found::Beginning(text) => self.passed(text, chunk, report),
        }
    }

    /// Takes what can only be part of a head or an id, as far as it is short enough for one. Says how much.
    fn words(&mut self, chunk: &mut Chunk<'_>) -> usize {
        let rest = chunk.rest();
        let near = &rest[..rest.floor_char_boundary(HEAD_MAX)];
        let signs = Signpost::first_bytes(self.grammar.signs);
        let wordy = self.grammar.wordy;
        let ends = |byte: u8| byte == b'{' || signs[byte as usize] || wordy && is_blank(byte as char);
        let run = near.bytes().position(ends).unwrap_or(near.len());
        let word = if self.state == State::Head { &mut self.head } else { &mut self.id };
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
        chunk: &mut Chunk<'_>,
        report: &mut Report<'_, '_>,
    ) -> Option<Step> {
        if !self.grammar.wordy || self.state != State::Head {
            return None;
        }
        let (before, word) = self.head.split_at(self.head.len() - last);
        if !before.ends_with(is_blank) || word.starts_with(is_blank) || before.trim().is_empty() {
            return None;
        }
        chunk.keep(report);
        Some(Step::NotACall(Rest { back: last, pos: chunk.pos }))
    }

    /// Text that is no sign has passed.
    fn passed(&mut self, text: &str, chunk: &mut Chunk<'_>, report: &mut Report<'_, '_>) -> Option<Step> {
        match self.state {
            State::Head => {
                self.head.push_str(text);
                if self.head.len() > HEAD_MAX {
                    return self.no_call(chunk, report);
                }
                return self.not_a_head(text.len(), chunk, report);
            }
            State::Id => {
                self.id.push_str(text);
                if self.id.len() > HEAD_MAX {
                    return self.no_call(chunk, report);
                }
            }
            State::Between if self.grammar.chained && self.calls > 0 && text.chars().all(is_name) => {
                self.head.clear();
                self.head.push_str(text);
                self.id.clear();
                self.state = State::Chained;
            }
            State::Between if !text.trim().is_empty() => return self.over(text.len(), chunk, report),
            State::Chained if text.chars().all(is_name) && self.head.len() < HEAD_MAX => {
                self.head.push_str(text);
            }
            State::Chained => return self.over(0, chunk, report),
            // More arguments: nobody knows which are meant.
            State::Words if text.contains('{') => self.state = State::Broken,
            State::BeforeArguments if text.starts_with('[') => self.begin_with(text, chunk, report),
            State::BeforeArguments if !text.trim().is_empty() => {
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
        chunk: &mut Chunk<'_>,
        report: &mut Report<'_, '_>,
    ) -> Option<Step> {
        chunk.keep(report);
        let (before, text) = report.held.split_at(report.held.len() - last);
        let alone = self.state == State::BeforeArguments && self.calls == 0 && !self.head.is_empty();
        let prose = alone && goes_on_as_prose(before, text);
        let ends = self.head.is_empty() || self.has_end();
        if ends && !prose {
            self.state = State::Broken;
            return None;
        }
        self.end_before(last, chunk, report, |body, chunk, report| {
            if !prose {
                body.give_up(chunk, report);
            }
        })
    }

    /// Ends the section before its last bytes, which are not its own, once it is settled what the call was.
    pub(super) fn end_before<'t>(
        &mut self,
        back: usize,
        chunk: &mut Chunk<'t>,
        report: &mut Report<'_, '_>,
        settle: impl FnOnce(&mut Self, &mut Chunk<'t>, &mut Report<'_, '_>),
    ) -> Option<Step> {
        chunk.keep(report);
        let beyond = report.held.split_off(report.held.len() - back);
        settle(self, chunk, report);
        report.held.push_str(&beyond);
        Some(self.done(Rest { back, pos: chunk.pos }))
    }

    /// Whether the call that is open has said enough without arguments; then it counts.
    fn counts_without_arguments(&mut self, chunk: &mut Chunk<'_>, report: &mut Report<'_, '_>) -> bool {
        let vouched = report.named().is_some_and(|name| vouches(name, report.tools));
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
    fn is_value(&self, report: &Report<'_, '_>) -> bool {
        report.arguments_so_far().starts_with(['{', '['])
    }

    /// Whether a fence encloses the arguments, and what stands behind them up to its end.
    fn is_fenced(&self) -> bool {
        self.head.contains("```")
    }

    /// Whether a sign ends each call.
    fn has_end(&self) -> bool {
        self.grammar.signs.iter().any(|(_, sign)| *sign == Sign::End)
    }

    /// Whether some sign begins with this character.
    fn may_be_sign(&self, c: char) -> bool {
        self.grammar.signs.iter().any(|(sign, _)| sign.starts_with(c))
    }

    fn sign(&mut self, sign: Sign, chunk: &mut Chunk<'_>, report: &mut Report<'_, '_>) -> Option<Step> {
        match (self.state, sign) {
            (State::Chained, Sign::Arguments) if vouches(&self.head, report.tools) && self.named(report) => {
                self.state = State::BeforeArguments;
            }
            (State::Chained, _) => return self.over(0, chunk, report),
            (State::Head | State::Id, Sign::Arguments) => {
                if !self.named(report) {
                    return self.no_call(chunk, report);
                }
                self.state = State::BeforeArguments;
            }
            (State::Head, Sign::Id) => {
                self.id.clear();
                self.state = State::Id;
            }
            (State::Words, Sign::Fence | Sign::End | Sign::Call | Sign::Close) => {
                chunk.keep(report);
                let sign_at = report.held.len() - self.signpost.found(self.grammar.signs).len();
                self.finish_with_words(sign_at, report);
                self.counted(chunk, report);
                return self.sign(sign, chunk, report);
            }
            (State::Broken, Sign::End | Sign::Call | Sign::Close) => {
                self.give_up(chunk, report);
                return self.sign(sign, chunk, report);
            }
            (State::BeforeArguments, Sign::Beyond) if !self.head.is_empty() => {
                let back = self.signpost.found(self.grammar.signs).len();
                return self.end_before(back, chunk, report, |body, chunk, report| {
                    if !body.counts_without_arguments(chunk, report) && body.calls > 0 {
                        body.give_up(chunk, report);
                    }
                });
            }
            (State::BeforeArguments, Sign::End | Sign::Call | Sign::Close) => {
                if self.counts_without_arguments(chunk, report) {
                    return self.sign(sign, chunk, report);
                }
                if self.calls == 0 {
                    let again = if sign == Sign::Call { self.signpost.found(self.grammar.signs) } else { "" };
                    chunk.keep(report);
                    return Some(Step::NotACall(Rest { back: again.len(), pos: chunk.pos }));
                }
                self.give_up(chunk, report);
                return self.sign(sign, chunk, report);
            }
            (State::Head, Sign::End) if self.is_all_head(report.tools) && self.named(report) => {
                report.arguments("{}");
                self.count(chunk, report);
            }
            (State::Head | State::Id, Sign::End | Sign::Close) if !self.is_said(report) => {
                self.give_up(chunk, report);
                return self.sign(sign, chunk, report);
            }
            (State::Head | State::Id, Sign::End | Sign::Close | Sign::Id) => {
                return self.no_call(chunk, report);
            }
            (State::Head, Sign::Answer)
                if matches!((self.grammar.name)(&self.head, report.tools), Called::NoTool) =>
            {
                self.state = State::Answer;
            }
            (State::Head | State::Id, Sign::Call | Sign::Answer) if self.is_said(report) => {
                let back = self.signpost.found(self.grammar.signs).len();
                chunk.keep(report);
                return Some(Step::NotACall(Rest { back, pos: chunk.pos }));
            }
            (State::Head | State::Id, Sign::Call) => {
                self.give_up(chunk, report);
                return self.sign(sign, chunk, report);
            }
            (_, Sign::Call) => {
                self.head.clear();
                self.id.clear();
                self.state = State::Head;
            }
            // An empty section is markup too.
            (State::Between, Sign::Close) => return Some(Step::Done(Rest::at(chunk.pos))),
            (_, Sign::Close) => return Some(self.done(Rest::at(chunk.pos))),
            (_, Sign::Beyond) => {
                let back = self.signpost.found(self.grammar.signs).len();
                return self.end_before(back, chunk, report, |body, chunk, report| {
                    if report.calls.has_started() {
                        body.give_up(chunk, report);
                    }
                });
            }
            (State::Head, Sign::Fence) => self.head.push_str(self.signpost.found(self.grammar.signs)),
            (State::Between, Sign::Fence) if !self.fenced => {
                let fence = self.signpost.found(self.grammar.signs);
                return self.over(fence.len(), chunk, report);
            }
            (State::Between, Sign::End | Sign::Fence) => {
                self.over_at = chunk.held_at(report);
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
            || matches!((self.grammar.name)(head, tools), Called::Tool { name, .. } if may_name(&name))
    }

    /// Whether the head is all of a call.
    fn is_all_head(&self, tools: &Tools) -> bool {
        (self.grammar.is_all)(&self.head)
            && matches!((self.grammar.name)(&self.head, tools), Called::Tool { name, .. } if vouches(&name, tools))
    }

    /// Reads the head; false where it calls nobody.
    fn named(&mut self, report: &mut Report<'_, '_>) -> bool {
        self.unnamed = false;
        let id = match (self.grammar.name)(&self.head, report.tools) {
            Called::Tool { name, id } => {
                report.name(&name);
                id
            }
            Called::Unnamed { id } if !report.tools.is_unknown() => {
                self.unnamed = true;
                id
            }
            Called::Unnamed { .. } | Called::NoTool | Called::Nobody => return false,
        };
        let written = self.id.trim();
        if let Some(id) = id.or_else(|| (!written.is_empty()).then(|| written.to_owned())) {
            report.id(id);
        }
        true
    }

    fn begin_arguments(&mut self, chunk: &mut Chunk<'_>, report: &mut Report<'_, '_>) {
        self.arguments = Arguments::new(chunk.held_at(report));
        self.state = State::Arguments;
    }

    /// Whether the last character of the head is a quote that closes nothing: a string with the arguments inside begins.
    fn ends_with_open_quote(&self) -> bool {
        self.head.ends_with('"') && self.head.matches('"').count() % 2 == 1
    }

    /// Begins arguments whose beginning was taken for something else.
    fn begin_with(&mut self, beginning: &str, chunk: &mut Chunk<'_>, report: &mut Report<'_, '_>) {
        chunk.keep(report);
        report.held.truncate(report.held.len() - beginning.len());
        self.arguments = Arguments::new(report.held.len());
        self.arguments.feed(&mut Chunk::new(beginning, 0), self.grammar.closers, report);
        self.state = State::Arguments;
    }

    fn read_arguments(&mut self, chunk: &mut Chunk<'_>, report: &mut Report<'_, '_>) -> Option<Step> {
        let flow = self.arguments.feed(chunk, self.grammar.closers, report);
        match flow {
            Flow::More => return Some(Step::More),
            Flow::Done | Flow::Tag(_) => {}
            Flow::Broken => {
                self.give_up(chunk, report);
                return None;
            }
        }
        if self.unnamed {
            let whose = report.tools.whose_arguments(report.arguments_so_far()).map(str::to_owned);
            let Some(name) = whose else {
                self.give_up(chunk, report);
                return None;
            };
            report.name(&name);
        }
        self.state = State::Ready;
        if let Flow::Tag(tag) = flow {
            // The tag is not the call's own, and a sign must be there to be given back.
            chunk.keep(report);
            report.held.truncate(report.held.len() - tag.len());
            self.count(chunk, report);
            report.held.push_str(tag);
            let sign = self.signpost.at(self.grammar.signs, tag);
            return sign.and_then(|sign| self.sign(sign, chunk, report));
        }
        None
    }

    fn count(&mut self, chunk: &mut Chunk<'_>, report: &mut Report<'_, '_>) {
        report.finish();
        self.counted(chunk, report);
    }

    /// The call is whole, and the words that follow it in its fence are text. The blanks before the fence's end are its own.
    fn finish_with_words(&self, end: usize, report: &mut Report<'_, '_>) {
        let words = report.held[self.over_at..end].trim_end().len();
        report.finish();
        report.words(self.over_at..self.over_at + words);
    }

    fn counted(&mut self, chunk: &mut Chunk<'_>, report: &mut Report<'_, '_>) {
        self.calls += 1;
        chunk.let_go(report);
        self.over_at = chunk.held_at(report);
        self.fenced = true;
        self.state = State::Between;
    }

    fn give_up(&mut self, chunk: &mut Chunk<'_>, report: &mut Report<'_, '_>) {
        chunk.keep(report);
        self.calls += 1;
        report.give_up(Dropped::Broken);
        self.over_at = report.held.len();
        self.fenced = true;
        self.state = State::Between;
    }

    /// What began like a call is none: what somebody says, or a broken one, up to the sign that ends it.
    fn no_call(&mut self, chunk: &mut Chunk<'_>, report: &mut Report<'_, '_>) -> Option<Step> {
        if self.is_said(report) {
            return Some(Step::NotACall(Rest::at(chunk.pos)));
        }
        match self.has_end() {
            true => self.state = State::Broken,
            false => self.give_up(chunk, report),
        }
        None
    }

    /// Whether a head that calls nobody is what somebody says about the marks. In a section that has held calls nobody does.
    fn is_said(&self, report: &Report<'_, '_>) -> bool {
        self.calls == 0 && !report.calls.has_started() && (self.grammar.is_said)(&self.head)
    }

    /// Something follows the last call that does not belong to it, and ends with these bytes.
    fn over(&mut self, last: usize, chunk: &mut Chunk<'_>, report: &mut Report<'_, '_>) -> Option<Step> {
        chunk.keep(report);
        let back = if self.calls == 0 { last } else { report.held.len() - self.over_at };
        Some(self.done(Rest { back, pos: chunk.pos }))
    }

    fn done(&self, rest: Rest) -> Step {
        if self.calls == 0 { Step::NotACall(rest) } else { Step::Done(rest) }
    }

    /// The message is over behind the last call. One lone character there may begin a sign, but says too little to be one:
    /// it is text.
    fn tell_lone_character(&self, end: End, report: &mut Report<'_, '_>) {
        let rest = report.held.get(self.over_at..).unwrap_or("").trim();
        if end == End::Normal && rest.chars().count() == 1 {
            let mut behind = Behind::default();
            behind.stands(self.over_at, 0);
            behind.tell(Standing::Marked, end, report);
        }
    }

    pub(crate) fn finish(&mut self, end: End, report: &mut Report<'_, '_>) -> Ending {
        if let State::Beyond(sign) = self.state {
            self.no_head(sign);
        }
        if self.state == State::Text && end == End::Normal && !self.grammar.text.closed {
            self.end_of_text();
            if self.is_text_whole(report)
                && let Some(arguments) = self.text_arguments(report)
            {
                report.arguments(&arguments);
                self.state = State::Ready;
            }
        }
        match self.state {
            State::Ready if end == End::Normal => {
                report.finish();
                Ending::Done
            }
            State::Words if end == End::Normal => {
                self.finish_with_words(report.held.len(), report);
                Ending::Done
            }
            State::Broken if end == End::Normal => {
                report.give_up(Dropped::Broken);
                Ending::Done
            }
            State::Between if self.calls > 0 => {
                self.tell_lone_character(end, report);
                Ending::Done
            }
            State::Chained => Ending::NotACall,
            State::Answer => Ending::Done,
            State::Head if self.grammar.wordy && end == End::Normal && !self.may_call(report.tools) => {
                Ending::NotACall
            }
            State::Between if end == End::Normal && !self.signpost.in_sign() => Ending::NotACall,
            _ => Ending::Cut,
        }
    }
}

/// Whether a call without arguments is one. Only its name vouches for it, so it must look like one, and be declared where
/// tools are known.
fn vouches(name: &str, tools: &Tools) -> bool {
    match tools.is_unknown() {
        true => name.chars().all(is_name),
        false => tools.resolve(name).is_some(),
    }
}
