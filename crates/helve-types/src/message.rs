//! Messages and their parts: what a conversation looks like once it is written.
//!
//! The assistant's message is a view of its run's facts; `Message::learn` is the one place that says how.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Answer, CallId, CallState, Cancelled, Compaction, Ending, Fact, Failure, FailureKind, Fingerprint,
    MessageId, Notice, OutcomeAnswer, PartState, RunId, Timestamp, ToolOutput, Usage, canonical_json,
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    pub id: MessageId,
    pub role: Role,
    pub at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The model that wrote it, by its configured name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub parts: Vec<Part>,
    /// The model's finished messages that it is made of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepRecord>,
}

/// What is known about one message of the model besides its words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepRecord {
    pub step: u32,
    /// The model that answered, by its configured name.
    pub model: String,
    pub usage: Usage,
    /// In billionths of the unit of the operator's prices; none where no price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_nanos: Option<u64>,
    /// Which model that was and where, as a mark to compare: a name may come to mean another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Fingerprint>,
    /// What the model's vendor wants back with the message, word for word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub echo: Option<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    User,
    Assistant,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    Text {
        step: u32,
        text: String,
    },
    Reasoning {
        step: u32,
        text: String,
    },
    /// What people had seen of an answer that broke off and did not come again; models are not shown it.
    CutOff {
        step: u32,
        text: String,
    },
    Tool(Box<ToolPart>),
    /// A person said this while the run was at work.
    Said {
        /// The step whose message was written with it in mind; none if the model has not read it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<u32>,
        message: MessageId,
        text: String,
        by: String,
    },
    /// From here on models are shown less of what came before; all of it is still there.
    Compacted(Box<Compaction>),
    /// The run ended here for another reason than an answer.
    Notice {
        text: String,
        /// The same as a word for programs: that of a failed run, `budget_spent`, `unheard`, `cancelled`, or the ending of
        /// a run that did not simply answer: `step_limit`, `without_call`, `repeating` or `refused`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<String>,
        /// What exactly it was, for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        notice: Option<Box<Notice>>,
        /// Who stopped it, if a person did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolPart {
    pub step: u32,
    pub call: CallId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    pub tool: String,
    /// JSON text as the model wrote it.
    pub input: String,
    pub state: PartState,
    /// The same in all the words that there are for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_state: Option<CallState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<ToolOutput>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// What is known of a call that was cut off in flight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_off: Option<CutOff>,
    /// The run of the subagent that works on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subagent: Option<RunId>,
    pub requested_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
}

/// A call of which it is unknown whether it took effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CutOff {
    pub sent_at: Timestamp,
    /// What was sent, where that is more than the input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// What the tool's check tool said about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked: Option<String>,
}

impl ToolPart {
    /// How far its call has come. Messages of older versions have only the four words for it.
    pub fn call_state(&self) -> CallState {
        self.call_state.unwrap_or(match self.state {
            PartState::Pending => CallState::Requested,
            PartState::Running => CallState::Running,
            PartState::Completed => CallState::Finished,
            PartState::Error if self.cut_off.is_some() => CallState::Unknown,
            PartState::Error => match &self.failure {
                Some(failure) if failure.kind.is_refusal() => CallState::from_refusal(failure.kind),
                _ => CallState::Failed,
            },
        })
    }

    fn set_state(&mut self, state: CallState) {
        self.state = state.to_part_state();
        self.call_state = Some(state);
    }
}

impl Message {
    pub fn user(id: MessageId, at: Timestamp, text: impl Into<String>) -> Self {
        let parts = vec![Part::Text { step: 0, text: text.into() }];
        Self { id, role: Role::User, at, run: None, model: None, parts, steps: vec![] }
    }

    /// The assistant's message of a run, before anything is known of it.
    pub fn reply(id: MessageId, at: Timestamp, run: RunId, model: impl Into<String>) -> Self {
        let model = Some(model.into());
        Self { id, role: Role::Assistant, at, run: Some(run), model, parts: vec![], steps: vec![] }
    }

