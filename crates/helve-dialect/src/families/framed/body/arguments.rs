//! The arguments of a call that are JSON.

use super::{FramedBody, FramedState, is_plausible_tool};
use crate::arguments::{ArgumentFlow, ArgumentReader};
use crate::body::{BodyStep, TextChunk};
use crate::calls::CallReport;

impl FramedBody {
    pub(super) fn begin_arguments(&mut self, chunk: &mut TextChunk<'_>, report: &mut CallReport<'_, '_>) {
        self.arguments = ArgumentReader::new(chunk.held_position(report));
        self.state = FramedState::Arguments;
    }

    /// Begins arguments whose beginning was taken for something else.
    pub(super) fn begin_arguments_with(
        &mut self,
        beginning: &str,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) {
        chunk.hold_text(report);
        report.held.truncate(report.held.len() - beginning.len());
        self.arguments = ArgumentReader::new(report.held.len());
        self.arguments.feed(&mut TextChunk::new(beginning, 0), self.grammar.closers, report);
        self.state = FramedState::Arguments;
    }

    /// Whether the last character of the head is a quote that closes nothing: a string with the arguments inside begins.
    pub(super) fn ends_with_open_quote(&self) -> bool {
        self.head.ends_with('"') && self.head.matches('"').count() % 2 == 1
    }

    pub(super) fn read_arguments(
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
            let whose = report.tools.find_by_arguments(report.arguments_so_far()).map(str::to_owned);
            let Some(name) = whose else {
                self.drop_draft(chunk, report);
                return None;
            };
            report.set_name(&name);
        }
        self.state = FramedState::Ready;
        if let ArgumentFlow::Tag(tag) = flow {
            // The tag is not the call's own, and a sign must be there to be given back.
            chunk.hold_text(report);
            report.held.truncate(report.held.len() - tag.len());
            self.finish_call(chunk, report);
            report.held.push_str(tag);
            let sign = self.mark_scanner.match_sign(self.grammar.signs, tag);
            return sign.and_then(|sign| self.handle_sign(sign, chunk, report));
        }
        None
    }

    /// Whether the call that is open has said enough without arguments; then it counts.
    pub(super) fn finish_call_without_arguments(
        &mut self,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> bool {
        let vouched = report.call_name().is_some_and(|name| is_plausible_tool(name, report.tools));
        // The head of a message that is all for one tool says enough.
        let counts = vouched || self.head.is_empty();
        if counts {
            report.push_arguments("{}");
            self.finish_call(chunk, report);
        }
        counts
    }

    /// Whether the arguments are whole, whatever follows them. A string with more behind it may be a member whose object
    /// lost its brace.
    pub(super) fn are_arguments_whole(&self, report: &CallReport<'_, '_>) -> bool {
        report.arguments_so_far().starts_with(['{', '['])
    }
}
