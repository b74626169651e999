//! Calls on trial: meant or quoted?
//!
//! Until that is settled, everything read is held. Accepted, the calls and the text between them go out; rejected,
//! the held text goes out as it was written, and nothing has happened.

use super::{Code, Parser};
use crate::calls::{Out, Waiting};
use crate::{Dropped, End};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trial {
    /// Unmarked: rejected by any text after it, unless it stands firm.
    Alone { firm: bool },
    /// In a fence: rejected by any text after it, inside the fence or behind, unless the fence is a mark of calls.
    Fence { ticks: usize, closed: bool, firm: bool },
    /// Behind an odd run of backticks: rejected by another on the same line.
    Inline(usize),
    /// In open reasoning, or in another channel that is open: rejected by its end.
    Channel,
}

impl Parser {
    /// Nothing on trial was a call.
    pub(super) fn reject(&mut self, out: &mut Out<'_>) {
        let Some(trial) = self.trial.take() else {
            self.let_head_go(out);
            return;
        };
        self.drop_waiting(out);
        if let Trial::Fence { ticks, closed: false, .. } = trial {
            self.code = Code::Fence { ticks, headed: false };
        }
        self.release_held(out);
    }

    /// A head ends the channel that was open, so that nothing on trial in it was a call. The first line of a fence that
    /// waited for one is text.
    pub(super) fn reject_before_head(&mut self, out: &mut Out<'_>) {
        match self.trial {
            Some(Trial::Channel) => {}
            None if self.section_at > 0 => {}
            _ => return,
        }
        let head = self.held.split_off(self.section_at);
        match self.trial {
            Some(_) => self.reject(out),
            None => self.release_held(out),
        }
        self.section_at = 0;
        self.calls.told = 0;
        self.held = head;
    }

    pub(super) fn drop_waiting(&mut self, out: &mut Out<'_>) {
        for waiting in self.calls.settled() {
            let (index, name) = match waiting {
                Waiting::Text(_) | Waiting::Broken(None, ..) => continue,
                Waiting::Call(index, call) => (Some(index), Some(call.name)),
                Waiting::Broken(index, name, _) => (index, name),
            };
            self.calls.dropped(index, name.as_deref(), Dropped::Quoted, "", out);
        }
        self.calls.give_up(Dropped::Quoted, "", false, out);
    }

    /// Everything on trial was meant.
    pub(super) fn accept(&mut self, out: &mut Out<'_>) {
        if self.trial.take() == Some(Trial::Channel) && self.speech.in_reasoning() {
            self.speech.close_reasoning();
        }
        let held = std::mem::take(&mut self.held);
        for waiting in self.calls.settled() {
            match waiting {
                Waiting::Text(range) => self.say(&held[range], out),
                Waiting::Call(index, call) => {
                    self.calls.finished(index, call, out);
                    self.speech.after_call();
                }
                Waiting::Broken(index, name, text) => {
                    self.calls.dropped(index, name.as_deref(), Dropped::Broken, &text, out);
                    self.speech.after_call();
                }
            }
        }
        self.speech.replan(false);
    }

    /// The stream is over, and with it every trial. Where it was cut, nobody knows what would have followed.
    pub(super) fn settle(&mut self, end: End, out: &mut Out<'_>) {
        if self.trial.is_none() {
            return;
        }
        if end == End::Normal {
            self.accept(out);
            return;
        }
        self.trial = None;
        let held = std::mem::take(&mut self.held);
        // The first tells what the model wrote, for all of them.
        let mut untold = held.as_str();
        for waiting in self.calls.settled() {
            match waiting {
                Waiting::Text(range) => self.say(&held[range], out),
                Waiting::Call(index, call) => {
                    let text = std::mem::take(&mut untold);
                    self.calls.dropped(Some(index), Some(&call.name), Dropped::Cut, text, out);
                }
                Waiting::Broken(index, name, text) => {
                    self.calls.dropped(index, name.as_deref(), Dropped::Broken, &text, out);
                }
            }
        }
    }

    /// Gives out the held text as text.
    pub(super) fn release_held(&mut self, out: &mut Out<'_>) {
        let mut held = std::mem::take(&mut self.held);
        self.speech.replan(false);
        self.say(&held, out);
        held.clear();
        self.held = held;
    }
}