    /// All its answer text, without reasoning and tools.
    pub fn text(&self) -> String {
        let mut all = String::new();
        for part in &self.parts {
            if let Part::Text { text, .. } = part {
                if !all.is_empty() && !all.ends_with('\n') {
                    all.push_str("\n\n");
                }
                all.push_str(text);
            }
        }
        all
    }

    /// Applies the next fact of the message's run.
    pub fn apply(&mut self, at: Timestamp, fact: &Fact) {
        if let (Some(call), Some(state)) = (fact.call(), fact.call_state()) {
            self.update_tool_part(call, |part| part.set_state(state));
        }
        match fact {
            Fact::TextFinished { step, text, .. } => {
                self.parts.push(Part::Text { step: *step, text: text.clone() });
            }
            Fact::ReasoningFinished { step, text, .. } => {
                self.parts.push(Part::Reasoning { step: *step, text: text.clone() });
            }
            Fact::TextCutOff { step, text, .. } => {
                self.parts.push(Part::CutOff { step: *step, text: text.clone() });
            }
            Fact::ToolRequested { .. } => self.add_tool_part(at, fact),
            Fact::ToolStarted { .. }
            | Fact::ToolDelegated { .. }
            | Fact::ToolClaimed { .. }
            | Fact::SubagentStarted(_)
            | Fact::ApprovalAnswered { call: Some(_), .. }
            | Fact::ToolFinished { .. }
            | Fact::ToolFailed { .. }
            | Fact::ToolRefused { .. }
            | Fact::ToolUnknown { .. } => self.apply_to_tool_part(at, fact),
            Fact::HistoryCompacted(compaction) => {
                self.parts.push(Part::Compacted(Box::new(compaction.clone())));
            }
            Fact::MessageQueued { message, text, by } => {
                let (text, by) = (text.clone(), by.clone());
                self.parts.push(Part::Said { step: None, message: *message, text, by });
            }
            Fact::MessageTaken { message, step } => self.place_user_message(*message, *step),
            Fact::RunFinished { .. }
            | Fact::BudgetSpent { .. }
            | Fact::RunFailed { .. }
            | Fact::RunCancelled(_) => self.add_ending_notice(fact),
            Fact::StepFinished { step, usage, cost_nanos, model, fingerprint, echo, .. } => {
                let model = model.as_ref().or(self.model.as_ref());
                self.steps.push(StepRecord {
                    step: *step,
                    model: model.cloned().unwrap_or_default(),
                    usage: *usage,
                    cost_nanos: *cost_nanos,
                    fingerprint: fingerprint.clone(),
                    echo: echo.clone(),
                });
            }
            Fact::RunStarted(_)
            | Fact::ApprovalAsked(_)
            | Fact::SubagentAsked(_)
            | Fact::SubagentAnswered(_)
            | Fact::SubagentEnded(_)
            | Fact::StepRestarted { .. }
            | Fact::ToolLate { .. }
            | Fact::ApprovalAnswered { call: None, .. }
            | Fact::ApprovalVoted { .. }
            | Fact::ApprovalReminded { .. }
            | Fact::ApprovalEscalated { .. }
            | Fact::StepSnapshot(_)
            | Fact::RunWaiting { .. }
            | Fact::RunResumed { .. }
            | Fact::ToolDiscarded { .. } => {}
        }
    }

    /// Adds the part of a call that was requested, or puts it in the place of the call that it repeats.
    fn add_tool_part(&mut self, at: Timestamp, fact: &Fact) {
        let Fact::ToolRequested { step, call, provider_id, tool, arguments, replaces, .. } = fact else {
            return;
        };
        let part = ToolPart {
            step: *step,
            call: call.clone(),
            provider_id: provider_id.clone(),
            tool: tool.clone(),
            input: arguments.clone(),
            state: PartState::Pending,
            call_state: Some(CallState::Requested),
            output: None,
            failure: None,
            cut_off: None,
            subagent: None,
            requested_at: at,
            started_at: None,
            ended_at: None,
        };
        match replaces.as_ref().and_then(|old| self.tool_mut(old)) {
            Some(old) => *old = part,
            None => self.parts.push(Part::Tool(Box::new(part))),
        }
    }

