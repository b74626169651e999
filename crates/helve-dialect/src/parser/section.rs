//! The inside of a call: what its body is given, and what becomes of what the body says.
//!
//! Most pieces of a call are so short that they tell nothing by themselves. The body says which bytes are such; text of
//! them is deferred, a little, and read together with what follows. That a body reads the same however the text is cut is
//! what makes this safe.

use super::line::LineState;
use super::trial::CallTrial;
use super::{Parser, ParserPlace};
use crate::body::{BodyEnding, BodyStep, Bypass, CallBody, ChannelTurn, Evidence};
use crate::calls::{CallReport, Out};
use crate::registry::MarkerRole;
use crate::{Dialect, Dropped, End};
use helve_json::byte_search::all_in;
use helve_json::work;

/// No more is deferred than this.
const DEFERRED_MAX: usize = 64;

/// The present section of calls, and how far it is read.
pub(super) struct SectionState {
    /// Where it begins in the held text.
    pub(super) at: usize,
    /// Its mark; empty where it has none.
    pub(super) mark: &'static str,
    pub(super) body: Option<CallBody>,
    /// Which text it need not see at once: it goes straight out, or is deferred.
    pub(super) bypass: Bypass,
    /// Text that told nothing by itself. The section reads it together with what follows.
    pub(super) deferred: String,
    /// It has not read the end of what it was given: it may be the beginning of a mark.
    pub(super) unread: bool,
    /// It begins a line.
    pub(super) leads: bool,
    /// How much waited when it began.
    pub(super) waited: usize,
    /// The dialect of a section that special tokens opened, and that is to be closed yet.
    pub(super) unclosed: Option<&'static Dialect>,
}

impl SectionState {
    pub(super) fn new() -> Self {
        Self {
            at: 0,
            mark: "",
            body: None,
            bypass: Bypass::Nothing,
            deferred: String::new(),
            unread: false,
            leads: true,
            waited: 0,
            unclosed: None,
        }
    }

    /// Adds the beginning of the text to what was deferred; says where the rest begins. A long text is not worth copying,
    /// but its beginning belongs to what was deferred.
    #[inline]
    pub(super) fn join_deferred(&mut self, text: &str, pos: usize) -> usize {
        let end = text.floor_char_boundary(pos + DEFERRED_MAX);
        self.deferred.push_str(&text[pos..end]);
        end
    }
}

impl Parser {
    /// Takes text of which the body makes nothing, or nothing yet; says whether it is such.
    #[inline]
    pub(super) fn bypass_section(&mut self, text: &str, out: &mut Out<'_>) -> bool {
        match self.section.bypass {
            Bypass::Nothing => false,
            Bypass::Arguments(plain) if all_in(plain, text) => self.emit_arguments(text, out),
            Bypass::Deferred(idle)
                if self.section.deferred.len() + text.len() <= DEFERRED_MAX && all_in(idle, text) =>
            {
                self.section.deferred.push_str(text);
                true
            }
            _ => false,
        }
    }

    #[inline]
    fn emit_arguments(&mut self, text: &str, out: &mut Out<'_>) -> bool {
        self.held.push_str(text);
        self.calls.push_arguments(text, out);
        true
    }

    /// Reads on inside a call, together with what was deferred. Says where the text goes on that is not the call's. No text
    /// at all says that none will follow.
    pub(super) fn continue_section(&mut self, text: &str, pos: usize, out: &mut Out<'_>) -> usize {
        if self.section.deferred.is_empty() {
            let reach = self.read_section(text, pos, out);
            if self.section.unread {
                self.section.deferred.push_str(&text[reach..]);
                return text.len();
            }
            return reach;
        }
        let end = self.section.join_deferred(text, pos);
        let mut joined = std::mem::take(&mut self.section.deferred);
        work::count_bytes(joined.len());
        let reach = self.read_section(&joined, 0, out);
        let left = joined.len() - reach;
        let mut goes_on = end;
        if self.section.unread && text.is_empty() {
            self.held.push_str(&joined[reach..]);
        } else if self.section.unread && end == text.len() {
            joined.drain(..reach);
            self.section.deferred = joined;
            return end;
        } else if left <= end - pos {
            goes_on -= left;
        } else {
            self.reread_text(&joined[reach..], out);
        }
        if self.section.deferred.is_empty() {
            joined.clear();
            self.section.deferred = joined;
        }
        goes_on
    }

    /// Reads on from the position. Says where the text goes on that is not the call's, or that is unread.
    #[inline(always)]
    fn read_section(&mut self, text: &str, pos: usize, out: &mut Out<'_>) -> usize {
        self.section.unread = false;
        let Some(body) = &mut self.section.body else {
            self.place = ParserPlace::Prose;
            return pos;
        };
        let (calls, held, tools) = (&mut self.calls, &mut self.held, &self.tools);
        let mut report = CallReport { calls, held, tools, out };
        let step = body.feed(text, pos, &mut report);
        report.calls.show_arguments(report.out);
        match step {
            BodyStep::More => {
                self.section.bypass = body.bypass();
                text.len()
            }
            BodyStep::Unread(from) => {
                // What follows is read together with it.
                self.section.bypass = Bypass::Nothing;
                self.section.unread = true;
                from
            }
            step => self.end_section(step, out),
        }
    }

