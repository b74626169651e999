//! The arguments of a call that stand by themselves: one JSON value behind a name, streamed as it is written.
//!
//! Strict JSON passes through. A string with JSON inside is decoded. Text that is not quite JSON is read loosely to
//! its end and repaired as a whole, as in an envelope.

use crate::body::Chunk;
use crate::calls::Report;
use crate::envelope::decoded_arguments;
use helve_json::Repair;
use helve_json::loose::{self, Loose};
use helve_json::repair::Closing;
use helve_json::scanner::{Event, Kind, Scan};
use helve_json::unescape::Unescape;

/// What reading on led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// The chunk is used up.
    More,
    /// The value ended at the position.
    Done,
    /// It ended, and with it this closing mark.
    Tag(&'static str),
    /// It has no reading.
    Broken,
}

pub(crate) struct Arguments {
    scan: Scan,
    into: Target,
    encoded: Unescape,
    /// A number or a word, which is no set of arguments; but `null` is an empty one, and its end shows which it is.
    scalar: String,
    loose: Option<Loose>,
    /// Where the value begins in the held text.
    at: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Target {
    Nothing,
    Raw,
    Encoded,
    Scalar,
}

impl Arguments {
    /// A value that begins at this place of the held text.
    pub(crate) fn new(at: usize) -> Self {
        let encoded = Unescape::default();
        Self { scan: Scan::new(0), into: Target::Nothing, encoded, scalar: String::new(), loose: None, at }
    }

    /// Reads on; `tags` are the marks that may close what is not quite JSON.
    pub(crate) fn feed(
        &mut self,
        chunk: &mut Chunk<'_>,
        tags: &[&'static str],
        report: &mut Report<'_, '_>,
    ) -> Flow {
        if self.loose.is_some() {
            return self.loosely(chunk, tags, report);
        }
        let bytes = chunk.text.as_bytes();
        let mut begin = chunk.pos;
        loop {
            match self.scan.run(bytes, &mut chunk.pos) {
                Event::More => {
                    self.take(&chunk.text[begin..chunk.pos], report);
                    chunk.keep(report);
                    return Flow::More;
                }
                Event::Start(kind) => {
                    begin = chunk.pos - 1;
                    self.into = match kind {
                        Kind::String => Target::Encoded,
                        Kind::Scalar => Target::Scalar,
                        _ => Target::Raw,
                    };
                    if kind == Kind::String {
                        begin += 1;
                    }
                }
                Event::Stop => {
                    let quote = (self.into == Target::Encoded) as usize;
                    self.take(&chunk.text[begin..chunk.pos - quote], report);
                    if self.scan.faults().any() {
                        chunk.keep(report);
                        return self.mend(Closing::AsWritten, 0, report);
                    }
                    self.whole(report);
                    return Flow::Done;
                }
                Event::Bad if self.scan.depth() == 0 => return Flow::Broken,
                Event::Bad => {
                    self.loose = Some(Loose::new(self.scan.depth()));
                    return self.loosely(chunk, tags, report);
                }
            }
        }
    }

    /// Whether plain text from here on is nothing but argument text.
    pub(crate) fn flows(&self) -> bool {
        let through = self.into == Target::Raw || self.into == Target::Encoded && self.encoded.is_plain();
        through && self.loose.is_none() && self.scan.in_plain_text()
    }

    fn take(&mut self, text: &str, report: &mut Report<'_, '_>) {
        match self.into {
            Target::Nothing => {}
            Target::Raw => report.arguments(text),
            Target::Encoded => self.encoded.feed(text, |decoded| report.arguments(decoded)),
            Target::Scalar => self.scalar.push_str(text),
        }
    }

    fn whole(&mut self, report: &mut Report<'_, '_>) {
        match self.into {
            Target::Encoded => {
                self.encoded.finish(|decoded| report.arguments(decoded));
                if decoded_arguments(report) {
                    report.repaired(vec![Repair::Encoding]);
                }
                if report.arguments_so_far().is_empty() {
                    report.arguments("{}");
                }
            }
            Target::Scalar => {
                let text = self.scalar.trim();
                report.arguments(if text == "null" { "{}" } else { text });
            }
            Target::Nothing | Target::Raw => {}
        }
    }

    fn loosely(&mut self, chunk: &mut Chunk<'_>, tags: &[&'static str], report: &mut Report<'_, '_>) -> Flow {
        let Some(loose) = &mut self.loose else { return Flow::Broken };
        match loose.feed(chunk.text, chunk.pos, tags) {
            loose::Flow::More => {
                chunk.pos = chunk.text.len();
                chunk.keep(report);
                Flow::More
            }
            loose::Flow::End(pos) => {
                chunk.pos = pos;
                chunk.keep(report);
                self.mend(Closing::AsWritten, 0, report)
            }
            loose::Flow::Tag(pos, tag) => {
                chunk.pos = pos;
                chunk.keep(report);
                match self.mend(Closing::ByTag, tag.len(), report) {
                    Flow::Done => Flow::Tag(tag),
                    flow => flow,
                }
            }
        }
    }

    /// Reads the value again, repaired.
    fn mend(&mut self, closing: Closing, tag: usize, report: &mut Report<'_, '_>) -> Flow {
        let raw = &report.held[self.at..report.held.len() - tag];
        match report.repair(raw, closing) {
            Some(repaired) => {
                report.arguments_are(repaired.text, repaired.changes);
                Flow::Done
            }
            None => Flow::Broken,
        }
    }
}
