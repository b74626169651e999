//! The push automaton: a model's message in, in pieces of any size; text, reasoning and calls out.
//!
//! Bytes pass through one of six places: prose, a run of backticks, the head of a fence, the look-ahead behind a
//! mark, the inside of a call, and what follows the end of the output. Most bytes are looked at once, and none more often than a few times;
//! nothing depends on how the text was cut. Prose goes out as spans of what came in, and only what may still turn out to be
//! markup is held back.
//!
//! Where it is open whether a call is meant or quoted, it is on trial: it streams, but counts only when the doubt is
//! settled. Knows no dialect; what to look for and how to read it comes from the registry.

mod code;
pub(crate) mod opening;
mod prose;
mod result;
mod section;
mod speech;
mod strays;
mod strict;
mod trial;

use crate::body::{Bypass, CallBody, ChannelScope, Evidence};
use crate::calls::{Calls, Out};
use crate::dialect::{END_TOKENS, HTML_END_TOKEN};
use crate::marker::{MarkerNode, ROOT};
use crate::reading::Strict;
use crate::registry::{ActiveMarks, MarkerRole};
use crate::{Dialect, End, Finding, Piece, Reading, Tools};
use code::{Code, FenceHead, LineState};
use helve_json::work;
use opening::Opening;
use speech::Speech;
use strict::InSentence;
use trial::CallTrial;