    /// Deals with the end of the section; says where the text goes on.
    #[inline(never)]
    fn end_section(&mut self, step: BodyStep, out: &mut Out<'_>) -> usize {
        let (BodyStep::Done(rest) | BodyStep::NotACall(rest) | BodyStep::Turn(rest, _)) = step else {
            return 0;
        };
        self.section.bypass = Bypass::Nothing;
        let back = match rest.back {
            0 => String::new(),
            back => self.held.split_off(self.held.len() - back),
        };
        self.close_unclosed(matches!(step, BodyStep::NotACall(_)));
        match step {
            BodyStep::NotACall(_) => self.reject_section(out),
            BodyStep::Turn(_, turn) => self.change_channel(turn, out),
            _ => self.finish_whole_section(out),
        }
        if !back.is_empty() {
            self.reread_text(&back, out);
        }
        rest.pos
    }

    /// What was read may be all of a section of several calls: up to its closing mark, or text.
    fn close_unclosed(&mut self, is_text: bool) {
        let over = |dialect: &&Dialect| {
            dialect.closes_section(&self.held) || is_text && dialect.opens_section(self.section.mark)
        };
        if self.section.unclosed.as_ref().is_some_and(over) {
            self.section.unclosed = None;
        }
    }

    /// Whether the marker belongs to the section that is to be closed yet. There it is no quotation, whatever stands before
    /// it: words and backticks between calls are noise.
    pub(super) fn belongs_to_unclosed_section(&self, marker: usize) -> bool {
        let Some(dialect) = self.section.unclosed else { return false };
        let on_trial = !matches!(self.trials.current, None | Some(CallTrial::Channel | CallTrial::Marked));
        let means = match self.live.roles[marker] {
            MarkerRole::Call(_) => self.live.is_stray(marker, |of| of == dialect.name),
            MarkerRole::Stray => {
                dialect.strays.contains(&self.live.markers.text(marker)) && self.is_stray_marker(marker)
            }
            _ => false,
        };
        means && !on_trial && !self.in_result
    }

    /// A mark of that section stands behind words in it.
    pub(super) fn resume_section(&mut self, mark: &str) {
        self.prose.reset_line();
        if self.section.unclosed.is_some_and(|dialect| dialect.closes_section(mark)) {
            self.section.unclosed = None;
        }
    }

    /// The head of a message has said what the message is.
    fn change_channel(&mut self, turn: ChannelTurn, out: &mut Out<'_>) {
        if !matches!(turn, ChannelTurn::On) {
            self.reject_before_head(out);
            self.leave_channel();
        }
        self.place = ParserPlace::Prose;
        match turn {
            ChannelTurn::Call(grammar) => {
                if self.trials.strict.is_some() && self.trials.current.is_none() {
                    self.trials.current = Some(CallTrial::Marked);
                }
                self.begin_waiting();
                CallBody::begin_section(&mut self.section.body, grammar, Evidence::Marked, "");
                self.place = ParserPlace::Section;
                return;
            }
            ChannelTurn::Reasoning(scope) => {
                self.speech.open_channel(out);
                self.scope = Some(scope);
            }
            ChannelTurn::Answer(scope) => self.scope = Some(scope),
            ChannelTurn::Over | ChannelTurn::On => {}
        }
        if self.trials.current.is_none() {
            self.held.clear();
        }
    }

    /// The section ended well. An unmarked list that opens the message and names declared tools needs no other proof. Where
    /// a call went wrong because it swallowed the end of what it is quoted in, nothing of it was meant.
    fn finish_whole_section(&mut self, out: &mut Out<'_>) {
        let torn = self.trials.current == Some(CallTrial::Channel)
            && self.calls.has_dropped_call_from(self.section.at);
        if torn && self.channel_ends_in_section() {
            self.reread_as_quoted(out);
            return;
        }
        if self.repeats_quotable() {
            self.quote_section(out);
            return;
        }
        self.leave_section();
        self.judge_position(out);
    }

    pub(super) fn leave_section(&mut self) {
        self.place = ParserPlace::Prose;
        if self.trials.strict.is_none() || self.section.leads {
            self.prose.line = LineState::default();
        }
        if self.trials.current.is_none() {
            self.held.clear();
            self.calls.reported_to = 0;
            self.speech.begin_after_call();
        }
    }

