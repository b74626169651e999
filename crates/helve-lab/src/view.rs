//! A run as a reader sees it: the fold of frames, as docs/reference/http.md tells readers to fold them.
//!
//! The same fold is made of what a client received over any number of connections and of the log on disk; the two
//! must agree (I11). Whatever a reader should never see is kept as a fault: a number that comes twice or leaves a
//! gap, a piece of a part that was not begun on this connection, live text that the finished text contradicts.

use helve_types::{Answer, CallId, CallState, EventBody, Fact, Live, PartId, PartKind, RunState};

#[derive(Debug, Clone, PartialEq)]
pub struct View {
    /// The number of the last event.
    pub last: u64,
    pub phase: RunState,
    pub items: Vec<Item>,
    /// What is being written.
    pub open: Vec<OpenPart>,
    pub over: bool,
    pub faults: Vec<String>,
    connection: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    Text { part: PartId, text: String },
    Reasoning { part: PartId, text: String },
    Call(Box<ViewedCall>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct ViewedCall {
    pub call: CallId,
    pub tool: String,
    pub input: String,
    pub state: CallState,
    pub told: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct OpenPart {
    pub part: PartId,
    pub kind: PartKind,
    pub text: String,
    /// The connection on which it was last begun.
    connection: u32,
}

impl Default for View {
    fn default() -> Self {
        Self {
            last: 0,
            phase: RunState::Running,
            items: vec![],
            open: vec![],
            over: false,
            faults: vec![],
            connection: 0,
        }
    }
}

impl View {
    /// What a reader of the whole log sees.
    pub fn from_log<'a>(log: impl IntoIterator<Item = (u64, &'a EventBody)>) -> Self {
        let mut view = Self::default();
        for (seq, body) in log {
            view.event(seq, body);
        }
        view
    }

    /// Whether both have seen the same, as far as it is finished.
    pub fn agrees(&self, other: &Self) -> bool {
        (self.last, self.phase, self.over, &self.items) == (other.last, other.phase, other.over, &other.items)
    }

    /// A new connection: parts in progress are begun again on it, or are over.
    pub fn connected(&mut self) {
        self.connection += 1;
    }

    pub fn apply_live(&mut self, live: &Live) {
        if self.over {
            self.faults.push(format!("{live:?} came after the last event"));
            return;
        }
        match live {
            Live::PartStarted { part, kind, text, .. } => {
                let connection = self.connection;
                match self.open.iter_mut().find(|open| open.part == *part) {
                    Some(open) => (open.text, open.connection) = (text.clone(), connection),
                    None => {
                        self.open.push(OpenPart {
                            part: part.clone(),
                            kind: *kind,
                            text: text.clone(),
                            connection,
                        });
                    }
                }
            }
            Live::PartDelta { part, text } => {
                let connection = self.connection;
                match self.open.iter_mut().find(|open| open.part == *part) {
                    Some(open) if open.connection == connection => open.text.push_str(text),
                    _ => self.faults.push(format!("a piece of part {part}, which was not begun here")),
                }
            }
            Live::StepStarted { .. } | Live::ServerDraining => {}
        }
    }

    pub fn event(&mut self, seq: u64, body: &EventBody) {
        if seq != self.last + 1 {
            self.faults.push(format!("event {seq} came after event {}", self.last));
        }
        if self.over && !matches!(body.fact, Fact::ToolLate { .. }) {
            self.faults.push(format!("event {seq} came after the run was over"));
        }
        self.last = seq;
        self.learn(&body.fact);
    }

    fn phase_after(&self, fact: &Fact) -> RunState {
        match fact {
            Fact::RunWaiting { state } => *state,
            Fact::RunFinished { .. } => RunState::Completed,
            Fact::RunFailed { .. } => RunState::Failed,
            Fact::RunCancelled(_) => RunState::Cancelled,
            Fact::ToolClaimed { .. } | Fact::ToolLate { .. } => self.phase,
            _ => RunState::Running,
        }
    }

    fn learn(&mut self, fact: &Fact) {
        self.phase = self.phase_after(fact);
        match fact {
            Fact::TextFinished { part, text, .. } => {
                self.finish(part, text);
                self.items.push(Item::Text { part: part.clone(), text: text.clone() });
            }
            Fact::ReasoningFinished { part, text, .. } => {
                self.finish(part, text);
                self.items.push(Item::Reasoning { part: part.clone(), text: text.clone() });
            }
            Fact::ToolRequested { call, tool, arguments, part, replaces, .. } => {
                if let Some(part) = part {
                    self.finish(part, arguments);
                }
                let new = ViewedCall {
                    call: call.clone(),
                    tool: tool.clone(),
                    input: arguments.clone(),
                    state: CallState::Requested,
                    told: String::new(),
                };
                match replaces.as_ref().and_then(|old| self.call_mut(old)) {
                    Some(old) => *old = new,
                    None => self.items.push(Item::Call(Box::new(new))),
                }
            }
            Fact::ToolStarted { call, tool, arguments, .. } => {
                if let Some(held) = self.change(call, CallState::Running, "") {
                    held.tool.clone_from(tool);
                    if let Some(arguments) = arguments {
                        held.input.clone_from(arguments);
                    }
                }
            }
            Fact::ToolDelegated { call, .. } => _ = self.change(call, CallState::Delegated, ""),
            Fact::SubagentStarted(started) => _ = self.change(&started.call, CallState::Running, ""),
            Fact::ToolClaimed { call, .. } => _ = self.change(call, CallState::Claimed, ""),
            Fact::ToolFinished { call, output, .. } => self.end(call, CallState::Finished, &output.text),
            Fact::ToolFailed { call, failure, .. } => self.end(call, CallState::Failed, &failure.message),
            Fact::ToolRefused { call, failure, .. } => {
                self.end(call, CallState::from_refusal(failure.kind), &failure.message)
            }
            Fact::ToolUnknown { call, because, .. } => self.end(call, CallState::Unknown, because),
            Fact::ApprovalAsked(question) if question.kind().holds_call() => {
                _ = question.call_id().map(|call| self.change(call, CallState::Asked, ""));
            }
            Fact::ApprovalAnswered { call: Some(call), answer: Answer::Approve { .. }, .. } => {
                self.change(call, CallState::Approved, "");
            }
            // Whatever of the step was not finished is not part of it.
            Fact::StepFinished { step, .. } | Fact::StepRestarted { step, .. } => {
                let of_step = format!("{step}.");
                self.open.retain(|open| !open.part.as_str().starts_with(&of_step));
            }
            // What the dead server was showing is void.
            Fact::RunResumed { .. } => self.open.clear(),
            Fact::RunFinished { .. } | Fact::RunFailed { .. } | Fact::RunCancelled(_) => self.end_run(),
            Fact::RunStarted(_)
            | Fact::TextCutOff { .. }
            | Fact::ToolLate { .. }
            | Fact::MessageQueued { .. }
            | Fact::BudgetSpent { .. }
            | Fact::MessageTaken { .. }
            | Fact::HistoryCompacted(_)
            | Fact::StepSnapshot(_)
            | Fact::ToolDiscarded { .. }
            | Fact::ApprovalAsked(_)
            | Fact::ApprovalAnswered { .. }
            | Fact::SubagentAsked(_)
            | Fact::SubagentAnswered(_)
            | Fact::SubagentEnded(_)
            | Fact::ApprovalVoted { .. }
            | Fact::ApprovalReminded { .. }
            | Fact::ApprovalEscalated { .. }
            | Fact::RunWaiting { .. } => {}
        }
    }

    fn end_run(&mut self) {
        self.open.clear();
        self.over = true;
    }

    /// A part is finished: what was shown of it must have been its beginning.
    fn finish(&mut self, part: &PartId, text: &str) {
        let Some(at) = self.open.iter().position(|open| open.part == *part) else { return };
        let open = self.open.remove(at);
        if !text.starts_with(&open.text) {
            self.faults.push(format!("part {part} was shown as `{}` and is `{text}`", open.text));
        }
    }

    fn call_mut(&mut self, call: &CallId) -> Option<&mut ViewedCall> {
        self.items.iter_mut().find_map(|item| match item {
            Item::Call(held) if held.call == *call => Some(&mut **held),
            _ => None,
        })
    }

    fn change(&mut self, call: &CallId, state: CallState, told: &str) -> Option<&mut ViewedCall> {
        let held = self.call_mut(call)?;
        held.state = state;
        told.clone_into(&mut held.told);
        Some(held)
    }

    fn end(&mut self, call: &CallId, state: CallState, told: &str) {
        self.close_progress(call);
        self.change(call, state, told);
    }

    fn close_progress(&mut self, call: &CallId) {
        let part = PartId::from(call);
        self.open.retain(|open| open.part != part);
    }
}

#[cfg(test)]
mod tests {
    use helve_types::{Ending, Timestamp};

