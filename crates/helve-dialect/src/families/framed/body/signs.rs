//! What a sign means, by how far the call is.

use super::super::{FramedSign, HeadMeaning};
use super::{FramedBody, FramedState, is_plausible_tool};
use crate::Tools;
use crate::body::{BodyStep, TextChunk, Unclaimed};
use crate::calls::CallReport;

impl FramedBody {
    /// A sign stands in the text. What it says depends on how far the call is.
    pub(super) fn handle_sign(
        &mut self,
        sign: FramedSign,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        let ends_call = matches!(sign, FramedSign::End | FramedSign::Call | FramedSign::Close);
        match self.state {
            FramedState::Chained => self.handle_sign_after_call(sign, chunk, report),
            FramedState::Words if ends_call || sign == FramedSign::Fence => {
                chunk.hold_text(report);
                let sign_at = report.held.len() - self.mark_scanner.last_sign(self.grammar.signs).len();
                self.finish_with_words(sign_at, report);
                self.begin_next_call(chunk, report);
                self.handle_sign(sign, chunk, report)
            }
            FramedState::Broken if ends_call => {
                self.drop_draft(chunk, report);
                self.handle_sign(sign, chunk, report)
            }
            FramedState::BeforeArguments if ends_call => {
                self.handle_sign_before_arguments(sign, chunk, report)
            }
            FramedState::BeforeArguments if sign == FramedSign::Beyond && !self.head.is_empty() => {
                let back = self.mark_scanner.last_sign(self.grammar.signs).len();
                self.end_before(back, chunk, report, |body, chunk, report| {
                    if !body.finish_call_without_arguments(chunk, report) && body.calls > 0 {
                        body.drop_draft(chunk, report);
                    }
                })
            }
            FramedState::Head | FramedState::Id if sign != FramedSign::Beyond => {
                self.handle_sign_in_head(sign, chunk, report)
            }
            _ => self.handle_sign_between_calls(sign, chunk, report),
        }
    }

    /// Right behind a call, where the name of another may stand: only the sign of its arguments makes it one.
    pub(super) fn handle_sign_after_call(
        &mut self,
        sign: FramedSign,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        let calls = sign == FramedSign::Arguments && is_plausible_tool(&self.head, report.tools);
        if !calls || !self.read_name(report) {
            return self.end_before_trailing(0, chunk, report);
        }
        self.state = FramedState::BeforeArguments;
        None
    }

    /// The call ends where its arguments should begin.
    pub(super) fn handle_sign_before_arguments(
        &mut self,
        sign: FramedSign,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        if !self.finish_call_without_arguments(chunk, report) {
            if self.calls == 0 {
                let again = match sign {
                    FramedSign::Call => self.mark_scanner.last_sign(self.grammar.signs),
                    _ => "",
                };
                chunk.hold_text(report);
                return Some(BodyStep::NotACall(Unclaimed { back: again.len(), pos: chunk.pos }));
            }
            self.drop_draft(chunk, report);
        }
        self.handle_sign(sign, chunk, report)
    }

    /// In the head of a call, or in its id.
    pub(super) fn handle_sign_in_head(
        &mut self,
        sign: FramedSign,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        let in_head = self.state == FramedState::Head;
        match sign {
            FramedSign::Arguments => {
                if !self.read_name(report) {
                    return self.reject_call(chunk, report);
                }
                self.state = FramedState::BeforeArguments;
            }
            FramedSign::Id if in_head => {
                self.id.clear();
                self.state = FramedState::Id;
            }
            FramedSign::End
                if in_head && self.is_call_by_head_alone(report.tools) && self.read_name(report) =>
            {
                report.push_arguments("{}");
                self.finish_call(chunk, report);
            }
            FramedSign::End | FramedSign::Close if !self.is_mention(report) => {
                self.drop_draft(chunk, report);
                return self.handle_sign(sign, chunk, report);
            }
            FramedSign::End | FramedSign::Close | FramedSign::Id => return self.reject_call(chunk, report),
            FramedSign::Answer if in_head && self.names_no_tool(report.tools) => {
                self.state = FramedState::Answer;
            }
            FramedSign::Call | FramedSign::Answer if self.is_mention(report) => {
                let back = self.mark_scanner.last_sign(self.grammar.signs).len();
                chunk.hold_text(report);
                return Some(BodyStep::NotACall(Unclaimed { back, pos: chunk.pos }));
            }
            FramedSign::Call => {
                self.drop_draft(chunk, report);
                return self.handle_sign(sign, chunk, report);
            }
            FramedSign::Fence if in_head => {
                self.head.push_str(self.mark_scanner.last_sign(self.grammar.signs));
            }
            FramedSign::Answer | FramedSign::Fence | FramedSign::Beyond => {}
        }
        None
    }

    /// Whether the head says that no tool is called.
    pub(super) fn names_no_tool(&self, tools: &Tools) -> bool {
        matches!((self.grammar.read_name)(&self.head, tools), HeadMeaning::NoTool)
    }

    /// Between calls, or where the sign means the same in every state.
    pub(super) fn handle_sign_between_calls(
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
            FramedSign::Close if between => return Some(BodyStep::Done(Unclaimed::from_position(chunk.pos))),
            FramedSign::Close => return Some(self.section_result(Unclaimed::from_position(chunk.pos))),
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
                return self.end_before_trailing(fence.len(), chunk, report);
            }
            FramedSign::End | FramedSign::Fence if between => {
                self.trailing_at = chunk.held_position(report);
                self.fenced = false;
            }
            _ => {}
        }
        None
    }

    /// Whether some sign begins with this character.
    pub(super) fn may_begin_sign(&self, c: char) -> bool {
        self.grammar.signs.iter().any(|(sign, _)| sign.starts_with(c))
    }

    /// Whether a sign ends each call.
    pub(super) fn has_end_sign(&self) -> bool {
        self.grammar.signs.iter().any(|(_, sign)| *sign == FramedSign::End)
    }
}