    /// What was held since the mark is text after all.
    fn reject_section(&mut self, out: &mut Out<'_>) {
        self.place = ParserPlace::Prose;
        self.calls.drop_silently(out);
        if self.trials.current.is_none() && self.calls.has_call_of(self.calls.dialect) {
            self.discard_mark();
        }
        match self.trials.current {
            Some(CallTrial::Channel) if self.channel_ends_in_section() => self.reread_as_quoted(out),
            Some(CallTrial::Inline(_) | CallTrial::Channel) if self.calls.any_call_waits() => {
                // Calls of the same section are no part of it.
                let text =
                    self.held.split_off(self.calls.reported_to.clamp(self.section.at, self.held.len()));
                self.prose.line.observe_lines(&text);
                self.emit_text(&text, out);
            }
            _ => {
                self.prose.line.observe_lines(&self.held);
                match self.trials.current {
                    Some(_) => self.reject_trial(out),
                    None => self.release_held(out),
                }
            }
        }
    }

    pub(super) fn finish_section(&mut self, end: End, out: &mut Out<'_>) {
        let Some(mut body) = self.section.body.take() else { return };
        if self.trials.current == Some(CallTrial::Channel) && self.channel_ends_in_section() {
            self.reread_as_quoted(out);
            self.finish_place(end, out);
            return;
        }
        let (calls, held, tools) = (&mut self.calls, &mut self.held, &self.tools);
        let mut report = CallReport { calls, held, tools, out };
        match body.finish(end, &mut report) {
            BodyEnding::NotACall => {
                self.reject_section(out);
                self.finish_place(end, out);
            }
            _ if self.repeats_quotable() => self.quote_section(out),
            BodyEnding::Done => {
                self.leave_section();
                self.judge_position(out);
            }
            BodyEnding::Cut => match self.trials.current {
                Some(CallTrial::Inline(_)) => self.reject_trial(out),
                _ => {
                    self.calls.drop_draft(Dropped::Cut, &self.held, out);
                    self.leave_section();
                    self.judge_position(out);
                }
            },
        }
    }

    /// Whether what was taken for the inside of a call holds the end of the reasoning or of the result around it. It is
    /// believed once.
    fn channel_ends_in_section(&self) -> bool {
        let ends_channel = |marker: usize| {
            let text = self.live.markers.text(marker);
            let ends_reasoning = matches!(self.live.roles[marker], MarkerRole::CloseReasoning);
            ends_reasoning && self.speech.ends_with(text) || self.ends_result(text)
        };
        self.trials.trusting && self.live.markers.contains_any(&self.held[self.section.at..], ends_channel)
    }

    /// The call was a quotation that swallowed the end of the reasoning or of a result: reads the held text once more, this
    /// time believing no call inside either. Happens at most once, so the whole stays linear.
    fn reread_as_quoted(&mut self, out: &mut Out<'_>) {
        self.trials.trusting = false;
        self.section.unclosed = None;
        self.trials.current = None;
        self.drop_waiting(out);
        self.calls.drop_silently(out);
        let held = std::mem::take(&mut self.held);
        self.place = ParserPlace::Prose;
        self.reread_text(&held, out);
    }
}

#[cfg(test)]
mod tests {
    use crate::{End, Parser, Piece, Reading, Tools, dialect};

    /// What has been told of the call when so much of the text was fed, character by character.
    fn has_emitted(name: &str, text: &str) -> String {
        let schema = serde_json::json!({"properties": {"q": {"type": "string"}}});
        let tools = Tools::new([("search".to_owned(), schema)]);
        let mut parser = Parser::new(Reading::for_dialect(dialect(name).expect("is a dialect"), tools));
        let mut told = String::new();
        for at in 0..text.len() {
            parser.feed(&text[at..=at], &mut |piece: Piece<'_>| match piece {
                Piece::CallStarted { name, .. } => told += name,
                Piece::CallArguments { text, .. } => told += text,
                _ => {}
            });
        }
        parser.finish(End::Cut, &mut |_| {});
        told
    }

    #[test]
    fn what_is_deferred_keeps_no_name_and_no_text_back() {
        for (name, before, between) in [
            ("gemma4", "<|tool_call>call:search{", "q:<|\"|>"),
            ("minimax_m2", "<minimax:tool_call>\n<invoke name=\"search\">", "\n<parameter name=\"q\">"),
            ("minicpm5", "<function name=\"search\">", "<param name=\"q\"><![CDATA["),
            ("qwen3_coder", "<tool_call>\n<function=search>", "\n<parameter=q>\n"),
            ("glm47", "<tool_call>search<arg_key>", "q</arg_key><arg_value>"),
            (
                "kimi_k3",
                "<|open|>tools<|sep|><|open|>call tool=\"search\"<|sep|>",
                "<|open|>argument key=\"q\" type=\"string\"<|sep|>a <b",
            ),
            ("hermes", "<tool_call>\n{\"name\": \"search\"", ", \"arguments\": {\"q\": \""),
        ] {
            assert!(has_emitted(name, before).starts_with("search"), "{name}");
            for said in ["a", "a ", "a few", "a few words and more"] {
                let told = has_emitted(name, &format!("{before}{between}{said}"));
                assert!(told.ends_with(said), "{name}: {told}");
            }
        }
        assert!(
            has_emitted("gemma4", "<|tool_call>call:search{q:\"some words\"").ends_with("\"some words\"")
        );
    }
}
