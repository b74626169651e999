//! Calls on trial: meant or quoted?
//!
//! Until that is settled, everything read is held. Accepted, the calls and the text between them go out; rejected,
//! the held text goes out as it was written, and nothing has happened.

use super::{Code, Parser};
use crate::calls::{CallShown, Calls, Out, WaitingPart};
use crate::{Dropped, End};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallTrial {
    /// Unmarked: rejected by any text after it, unless it stands firm.
    Alone { firm: bool },
    /// In a fence: rejected by any text after it inside the fence, and behind it unless the fence is a mark of calls.
    Fence { ticks: usize, closed: bool, firm: bool },
    /// Behind an odd run of backticks: rejected by another on the same line.
    Inline(usize),
    /// Marked, in a message that is read strictly: rejected by any text after it, unless it begins a line.
    Marked,
    /// In open reasoning, or in another channel that is open: rejected by its end.
    Channel,
}

impl Parser {
    /// Nothing on trial was a call.
    pub(super) fn reject_trial(&mut self, out: &mut Out<'_>) {
        let Some(trial) = self.trial.take() else {
            self.release_fence_head(out);
            return;
        };
        self.in_sentence = None;
        if trial == CallTrial::Marked {
            self.unclosed = None;
        }
        self.drop_waiting(out);
        self.calls.drop_silently(out);
        if let CallTrial::Fence { ticks, closed: false, .. } = trial {
            self.code = Code::Fence { ticks, headed: false };
        }
        self.release_held(out);
    }

    /// A head ends the channel that was open, so that nothing on trial in it was a call; one that the head begins may be. The
    /// first line of a fence that waited for a call is text.
    pub(super) fn reject_before_head(&mut self, out: &mut Out<'_>) {
        match self.trial {
            Some(CallTrial::Channel) => {}
            None if self.section_at > 0 => {}
            _ => return,
        }
        let head = self.held.split_off(self.section_at);
        self.trial = None;
        self.drop_waiting(out);
        self.release_held(out);
        self.section_at = 0;
        self.calls.reported_to = 0;
        self.held = head;
    }

    pub(super) fn drop_waiting(&mut self, out: &mut Out<'_>) {
        let waiting = self.calls.take_all_waiting();
        self.emit_dropped(waiting, out);
    }

    pub(super) fn emit_dropped(&mut self, waiting: Vec<WaitingPart>, out: &mut Out<'_>) {
        for waiting in waiting {
            let (index, name) = match waiting {
                WaitingPart::Text(_) | WaitingPart::Words(_) | WaitingPart::Dropped(None, ..) => continue,
                // It was not shown.
                WaitingPart::Call(_, _, CallShown::No) => continue,
                WaitingPart::Call(index, call, CallShown::Yes) => (Some(index), Some(call.name)),
                WaitingPart::Dropped(index, name, ..) => (index, name),
            };
            self.calls.emit_dropped(index, name.as_deref(), Dropped::Quoted, "", out);
        }
    }

    /// Everything on trial was meant.
    pub(super) fn accept_trial(&mut self, out: &mut Out<'_>) {
        if self.trial.take() == Some(CallTrial::Channel) && self.speech.in_reasoning() {
            self.speech.close_reasoning();
        }
        self.in_sentence = None;
        let held = std::mem::take(&mut self.held);
        for waiting in self.calls.take_all_waiting() {
            match waiting {
                WaitingPart::Text(range) | WaitingPart::Words(range) => self.emit_text(&held[range], out),
                WaitingPart::Call(index, call, shown) => {
                    if shown == CallShown::No {
                        Calls::emit_hidden_call(index, &call, out);
                    }
                    self.calls.emit_finished(index, call, out);
                    self.speech.begin_after_call();
                }
                WaitingPart::Dropped(index, name, why, range) => {
                    self.calls.emit_dropped(index, name.as_deref(), why, &held[range], out);
                    self.speech.begin_after_call();
                }
            }
        }
        self.speech.update_fast_path(false);
    }

    /// The stream is over, and with it every trial. Where it was cut, it is unknown what would have followed.
    pub(super) fn settle_trial(&mut self, end: End, out: &mut Out<'_>) {
        if self.trial.is_none() {
            return;
        }
        if end == End::Normal {
            self.accept_trial(out);
            return;
        }
        self.trial = None;
        self.in_sentence = None;
        let held = std::mem::take(&mut self.held);
        let waiting = self.calls.take_all_waiting();
        // The first call tells what the model wrote, for all that would have counted.
        let mut untold = text_not_yet_emitted(&held, &waiting);
        for waiting in waiting {
            match waiting {
                WaitingPart::Text(range) => self.emit_text(&held[range], out),
                WaitingPart::Words(_) => {}
                WaitingPart::Call(index, call, _) => {
                    let text = std::mem::take(&mut untold);
                    self.calls.emit_dropped(Some(index), Some(&call.name), Dropped::Cut, &text, out);
                }
                WaitingPart::Dropped(index, name, why, range) => {
                    self.calls.emit_dropped(index, name.as_deref(), why, &held[range], out);
                }
            }
        }
    }

    /// Gives out the held text as text.
    pub(super) fn release_held(&mut self, out: &mut Out<'_>) {
        let mut held = std::mem::take(&mut self.held);
        self.speech.update_fast_path(false);
        self.emit_text(&held, out);
        held.clear();
        self.held = held;
    }
}

/// What of the held text is neither said nor told by a call that was none anyway.
fn text_not_yet_emitted(held: &str, waiting: &[WaitingPart]) -> String {
    let mut untold = String::new();
    let mut from = 0;
    for waiting in waiting {
        if let WaitingPart::Text(range) | WaitingPart::Dropped(.., range) = waiting {
            untold.push_str(held.get(from..range.start).unwrap_or(""));
            from = range.end;
        }
    }
    untold + &held[from..]
}
