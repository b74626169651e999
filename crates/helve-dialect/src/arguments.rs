//! The arguments of a call that stand by themselves: one JSON value behind a name, streamed as it is written.
//!
//! Strict JSON passes through. A string with JSON inside is decoded. Text that is not quite JSON is read loosely to
//! its end and repaired as a whole, as in an envelope.

use crate::body::TextChunk;
use crate::calls::CallReport;
use crate::envelope::decode_arguments;
use helve_json::Repair;
use helve_json::loose::{self, LooseScanner};
use helve_json::repair::Closing;
use helve_json::scanner::{JsonScanner, ScanEvent, ValueKind};
use helve_json::unescape::Unescaper;

/// What reading on led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArgumentFlow {
    /// The chunk is used up.
    More,
    /// The value ended at the position.
    Done,
    /// It ended, and with it this closing mark.
    Tag(&'static str),
    /// It has no reading.
    Broken,
}

pub(crate) struct ArgumentReader {
    scan: JsonScanner,
    into: ArgumentTarget,
    encoded: Unescaper,
    /// A number or a word, which is no set of arguments; but `null` is an empty one, and its end shows which it is.
    scalar: String,
    loose: Option<LooseScanner>,
    /// Where the value begins in the held text.
    at: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum ArgumentTarget {
    Nothing,
    Raw,
    Encoded,
    Scalar,
}

impl ArgumentReader {
    /// A value that begins at this place of the held text.
    pub(crate) fn new(at: usize) -> Self {
        let encoded = Unescaper::default();
        Self {
            scan: JsonScanner::new(0),
            into: ArgumentTarget::Nothing,
            encoded,
            scalar: String::new(),
            loose: None,
            at,
        }
    }

    /// Reads on; `tags` are the marks that may close what is not quite JSON.
    pub(crate) fn feed(
        &mut self,
        chunk: &mut TextChunk<'_>,
        tags: &[&'static str],
        report: &mut CallReport<'_, '_>,
    ) -> ArgumentFlow {
        if self.loose.is_some() {
            return self.feed_loosely(chunk, tags, report);
        }
        let bytes = chunk.text.as_bytes();
        let mut begin = chunk.pos;
        loop {
            match self.scan.run(bytes, &mut chunk.pos) {
                ScanEvent::More => {
                    self.push_text(&chunk.text[begin..chunk.pos], report);
                    chunk.hold_text(report);
                    return ArgumentFlow::More;
                }
                ScanEvent::Start(kind) => {
                    begin = chunk.pos - 1;
                    self.into = match kind {
                        ValueKind::String => ArgumentTarget::Encoded,
                        ValueKind::Scalar => ArgumentTarget::Scalar,
                        _ => ArgumentTarget::Raw,
                    };
                    if kind == ValueKind::String {
                        begin += 1;
                    }
                }
                ScanEvent::Stop => {
                    let quote = (self.into == ArgumentTarget::Encoded) as usize;
                    self.push_text(&chunk.text[begin..chunk.pos - quote], report);
                    if self.scan.faults().any() {
                        chunk.hold_text(report);
                        return self.repair_value(Closing::AsWritten, 0, report);
                    }
                    self.finish_value(report);
                    return ArgumentFlow::Done;
                }
                ScanEvent::Bad if self.scan.depth() == 0 => return ArgumentFlow::Broken,
                ScanEvent::Bad => {
                    self.loose = Some(LooseScanner::new(self.scan.depth()));
                    return self.feed_loosely(chunk, tags, report);
                }
            }
        }
    }

    /// Whether plain text from here on is nothing but argument text.
    pub(crate) fn is_plain_text(&self) -> bool {
        let through = self.into == ArgumentTarget::Raw
            || self.into == ArgumentTarget::Encoded && self.encoded.is_plain();
        through && self.loose.is_none() && self.scan.in_plain_text()
    }

    fn push_text(&mut self, text: &str, report: &mut CallReport<'_, '_>) {
        match self.into {
            ArgumentTarget::Nothing => {}
            ArgumentTarget::Raw => report.push_arguments(text),
            ArgumentTarget::Encoded => self.encoded.feed(text, |decoded| report.push_arguments(decoded)),
            ArgumentTarget::Scalar => self.scalar.push_str(text),
        }
    }

    fn finish_value(&mut self, report: &mut CallReport<'_, '_>) {
        match self.into {
            ArgumentTarget::Encoded => {
                self.encoded.finish(|decoded| report.push_arguments(decoded));
                if decode_arguments(report) {
                    report.add_repairs(vec![Repair::Encoding]);
                }
                if report.arguments_so_far().is_empty() {
                    report.push_arguments("{}");
                }
            }
            ArgumentTarget::Scalar => {
                let text = self.scalar.trim();
                report.push_arguments(if text == "null" { "{}" } else { text });
            }
            ArgumentTarget::Nothing | ArgumentTarget::Raw => {}
        }
    }

    fn feed_loosely(
        &mut self,
        chunk: &mut TextChunk<'_>,
        tags: &[&'static str],
        report: &mut CallReport<'_, '_>,
    ) -> ArgumentFlow {
        let Some(loose) = &mut self.loose else { return ArgumentFlow::Broken };
        match loose.feed(chunk.text, chunk.pos, tags) {
            loose::LooseEvent::More => {
                chunk.pos = chunk.text.len();
                chunk.hold_text(report);
                ArgumentFlow::More
            }
            loose::LooseEvent::End(pos) => {
                chunk.pos = pos;
                chunk.hold_text(report);
                self.repair_value(Closing::AsWritten, 0, report)
            }
            loose::LooseEvent::Tag(pos, tag) => {
                chunk.pos = pos;
                chunk.hold_text(report);
                match self.repair_value(Closing::ByTag, tag.len(), report) {
                    ArgumentFlow::Done => ArgumentFlow::Tag(tag),
                    flow => flow,
                }
            }
        }
    }

    /// Reads the value again, repaired.
    fn repair_value(
        &mut self,
        closing: Closing,
        tag: usize,
        report: &mut CallReport<'_, '_>,
    ) -> ArgumentFlow {
        let raw = &report.held[self.at..report.held.len() - tag];
        match report.repair(raw, closing) {
            Some(repaired) => {
                report.replace_arguments(repaired.text, repaired.changes);
                ArgumentFlow::Done
            }
            None => ArgumentFlow::Broken,
        }
    }
}
