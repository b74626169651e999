//! The inside of a call: what its body is given, and what becomes of what the body says.
//!
//! Most pieces of a call are so short that they tell nothing by themselves. The body says which bytes are such; text of
//! them is deferred, a little, and read together with what follows. That a body reads the same however the text is cut is
//! what makes this safe.

use super::code::Line;
use super::{Parser, Place, Trial};
use crate::body::{Body, Ending, Passing, Standing, Step, Turn};
use crate::calls::{Out, Report};
use crate::registry::Role;
use crate::scan::all_in;
use crate::{Dropped, End};

/// No more is deferred than this.
const LATER: usize = 64;

impl Parser {
    /// Takes text of which the body makes nothing, or nothing yet; says whether it is such.
    #[inline]
    pub(super) fn section_flows(&mut self, text: &str, out: &mut Out<'_>) -> bool {
        match self.passing {
            Passing::Arguments(plain) if all_in(plain, text) => {
                self.held.push_str(text);
                self.calls.flow(text, out);
                true
            }
            Passing::Later(quiet) if self.deferred.len() + text.len() <= LATER && all_in(quiet, text) => {
                self.deferred.push_str(text);
                true
            }
            _ => false,
        }
    }

    /// Whether what is deferred tells nothing without what follows.
    pub(super) fn may_wait(&self) -> bool {
        matches!(self.passing, Passing::Later(quiet) if all_in(quiet, &self.deferred))
    }

    /// Reads on inside a call, together with what was deferred. Says where the text goes on that is not the call's.
    pub(super) fn section(&mut self, text: &str, pos: usize, out: &mut Out<'_>) -> usize {
        if self.deferred.is_empty() {
            return self.read_section(text, pos, out);
        }
        // A long text is not worth copying.
        let rest = &text[pos..];
        let taken = if rest.len() <= LATER { rest.len() } else { 0 };
        let mut deferred = std::mem::take(&mut self.deferred);
        deferred.push_str(&rest[..taken]);
        let end = self.read_section(&deferred, 0, out);
        let left = deferred.len() - end;
        let mut pos = pos + taken;
        if left <= taken {
            pos -= left;
        } else {
            self.look_again(&deferred[end..], out);
        }
        if self.deferred.is_empty() {
            deferred.clear();
            self.deferred = deferred;
        }
        pos
    }

    fn read_section(&mut self, text: &str, pos: usize, out: &mut Out<'_>) -> usize {
        let Some(body) = &mut self.body else {
            self.place = Place::Prose;
            return pos;
        };
        let mut report = Report { calls: &mut self.calls, held: &mut self.held, tools: &self.tools, out };
        let step = body.feed(text, pos, &mut report);
        let (Step::Done(rest) | Step::NotACall(rest) | Step::Turn(rest, _)) = step else {
            self.passing = body.passing();
            return text.len();
        };
        self.passing = Passing::Nothing;
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

    pub(super) fn section_over(&mut self) {
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

    pub(super) fn section_cut(&mut self, end: End, out: &mut Out<'_>) {
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
}

#[cfg(test)]
mod tests {
    use crate::{End, Parser, Piece, Reading, Tools, dialect};

    /// What has been told of the call when so much of the text was fed, character by character.
    fn told(name: &str, text: &str) -> String {
        let schema = serde_json::json!({"properties": {"q": {"type": "string"}}});
        let tools = Tools::new([("search".to_owned(), schema)]);
        let mut parser = Parser::new(Reading::of(dialect(name).expect("is a dialect"), tools));
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
            assert!(told(name, before).starts_with("search"), "{name}");
            for said in ["a", "a ", "a few", "a few words and more"] {
                let told = told(name, &format!("{before}{between}{said}"));
                assert!(told.ends_with(said), "{name}: {told}");
            }
        }
        assert!(told("gemma4", "<|tool_call>call:search{q:\"some words\"").ends_with("\"some words\""));
    }
}
