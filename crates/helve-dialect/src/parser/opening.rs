//! The look-ahead behind a mark: is it one, and of which dialect?

use super::code::Code;
use super::trial::CallTrial;
use super::{Parser, ParserPlace};
use crate::body::{Bypass, CallBody};
use crate::calls::Out;
use crate::dialect::{Fit, Grammar, Lookahead, is_name_char};
use crate::lookahead::leading_name;
use crate::registry::OpenerChoice;
use crate::{Dropped, End};
use helve_json::is_blank;
use helve_json::work;

/// A mark whose meaning hangs on what follows.
#[derive(Clone, Copy)]
pub(super) struct Opening {
    mark: MarkId,
    /// Where the text behind the mark begins in the held text, blanks aside.
    ahead_at: usize,
}

/// Which mark it is: for a tag and a fence, its number among those that are live.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum MarkId {
    Tag(usize),
    Fence(usize),
    Alone,
    Start,
}

const AHEAD: usize = 32;

/// What of a chunk was looked at, from one position to the other.
struct Looked<'t> {
    text: &'t str,
    from: usize,
    at: usize,
}

impl Opening {
    pub(super) fn tag(marker: usize) -> Self {
        Self { mark: MarkId::Tag(marker), ahead_at: 0 }
    }

    pub(super) fn alone() -> Self {
        Self { mark: MarkId::Alone, ahead_at: 0 }
    }

    pub(super) fn start() -> Self {
        Self { mark: MarkId::Start, ahead_at: 0 }
    }

    pub(super) fn fence(fence: usize, ahead_at: usize) -> Self {
        Self { mark: MarkId::Fence(fence), ahead_at }
    }

    pub(super) fn is_tag(&self) -> bool {
        self.marker().is_some()
    }

    pub(super) fn marker(&self) -> Option<usize> {
        match self.mark {
            MarkId::Tag(marker) => Some(marker),
            _ => None,
        }
    }
}

impl Parser {
    /// Begins the look-ahead behind a mark in prose.
    pub(super) fn begin_opening(&mut self, mut opening: Opening, mark: &'static str) {
        if self.trials.current.is_none() && !self.prose.is_headed() {
            self.held.clear();
        }
        self.section.at = self.held.len();
        self.section.leads = self.prose.line.is_fresh();
        self.section.mark = mark;
        self.calls.reported_to = self.section.at;
        // Enough for blanks and what decides behind the mark; most marks need no more.
        self.held.reserve(mark.len() + AHEAD);
        self.held.push_str(mark);
        opening.ahead_at = self.held.len();
        self.begin_lookahead(opening);
    }

    pub(super) fn begin_lookahead(&mut self, opening: Opening) {
        self.nonblank.clear();
        self.place = ParserPlace::Opening(opening);
    }

    pub(super) fn read_opening(&mut self, text: &str, pos: usize, out: &mut Out<'_>) -> usize {
        match self.place {
            ParserPlace::Opening(opening) => self.read_ahead(opening, text, pos, out),
            _ => pos,
        }
    }

    /// Looks at one character after the other.
    pub(super) fn read_ahead(
        &mut self,
        mut opening: Opening,
        text: &str,
        pos: usize,
        out: &mut Out<'_>,
    ) -> usize {
        let mut at = pos;
        while let Some(c) = text[at..].chars().next() {
            let (run, fit) = self.continuation(opening, &text[at..]);
            if run > 0 {
                self.held.push_str(&text[at..at + run]);
                self.nonblank.push_str(&text[at..at + run]);
                at += run;
                if fit == Fit::Yes
                    && let Some(choice) = self.live.choices(opening.mark).first()
                {
                    return self.enter_call(opening, *choice, Looked { text, from: pos, at }, out);
                }
                if matches!(self.find_choice(opening, &self.nonblank, false), Err(Fit::No)) {
                    self.reject_opening(opening, out);
                    return at;
                }
                continue;
            }
            self.held.push(c);
            at += c.len_utf8();
            // A blank never settles anything, and a long run of them must not be looked at again and again.
            if is_blank(c) {
                if opening.ahead_at + 1 == self.held.len() {
                    opening.ahead_at = self.held.len();
                }
                continue;
            }
            let before = self.held.as_bytes()[opening.ahead_at..self.held.len() - c.len_utf8()].last();
            let gap = before.is_some_and(|byte| is_blank(*byte as char));
            self.nonblank.push(c);
            match self.find_choice(opening, &self.nonblank, gap) {
                Ok(choice) => return self.enter_call(opening, choice, Looked { text, from: pos, at }, out),
                Err(Fit::Unsure) => {}
                Err(_) => {
                    self.held.pop();
                    self.reject_opening(opening, out);
                    return at - c.len_utf8();
                }
            }
        }
        self.place = ParserPlace::Opening(opening);
        at
    }

