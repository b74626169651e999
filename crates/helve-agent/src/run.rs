//! The run: a pure machine that decides what happens next.
//!
//! Its state is the fold of the run's log and nothing else, so a run that is read back after a crash decides
//! exactly as it would have without one. It is told facts (`apply`) and says what to do (`next_step`); it never
//! asks a model, runs a tool or looks at a clock. `drive` does.

mod budget_state;
mod call;
mod choice;
mod claims;
mod direct;
mod loops;
mod model_message;
mod pre_search;
mod speech;
mod step;
mod subagents;
mod taint;
#[cfg(test)]
mod tests;
mod votes;

use helve_tool::Outcome;
use helve_types::{
    CallId, ConversationLanguage, Ending, Fact, Failure, FailureKind, Language, Message, MessageId, RunId,
    RunInput, RunSetup, RunState, StepEdge, StepSnapshot, StopReason, Taint, Timestamp, ToolCall, ToolChoice,
    Usage, language_of,
};
use serde::{Deserialize, Serialize};

use self::budget_state::BudgetState;
pub(crate) use self::call::{Call, CallData};
use self::choice::{current_tool_choice, still_owes_required_call};
use self::claims::Claims;
pub(crate) use self::claims::{Claim, Delivery};
pub(crate) use self::loops::LoopDetector;
use self::loops::LoopVerdict;
pub use self::model_message::{Flaw, ModelMessage, ModelMessageCall, ModelMessagePart};
pub(crate) use self::pre_search::PRE_SEARCH_STEP;
use self::pre_search::pre_search_to_make;
pub(crate) use self::speech::Enqueue;
pub use self::speech::SAID_BYTES_MAX;
pub use self::step::{CallAction, Step, Tools};
pub(crate) use self::subagents::{SubagentRun, Subagents};
use self::taint::TaintState;
pub(crate) use self::votes::VoteState;
use self::votes::Votes;

/// More calls than this in one message are not made.
pub(crate) const CALLS_PER_STEP_MAX: u32 = 16;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    id: RunId,
    setup: RunSetup,
    /// What the person said.
    text: String,
    /// The assistant's message as far as it is known.
    message: Message,
    /// The last step that is complete.
    step: u32,
    /// How often the step after it was begun anew.
    restarts: u32,
    /// Why the last complete step ended.
    stopped: Option<StopReason>,
    /// The calls of the last complete step.
    calls: Vec<Call>,
    usage: Usage,
    loops: LoopDetector,
    /// A person ended a loop: nothing more is called.
    stopped_for_loop: bool,
    /// A person refused a call, and this run's agent ends there.
    #[serde(default)]
    stopped_by_refusal: bool,
    /// More calls of one message than this are refused.
    calls_per_step_max: u32,
    budget: BudgetState,
    #[serde(default)]
    subagents: Subagents,
    claims: Claims,
    #[serde(default)]
    votes: Votes,
    /// It is on record that it waits so, and nothing that would change it has happened since.
    waiting: Option<RunState>,
    /// It was resumed after its driver was gone.
    #[serde(default)]
    resumed: bool,
    /// It ended the server too often: nothing is begun before a person resumes it.
    left_alone: bool,
    /// What the model had read of tools when it wrote the last complete step.
    taint: TaintState,
    language: Language,
    /// The search before the first question to the model is on record.
    pre_searched: bool,
    /// The last step before which a snapshot is on record.
    #[serde(default)]
    opened_step: u32,
    /// The last step after which a snapshot is on record.
    #[serde(default)]
    closed_step: u32,
    over: bool,
}

impl Run {
    /// A run before its first event.
    pub fn new(id: RunId, setup: RunSetup, reply: MessageId, at: Timestamp) -> Self {
        let message = Message::reply(reply, at, id, setup.model.clone());
        let taint = TaintState::from_setup(&setup);
        Self {
            id,
            setup,
            text: String::new(),
            message,
            step: 0,
            restarts: 0,
            stopped: None,
            calls: vec![],
            usage: Usage::default(),
            loops: LoopDetector::default(),
            stopped_for_loop: false,
            stopped_by_refusal: false,
            calls_per_step_max: CALLS_PER_STEP_MAX,
            budget: BudgetState::new(at),
            subagents: Subagents::default(),
            claims: Claims::default(),
            votes: Votes::default(),
            waiting: None,
            resumed: false,
            left_alone: false,
            taint,
            language: Language::default(),
            pre_searched: false,
            opened_step: 0,
            closed_step: 0,
            over: false,
        }
    }

