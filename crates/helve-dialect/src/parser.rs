//! The push automaton: a model's message in, in pieces of any size; text, reasoning and calls out.
//!
//! Bytes pass through one of five places: prose, a run of backticks, the head of a fence, the look-ahead behind a
//! mark, the inside of a call. Every byte is looked at once; nothing depends on how the text was cut. Prose goes out
//! as spans of what came in, and only what may still turn out to be markup is held back. A call that lies whole in the
//! text at hand passes by the last two.
//!
//! Where it is open whether a call is meant or quoted, it is on trial: it streams, but counts only when the doubt is
//! settled. Knows no dialect; what to look for and how to read it comes from the registry.

mod code;
pub(crate) mod opening;
mod prose;
mod speech;
mod strays;
mod trial;
mod whole;

use crate::body::{Body, Ending, Scope, Standing, Step, Turn};
use crate::calls::{Calls, Out, Report};
use crate::marker::{Node, ROOT};
use crate::registry::{Live, Role};
use crate::{Dropped, End, Finding, Piece, Reading, Tools};
use code::{Code, FenceHead, Line};
use opening::Opening;
use speech::Speech;
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
    trial: Option<Trial>,
    calls: Calls,
    /// A quotation swallowed the end of the reasoning once: from then on no call ends reasoning.
    trusting: bool,
    /// The marks that mean something in the channel that is open; all of them where none is.
    scope: Scope,
    /// How the message ends, where the text at hand is all of it.
    ending: Option<End>,
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
            trial: None,
            calls: Calls::default(),
            trusting: true,
            scope: &[],
            ending: None,
        }
    }

    /// Reads a message of which all is there.
    pub(crate) fn read(mut self, text: &str, end: End, out: &mut impl FnMut(Piece<'_>)) -> Finding {
        self.ending = Some(end);
        self.advance(text, out);
        self.finish(end, out)
    }

    /// Takes the next piece of text.
    pub fn feed(&mut self, text: &str, out: &mut impl FnMut(Piece<'_>)) {
        if !self.flow_through(text, out) {
            self.advance(text, out);
        }
    }

    /// The short way for what most pieces are: the middle of a line, of a long argument, or of a mark.
    #[inline]
    fn flow_through(&mut self, text: &str, out: &mut Out<'_>) -> bool {
        let bytes = text.as_bytes();
        let flows = match (&self.place, self.calls.flow) {
            (Place::Section, Some(plain)) if bytes.iter().all(|b| plain[*b as usize]) => {
                self.held.push_str(text);
                self.calls.flow(text, out);
                true
            }
            (Place::Prose, _) if self.speech.flows() && self.node == ROOT && !self.line.is_fresh() => {
                let flows = !bytes.iter().any(|b| self.live.line_stops.has(*b));
                if flows {
                    self.line.see(bytes);
                    self.speech.give(text, out);
                }
                flows
            }
            (Place::Prose, _) if self.node != ROOT => {
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
            self.calls.steps += text.len() as u64;
        }
        flows
    }

    /// The stream is over: settles every doubt. Nothing may be fed afterwards.
    pub fn finish(&mut self, end: End, out: &mut impl FnMut(Piece<'_>)) -> Finding {
        self.wind_up(end, out);
        self.speech.end(self.calls.found.is_some(), out);
        Finding { dialect: self.given.or(self.calls.found), complete: end == End::Normal && !self.calls.lost }
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
            self.calls.steps += (pos - from) as u64;
        }
    }

    /// Takes what came before the text at hand, and was taken for something else.
    fn look_again(&mut self, text: &str, out: &mut Out<'_>) {
        let ending = self.ending.take();
        self.advance(text, out);
        self.ending = ending;
    }

    /// A marker stands in the text, and it means something here.
    fn mark(&mut self, marker: usize, out: &mut Out<'_>) {
        let live = self.live;
        let text = live.markers.text(marker);
        match &live.roles[marker] {
            Role::Call(_) => self.open(Opening::tag(marker), text),
            Role::Think(marks) if !self.speech.in_reasoning() => {
                self.reject(out);
                self.speech.open_reasoning(marks.close, out);
                self.fresh_start();
            }
            Role::Unthink if self.speech.in_reasoning() => {
                self.reject(out);
                self.speech.close_reasoning();
                self.fresh_start();
            }
            Role::Unthink => self.speech.stray_close(),
            Role::Over if !self.scope.is_empty() || self.speech.in_reasoning() => {
                self.reject(out);
                self.leave_channel();
            }
            Role::Hush => {
                self.settle(End::Normal, out);
                self.place = Place::Hushed;
            }
            Role::Stray | Role::Silent if self.is_stray(marker) => self.stray(text, out),
            Role::Think(_) | Role::Silent | Role::Stray | Role::Over => {}
        }
    }

    /// Whatever channel was open is over, and its reasoning with it.
    fn leave_channel(&mut self) {
        self.scope = &[];
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
        if !self.scope.is_empty() {
            let is_call = matches!(role, Role::Call(_)) && !self.live.is_head(marker);
            let believed = self.trusting || !reasoning || !is_call;
            return believed && self.scope.contains(&self.live.markers.text(marker));
        }
        match role {
            Role::Unthink if reasoning => self.speech.ends_with(self.live.markers.text(marker)),
            Role::Over if reasoning => true,
            Role::Call(_) if self.live.is_head(marker) => {
                reasoning || self.code == Code::None && !self.line.is_quoted()
            }
            Role::Call(_) if reasoning => self.code == Code::None && self.trusting,
            Role::Call(_) => match self.code {
                Code::None => !self.line.is_quoted(),
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

    fn is_headed(&self) -> bool {
        matches!(self.code, Code::Fence { headed: true, .. })
    }

    fn fresh_start(&mut self) {
        self.line = Line::default();
        self.code = Code::None;
    }

    fn section(&mut self, text: &str, pos: usize, out: &mut Out<'_>) -> usize {
        let Some(body) = &mut self.body else {
            self.place = Place::Prose;
            return pos;
        };
        self.calls.flow = None;
        let mut report = Report { calls: &mut self.calls, held: &mut self.held, tools: &self.tools, out };
        let step = body.feed(text, pos, &mut report);
        let (Step::Done(rest) | Step::NotACall(rest) | Step::Turn(rest, _)) = step else {
            return text.len();
        };
        let back = match rest.back {
            0 => String::new(),
            back => self.held.split_off(self.held.len() - back),
        };
        match step {
            Step::NotACall(_) => self.not_a_call(out),
            Step::Turn(_, turn) => self.turn(turn, out),
            _ => self.section_done(out),
        }
        if !back.is_empty() {
            self.look_again(&back, out);
        }
        rest.pos
    }

    /// The head of a message has said what the message is.
    fn turn(&mut self, turn: Turn, out: &mut Out<'_>) {
        if !matches!(turn, Turn::On) {
            self.leave_channel();
        }
        self.place = Place::Prose;
        match turn {
            Turn::Call(grammar) => {
                Body::begin(&mut self.body, grammar, Standing::Marked, "");
                self.place = Place::Section;
                return;
            }
            Turn::Reasoning(scope) => {
                self.speech.open_channel(out);
                self.scope = scope;
            }
            Turn::Answer(scope) => self.scope = scope,
            Turn::Over | Turn::On => {}
        }
        if self.trial.is_none() {
            self.held.clear();
        }
    }

    /// The section ended well. An unmarked list that opens the message and names declared tools needs no other proof.
    fn section_done(&mut self, out: &mut Out<'_>) {
        self.section_over();
        if self.trial == Some(Trial::Alone { firm: true }) {
            self.accept(out);
        }
    }

    fn section_over(&mut self) {
        self.place = Place::Prose;
        self.line = Line::default();
        if self.trial.is_none() {
            self.held.clear();
            self.calls.told = 0;
            self.speech.after_call();
        }
    }

    /// What was held since the mark is text after all.
    fn not_a_call(&mut self, out: &mut Out<'_>) {
        self.place = Place::Prose;
        self.calls.give_up(Dropped::Quoted, "", false, out);
        if self.trial.is_none() && self.calls.has_spoken(self.calls.speaking) {
            self.drop_mark();
        }
        match self.trial {
            Some(Trial::Reasoning) if self.reasoning_ends_in_section() => self.read_again(out),
            Some(Trial::Inline(_) | Trial::Reasoning) if self.calls.any_waits() => {
                let text = self.held.split_off(self.section_at);
                self.line.see_lines(&text);
                self.say(&text, out);
            }
            _ => {
                self.line.see_lines(&self.held);
                match self.trial {
                    Some(_) => self.reject(out),
                    None => self.release_held(out),
                }
            }
        }
    }

    /// Ends whatever is under way.
    fn wind_up(&mut self, end: End, out: &mut Out<'_>) {
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

    fn section_cut(&mut self, end: End, out: &mut Out<'_>) {
        let Some(mut body) = self.body.take() else { return };
        if self.trial == Some(Trial::Reasoning) && self.reasoning_ends_in_section() {
            self.read_again(out);
            self.wind_up(end, out);
            return;
        }
        let mut report = Report { calls: &mut self.calls, held: &mut self.held, tools: &self.tools, out };
        match body.finish(end, &mut report) {
            Ending::Done => self.section_over(),
            Ending::NotACall => {
                self.not_a_call(out);
                self.wind_up(end, out);
            }
            Ending::Cut => match self.trial {
                Some(Trial::Inline(_)) => self.reject(out),
                _ => {
                    let text = self.held.get(self.calls.told..).unwrap_or("");
                    self.calls.give_up(Dropped::Cut, text, true, out);
                    self.section_over();
                }
            },
        }
    }

    /// Whether what was taken for the inside of a call holds the end of the reasoning around it.
    fn reasoning_ends_in_section(&self) -> bool {
        let section = &self.held[self.section_at..];
        self.live.roles.iter().enumerate().any(|(marker, role)| {
            let text = self.live.markers.text(marker);
            matches!(role, Role::Unthink) && self.speech.ends_with(text) && section.contains(text)
        })
    }

    /// The call was a quotation that swallowed the end of the reasoning: reads the held text once more, this time
    /// believing no call inside reasoning. Happens at most once, so the whole stays linear.
    fn read_again(&mut self, out: &mut Out<'_>) {
        self.trusting = false;
        self.trial = None;
        self.drop_waiting(out);
        let held = std::mem::take(&mut self.held);
        self.place = Place::Prose;
        self.look_again(&held, out);
    }

    /// How many bytes were looked at, second looks counted again: the measure of linearity.
    #[cfg(test)]
    pub(crate) fn steps(&self) -> u64 {
        self.calls.steps
    }

    fn standing(opening: &Opening) -> Standing {
        if opening.is_tag() { Standing::Marked } else { Standing::Alone }
    }
}
