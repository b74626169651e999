//! The push automaton: a model's message in, in pieces of any size; text, reasoning and calls out.
//!
//! Bytes pass through one of six places: prose, a run of backticks, the head of a fence, the look-ahead behind a
//! mark, the inside of a call, and what nobody hears. Most bytes are looked at once, and none more often than a few times;
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

use crate::body::{Body, Passing, Scope, Standing};
use crate::calls::{Calls, Out};
use crate::dialect::{END_TOKENS, HTML_END_TOKEN};
use crate::marker::{Node, ROOT};
use crate::reading::Strict;
use crate::registry::{Live, Role};
use crate::{Dialect, End, Finding, Piece, Reading, Tools};
use code::{Code, FenceHead, Line};
use helve_json::work;
use opening::Opening;
use speech::Speech;
use strict::InSentence;
use trial::Trial;

/// Reads one message. `feed` it the text as it comes, then `finish`.
pub struct Parser {
    live: &'static Live,
    tools: Tools,
    given: Option<&'static str>,
    place: Place,
    /// The beginning of a marker, and how much of it came in earlier chunks.
    node: Node,
    carried: usize,
    line: Line,
    code: Code,
    speech: Speech,
    /// What was read since the mark of a call that is not settled.
    held: String,
    /// Where the present section begins in it.
    section_at: usize,
    /// Its mark; empty where it has none.
    mark: &'static str,
    /// What was read behind a mark, blanks left out.
    ink: String,
    body: Option<Body>,
    /// Which text the section need not see at once: it goes straight out, or is deferred.
    passing: Passing,
    /// Text that told nothing by itself. The section reads it together with what follows.
    deferred: String,
    /// The section has not read the end of what it was given: it may be the beginning of a mark.
    unread: bool,
    trial: Option<Trial>,
    calls: Calls,
    /// A quotation swallowed the end of the reasoning once: from then on no call ends reasoning.
    trusting: bool,
    /// The marks that mean something in the channel that is open; all of them where none is.
    scope: Option<&'static Scope>,
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
    searched: usize,
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

enum Place {
    Prose,
    Ticks(usize),
    Fence(FenceHead),
    Opening(Opening),
    Section,
    /// Nothing that follows counts.
    Hushed,
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
                true => Place::Prose,
                false => Place::Opening(Opening::start()),
            },
            node: ROOT,
            carried: 0,
            line: Line::default(),
            code: Code::None,
            speech: Speech::new(reading.reasoning_open),
            held: String::new(),
            section_at: 0,
            mark: "",
            ink: String::new(),
            body: None,
            passing: Passing::Nothing,
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
            searched: 0,
        }
    }

    /// Reads a complete message. Not inlined: the short way of `feed` is for pieces.
    #[inline(never)]
    pub(crate) fn read_complete(reading: &Reading, text: &str, end: End, out: &mut Out<'_>) -> Finding {
        let mut parser = Self::new(reading.clone());
        parser.advance(text, out);
        parser.wind_up_all(end, out)
    }

    /// Takes the next piece of text.
    #[inline]
    pub fn feed(&mut self, text: &str, out: &mut impl FnMut(Piece<'_>)) {
        if !self.flow_through(text, out) {
            self.read_on(text, out);
        }
    }

    /// The long way.
    #[inline(never)]
    fn read_on(&mut self, text: &str, out: &mut Out<'_>) {
        // The inside of a call comes in so many pieces that the way past the other places shows.
        let taken = match self.place {
            Place::Section if !text.is_empty() => self.section(text, 0, out),
            _ => 0,
        };
        work::looked_at(taken);
        if taken < text.len() {
            self.advance(&text[taken..], out);
        }
    }

    /// The short way for what most pieces are: the middle of a line, of a mark, or of a call.
    #[inline]
    fn flow_through(&mut self, text: &str, out: &mut Out<'_>) -> bool {
        if !matches!(self.passing, Passing::Nothing) {
            debug_assert!(matches!(self.place, Place::Section), "only the inside of a call is passed by");
            let flows = self.section_flows(text, out);
            work::looked_at(if flows { text.len() } else { 0 });
            return flows;
        }
        let bytes = text.as_bytes();
        let flows = match &self.place {
            Place::Prose if self.speech.flows() && self.node == ROOT && !self.line.is_fresh() => {
                let flows = !bytes.iter().any(|b| self.live.line_stops.has(*b));
                if flows {
                    self.line.see(bytes);
                    self.speech.give(text, out);
                }
                flows
            }
            Place::Prose if self.node != ROOT => {
                let node = self.live.markers.goes_on(self.node, bytes);
                if let Some(node) = node {
                    self.node = node;
                    self.carried += bytes.len();
                }
                node.is_some()
            }
            _ => false,
        };
        if flows {
            work::looked_at(text.len());
        }
        flows
    }

    /// Text that is held back because a mark of reasoning may begin with it, for readers who do not want to wait; none where
    /// the text may hold calls. What is fed next decides whether it was text.
    pub fn waiting(&self) -> Option<Waiting<'_>> {
        if self.live.calls || self.node == ROOT || !matches!(self.place, Place::Prose) {
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
        self.wind_up_all(end, out)
    }

    #[inline(never)]
    fn wind_up_all(&mut self, end: End, out: &mut Out<'_>) -> Finding {
        self.wind_up(end, out);
        self.speech.end(self.calls.found.is_some(), out);
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
                Place::Prose => self.prose(text, pos, out),
                Place::Ticks(_) => self.ticks(text, pos, out),
                Place::Fence(_) => self.fence_head(text, pos, out),
                Place::Opening(_) => self.opening(text, pos, out),
                Place::Section => self.section(text, pos, out),
                Place::Hushed => text.len(),
            };
            work::looked_at(pos - from);
        }
    }

    /// Takes what came before the text at hand, and was taken for something else.
    fn look_again(&mut self, text: &str, out: &mut Out<'_>) {
        self.advance(text, out);
    }

    /// A marker stands in the text, and it means something here.
    fn mark(&mut self, marker: usize, out: &mut Out<'_>) {
        let live = self.live;
        let text = live.markers.text(marker);
        match live.roles[marker] {
            Role::Think(_) => _ = self.closes_first.get_or_insert(false),
            Role::Unthink => _ = self.closes_first.get_or_insert(true),
            _ => {}
        }
        match &live.roles[marker] {
            Role::Call(_) => self.open(Opening::tag(marker), text),
            Role::Think(closers) if !self.speech.in_reasoning() => {
                self.reject(out);
                self.speech.open_reasoning(closers, out);
                self.fresh_start();
            }
            Role::Unthink if self.speech.in_reasoning() => {
                self.reject(out);
                self.speech.close_reasoning();
                self.fresh_start();
            }
            Role::Unthink => self.speech.stray_close(),
            Role::Over if self.scope.is_some() || self.speech.in_reasoning() => {
                self.reject(out);
                self.leave_channel();
            }
            Role::Hush => {
                self.settle(End::Normal, out);
                self.place = Place::Hushed;
            }
            Role::Result(begins) => self.result(*begins, text, out),
            Role::Stray | Role::Silent if self.is_stray(marker) => self.stray(text, out),
            Role::Silent if text == HTML_END_TOKEN && self.trial.is_none() => self.speech.end_token(text),
            // Of a message in which a call may be quoted.
            Role::Over if self.trial == Some(Trial::Marked) => self.held.push_str(text),
            Role::Over if std::mem::take(&mut self.has_quoted) => self.say(text, out),
            Role::Think(_) | Role::Silent | Role::Stray | Role::Over => {}
        }
    }

    /// Whatever channel was open is over, and its reasoning with it.
    fn leave_channel(&mut self) {
        self.scope = None;
        if self.speech.in_reasoning() {
            self.speech.close_reasoning();
        }
        self.fresh_start();
    }

    /// Whether a marker means anything where it stands. In code it is a quotation, and in a quoted line; only the
    /// end of reasoning counts everywhere, since code in reasoning is often left open.
    fn hears(&self, marker: usize) -> bool {
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
            _ if self.is_of_unclosed(marker) => self.trusting || !self.in_channel(),
            Role::Unthink if reasoning => self.speech.ends_with(self.live.markers.text(marker)),
            Role::Think(_) if self.live.is_words(marker) => plain && self.line.is_fresh(),
            // Elsewhere than at the beginning, words that close what nobody opened are what the model says.
            Role::Unthink if self.live.is_words(marker) => self.speech.at_start(),
            Role::Silent if self.live.is_words(marker) => self.code == Code::None && self.speech.at_start(),
            Role::Result(begins) => !reasoning && self.in_result != *begins && (!begins || plain),
            Role::Over if reasoning => true,
            Role::Call(_) if self.live.is_head(marker) => reasoning || plain,
            Role::Call(_) if reasoning => self.code == Code::None && self.trusting,
            Role::Call(_) if self.in_result => plain && self.trusting,
            Role::Call(_) => match self.code {
                Code::None => plain,
                Code::Tildes(_) => false,
                Code::Inline(_) => matches!(self.trial, None | Some(Trial::Inline(_))),
                Code::Fence { headed, .. } => headed || matches!(self.trial, Some(Trial::Fence { .. })),
            },
            Role::Stray if !self.is_stray(marker) || self.line.is_quoted() => false,
            Role::Stray if matches!(self.code, Code::Inline(_)) => {
                matches!(self.trial, Some(Trial::Inline(_)))
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

    fn fresh_start(&mut self) {
        self.line = Line::default();
        self.code = Code::None;
        self.unclosed = None;
    }

    /// Ends whatever is under way.
    fn wind_up(&mut self, end: End, out: &mut Out<'_>) {
        while !self.deferred.is_empty() {
            self.section("", 0, out);
        }
        match std::mem::replace(&mut self.place, Place::Prose) {
            Place::Prose => {
                let beginning = self.live.markers.prefix(self.node);
                self.node = ROOT;
                self.carried = 0;
                self.say(beginning, out);
            }
            Place::Ticks(count) => self.ticks_over(count, out),
            Place::Fence(head) => self.no_fence(head, out),
            Place::Opening(opening) => self.unopened(opening, end, out),
            Place::Section => self.section_cut(end, out),
            Place::Hushed => {}
        }
        self.let_head_go(out);
        self.settle(end, out);
    }

    /// How much text is held until its meaning is known, and in calls that wait.
    #[cfg(test)]
    pub(crate) fn kept(&self) -> usize {
        self.held.len() + self.ink.len() + self.deferred.len() + self.calls.kept()
    }

    fn standing(opening: &Opening) -> Standing {
        if opening.is_tag() { Standing::Marked } else { Standing::Alone }
    }
}