    /// What lies ahead fits. The body reads it too. Says where to go on.
    fn enter_call(
        &mut self,
        opening: Opening,
        choice: OpenerChoice,
        Looked { text, from, at }: Looked<'_>,
        out: &mut Out<'_>,
    ) -> usize {
        self.begin_section(opening, choice);
        let ahead = self.held.len() - opening.ahead_at;
        if ahead > at - from {
            // Some of it came in earlier chunks.
            self.section.deferred.push_str(&self.held[opening.ahead_at..]);
            self.held.truncate(opening.ahead_at);
            let at = self.section.join_deferred(text, at);
            return self.continue_section(text, at, out);
        }
        self.held.truncate(opening.ahead_at);
        work::count_bytes(ahead);
        at - ahead
    }

    /// How much of the text goes on with what was read so far, and what the first choice makes of it.
    fn continuation(&self, opening: Opening, text: &str) -> (usize, Fit) {
        let Some(first) = self.live.choices(opening.mark).first() else { return (0, Fit::Unsure) };
        let gap = || self.held.len() > opening.ahead_at && self.held.ends_with(is_blank);
        first.then.judge_more(&self.nonblank, gap, text)
    }

    /// The first choice that fits what lies ahead, as long as none before it is unsure.
    fn find_choice(&self, opening: Opening, ahead: &str, gap: bool) -> Result<OpenerChoice, Fit> {
        self.first_fitting_choice(opening, ahead, |then| match (then, then.judge(ahead, gap)) {
            // The arguments may come before the name of the tool.
            (Lookahead::Object, Fit::No) if !gap => self.begins_argument(ahead),
            (_, fit) => fit,
        })
    }

    fn first_fitting_choice(
        &self,
        opening: Opening,
        text: &str,
        fits: impl Fn(Lookahead) -> Fit,
    ) -> Result<OpenerChoice, Fit> {
        for choice in self.live.choices(opening.mark) {
            if matches!(choice.then, Lookahead::Line) && !self.prose.line.is_fresh() {
                continue;
            }
            if opening.mark == MarkId::Start && self.names_no_tool(choice.then, text) {
                continue;
            }
            match fits(choice.then) {
                Fit::Yes => return Ok(*choice),
                Fit::Unsure => return Err(Fit::Unsure),
                Fit::No => {}
            }
        }
        Err(Fit::No)
    }

    /// Whether an object begins with an argument of a declared tool.
    fn begins_argument(&self, object: &str) -> Fit {
        let object = object.strip_prefix('[').unwrap_or(object);
        let Some(key) = object.strip_prefix("{\"") else { return Fit::No };
        match key.split_once('"') {
            Some((key, _)) if self.tools.any_has_parameter(key) => Fit::Yes,
            None if self.tools.begins_parameter(key) => Fit::Unsure,
            _ => Fit::No,
        }
    }

    /// Whether a call that opens the message with nothing but a name is none, since no tool's name begins so: then the first
    /// words of an answer need not be held back.
    fn names_no_tool(&self, then: Lookahead, text: &str) -> bool {
        let named = matches!(then, Lookahead::Function | Lookahead::Name(_));
        named && !self.tools.is_unknown() && !self.tools.begins_name(leading_name(text))
    }

    /// A call begins; where it may be a quotation, it is put on trial.
    fn begin_section(&mut self, opening: Opening, choice: OpenerChoice) {
        if self.trials.current.is_none() && !matches!(choice.grammar, Grammar::Channel(_)) {
            self.trials.current = match (opening.mark, self.prose.code) {
                (MarkId::Alone | MarkId::Start, _) => {
                    Some(CallTrial::Alone { firm: self.needs_no_trial(choice) })
                }
                (mark, Code::Fence { ticks, .. }) => {
                    let for_calls = matches!(mark, MarkId::Fence(fence) if self.live.is_for_calls(fence));
                    let firm = for_calls && (self.trials.strict.is_none() || self.section.leads);
                    Some(CallTrial::Fence { ticks, closed: false, firm })
                }
                _ if self.in_channel() => Some(CallTrial::Channel),
                (_, Code::Inline(ticks)) => Some(CallTrial::Inline(ticks)),
                (_, Code::None | Code::Tildes(_)) => {
                    self.trials.strict.is_some().then_some(CallTrial::Marked)
                }
            };
        }
        if let Code::Fence { ticks, .. } = self.prose.code {
            self.prose.code = Code::Fence { ticks, headed: false };
            if let Some(CallTrial::Fence { closed, .. }) = &mut self.trials.current {
                *closed = false;
            }
        }
        // Behind another message of a channel a head begins one of its own.
        self.section.leads |= matches!(choice.grammar, Grammar::Channel(_)) && self.in_channel();
        self.begin_waiting();
        self.calls.dialect = choice.dialect.name;
        let standing = Self::current_evidence(&opening);
        let mark = match opening.mark {
            MarkId::Tag(marker) => self.live.markers.text(marker),
            _ => "",
        };
        if choice.dialect.opens_section(mark)
            && matches!(self.trials.current, None | Some(CallTrial::Channel | CallTrial::Marked))
        {
            self.section.unclosed = Some(choice.dialect);
        }
        CallBody::begin_section(&mut self.section.body, choice.grammar, standing, mark);
        self.section.bypass = self.section.body.as_ref().map_or(Bypass::Nothing, CallBody::bypass);
        self.place = ParserPlace::Section;
    }

