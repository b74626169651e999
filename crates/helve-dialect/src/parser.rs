//! The push automaton: a model's message in, in pieces of any size; text, reasoning and calls out.
//!
//! Bytes pass through one of six places: prose, a run of backticks, the head of a fence, the look-ahead behind a
//! mark, the inside of a call, and what follows the end of the output. Most bytes are looked at once, and none more often
//! than a few times; nothing depends on how the text was cut. Prose goes out as spans of what came in, and only what may
//! still turn out to be markup is held back.
//!
//! Where it is open whether a call is meant or quoted, it is on trial: it streams, but counts only when the doubt is
//! settled. Knows no dialect; what to look for and how to read it comes from the registry.

mod code;
mod line;
mod markers;
pub(crate) mod opening;
mod prose;
mod section;
mod speech;
mod trial;

use crate::body::{Bypass, ChannelScope, Evidence};
use crate::calls::{Calls, Out};
use crate::marker::ROOT;
use crate::registry::ActiveMarks;
use crate::{End, Finding, Piece, Reading, Tools};
use code::FenceHead;
use helve_json::work;
use opening::Opening;
use prose::ProseState;
use section::SectionState;
use speech::Speech;
use trial::TrialState;

/// Reads one message. `feed` it the text as it comes, then `finish`.
pub struct Parser {
    live: &'static ActiveMarks,
    tools: Tools,
    given: Option<&'static str>,
    place: ParserPlace,
    prose: ProseState,
    section: SectionState,
    trials: TrialState,
    speech: Speech,
    calls: Calls,
    /// What was read since the mark of a call that is not settled.
    held: String,
    /// What was read behind a mark, blanks left out.
    nonblank: String,
    /// The marks that mean something in the channel that is open; all of them where none is.
    scope: Option<&'static ChannelScope>,
    /// Inside a tool's result, which the model made up or repeats.
    in_result: bool,
    /// Whether the first mark of reasoning closes it.
    closes_first: Option<bool>,
}

/// Text that is held back: see [`Parser::waiting`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting<'a> {
    /// It is the reasoning's if it is text.
    pub in_reasoning: bool,
    /// What stands before it and waits with it.
    pub blanks: &'a str,
    /// The beginning of a mark.
    pub beginning: &'static str,
}

enum ParserPlace {
    Prose,
    Ticks(usize),
    Fence(FenceHead),
    Opening(Opening),
    Section,
    /// Nothing that follows counts.
    OutputOver,
}

impl Parser {
    /// A parser for one message.
    pub fn new(reading: Reading) -> Self {
        let live = reading.live;
        Self {
            live,
            tools: reading.tools,
            given: reading.dialect.map(|dialect| dialect.name),
            place: match live.start.is_empty() {
                true => ParserPlace::Prose,
                false => ParserPlace::Opening(Opening::start()),
            },
            prose: ProseState::new(),
            section: SectionState::new(),
            trials: TrialState::new(reading.strict),
            speech: Speech::new(reading.reasoning_open),
            calls: Calls::default(),
            held: String::new(),
            nonblank: String::new(),
            scope: None,
            in_result: false,
            closes_first: None,
        }
    }

    /// Reads a complete message. Not inlined: the short way of `feed` is for pieces.
    #[inline(never)]
    pub(crate) fn read_complete(reading: &Reading, text: &str, end: End, out: &mut Out<'_>) -> Finding {
        let mut parser = Self::new(reading.clone());
        parser.advance(text, out);
        parser.finish_message(end, out)
    }