    /// The run that a log tells of.
    pub fn replay<'a>(
        id: RunId,
        setup: RunSetup,
        log: impl IntoIterator<Item = (Timestamp, &'a Fact)>,
    ) -> Option<Self> {
        let mut log = log.into_iter();
        let (at, first) = log.next()?;
        let Fact::RunStarted(started) = first else { return None };
        let mut run = Self::new(id, setup, started.reply, at);
        run.apply(at, first);
        for (at, fact) in log {
            run.apply(at, fact);
        }
        Some(run)
    }

    /// The same run after what was said before it.
    #[must_use]
    pub fn apply_history(mut self, history: &[Message]) -> Self {
        self.taint.add_history(history);
        let mut language = ConversationLanguage::default();
        match &self.setup.input {
            RunInput::Client { messages } => language.add_client_messages(messages),
            RunInput::Conversation => {
                language.add_messages(history);
                language.add(&self.text);
            }
            RunInput::Call => {
                let arguments = self.text.split_once(' ').map_or("", |(_, arguments)| arguments);
                self.language = language_of(arguments);
                return self;
            }
        }
        self.language = self.setup.language.unwrap_or_else(|| language.prevailing());
        self
    }

    /// The language of the people in the conversation.
    pub fn language(&self) -> Language {
        self.language
    }

    /// The same run with another bound on the calls of one message.
    #[must_use]
    pub fn set_calls_max(mut self, calls_per_step_max: u32) -> Self {
        self.calls_per_step_max = calls_per_step_max;
        self
    }

    /// What was in the run when the model asked for the calls of the last complete step.
    pub fn taint_at_request(&self) -> Taint {
        self.taint.taint_at_request()
    }

    /// What is in the run by now: the model that writes the next message reads all of it.
    pub(crate) fn current_taint(&self) -> Taint {
        self.taint.current_taint(&self.message)
    }

    /// Whether a call of the message that is being written may be made before the message is complete.
    pub(crate) fn may_read_early(&self, step: u32, call: &ToolCall) -> bool {
        let is_one_too_many = call.id.index >= self.calls_per_step_max;
        !is_one_too_many && matches!(self.loops.verdict(step, call), LoopVerdict::Continue)
    }

    /// What the model is to do about tools now.
    pub fn current_tool_choice(&self) -> &ToolChoice {
        current_tool_choice(self)
    }

    pub fn id(&self) -> RunId {
        self.id
    }

    pub fn setup(&self) -> &RunSetup {
        &self.setup
    }

    /// What the person wrote that began the run.
    pub fn input_text(&self) -> &str {
        &self.text
    }

    pub fn message(&self) -> &Message {
        &self.message
    }

    /// Whether a snapshot before this step is on record.
    pub(crate) fn has_snapshot_before(&self, step: u32) -> bool {
        self.opened_step >= step
    }