    /// Applies a fact about a call to the call's part.
    fn apply_to_tool_part(&mut self, at: Timestamp, fact: &Fact) {
        let Some(part) = fact.call().and_then(|call| self.tool_mut(call)) else { return };
        match fact {
            Fact::ToolStarted { tool, arguments, .. } => {
                part.tool.clone_from(tool);
                if let Some(arguments) = arguments {
                    part.input.clone_from(arguments);
                }
                part.started_at = Some(at);
            }
            Fact::ToolDelegated { tool, arguments, .. } => {
                part.tool.clone_from(tool);
                if let Some(arguments) = arguments.as_ref().filter(|given| !is_same(&part.input, given)) {
                    part.input.clone_from(arguments);
                }
                part.started_at = Some(at);
            }
            Fact::ToolClaimed { .. } => part.started_at = Some(at),
            Fact::SubagentStarted(started) => {
                if !is_same(&part.input, &started.arguments) {
                    part.input.clone_from(&started.arguments);
                }
                part.subagent = Some(started.run);
                part.started_at = Some(at);
            }
            // A call whose outcome is asked for stays unknown, whatever a person says of it later.
            Fact::ApprovalAnswered { answer, .. } => {
                if let Some(note) = outcome_note_for_model(answer)
                    && part.call_state() == CallState::Unknown
                {
                    part.output = Some(ToolOutput::text(note));
                }
            }
            Fact::ToolFinished { output, .. } => {
                part.output = Some(output.clone());
                part.ended_at = Some(at);
            }
            Fact::ToolFailed { failure, .. } | Fact::ToolRefused { failure, .. } => {
                part.failure = Some(failure.clone());
                part.ended_at = Some(at);
            }
            Fact::ToolUnknown { sent_at, because, request, checked, labels, .. } => {
                let failure = Failure::new(FailureKind::Failed, because.clone());
                part.failure = Some(Failure { labels: labels.clone(), ..failure });
                let (request, checked) = (request.clone(), checked.clone());
                part.cut_off = Some(CutOff { sent_at: *sent_at, request, checked });
                part.ended_at = Some(at);
            }
            _ => {}
        }
    }

    /// Adds what people are told about the end of the run, if it did not end with an answer.
    fn add_ending_notice(&mut self, fact: &Fact) {
        let notice = match fact {
            Fact::RunFinished { ending } => {
                // What budget was used up has its own notice.
                let lack = ending.lack().filter(|_| *ending != Ending::BudgetSpent);
                self.parts.extend(lack.map(|(code, text)| notice_part(text, code)));
                if self.has_unread_user_message() {
                    self.parts.push(notice_part(UNHEARD, "unheard"));
                }
                return;
            }
            Fact::BudgetSpent { because, notice } => {
                let (text, code) = (because.clone(), Some("budget_spent".into()));
                Part::Notice { text, code, notice: notice.clone(), by: None }
            }
            Fact::RunFailed { message, code, notice } => {
                let (text, code) = (message.clone(), Some(code.clone()));
                Part::Notice { text, code, notice: notice.clone(), by: None }
            }
            Fact::RunCancelled(Cancelled { by }) => {
                let (text, code) = (format!("stopped by {by}"), Some("cancelled".into()));
                Part::Notice { text, code, notice: None, by: Some(by.clone()) }
            }
            _ => return,
        };
        self.parts.push(notice);
    }

    pub fn tools(&self) -> impl Iterator<Item = &ToolPart> {
        self.parts.iter().filter_map(|part| match part {
            Part::Tool(tool) => Some(&**tool),
            _ => None,
        })
    }

