//! Objects that are not quite JSON: read loosely to their end, then repaired as a whole.

use super::{JsonBody, JsonState};
use crate::Dropped;
use crate::body::{BodyStep, Evidence, TextChunk, Trailing, Unclaimed};
use crate::calls::CallReport;
use crate::dialect::Fit;
use crate::envelope::{Envelope, EnvelopeFlow, may_begin_with};
use helve_json::is_blank;
use helve_json::literal::Quote;
use helve_json::loose::{self, LooseScanner};
use helve_json::repair::Closing;
use helve_json::work;
use helve_json::{Repair, Repaired};

impl JsonBody {
    pub(super) fn handle_malformed_object(
        &mut self,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        let next = chunk.text[chunk.pos..].chars().next().unwrap_or(' ');
        let readable = match self.standing {
            // What nothing marks as a call is read loosely only once it has named a declared tool.
            Evidence::Alone => report.call_name().is_some_and(|name| report.tools.resolve(name).is_some()),
            Evidence::Marked if self.envelope.is_recognised() => true,
            Evidence::Marked => {
                Quote::from_opening_char(next).is_some() || matches!(next, '\\' | '：' | '，')
            }
        };
        let expected = self.grammar.python || !report.tools.is_unknown();
        let may_be_python = expected && !self.envelope.is_recognised();
        if self.standing == Evidence::Marked && next == '{' && self.has_doubled_brace(chunk, report) {
            // Templates in which braces are written twice teach models to write them so.
            self.note_possible_end(self.object_at);
            self.begin_object(chunk.held_position(report));
            self.doubled = true;
        } else if readable {
            self.begin_loose_reading(JsonState::Loose);
        } else if self.standing == Evidence::Alone && next == '\'' && may_be_python {
            chunk.pos += 1;
            self.state = JsonState::PythonKey { from: chunk.held_position(report) };
        } else if self.standing == Evidence::Marked && (next.is_alphabetic() || next == '_') {
            self.state = JsonState::BareKey { ended: false };
        } else {
            return Some(self.reject_object(chunk, report));
        }
        None
    }

    /// Whether nothing stands between the brace of the object and another.
    fn has_doubled_brace(&self, chunk: &mut TextChunk<'_>, report: &mut CallReport<'_, '_>) -> bool {
        let to = chunk.held_position(report);
        !self.doubled && chunk.text_between(self.object_at + 1, to, report.held).chars().all(is_blank)
    }

    /// What seemed to be an object is text. Behind a call that ends the section.
    pub(super) fn reject_object(&self, chunk: &TextChunk<'_>, report: &mut CallReport<'_, '_>) -> BodyStep {
        // An object without markup that holds calls would be read as a section again, with the same end.
        let alone = self.standing == Evidence::Alone;
        if self.calls == 0 || alone && (self.lists > 0 || self.of_object > 0) {
            return BodyStep::NotACall(Unclaimed::from_position(chunk.pos));
        }
        report.drop_silently();
        BodyStep::Done(self.behind.unclaimed_from(self.object_at, chunk, report))
    }

    pub(super) fn read_bare_key(
        &mut self,
        ended: bool,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        let Some(c) = chunk.text[chunk.pos..].chars().next() else {
            return Some(BodyStep::More);
        };
        match c {
            ':' => {
                self.begin_loose_reading(JsonState::Loose);
                return None;
            }
            c if is_blank(c) => self.state = JsonState::BareKey { ended: true },
            c if !ended && (c.is_alphanumeric() || c == '_') => {}
            _ => return Some(self.reject_object(chunk, report)),
        }
        chunk.pos += c.len_utf8();
        None
    }

    /// An object that is none of ours need not be read to its end.
    pub(super) fn read_python_key(
        &mut self,
        from: usize,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        let Some(c) = chunk.char() else {
            return Some(BodyStep::More);
        };
        chunk.pos += c.len_utf8();
        let to = chunk.held_position(report);
        match may_begin_with(chunk.text_between(from, to, report.held), '\'') {
            Fit::Yes => self.begin_loose_reading(JsonState::Loose),
            Fit::No => return Some(self.reject_object(chunk, report)),
            Fit::Unsure => {}
        }
        None
    }