/// Reads one message. `feed` it the text as it comes, then `finish`.
pub struct Parser {
    live: &'static ActiveMarks,
    tools: Tools,
    given: Option<&'static str>,
    place: ParserPlace,
    /// The beginning of a marker, and how much of it came in earlier chunks.
    node: MarkerNode,
    carried: usize,
    line: LineState,
    code: Code,
    speech: Speech,
    /// What was read since the mark of a call that is not settled.
    held: String,
    /// Where the present section begins in it.
    section_at: usize,
    /// Its mark; empty where it has none.
    mark: &'static str,
    /// What was read behind a mark, blanks left out.
    nonblank: String,
    body: Option<CallBody>,
    /// Which text the section need not see at once: it goes straight out, or is deferred.
    bypass: Bypass,
    /// Text that told nothing by itself. The section reads it together with what follows.
    deferred: String,
    /// The section has not read the end of what it was given: it may be the beginning of a mark.
    unread: bool,
    trial: Option<CallTrial>,
    calls: Calls,
    /// A quotation swallowed the end of the reasoning once: from then on no call ends reasoning.
    trusting: bool,
    /// The marks that mean something in the channel that is open; all of them where none is.
    scope: Option<&'static ChannelScope>,
    /// The dialect of a section that special tokens opened, and that is to be closed yet.
    unclosed: Option<&'static Dialect>,
    /// Inside a tool's result, which the model made up or repeats.
    in_result: bool,
    /// Whether the first mark of reasoning closes it.
    closes_first: Option<bool>,
    /// How calls are told from quotations; not at all where nothing is known of a run.
    strict: Option<Strict>,
    /// The present section begins a line.
    leads: bool,
    /// How much waited when the present section began.
    waited: usize,
    /// The first call that waits and stands in the middle of a line, with nothing but calls and blanks behind it yet.
    in_sentence: Option<InSentence>,
    /// A section was quoted: the mark that ends its message is a part of it.
    has_quoted: bool,
    /// How much was searched for calls that repeat what was said to the model.
    count_search: usize,
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
            node: ROOT,
            carried: 0,
            line: LineState::default(),
            code: Code::None,
            speech: Speech::new(reading.reasoning_open),
            held: String::new(),
            section_at: 0,
            mark: "",
            nonblank: String::new(),
            body: None,
            bypass: Bypass::Nothing,
            deferred: String::new(),
            unread: false,
            trial: None,
            calls: Calls::default(),
            trusting: true,
            scope: None,
            unclosed: None,
            in_result: false,
            closes_first: None,
            strict: reading.strict,
            leads: true,
            waited: 0,
            in_sentence: None,
            has_quoted: false,
            count_search: 0,
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
        if !matches!(self.bypass, Bypass::Nothing) {
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
                if self.speech.is_fast_path() && self.node == ROOT && !self.line.is_fresh() =>
            {
                let flows = !bytes.iter().any(|b| self.live.line_stops.has(*b));
                if flows {
                    self.line.observe(bytes);
                    self.speech.emit_piece(text, out);
                }
                flows
            }
            ParserPlace::Prose if self.node != ROOT => {
                let node = self.live.markers.continue_marker(self.node, bytes);
                if let Some(node) = node {
                    self.node = node;
                    self.carried += bytes.len();
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
        if self.live.calls || self.node == ROOT || !matches!(self.place, ParserPlace::Prose) {
            return None;
        }
        Some(Waiting {
            in_reasoning: self.speech.in_reasoning(),
            blanks: self.speech.waiting_blanks(),
            beginning: self.live.markers.prefix(self.node),
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

    /// A marker stands in the text, and it means something here.
    fn handle_marker(&mut self, marker: usize, out: &mut Out<'_>) {
        let live = self.live;
        let text = live.markers.text(marker);
        match live.roles[marker] {
            MarkerRole::OpenReasoning(_) => _ = self.closes_first.get_or_insert(false),
            MarkerRole::CloseReasoning => _ = self.closes_first.get_or_insert(true),
            _ => {}
        }
        match &live.roles[marker] {
            MarkerRole::Call(_) => self.begin_opening(Opening::tag(marker), text),
            MarkerRole::OpenReasoning(closers) if !self.speech.in_reasoning() => {
                self.reject_trial(out);
                self.speech.open_reasoning(closers, out);
                self.reset_line();
            }
            MarkerRole::CloseReasoning if self.speech.in_reasoning() => {
                self.reject_trial(out);
                self.speech.close_reasoning();
                self.reset_line();
            }
            MarkerRole::CloseReasoning => self.speech.handle_stray_close(),
            MarkerRole::Over if self.scope.is_some() || self.speech.in_reasoning() => {
                self.reject_trial(out);
                self.leave_channel();
            }
            MarkerRole::EndsOutput => {
                self.settle_trial(End::Normal, out);
                self.place = ParserPlace::OutputOver;
            }
            MarkerRole::Result(begins) => self.handle_result_tag(*begins, text, out),
            MarkerRole::Stray | MarkerRole::Silent if self.is_stray_marker(marker) => {
                self.drop_stray(text, out)
            }
            MarkerRole::Silent if text == HTML_END_TOKEN && self.trial.is_none() => {
                self.speech.hold_end_token(text)
            }
            // Of a message in which a call may be quoted.
            MarkerRole::Over if self.trial == Some(CallTrial::Marked) => self.held.push_str(text),
            MarkerRole::Over if std::mem::take(&mut self.has_quoted) => self.emit_text(text, out),
            MarkerRole::OpenReasoning(_) | MarkerRole::Silent | MarkerRole::Stray | MarkerRole::Over => {}
        }
    }

    /// Whatever channel was open is over, and its reasoning with it.
    fn leave_channel(&mut self) {
        self.scope = None;
        if self.speech.in_reasoning() {
            self.speech.close_reasoning();
        }
        self.reset_line();
    }

    /// Whether a marker means anything where it stands. In code it is a quotation, and in a quoted line; only the
    /// end of reasoning counts everywhere, since code in reasoning is often left open.
    fn is_active(&self, marker: usize) -> bool {
        let reasoning = self.speech.in_reasoning();
        let role = &self.live.roles[marker];
        let plain = self.code == Code::None && !self.line.is_quoted();
        if let Some(scope) = self.scope {
            let text = self.live.markers.text(marker);
            return match role {
                _ if scope.closes.contains(&text) => true,
                _ if END_TOKENS.contains(&text) => self.code == Code::None,
                _ if !scope.opens.contains(&text) => false,
                _ if !reasoning => plain && (self.trusting || !self.in_result),
                _ => self.live.is_head(marker) || self.code == Code::None && self.trusting,
            };
        }
        match role {
            _ if self.belongs_to_unclosed_section(marker) => self.trusting || !self.in_channel(),
            MarkerRole::CloseReasoning if reasoning => self.speech.ends_with(self.live.markers.text(marker)),
            MarkerRole::OpenReasoning(_) if self.live.is_words(marker) => plain && self.line.is_fresh(),
            // Elsewhere than at the beginning, words that close what was not opened are text.
            MarkerRole::CloseReasoning if self.live.is_words(marker) => self.speech.at_start(),
            MarkerRole::Silent if self.live.is_words(marker) => {
                self.code == Code::None && self.speech.at_start()
            }
            MarkerRole::Result(begins) => !reasoning && self.in_result != *begins && (!begins || plain),
            MarkerRole::Over if reasoning => true,
            MarkerRole::Call(_) if self.live.is_head(marker) => reasoning || plain,
            MarkerRole::Call(_) if reasoning => self.code == Code::None && self.trusting,
            MarkerRole::Call(_) if self.in_result => plain && self.trusting,
            MarkerRole::Call(_) => match self.code {
                Code::None => plain,
                Code::Tildes(_) => false,
                Code::Inline(_) => matches!(self.trial, None | Some(CallTrial::Inline(_))),
                Code::Fence { headed, .. } => headed || matches!(self.trial, Some(CallTrial::Fence { .. })),
            },
            MarkerRole::Stray if !self.is_stray_marker(marker) || self.line.is_quoted() => false,
            MarkerRole::Stray if matches!(self.code, Code::Inline(_)) => {
                matches!(self.trial, Some(CallTrial::Inline(_)))
            }
            _ => self.code == Code::None,
        }
    }

    /// In reasoning, in another channel, or in a result: a call is a quotation if that ends.
    fn in_channel(&self) -> bool {
        self.speech.in_reasoning() || self.scope.is_some() || self.in_result
    }

    fn is_headed(&self) -> bool {
        matches!(self.code, Code::Fence { headed: true, .. })
    }

    fn reset_line(&mut self) {
        self.line = LineState::default();
        self.code = Code::None;
        self.unclosed = None;
    }

    /// Ends whatever is under way.
    fn finish_place(&mut self, end: End, out: &mut Out<'_>) {
        while !self.deferred.is_empty() {
            self.continue_section("", 0, out);
        }
        match std::mem::replace(&mut self.place, ParserPlace::Prose) {
            ParserPlace::Prose => {
                let beginning = self.live.markers.prefix(self.node);
                self.node = ROOT;
                self.carried = 0;
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
        self.held.len() + self.nonblank.len() + self.deferred.len() + self.calls.held_bytes()
    }

    fn current_evidence(opening: &Opening) -> Evidence {
        if opening.is_tag() { Evidence::Marked } else { Evidence::Alone }
    }
}