    /// Python calls of declared tools at the very beginning are calls, whatever the model says about them afterwards;
    /// elsewhere too, where the model is known to write them so.
    fn needs_no_trial(&self, choice: OpenerChoice) -> bool {
        let python = matches!(choice.grammar, Grammar::Python(_));
        let known = self.speech.at_start()
            || self.given.is_some() && (self.trials.strict.is_none() || self.section.leads);
        python && !self.tools.is_unknown() && known
    }

    /// What follows the mark does not make it one. It may be another mark itself, so it is read again.
    fn reject_opening(&mut self, opening: Opening, out: &mut Out<'_>) {
        self.place = ParserPlace::Prose;
        let ahead = match opening.mark {
            // A tagged call may still be all the fence holds, so its first line stays held back, unless text stands there.
            MarkId::Fence(_) => {
                let ahead = self.held.split_off(opening.ahead_at);
                self.reread_text(&ahead, out);
                return;
            }
            MarkId::Tag(_) | MarkId::Start => self.held.split_off(opening.ahead_at),
            MarkId::Alone => String::new(),
        };
        if let MarkId::Tag(marker) = opening.mark
            && self.trials.current.is_none()
            && self.is_stray_marker(marker)
        {
            self.discard_mark();
        }
        self.prose.line.observe_lines(&self.held[self.section.at..]);
        if self.section.at == 0 && self.trials.current.is_none() {
            self.release_held(out);
        } else {
            let text = self.held.split_off(self.section.at);
            self.release_fence_head(out);
            self.emit_text(&text, out);
        }
        self.reread_text(&ahead, out);
    }

    /// The stream ended behind a mark. A tag that nothing has belied yet is a call that was cut off.
    pub(super) fn finish_opening(&mut self, opening: Opening, end: End, out: &mut Out<'_>) {
        if let MarkId::Tag(marker) = opening.mark
            && self.live.may_be_head(marker)
        {
            // The head of a message that never came, unless what takes anything takes it for text.
            let mut choices = self.live.choices(opening.mark).iter();
            let ahead = self.held.split_off(opening.ahead_at);
            let fresh = self.prose.line.is_fresh();
            let takes_anything = |choice: &&OpenerChoice| match choice.then {
                Lookahead::Anything => true,
                Lookahead::Line => fresh,
                _ => false,
            };
            match choices.find(takes_anything) {
                Some(choice) => {
                    self.begin_section(opening, *choice);
                    self.reread_text(&ahead, out);
                    self.finish_place(end, out);
                }
                None => self.held.truncate(self.section.at),
            }
            return;
        }
        if opening.is_tag() && !(end == End::Normal && self.is_prose_about(opening)) {
            self.held.truncate(self.held.trim_end().len());
            self.calls.drop_draft(Dropped::Cut, &self.held, out);
            if self.trials.current.is_none() {
                self.held.truncate(self.section.at);
            }
            return;
        }
        self.reject_opening(opening, out);
        // What lay ahead was looked at again, and may have led somewhere else.
        if opening.mark != MarkId::Alone {
            self.finish_place(end, out);
        }
    }

    /// Whether a word behind the mark, and a blank between the two, make it a mark that is only talked about. The beginning of
    /// a word that is awaited does not.
    fn is_prose_about(&self, opening: Opening) -> bool {
        let awaited = |choice: &OpenerChoice| matches!(choice.then, Lookahead::Words(_));
        let apart = self.held[self.section.at..opening.ahead_at].ends_with(' ');
        let wordy = !self.nonblank.is_empty() && self.nonblank.chars().all(is_name_char);
        apart && wordy && !self.live.choices(opening.mark).iter().all(awaited)
    }
}
