//! Objects that are not quite JSON: read loosely to their end, then repaired as a whole.

use super::{JsonBody, State};
use crate::Dropped;
use crate::body::{Behind, Chunk, Rest, Standing, Step};
use crate::calls::Report;
use crate::dialect::Fit;
use crate::envelope::{Envelope, Flow, may_begin_with};
use helve_json::Repair;
use helve_json::is_blank;
use helve_json::literal::Quote;
use helve_json::loose::{self, Loose};
use helve_json::repair::Closing;
use helve_json::work;

impl JsonBody {
    pub(super) fn not_json(&mut self, chunk: &mut Chunk<'_>, report: &mut Report<'_, '_>) -> Option<Step> {
        let next = chunk.text[chunk.pos..].chars().next().unwrap_or(' ');
        let readable = match self.standing {
            // What nothing marks as a call is read loosely only once it has named a declared tool.
            Standing::Alone => report.named().is_some_and(|name| report.tools.resolve(name).is_some()),
            Standing::Marked if self.envelope.is_recognised() => true,
            Standing::Marked => Quote::opening(next).is_some() || matches!(next, '\\' | '：' | '，'),
        };
        let expected = self.grammar.python || !report.tools.is_unknown();
        let may_be_python = expected && !self.envelope.is_recognised();
        if self.standing == Standing::Marked && next == '{' && self.is_doubled(chunk, report) {
            // Templates in which braces are written twice teach models to write them so.
            self.doubt(self.object_at);
            self.begin(chunk.held_at(report));
            self.doubled = true;
        } else if readable {
            self.read_loosely(State::Loose);
        } else if self.standing == Standing::Alone && next == '\'' && may_be_python {
            chunk.pos += 1;
            self.state = State::PythonKey { from: chunk.held_at(report) };
        } else if self.standing == Standing::Marked && (next.is_alphabetic() || next == '_') {
            self.state = State::BareKey { ended: false };
        } else {
            return Some(self.no_object(chunk, report));
        }
        None
    }

    /// Whether nothing stands between the brace of the object and another.
    fn is_doubled(&self, chunk: &mut Chunk<'_>, report: &mut Report<'_, '_>) -> bool {
        let to = chunk.held_at(report);
        !self.doubled && chunk.between(self.object_at + 1, to, report.held).chars().all(is_blank)
    }

    /// What seemed to be an object is text. Behind a call that ends the section.
    pub(super) fn no_object(&self, chunk: &Chunk<'_>, report: &mut Report<'_, '_>) -> Step {
        // An object without markup that holds calls would be read as a section again, with the same end.
        let alone = self.standing == Standing::Alone;
        if self.calls == 0 || alone && (self.lists > 0 || self.of_object > 0) {
            return Step::NotACall(Rest::at(chunk.pos));
        }
        report.forget();
        Step::Done(self.behind.rest_from(self.object_at, chunk, report))
    }

    pub(super) fn bare_key(
        &mut self,
        ended: bool,
        chunk: &mut Chunk<'_>,
        report: &mut Report<'_, '_>,
    ) -> Option<Step> {
        let Some(c) = chunk.text[chunk.pos..].chars().next() else {
            return Some(Step::More);
        };
        match c {
            ':' => {
                self.read_loosely(State::Loose);
                return None;
            }
            c if is_blank(c) => self.state = State::BareKey { ended: true },
            c if !ended && (c.is_alphanumeric() || c == '_') => {}
            _ => return Some(self.no_object(chunk, report)),
        }
        chunk.pos += c.len_utf8();
        None
    }

    /// An object that is none of ours need not be read to its end.
    pub(super) fn python_key(
        &mut self,
        from: usize,
        chunk: &mut Chunk<'_>,
        report: &mut Report<'_, '_>,
    ) -> Option<Step> {
        let Some(c) = chunk.char() else {
            return Some(Step::More);
        };
        chunk.pos += c.len_utf8();
        let to = chunk.held_at(report);
        match may_begin_with(chunk.between(from, to, report.held), '\'') {
            Fit::Yes => self.read_loosely(State::Loose),
            Fit::No => return Some(self.no_object(chunk, report)),
            Fit::Unsure => {}
        }
        None
    }

    pub(super) fn read_loosely(&mut self, state: State) {
        self.loose = Loose::new(self.envelope.depth());
        self.state = state;
    }

    pub(super) fn loose(&mut self, chunk: &mut Chunk<'_>, report: &mut Report<'_, '_>) -> Option<Step> {
        match self.loose.feed(chunk.text, chunk.pos, self.grammar.close) {
            loose::Flow::More => {
                chunk.pos = chunk.text.len();
                Some(Step::More)
            }
            loose::Flow::End(pos) => {
                chunk.pos = pos;
                chunk.keep(report);
                self.mend(Closing::AsWritten, 0, pos, report)
            }
            loose::Flow::Tag(pos, tag) => {
                chunk.pos = pos;
                chunk.keep(report);
                let step = self.mend(Closing::ByTag, tag.len(), pos, report);
                if let State::Ready { .. } = self.state {
                    self.count(report);
                }
                Some(step.unwrap_or_else(|| self.over(Rest::at(pos), true)))
            }
        }
    }

    /// Reads the object again, repaired. Calls that were already reported out of it are passed over.
    pub(super) fn mend(
        &mut self,
        closing: Closing,
        tag: usize,
        pos: usize,
        report: &mut Report<'_, '_>,
    ) -> Option<Step> {
        let raw = &report.held[self.object_at..report.held.len() - tag];
        let repaired = match self.state {
            State::Refused => None,
            _ => report.repair(raw, closing),
        };
        let whole = repaired.is_some_and(|repaired| {
            let mut envelope = Envelope::new(self.grammar.rules(self.standing));
            let (mut from, mut passed) = (0, 0);
            work::looked_at(repaired.text.len());
            report.restart();
            loop {
                report.calls.muted = passed < self.of_object;
                let flow = envelope.feed(&repaired.text, from, report);
                report.calls.muted = false;
                // Only what stands in a name can have swallowed what follows it.
                if report.named().is_some_and(|name| name.contains('"')) {
                    return false;
                }
                // What was no list must not become a list of arguments, and a member no text.
                let made = match report.arguments_so_far().as_bytes().first() {
                    Some(b'[') => repaired.changes.contains(&Repair::Sequences),
                    Some(b'"') => repaired.changes.contains(&Repair::InnerQuotes),
                    _ => false,
                };
                if made {
                    return false;
                }
                match flow {
                    Flow::Call(next) => {
                        from = next;
                        passed += 1;
                        if passed > self.of_object {
                            report.repaired(repaired.changes.clone());
                            self.count(report);
                        } else {
                            report.restart();
                        }
                    }
                    Flow::Done(_) => {
                        self.state = if passed > 0 {
                            report.forget();
                            State::Between
                        } else {
                            report.repaired(repaired.changes.clone());
                            State::Ready { in_wrapper: false }
                        };
                        return true;
                    }
                    _ => return false,
                }
            }
        });
        if !whole {
            if self.standing == Standing::Alone {
                return Some(Step::NotACall(Rest::at(pos)));
            }
            self.give_up(report);
        }
        None
    }

    pub(super) fn give_up(&mut self, report: &mut Report<'_, '_>) {
        self.calls += 1;
        self.behind = Behind::default();
        self.state = State::Between;
        report.give_up(Dropped::Broken);
    }
}