    use super::*;

    fn body(fact: Fact) -> EventBody {
        EventBody { at: Timestamp(0), fact }
    }

    fn part() -> PartId {
        PartId::new(1, 1, 0)
    }

    fn started(text: &str) -> Live {
        Live::PartStarted { part: part(), kind: PartKind::Text, tool: None, text: text.into() }
    }

    fn delta(text: &str) -> Live {
        Live::PartDelta { part: part(), text: text.into() }
    }

    fn finished(text: &str) -> EventBody {
        body(Fact::TextFinished { step: 1, part: part(), text: text.into() })
    }

    #[test]
    fn live_text_ends_as_the_finished_text() {
        let mut view = View::default();
        view.connected();
        for live in [started("Hel"), delta("lo ")] {
            view.apply_live(&live);
        }
        view.event(1, &finished("Hello you"));
        assert_eq!((view.open.len(), view.faults.len()), (0, 0));
        assert!(view.agrees(&View::from_log([(1, &finished("Hello you"))])));
    }

    #[test]
    fn text_of_two_attempts_run_together_is_a_fault() {
        let mut view = View::default();
        view.connected();
        view.apply_live(&started("Hel"));
        view.event(1, &finished("Good day"));
        assert_eq!(view.faults, ["part 1.1.0 was shown as `Hel` and is `Good day`"]);
    }

    #[test]
    fn a_gap_or_a_number_twice_is_a_fault() {
        let mut view = View::default();
        view.event(1, &body(Fact::RunResumed { resume: 1 }));
        view.event(3, &body(Fact::RunResumed { resume: 2 }));
        view.event(3, &body(Fact::RunResumed { resume: 2 }));
        assert_eq!(view.faults, ["event 3 came after event 1", "event 3 came after event 3"]);
    }

    #[test]
    fn a_part_must_be_begun_again_on_each_connection() {
        let mut view = View::default();
        view.connected();
        view.apply_live(&started("Hel"));
        view.connected();
        view.apply_live(&delta("lo"));
        assert_eq!(view.faults, ["a piece of part 1.1.0, which was not begun here"]);
    }

    #[test]
    fn nothing_comes_after_the_end() {
        let mut view = View::default();
        view.event(1, &body(Fact::RunFinished { ending: Ending::Answered }));
        view.apply_live(&started("more"));
        view.event(2, &body(Fact::RunResumed { resume: 1 }));
        assert_eq!(view.faults.len(), 2);
    }
}
