//! The arguments of a call, by name or by place.

use super::{PythonBody, PythonState, PythonStep};
use crate::body::{BodyStep, TextChunk, Unclaimed};
use crate::calls::CallReport;
use helve_json::Repair;
use helve_json::literal::{LiteralProgress, LiteralReader, strings};

impl PythonBody {
    /// An argument without a name, or a word that began like one.
    pub(super) fn begin_unnamed_argument(&mut self, report: &mut CallReport<'_, '_>) -> PythonStep {
        let word = std::mem::take(&mut self.token);
        // Behind one with a name, it is unknown which is meant.
        if self.arguments > self.unnamed {
            return self.break_call(report);
        }
        let tools = report.tools;
        let position = report.call_name().and_then(|tool| tools.positional_names(tool).nth(self.unnamed));
        let Some(key) = position else {
            return self.break_call(report);
        };
        self.unnamed += 1;
        self.begin_value(key, report);
        match self.literal.feed(&word, 0, &mut self.value) {
            LiteralProgress::All => PythonStep::Again,
            _ => self.break_call(report),
        }
    }

    /// Whether the parameter was given by its place already.
    pub(super) fn is_given_by_position(&self, key: &str, report: &CallReport<'_, '_>) -> bool {
        let tool = report.call_name().filter(|_| self.unnamed > 0);
        tool.is_some_and(|tool| {
            report.tools.positional_names(tool).take(self.unnamed).any(|name| name == key)
        })
    }

    pub(super) fn begin_value(&mut self, key: &str, report: &mut CallReport<'_, '_>) {
        self.value.clear();
        self.value.push_str(if self.arguments == 0 { "{\"" } else { ", \"" });
        key.chars().for_each(|c| strings::push_char(c, &mut self.value));
        self.value.push_str("\": ");
        report.push_arguments(&self.value);
        self.reported = self.value.len();
        self.arguments += 1;
        self.literal = LiteralReader::for_python();
        self.state = PythonState::Value;
    }

    pub(super) fn read_value(
        &mut self,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        let taken = self.literal.feed(chunk.text, chunk.pos, &mut self.value);
        let certain = match taken {
            LiteralProgress::All => self.literal.certain_bytes(self.value.len()),
            _ => self.value.len(),
        };
        report.push_arguments(&self.value[self.reported..certain]);
        self.reported = certain;
        match taken {
            LiteralProgress::All => {
                chunk.pos = chunk.text.len();
                return Some(BodyStep::More);
            }
            LiteralProgress::UpTo(at) => {
                chunk.pos = at;
                self.state = PythonState::AfterValue;
                if self.literal.has_removed_doubled_braces() {
                    report.add_repairs(vec![Repair::Closers]);
                }
            }
            LiteralProgress::Bad(at) => {
                chunk.pos = at;
                if self.break_call(report) == PythonStep::Refuse {
                    return Some(BodyStep::NotACall(Unclaimed::from_position(at)));
                }
            }
        }
        None
    }

    pub(super) fn end_call(&mut self, report: &mut CallReport<'_, '_>) -> PythonStep {
        report.push_arguments(if self.arguments == 0 { "{}" } else { "}" });
        self.take_and_switch_to(PythonState::Ready)
    }
}