    /// Takes the next piece of text.
    #[inline]
    pub fn feed(&mut self, text: &str, out: &mut impl FnMut(Piece<'_>)) {
        if !self.bypass_piece(text, out) {
            self.read_piece(text, out);
        }
    }

    /// The long way.
    #[inline(never)]
    fn read_piece(&mut self, text: &str, out: &mut Out<'_>) {
        // The inside of a call comes in so many pieces that the way past the other places shows.
        let taken = match self.place {
            ParserPlace::Section if !text.is_empty() => self.continue_section(text, 0, out),
            _ => 0,
        };
        work::count_bytes(taken);
        if taken < text.len() {
            self.advance(&text[taken..], out);
        }
    }

    /// The short way for what most pieces are: the middle of a line, of a mark, or of a call.
    #[inline]
    fn bypass_piece(&mut self, text: &str, out: &mut Out<'_>) -> bool {
        if !matches!(self.section.bypass, Bypass::Nothing) {
            debug_assert!(
                matches!(self.place, ParserPlace::Section),
                "only the inside of a call is passed by"
            );
            let flows = self.bypass_section(text, out);
            work::count_bytes(if flows { text.len() } else { 0 });
            return flows;
        }
        let bytes = text.as_bytes();
        let flows = match &self.place {
            ParserPlace::Prose
                if self.speech.is_fast_path() && self.prose.node == ROOT && !self.prose.line.is_fresh() =>
            {
                let flows = !bytes.iter().any(|b| self.live.line_stops.has(*b));
                if flows {
                    self.prose.line.observe(bytes);
                    self.speech.emit_piece(text, out);
                }
                flows
            }
            ParserPlace::Prose if self.prose.node != ROOT => {
                let node = self.live.markers.continue_marker(self.prose.node, bytes);
                if let Some(node) = node {
                    self.prose.node = node;
                    self.prose.carried += bytes.len();
                }
                node.is_some()
            }
            _ => false,
        };
        if flows {
            work::count_bytes(text.len());
        }
        flows
    }

    /// Text that is held back because a mark of reasoning may begin with it, for readers who do not want to wait; none where
    /// the text may hold calls. What is fed next decides whether it was text.
    pub fn waiting(&self) -> Option<Waiting<'_>> {
        if self.live.calls || self.prose.node == ROOT || !matches!(self.place, ParserPlace::Prose) {
            return None;
        }
        Some(Waiting {
            in_reasoning: self.speech.in_reasoning(),
            blanks: self.speech.waiting_blanks(),
            beginning: self.live.markers.prefix(self.prose.node),
        })
    }

    /// The stream is over: settles every doubt. Nothing may be fed afterwards.
    pub fn finish(&mut self, end: End, out: &mut impl FnMut(Piece<'_>)) -> Finding {
        self.finish_message(end, out)
    }

    #[inline(never)]
    fn finish_message(&mut self, end: End, out: &mut Out<'_>) -> Finding {
        self.finish_place(end, out);
        self.speech.finish(self.calls.found.is_some(), out);
        Finding {
            dialect: self.given.or(self.calls.found),
            complete: end == End::Normal && !self.calls.lost,
            reasoning_open: self.closes_first == Some(true),
        }
    }

    fn advance(&mut self, text: &str, out: &mut Out<'_>) {
        let mut pos = 0;
        while pos < text.len() {
            let from = pos;
            pos = match self.place {
                ParserPlace::Prose => self.read_prose(text, pos, out),
                ParserPlace::Ticks(_) => self.read_ticks(text, pos, out),
                ParserPlace::Fence(_) => self.read_fence_head(text, pos, out),
                ParserPlace::Opening(_) => self.read_opening(text, pos, out),
                ParserPlace::Section => self.continue_section(text, pos, out),
                ParserPlace::OutputOver => text.len(),
            };
            work::count_bytes(pos - from);
        }
    }

    /// Takes what came before the text at hand, and was taken for something else.
    fn reread_text(&mut self, text: &str, out: &mut Out<'_>) {
        self.advance(text, out);
    }

    /// Ends whatever is under way.
    fn finish_place(&mut self, end: End, out: &mut Out<'_>) {
        while !self.section.deferred.is_empty() {
            self.continue_section("", 0, out);
        }
        match std::mem::replace(&mut self.place, ParserPlace::Prose) {
            ParserPlace::Prose => {
                let beginning = self.live.markers.prefix(self.prose.node);
                self.prose.reset_marker();
                self.emit_text(beginning, out);
            }
            ParserPlace::Ticks(count) => self.finish_ticks(count, out),
            ParserPlace::Fence(head) => self.reject_fence(head, out),
            ParserPlace::Opening(opening) => self.finish_opening(opening, end, out),
            ParserPlace::Section => self.finish_section(end, out),
            ParserPlace::OutputOver => {}
        }
        self.release_fence_head(out);
        self.settle_trial(end, out);
    }

    /// How much text is held until its meaning is known, and in calls that wait.
    #[cfg(test)]
    pub(crate) fn held_bytes(&self) -> usize {
        self.held.len() + self.nonblank.len() + self.section.deferred.len() + self.calls.held_bytes()
    }

    fn current_evidence(opening: &Opening) -> Evidence {
        if opening.is_tag() { Evidence::Marked } else { Evidence::Alone }
    }
}
