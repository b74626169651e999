//! The body of the head of a message.

use super::{ChannelGrammar, HeadSign};
use crate::body::{BodyEnding, BodyStep, ChannelTurn, TextChunk, Unclaimed};
use crate::calls::CallReport;
use crate::mark_scanner::{FoundSign, MarkScanner};
use helve_json::is_blank;

/// No head is longer.
const HEAD_MAX: usize = 512;

pub(crate) struct ChannelBody {
    grammar: &'static ChannelGrammar,
    mark_scanner: MarkScanner,
    head: String,
    /// The mark was all the head there is.
    kind: Option<&'static str>,
    /// No mark vouches for the head.
    unmarked: bool,
}

impl ChannelBody {
    pub(crate) fn new(grammar: &'static ChannelGrammar, mark: &str) -> Self {
        let kind = grammar.signs.iter().find_map(|(text, part)| match part {
            HeadSign::Message(kind) if *text == mark => Some(*kind),
            _ => None,
        });
        Self {
            grammar,
            mark_scanner: MarkScanner::default(),
            head: String::new(),
            kind,
            unmarked: mark.is_empty(),
        }
    }

    #[inline(never)]
    pub(crate) fn feed(&mut self, text: &str, from: usize, report: &mut CallReport<'_, '_>) -> BodyStep {
        let mut chunk = TextChunk::new(text, from);
        // Of the blanks behind a mark, which are read already, the head keeps one.
        if self.head.is_empty() && report.held.ends_with(is_blank) {
            self.head.push(' ');
        }
        if let Some(kind) = self.kind {
            return self.begin_message(kind, &chunk, report);
        }
        let step = loop {
            let rest = chunk.rest();
            if rest.is_empty() {
                break BodyStep::More;
            }
            let (taken, found) = self.mark_scanner.step(self.grammar.signs, rest);
            chunk.pos += taken;
            match found {
                FoundSign::Nothing => {}
                FoundSign::Char => self.head.push_str(&rest[..taken]),
                FoundSign::Beginning(text) => self.head.push_str(text),
                FoundSign::Sign(HeadSign::Again) => self.head.clear(),
                FoundSign::Sign(HeadSign::Over) if is_prose(&self.head) => {
                    return self.end_as_prose(&mut chunk, report);
                }
                FoundSign::Sign(HeadSign::Message(_)) if continues_prose(&self.head) => {
                    return self.end_as_prose(&mut chunk, report);
                }
                FoundSign::Sign(HeadSign::Over) => {
                    break BodyStep::Turn(Unclaimed::from_position(chunk.pos), ChannelTurn::Over);
                }
                FoundSign::Sign(HeadSign::Message(kind)) => break self.begin_message(kind, &chunk, report),
                FoundSign::Sign(HeadSign::Body(kind)) => {
                    chunk.pos -= 1;
                    break self.begin_message(kind, &chunk, report);
                }
            }
            let line_over = self.head.ends_with('\n') && is_prose(&self.head);
            if line_over || self.head.len() > HEAD_MAX {
                break BodyStep::NotACall(Unclaimed::from_position(chunk.pos));
            }
        };
        chunk.hold_text(report);
        step
    }

    /// What was read up to a sign is prose, and the sign may mean something there.
    fn end_as_prose(&self, chunk: &mut TextChunk<'_>, report: &mut CallReport<'_, '_>) -> BodyStep {
        chunk.hold_text(report);
        let back = self.mark_scanner.last_sign(self.grammar.signs).len();
        BodyStep::NotACall(Unclaimed { back, pos: chunk.pos })
    }

    fn begin_message(
        &self,
        kind: &'static str,
        chunk: &TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> BodyStep {
        let Some(route) = (self.grammar.route)(&self.head, kind, report.tools) else {
            return BodyStep::NotACall(Unclaimed::from_position(chunk.pos));
        };
        if let Some(name) = &route.name {
            report.set_name(name);
        }
        BodyStep::Turn(Unclaimed::from_position(chunk.pos), route.turn)
    }

    /// A head without a message says nothing, unless it was about to call a tool. Behind a mark that is ordinary text,
    /// it may be none.
    pub(crate) fn finish(&self, report: &CallReport<'_, '_>) -> BodyEnding {
        let is_head = || (self.grammar.route)(&self.head, "", report.tools).is_some();
        match find_recipient(&self.head) {
            Some(_) => BodyEnding::Cut,
            None if self.unmarked || is_prose(&self.head) || !is_head() => BodyEnding::NotACall,
            None => BodyEnding::Done,
        }
    }
}

/// Who a head is addressed to: a tool, if not one of those that take part in the conversation.
pub(super) fn find_recipient(head: &str) -> Option<&str> {
    let name = head.rsplit_once("to=")?.1;
    let end = name.find(|c: char| c.is_whitespace() || c == '<').unwrap_or(name.len());
    let name = name[..end].trim_matches(['"', '\'', '?', ',', ';']);
    (!matches!(name, "" | "assistant" | "user" | "all" | "self" | "commentary" | "final")).then_some(name)
}

/// The words of heads without a recipient.
const WORDS: &[&str] = &[
    "assistant",
    "analysis",
    "commentary",
    "final",
    "json",
    "code",
    "think",
    "response",
    "tools",
    "call",
    "message",
    "to=",
];

/// Whether what stands behind a mark, and no message, is rather prose about the mark: other words, or one that
/// stands apart from it, or what goes on with a sentence.
fn is_prose(head: &str) -> bool {
    let known = |word: &str| word.starts_with("to=") || WORDS.iter().any(|known| known.starts_with(word));
    let apart = head.starts_with(is_blank) || head.trim().contains(is_blank);
    continues_prose(head) || apart && !head.split_whitespace().all(known)
}

/// Whether a sentence goes on behind the mark, or the code in which it is quoted ends: no head begins so.
fn continues_prose(head: &str) -> bool {
    head.starts_with(['`', '.', ',', ';', '!', '?', ')'])
}
