//! The body of a framed section: from sign to sign, with heads and arguments between them.

mod arguments;
mod outside;
mod plain;
mod signs;
pub(super) mod text;

use super::{FramedGrammar, FramedSign, HeadMeaning};
use crate::arguments::ArgumentReader;
use crate::body::{BodyEnding, BodyStep, Bypass, Evidence, TextChunk, Trailing, Unclaimed};
use crate::calls::CallReport;
use crate::dialect::is_name_char;
use crate::mark_scanner::MarkScanner;
use crate::{Dropped, End, Tools};
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
    has_nonblank: bool,
    unnamed: bool,
    /// Calls reported, well or badly.
    calls: usize,
    /// Where the text after the last call begins in the held text.
    trailing_at: usize,
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
            has_nonblank: false,
            unnamed: false,
            calls: 0,
            trailing_at: 0,
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
                FramedState::Unheaded => match self.read_name(report) {
                    true => {
                        self.state = FramedState::BeforeArguments;
                        None
                    }
                    false => self.reject_call(&mut chunk, report),
                },
                FramedState::BeforeArguments if !self.grammar.text.signs.is_empty() => {
                    self.text.clear();
                    self.has_nonblank = false;
                    self.state = FramedState::Text;
                    None
                }
                FramedState::Text => self.read_text(&mut chunk, report),
                FramedState::Beyond(sign) => self.read_possible_head(sign, &mut chunk, report),
                _ => self.read_outside_arguments(&mut chunk, report),
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
            FramedState::Arguments if self.arguments.is_plain_text() => Bypass::Arguments(&PLAIN),
            _ => Bypass::Nothing,
        }
    }

    /// Ends the section before its last bytes, which are not its own, once it is settled what the call was.
    pub(super) fn end_before<'t>(
        &mut self,
        back: usize,
        chunk: &mut TextChunk<'t>,
        report: &mut CallReport<'_, '_>,
        settle: impl FnOnce(&mut Self, &mut TextChunk<'t>, &mut CallReport<'_, '_>),
    ) -> Option<BodyStep> {
        chunk.hold_text(report);
        let beyond = report.held.split_off(report.held.len() - back);
        settle(self, chunk, report);
        report.held.push_str(&beyond);
        Some(self.section_result(Unclaimed { back, pos: chunk.pos }))
    }

    /// Whether a fence encloses the arguments, and what stands behind them up to its end.
    fn is_fenced(&self) -> bool {
        self.head.contains("```")
    }

    /// Whether the head may be the name of a tool.
    fn may_call(&self, tools: &Tools) -> bool {
        let head = self.head.trim();
        let may_name = |name: &str| tools.is_unknown() || tools.resolve(name).is_some();
        head.is_empty()
            || matches!((self.grammar.read_name)(head, tools), HeadMeaning::Tool { name, .. } if may_name(&name))
    }

    /// Whether the head is all of a call.
    fn is_call_by_head_alone(&self, tools: &Tools) -> bool {
        (self.grammar.is_call_by_head_alone)(&self.head)
            && matches!((self.grammar.read_name)(&self.head, tools), HeadMeaning::Tool { name, .. } if is_plausible_tool(&name, tools))
    }

    /// Reads the head; false where it calls no tool.
    fn read_name(&mut self, report: &mut CallReport<'_, '_>) -> bool {
        self.unnamed = false;
        let id = match (self.grammar.read_name)(&self.head, report.tools) {
            HeadMeaning::Tool { name, id } => {
                report.set_name(&name);
                id
            }
            HeadMeaning::Unnamed { id } if !report.tools.is_unknown() => {
                self.unnamed = true;
                id
            }
            HeadMeaning::Unnamed { .. } | HeadMeaning::NoTool | HeadMeaning::NotACall => return false,
        };
        let written = self.id.trim();
        if let Some(id) = id.or_else(|| (!written.is_empty()).then(|| written.to_owned())) {
            report.set_id(id);
        }
        true
    }

    fn finish_call(&mut self, chunk: &mut TextChunk<'_>, report: &mut CallReport<'_, '_>) {
        report.finish_call();
        self.begin_next_call(chunk, report);
    }

    /// The call is whole, and the words that follow it in its fence are text. The blanks before the fence's end are its own.
    fn finish_with_words(&self, end: usize, report: &mut CallReport<'_, '_>) {
        let words = report.held[self.trailing_at..end].trim_end().len();
        report.finish_call();
        report.record_words(self.trailing_at..self.trailing_at + words);
    }

    fn begin_next_call(&mut self, chunk: &mut TextChunk<'_>, report: &mut CallReport<'_, '_>) {
        self.calls += 1;
        chunk.release_read_text(report);
        self.trailing_at = chunk.held_position(report);
        self.fenced = true;
        self.state = FramedState::Between;
    }

    fn drop_draft(&mut self, chunk: &mut TextChunk<'_>, report: &mut CallReport<'_, '_>) {
        chunk.hold_text(report);
        self.calls += 1;
        report.drop_draft(Dropped::Broken);
        self.trailing_at = report.held.len();
        self.fenced = true;
        self.state = FramedState::Between;
    }

    /// What began like a call is none: prose, or a broken one, up to the sign that ends it.
    fn reject_call(
        &mut self,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        if self.is_mention(report) {
            return Some(BodyStep::NotACall(Unclaimed::from_position(chunk.pos)));
        }
        match self.has_end_sign() {
            true => self.state = FramedState::Broken,
            false => self.drop_draft(chunk, report),
        }
        None
    }

    /// Whether a head that calls no tool is prose about the marks. In a section that has held calls it is not.
    fn is_mention(&self, report: &CallReport<'_, '_>) -> bool {
        self.calls == 0 && !report.calls.has_started() && (self.grammar.is_prose_about_marks)(&self.head)
    }

    /// Something follows the last call that does not belong to it, and ends with these bytes.
    fn end_before_trailing(
        &mut self,
        last: usize,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        chunk.hold_text(report);
        let back = if self.calls == 0 { last } else { report.held.len() - self.trailing_at };
        Some(self.section_result(Unclaimed { back, pos: chunk.pos }))
    }

    fn section_result(&self, rest: Unclaimed) -> BodyStep {
        if self.calls == 0 { BodyStep::NotACall(rest) } else { BodyStep::Done(rest) }
    }

    /// The message is over behind the last call. One lone character there may begin a sign, but says too little to be one:
    /// it is text.
    fn emit_lone_character(&self, end: End, report: &mut CallReport<'_, '_>) {
        let rest = report.held.get(self.trailing_at..).unwrap_or("").trim();
        if end == End::Normal && rest.chars().count() == 1 {
            let mut behind = Trailing::default();
            behind.record_position(self.trailing_at, 0);
            behind.emit_text(Evidence::Marked, end, report);
        }
    }

    pub(crate) fn finish(&mut self, end: End, report: &mut CallReport<'_, '_>) -> BodyEnding {
        if let FramedState::Beyond(sign) = self.state {
            self.reject_possible_head(sign);
        }
        if self.state == FramedState::Text && end == End::Normal && !self.grammar.text.closed {
            self.finish_partial_sign();
            if self.is_text_whole(report)
                && let Some(arguments) = self.arguments_from_text(report)
            {
                report.push_arguments(&arguments);
                self.state = FramedState::Ready;
            }
        }
        match self.state {
            FramedState::Ready if end == End::Normal => {
                report.finish_call();
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
                self.emit_lone_character(end, report);
                BodyEnding::Done
            }
            FramedState::Chained => BodyEnding::NotACall,
            FramedState::Answer => BodyEnding::Done,
            FramedState::Head if self.grammar.wordy && end == End::Normal && !self.may_call(report.tools) => {
                BodyEnding::NotACall
            }
            FramedState::Between if end == End::Normal && !self.mark_scanner.is_in_sign() => {
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
        true => name.chars().all(is_name_char),
        false => tools.resolve(name).is_some(),
    }
}
