//! Code in prose: lines, backticks, and fences that may hold a call.

use super::line::LineState;
use super::opening::Opening;
use super::trial::CallTrial;
use super::{Parser, ParserPlace};
use crate::calls::Out;
use helve_json::is_blank;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Code {
    None,
    /// Between runs of so many backticks on one line.
    Inline(usize),
    /// Between lines of so many tildes, where no call is ever meant.
    Tildes(usize),
    Fence {
        ticks: usize,
        /// Its first line is held back, because a call may be all it holds.
        headed: bool,
    },
}

/// The beginning of a fence: backticks, a word, a line break, blanks.
#[derive(Default, Clone, Copy)]
pub(super) struct FenceHead {
    /// It begins its line. Elsewhere only a word and a line break behind it make it one.
    fresh: bool,
    ticks: usize,
    /// Which of the fences in the registry it is, once the line is over.
    fence: Option<usize>,
    part: FencePart,
    /// Where it begins in the held text.
    at: usize,
}

#[derive(Default, Clone, Copy, PartialEq)]
enum FencePart {
    #[default]
    Ticks,
    Word {
        at: usize,
    },
    Blanks,
}

/// No word that names a notation is longer.
const WORD_MAX: usize = 24;

/// So many backticks or tildes at the beginning of a line make a fence.
pub(super) const FENCE: usize = 3;

const TICKS: &str = "````````````````";

impl Parser {
    /// A backtick at the position; `line` is up to date.
    pub(super) fn begin_ticks(&mut self) {
        self.prose.reset_marker();
        let elsewhere = match self.trials.current {
            None => true,
            Some(CallTrial::Fence { closed, .. }) => closed,
            Some(_) => false,
        };
        // Backticks in a section enclose nothing: a mark of its own may stand right behind them.
        let in_prose = !self.speech.in_reasoning() && self.section.unclosed.is_none();
        let may_be_fence = self.prose.code == Code::None && elsewhere && in_prose && self.live.calls;
        if !may_be_fence {
            self.place = ParserPlace::Ticks(0);
            return;
        }
        if self.trials.current.is_none() {
            self.held.clear();
            self.calls.reported_to = 0;
        }
        let fresh = self.prose.line.is_fresh();
        self.place = ParserPlace::Fence(FenceHead { fresh, at: self.held.len(), ..FenceHead::default() });
    }

    pub(super) fn read_ticks(&mut self, text: &str, pos: usize, out: &mut Out<'_>) -> usize {
        let run = text.as_bytes()[pos..].iter().take_while(|b| **b == b'`').count();
        if let ParserPlace::Ticks(count) = &mut self.place {
            *count += run;
            let count = *count;
            if !self.live.calls {
                self.emit_ticks(run, out);
            }
            if pos + run < text.len() {
                self.place = ParserPlace::Prose;
                self.finish_ticks(count, out);
            }
        }
        pos + run
    }

    pub(super) fn finish_ticks(&mut self, count: usize, out: &mut Out<'_>) {
        let fresh = self.prose.line.is_fresh();
        self.release_fence_head(out);
        self.prose.line.observe(b"`");
        if let Some(CallTrial::Fence { ticks, closed, firm }) = &mut self.trials.current
            && !*closed
            && count >= *ticks
        {
            *closed = true;
            let firm = *firm;
            self.prose.code = Code::None;
            self.hold_ticks(count);
            if firm {
                self.accept_trial(out);
            }
            return;
        }
        if self.trials.current == Some(CallTrial::Inline(count)) {
            self.reject_trial(out);
        }
        self.prose.code = match self.prose.code {
            Code::None if fresh && count >= FENCE => Code::Fence { ticks: count, headed: false },
            Code::None => Code::Inline(count),
            Code::Inline(open) if open == count => Code::None,
            Code::Fence { ticks, .. } if fresh && count >= ticks => Code::None,
            code => code,
        };
        if self.live.calls {
            self.emit_ticks(count, out);
        }
    }

    /// Backticks are text whatever follows them where no call can stand in code: there they go out as they come.
    fn emit_ticks(&mut self, count: usize, out: &mut Out<'_>) {
        let mut left = count;
        while left > 0 {
            let run = left.min(TICKS.len());
            self.emit_text(&TICKS[..run], out);
            left -= run;
        }
    }

    fn hold_ticks(&mut self, count: usize) {
        self.held.extend(std::iter::repeat_n('`', count));
    }

    pub(super) fn read_fence_head(&mut self, text: &str, pos: usize, out: &mut Out<'_>) -> usize {
        let ParserPlace::Fence(mut head) = self.place else { return pos };
        let mut at = pos;
        while let Some(c) = text[at..].chars().next() {
            match head.part {
                FencePart::Ticks if c == '`' => head.ticks += 1,
                FencePart::Ticks if head.ticks < FENCE => {
                    self.reject_fence(head, out);
                    return at;
                }
                FencePart::Ticks => {
                    head.part = FencePart::Word { at: self.held.len() };
                    continue;
                }
                // More than a word is prose, or code for the user to read; a call would take it away.
                FencePart::Word { at: word }
                    if c == '\n' && self.held[word..].split_whitespace().nth(1).is_some() =>
                {
                    self.reject_fence(head, out);
                    return at;
                }
                FencePart::Word { at: word } if c == '\n' => {
                    head.fence = self.live.find_fence(self.held[word..].trim());
                    head.part = FencePart::Blanks;
                }
                FencePart::Word { at: word } if c == '`' || self.held.len() - word >= WORD_MAX => {
                    self.reject_fence(head, out);
                    return at;
                }
                FencePart::Blanks if !is_blank(c) => {
                    self.prose.code = Code::Fence { ticks: head.ticks, headed: true };
                    self.speech.update_fast_path(true);
                    self.section.at = self.held.len();
                    self.section.leads = head.fresh;
                    self.prose.line = LineState::default();
                    self.place = ParserPlace::Prose;
                    if let Some(fence) = head.fence {
                        self.begin_lookahead(Opening::fence(fence, self.held.len()));
                    }
                    return at;
                }
                FencePart::Word { .. } | FencePart::Blanks => {}
            }
            self.held.push(c);
            at += c.len_utf8();
        }
        self.place = ParserPlace::Fence(head);
        at
    }

    /// Not the beginning of a fence that could hold a call.
    pub(super) fn reject_fence(&mut self, head: FenceHead, out: &mut Out<'_>) {
        self.place = ParserPlace::Prose;
        self.prose.line.observe(b"`");
        self.prose.code = match head.ticks {
            ticks if ticks < FENCE || !head.fresh => Code::Inline(ticks),
            ticks => Code::Fence { ticks, headed: false },
        };
        let text = self.held.split_off(head.at);
        self.prose.line.observe_lines(&text);
        self.emit_text(&text, out);
    }

    /// The fence holds something else: its first line is text.
    pub(super) fn release_fence_head(&mut self, out: &mut Out<'_>) {
        if let Code::Fence { ticks, headed: true } = self.prose.code {
            self.prose.code = Code::Fence { ticks, headed: false };
            if self.trials.current.is_none() {
                self.release_held(out);
            }
        }
    }

    /// A line is over: code inside a line ends with it, and so does the doubt about a call beside it.
    pub(super) fn finish_line(&mut self, out: &mut Out<'_>) {
        if let Code::Inline(_) = self.prose.code {
            self.prose.code = Code::None;
            if let Some(CallTrial::Inline(_)) = self.trials.current {
                self.accept_trial(out);
            }
        }
    }
}