    /// How often, and how, what models are shown of the past became shorter while this was written.
    pub fn compactions(&self) -> impl Iterator<Item = &Compaction> {
        self.parts.iter().filter_map(|part| match part {
            Part::Compacted(compaction) => Some(&**compaction),
            _ => None,
        })
    }

    /// Whether a person sent a message that the model has not read.
    pub fn has_unread_user_message(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Said { step: None, .. }))
    }

    /// Puts the message where the model reads it: after everything that it knew before.
    fn place_user_message(&mut self, id: MessageId, for_step: u32) {
        let waits = |part: &Part| matches!(part, Part::Said { step: None, message, .. } if *message == id);
        let Some(at) = self.parts.iter().position(waits) else { return };
        let mut said = self.parts.remove(at);
        if let Part::Said { step, .. } = &mut said {
            *step = Some(for_step);
        }
        self.parts.push(said);
    }

    fn tool_mut(&mut self, call: &CallId) -> Option<&mut ToolPart> {
        self.parts.iter_mut().find_map(|part| match part {
            Part::Tool(tool) if tool.call == *call => Some(&mut **tool),
            _ => None,
        })
    }

    fn update_tool_part(&mut self, call: &CallId, change: impl FnOnce(&mut ToolPart)) {
        if let Some(part) = self.tool_mut(call) {
            change(part);
        }
    }
}

fn notice_part(text: &str, code: &str) -> Part {
    Part::Notice { text: text.into(), code: Some(code.into()), notice: None, by: None }
}

/// Shown where a run came to its end before it could take in what a person had said last.
const UNHEARD: &str = "the run ended before the last message could be answered";

/// Whether what the model wrote says the same; then its own words stay.
fn is_same(written: &str, canonical: &str) -> bool {
    serde_json::from_str(written).is_ok_and(|written| canonical_json(&written) == canonical)
}

/// What the model is told when a person was asked what became of a call.
fn outcome_note_for_model(answer: &Answer) -> Option<&'static str> {
    match answer {
        Answer::Outcome { answer: OutcomeAnswer::Happened } => {
            Some("A person has checked: this call did take effect. Do not repeat it.")
        }
        Answer::Outcome { answer: OutcomeAnswer::DidNotHappen } => {
            Some("A person has checked: this call did not take effect.")
        }
        // It stays unknown: the model is told what it would have been told without the question.
        Answer::Expire
        | Answer::Outcome { answer: OutcomeAnswer::RunAgain }
        | Answer::Approve { .. }
        | Answer::Reject { .. }
        | Answer::Respond { .. }
        | Answer::Reply { .. }
        | Answer::Decline { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tool_parts_of_older_messages_are_read_and_say_how_far_their_calls_came() {
        let call = "0190163d-8694-739b-aea5-966c26f8ad91:1:0";
        let part = |state: &str, failure: Option<&str>, cut_off: bool| {
            let mut part = json!({"step": 1, "call": call, "tool": "send", "input": "{}", "state": state, "requested_at": 1});
            if let Some(kind) = failure {
                part["failure"] = json!({"kind": kind, "message": "no"});
            }
            if cut_off {
                part["cut_off"] = json!({"sent_at": 1});
            }
            let part: ToolPart = serde_json::from_value(part).unwrap();
            (part.state, part.call_state())
        };
        assert_eq!(part("waiting", None, false), (PartState::Pending, CallState::Requested));
        assert_eq!(part("completed", None, false), (PartState::Completed, CallState::Finished));
        assert_eq!(part("error", Some("denied"), false), (PartState::Error, CallState::Refused));
        assert_eq!(part("error", Some("unanswered"), false), (PartState::Error, CallState::Expired));
        assert_eq!(part("error", Some("timed_out"), false), (PartState::Error, CallState::Failed));
        assert_eq!(part("unknown", Some("failed"), true), (PartState::Error, CallState::Unknown));
    }
}