    /// The last complete step, if no snapshot after it is on record.
    pub(crate) fn unclosed_step(&self) -> Option<u32> {
        (self.step > self.closed_step).then_some(self.step)
    }

    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Takes in the next fact of the log.
    pub fn apply(&mut self, at: Timestamp, fact: &Fact) {
        self.message.apply(at, fact);
        self.budget.apply(at, fact);
        self.subagents.apply(fact);
        self.claims.apply(fact);
        self.votes.apply(at, fact);
        self.waiting = match fact {
            Fact::RunWaiting { state } => Some(*state),
            fact if leaves_run_waiting(fact) => self.waiting,
            _ => None,
        };
        self.left_alone = match fact {
            // Where no question is open that would be waited for, it is the run itself that needs attention.
            Fact::RunWaiting { state: RunState::NeedsAttention } => !self.has_open_outcome_question(),
            Fact::RunResumed { .. } | Fact::MessageQueued { .. } | Fact::ApprovalAnswered { .. } => false,
            _ => self.left_alone,
        };
        self.resumed |= matches!(fact, Fact::RunResumed { .. });
        match fact {
            Fact::RunStarted(started) => self.text.clone_from(&started.text),
            Fact::StepRestarted { attempt, .. } => self.restarts = attempt.saturating_sub(1),
            Fact::ToolRequested { step, call, provider_id, tool, arguments, repairs, replaces, .. } => {
                if *step > self.step {
                    // The first call of a new message: those of the last one are done with.
                    self.calls.retain(|held| held.step == *step);
                }
                let call = ToolCall {
                    id: call.clone(),
                    provider_id: provider_id.clone(),
                    name: tool.clone(),
                    arguments: arguments.clone(),
                    repairs: repairs.clone(),
                };
                self.pre_searched |= *step == PRE_SEARCH_STEP;
                let planned = Call { step: *step, call, data: CallData::Requested };
                match replaces
                    .as_ref()
                    .and_then(|old| self.calls.iter_mut().find(|held| held.call.id == *old))
                {
                    Some(old) => old.replace_with(planned),
                    None => self.calls.push(planned),
                }
            }
            Fact::StepFinished { step, reason, usage, .. } => {
                self.calls.retain(|held| held.step == *step);
                self.step = *step;
                self.restarts = 0;
                self.stopped = Some(*reason);
                self.usage = self.usage.plus(*usage);
                self.taint.set_message(&self.message);
            }
            Fact::StepSnapshot(StepSnapshot { step, edge: StepEdge::Before, .. }) => self.opened_step = *step,
            Fact::StepSnapshot(StepSnapshot { step, edge: StepEdge::After, .. }) => self.closed_step = *step,
            Fact::TextFinished { text, .. } => self.loops.record_text(text),
            Fact::MessageTaken { .. } => {
                self.loops.reset();
                self.stopped_for_loop = false;
                self.stopped_by_refusal = false;
            }
            fact if fact.is_last() => self.over = true,
            fact => {
                if let Some(id) = fact.call()
                    && let Some(held) = self.calls.iter_mut().find(|held| held.call.id == *id)
                {
                    self.stopped_by_refusal |=
                        self.setup.end_when_refused && held.is_rejection_by_person(fact);
                    self.stopped_for_loop |= held.is_no_to_repetition(fact);
                    held.report_to_loop_detector(fact, &mut self.loops);
                    held.apply(at, fact);
                    if let (Fact::ToolClaimed { .. }, CallData::Claimed { assignment, client, by, .. }) =
                        (fact, &held.data)
                    {
                        self.claims.record_claim(id, client, by, &assignment.arguments);
                    }
                }
            }
        }
    }

    /// What to do now. The driver leaves out actions for calls that are already in flight.
    pub fn next_step(&self) -> Step {
        if self.over {
            return Step::Over;
        }
        if self.left_alone {
            return Step::Wait(RunState::NeedsAttention);
        }
        if self.setup.input == RunInput::Call {
            return self.next_step_of_direct_call();
        }
        let actions = self.calls.iter().filter_map(|held| self.next_action(held)).collect();
        let actions = self.apply_budget(actions);
        if !actions.is_empty() {
            return Step::CallTools(actions);
        }
        if let Some(failed) = self.calls.iter().find(|held| held.must_fail_run()) {
            let message = format!("the outcome of the call of `{}` is unknown", failed.call.name);
            return Step::Fail { code: "outcome_unknown", message };
        }
        let asked = self.budget.open_question().map(|_| RunState::WaitingApproval);
        let waits = self.calls.iter().filter_map(|held| self.state_while_waiting_for(held));
        if let Some(state) = waits.chain(asked).max_by_key(wait_priority) {
            return Step::Wait(state);
        }
        if self.is_stateless()
            && self.calls.iter().any(|held| matches!(held.data, CallData::Delegated { .. }))
        {
            return Step::Finish(Ending::ClientTools);
        }
        if self.has_spent_budget() {
            return Step::Finish(Ending::BudgetSpent);
        }
        if self.stopped_by_refusal && !self.has_unanswered_message() {
            return Step::Finish(Ending::Refused);
        }
        if let Some(search) = pre_search_to_make(self) {
            return Step::PreSearch(search);
        }
        let asked_enough = self.step > self.setup.max_steps;
        if self.stopped == Some(StopReason::Cancelled)
            || (self.step > 0 && self.calls.is_empty() && !self.has_unanswered_message())
            || asked_enough
        {
            return Step::Finish(
                match (asked_enough, self.stopped_for_loop, still_owes_required_call(self)) {
                    (true, ..) => Ending::StepLimit,
                    (false, true, _) => Ending::Repeating,
                    (false, false, true) => Ending::WithoutCall,
                    (false, false, false) => Ending::Answered,
                },
            );
        }
        let wanted = self.setup.tool_choice != ToolChoice::None
            && self.step < self.setup.max_steps
            && !self.stopped_for_loop;
        let tools = if wanted { Tools::Offered } else { Tools::Withheld };
        Step::AskModel { step: self.step + 1, attempt: self.restarts + 1, tools }
    }