    pub(super) fn begin_loose_reading(&mut self, state: JsonState) {
        self.loose = LooseScanner::new(self.envelope.depth());
        self.state = state;
    }

    pub(super) fn continue_loose_reading(
        &mut self,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        match self.loose.feed(chunk.text, chunk.pos, self.grammar.close) {
            loose::LooseEvent::More => {
                chunk.pos = chunk.text.len();
                Some(BodyStep::More)
            }
            loose::LooseEvent::End(pos) => {
                chunk.pos = pos;
                chunk.hold_text(report);
                self.repair_object(Closing::AsWritten, 0, pos, report)
            }
            loose::LooseEvent::Tag(pos, tag) => {
                chunk.pos = pos;
                chunk.hold_text(report);
                let step = self.repair_object(Closing::ByTag, tag.len(), pos, report);
                if let JsonState::Ready { .. } = self.state {
                    self.count_call(report);
                }
                Some(step.unwrap_or_else(|| self.end_section(Unclaimed::from_position(pos), true)))
            }
        }
    }

    /// Reads the object again, repaired. Calls that were already reported out of it are passed over.
    pub(super) fn repair_object(
        &mut self,
        closing: Closing,
        tag: usize,
        pos: usize,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        let raw = &report.held[self.object_at..report.held.len() - tag];
        let repaired = match self.state {
            JsonState::Refused => None,
            _ => report.repair(raw, closing),
        };
        let whole = repaired.is_some_and(|repaired| self.read_repaired(&repaired, report));
        if !whole {
            if self.standing == Evidence::Alone {
                return Some(BodyStep::NotACall(Unclaimed::from_position(pos)));
            }
            self.drop_draft(report);
        }
        None
    }

    /// Reads the repaired object. The calls that were reported before it had to be repaired are not reported again. Says whether
    /// the object is one or more calls to its end.
    fn read_repaired(&mut self, repaired: &Repaired, report: &mut CallReport<'_, '_>) -> bool {
        let mut envelope = Envelope::new(self.grammar.envelope_rules(self.standing));
        let (mut from, mut passed) = (0, 0);
        work::count_bytes(repaired.text.len());
        report.restart();
        loop {
            report.calls.muted = passed < self.of_object;
            let flow = envelope.feed(&repaired.text, from, report);
            report.calls.muted = false;
            if is_made_by_repair(repaired, report) {
                return false;
            }
            match flow {
                EnvelopeFlow::Call(next) => {
                    from = next;
                    passed += 1;
                    if passed > self.of_object {
                        report.add_repairs(repaired.changes.clone());
                        self.count_call(report);
                    } else {
                        report.restart();
                    }
                }
                EnvelopeFlow::Done(_) if passed > 0 => {
                    report.drop_silently();
                    self.state = JsonState::Between;
                    return true;
                }
                EnvelopeFlow::Done(_) => {
                    report.add_repairs(repaired.changes.clone());
                    self.state = JsonState::Ready { in_wrapper: false };
                    return true;
                }
                _ => return false,
            }
        }
    }

    pub(super) fn drop_draft(&mut self, report: &mut CallReport<'_, '_>) {
        self.calls += 1;
        self.behind = Trailing::default();
        self.state = JsonState::Between;
        report.drop_draft(Dropped::Broken);
    }
}

/// Whether the name or the arguments that were read are the repair's and not the model's: only what stands in a name can have
/// swallowed what follows it, what was no list must not become a list of arguments, and a member no text.
fn is_made_by_repair(repaired: &Repaired, report: &CallReport<'_, '_>) -> bool {
    let swallows = report.call_name().is_some_and(|name| name.contains('"'));
    swallows
        || match report.arguments_so_far().as_bytes().first() {
            Some(b'[') => repaired.changes.contains(&Repair::Sequences),
            Some(b'"') => repaired.changes.contains(&Repair::InnerQuotes),
            _ => false,
        }
}