    /// Whose turn it is about a call, if it is not ours.
    fn state_while_waiting_for(&self, held: &Call) -> Option<RunState> {
        match held.data {
            CallData::Subagent(_) if self.subagents.asks_for(&held.call.id) => {
                Some(RunState::WaitingApproval)
            }
            CallData::Subagent(_) => Some(RunState::WaitingSubagent),
            _ => held.state_while_waiting(self.is_stateless()),
        }
    }

    /// The runs that work on calls of this one.
    pub(crate) fn subagents(&self) -> &Subagents {
        &self.subagents
    }

    fn has_open_outcome_question(&self) -> bool {
        self.calls.iter().any(|held| matches!(held.data, CallData::AskedOutcome(_)))
    }

    fn is_stateless(&self) -> bool {
        matches!(self.setup.input, RunInput::Client { .. })
    }

    fn next_action(&self, held: &Call) -> Option<CallAction> {
        if held.data == CallData::Requested && held.call.id.index >= self.calls_per_step_max {
            return Some(held.refuse_as_too_many(self.calls_per_step_max));
        }
        match self.loop_verdict(held) {
            LoopVerdict::Continue => held.next_action(),
            LoopVerdict::Block(told) => {
                let failure = Failure::new(FailureKind::Repeating, told.text).with_notice(told.notice);
                let outcome = Outcome::Refused(failure);
                Some(CallAction::Settle { call: held.call.id.clone(), outcome })
            }
            LoopVerdict::Ask(because) => Some(CallAction::AskRepeated { call: held.call.clone(), because }),
        }
    }

    /// Whether the loop detector lets a call be made. A call that was begun goes on.
    fn loop_verdict(&self, held: &Call) -> LoopVerdict {
        if held.data != CallData::Requested {
            return LoopVerdict::Continue;
        }
        self.loops.verdict(held.step, &held.call)
    }

    /// What is put on record when a person stops the run: every call gets an outcome, then the end.
    pub fn cancellation_facts(&self, by: &str) -> Vec<Fact> {
        self.end_open_calls(Fact::RunCancelled(helve_types::Cancelled { by: by.into() }))
    }

    /// The same when it cannot go on.
    pub fn failure_facts(&self, code: &str, message: String) -> Vec<Fact> {
        self.end_open_calls(Fact::RunFailed { code: code.into(), message, notice: None })
    }

    fn end_open_calls(&self, end: Fact) -> Vec<Fact> {
        self.calls.iter().filter_map(Call::outcome_at_stop).chain([end]).collect()
    }

    /// The call with this id, if it is one of the last message's.
    pub(crate) fn find_call(&self, id: &CallId) -> Option<&Call> {
        self.calls.iter().find(|held| held.call.id == *id)
    }

    /// The client that has or had the call.
    pub(crate) fn find_claim(&self, id: &CallId) -> Option<&Claim> {
        self.claims.find_claim(id)
    }

    /// Whether the call waits for a client to take it.
    pub(crate) fn is_unclaimed(&self, id: &CallId) -> bool {
        self.find_call(id).is_some_and(|held| matches!(held.data, CallData::Delegated { .. }))
    }

    /// Whether it is already on record that the run waits so.
    pub(crate) fn has_recorded_wait(&self, state: RunState) -> bool {
        self.waiting == Some(state)
    }

    /// The question with this id, if it is open.
    pub(crate) fn find_open_question(
        &self,
        approval: helve_types::ApprovalId,
    ) -> Option<&helve_types::Question> {
        let questions = self.calls.iter().filter_map(Call::open_question).chain(self.budget.open_question());
        questions.into_iter().find(|question| question.approval == approval)
    }

    /// What approvers have said about the question so far.
    pub(crate) fn votes_on(&self, approval: helve_types::ApprovalId) -> VoteState {
        self.votes.find(approval).cloned().unwrap_or_default()
    }
}

/// Whether a run that waits goes on waiting for the same after this.
fn leaves_run_waiting(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::ToolClaimed { .. }
            | Fact::ToolLate { .. }
            | Fact::ApprovalVoted { .. }
            | Fact::ApprovalReminded { .. }
            | Fact::ApprovalEscalated { .. }
    )
}

/// Which of several reasons to wait is told: the one that most needs a person.
fn wait_priority(state: &RunState) -> u8 {
    match state {
        RunState::NeedsAttention => 3,
        RunState::WaitingApproval => 2,
        RunState::WaitingClient => 1,
        _ => 0,
    }
}
