//! The events of a run: record and wire at once.
//!
//! A `Fact` says what has happened. The journal appends it, the store derives its rows from it, readers get
//! the same bytes, and a run is rebuilt after a crash from nothing else. Facts are never changed; a new kind
//! of fact is a new variant. Text that is still being written is not a fact: see `Live`.

use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::{
    Always, ApprovalId, ApprovalKind, CallId, CallState, Compaction, ConversationId, Effect, Failure,
    Fingerprint, Labels, MessageId, Mode, ModelParams, Notice, OnUnknown, OutcomeAnswer, PartId, Question,
    RunState, Spent, StepSnapshot, SubagentAnswered, SubagentAsked, SubagentEnded, SubagentStarted,
    Timestamp, ToolCall, ToolOutput, Trail,
};

/// A fact with its place in the run's log.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Counts from 1 without gaps.
    pub seq: u64,
    pub at: Timestamp,
    pub fact: Fact,
}

/// What is written to the journal and sent to readers; the sequence number travels beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventBody {
    pub at: Timestamp,
    #[serde(flatten)]
    pub fact: Fact,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type")]
pub enum Fact {
    #[serde(rename = "run.started")]
    RunStarted(RunStarted),

    /// The model's answer broke off; what was shown of it is void and the step begins again.
    #[serde(rename = "step.restarted")]
    StepRestarted {
        step: u32,
        attempt: u32,
        because: String,
        /// What was spent on it, as far as known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spent: Option<Spent>,
    },

    #[serde(rename = "reasoning.finished")]
    ReasoningFinished { step: u32, part: PartId, text: String },

    #[serde(rename = "text.finished")]
    TextFinished { step: u32, part: PartId, text: String },

    /// What readers had last seen of an answer that broke off and did not come again. It is no part of an answer.
    #[serde(rename = "text.cut_off")]
    TextCutOff { step: u32, part: PartId, text: String },

    /// The model's finished message asks for this call.
    #[serde(rename = "tool.requested")]
    ToolRequested {
        step: u32,
        call: CallId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_id: Option<String>,
        /// As the model wrote it; the tool that runs is named when it starts.
        tool: String,
        /// JSON text, as the model wrote it wherever that was JSON in itself or could be repaired.
        arguments: String,
        /// What was repaired in the arguments.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        repairs: Vec<String>,
        /// The part that showed the call while it was being written.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        part: Option<PartId>,
        /// A person ordered this call in place of an earlier one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replaces: Option<CallId>,
    },

    /// Written before the first byte leaves: from here on the effect may have happened.
    #[serde(rename = "tool.started")]
    ToolStarted {
        call: CallId,
        tool: String,
        version: String,
        effect: Effect,
        attempt: u32,
        /// What is really sent, where a person or a hook changed it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments: Option<String>,
        /// The tool that is really run, where another one stands in for it; version and effect are that one's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instead: Option<String>,
    },

    /// A call that only reads was sent while its message was still being written, and the message broke off or asks for
    /// something else: the answer counts for nothing.
    #[serde(rename = "tool.discarded")]
    ToolDiscarded { step: u32, attempt: u32, tool: String, version: String, arguments: String },

    /// The call waits for the client that declared the tool.
    #[serde(rename = "tool.delegated")]
    ToolDelegated {
        call: CallId,
        tool: String,
        /// What the client is to run, as the check, hooks and people left it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments: Option<String>,
        #[serde(default, skip_serializing_if = "Trail::is_empty")]
        trail: Trail,
    },

    /// A client took the call to run it: from here on the effect may have happened.
    #[serde(rename = "tool.claimed")]
    ToolClaimed {
        call: CallId,
        /// As it calls itself.
        client: String,
        /// The user whose client it is.
        by: String,
    },

    #[serde(rename = "tool.finished")]
    ToolFinished { call: CallId, output: ToolOutput, trail: Trail },

    /// The tool ran and failed.
    #[serde(rename = "tool.failed")]
    ToolFailed { call: CallId, failure: Failure, trail: Trail },

    /// The tool did not run.
    #[serde(rename = "tool.refused")]
    ToolRefused { call: CallId, failure: Failure, trail: Trail },

    /// The call was cut off in flight: its effect may or may not have happened.
    #[serde(rename = "tool.unknown")]
    ToolUnknown {
        call: CallId,
        sent_at: Timestamp,
        because: String,
        /// What was sent, with the names of secrets in place of them; none where that is not more than the arguments.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<String>,
        /// What the tool's check tool said, if it has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        checked: Option<String>,
        /// What the tool's definition wants done about it.
        #[serde(default)]
        then: OnUnknown,
        #[serde(default, skip_serializing_if = "Trail::is_empty")]
        trail: Trail,
        /// Where the words above are from, if not all of them are Helve's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        labels: Option<Box<Labels>>,
    },

    /// A result that came after its run had ended, or after its client had lost the call; kept, and of no consequence.
    #[serde(rename = "tool.late")]
    ToolLate { call: CallId, output: ToolOutput },

    /// Another agent works on the call, as a run of its own.
    #[serde(rename = "subagent.started")]
    SubagentStarted(SubagentStarted),

    /// The run of a call's subagent, or one below it, asks a person something.
    #[serde(rename = "subagent.asked")]
    SubagentAsked(SubagentAsked),

    #[serde(rename = "subagent.answered")]
    SubagentAnswered(SubagentAnswered),

    #[serde(rename = "subagent.ended")]
    SubagentEnded(SubagentEnded),

    #[serde(rename = "approval.asked")]
    ApprovalAsked(Question),

    #[serde(rename = "approval.answered")]
    ApprovalAnswered {
        approval: ApprovalId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        answer: Answer,
        by: String,
    },

    /// One of several approvers agreed; more must.
    #[serde(rename = "approval.voted")]
    ApprovalVoted { approval: ApprovalId, answer: Answer, by: String },

    /// Approvers who have not answered are reminded.
    #[serde(rename = "approval.reminded")]
    ApprovalReminded { approval: ApprovalId },

    /// Nobody settled the question for long: others may answer it, too.
    #[serde(rename = "approval.escalated")]
    ApprovalEscalated { approval: ApprovalId },

    /// A person spoke while the run was at work.
    #[serde(rename = "message.queued")]
    MessageQueued { message: MessageId, text: String, by: String },

    /// The model reads the person's message before it writes this step's message.
    #[serde(rename = "message.taken")]
    MessageTaken { message: MessageId, step: u32 },

    /// A budget does not allow more: what is not begun is not done, and the run ends.
    #[serde(rename = "budget.spent")]
    BudgetSpent {
        because: String,
        /// The same for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        notice: Option<Box<Notice>>,
    },

    /// What the model is shown of the past became shorter; the past itself stays.
    #[serde(rename = "history.compacted")]
    HistoryCompacted(Compaction),

    /// The model's message is complete and its calls, if any, are on record; or it will never be, and this is what
    /// was spent on it. Usage and cost are those of all its tries.
    #[serde(rename = "step.finished")]
    StepFinished {
        step: u32,
        attempt: u32,
        reason: StopReason,
        mode: Mode,
        usage: Usage,
        /// What it cost, in billionths of the unit of the operator's prices; none where no price is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost_nanos: Option<u64>,
        /// The model that answered, where it is not the one that the run was started with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// Which model that was and where, as a mark to compare: a name may come to mean another one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fingerprint: Option<Fingerprint>,
        /// What that model's vendor wants back with the message, word for word.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        echo: Option<Value>,
        /// What hooks laid over the parameters of the question, where they did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        params: Option<ModelParams>,
    },

    /// A hook took a snapshot before or after a step, or failed to.
    #[serde(rename = "step.snapshot")]
    StepSnapshot(StepSnapshot),

    /// Nothing can go on until a person acts.
    #[serde(rename = "run.waiting")]
    RunWaiting { state: RunState },

    /// A restarted server continues the run where its log ends. Counts the restarts in one step; 0 where a person asked
    /// for it, and the count begins anew.
    #[serde(rename = "run.resumed")]
    RunResumed { resume: u32 },

    #[serde(rename = "run.finished")]
    RunFinished { ending: Ending },

    #[serde(rename = "run.failed")]
    RunFailed {
        code: String,
        message: String,
        /// What exactly it was, for people, where the code says less.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        notice: Option<Box<Notice>>,
    },

    #[serde(rename = "run.cancelled")]
    RunCancelled(Cancelled),
}

impl Fact {
    /// A call that no message of a model asked for: a direct one, or the search before the first message.
    pub fn tool_requested(call: ToolCall) -> Self {
        Self::ToolRequested {
            step: call.id.step,
            call: call.id,
            provider_id: call.provider_id,
            tool: call.name,
            arguments: call.arguments,
            part: None,
            replaces: None,
            repairs: call.repairs,
        }
    }

    /// Whether nothing may follow but late results.
    pub fn is_last(&self) -> bool {
        matches!(self, Self::RunFinished { .. } | Self::RunFailed { .. } | Self::RunCancelled(_))
    }

    /// The `type` under which it is written.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::RunStarted(_) => "run.started",
            Self::StepRestarted { .. } => "step.restarted",
            Self::ReasoningFinished { .. } => "reasoning.finished",
            Self::TextFinished { .. } => "text.finished",
            Self::TextCutOff { .. } => "text.cut_off",
            Self::ToolRequested { .. } => "tool.requested",
            Self::ToolStarted { .. } => "tool.started",
            Self::ToolDiscarded { .. } => "tool.discarded",
            Self::ToolDelegated { .. } => "tool.delegated",
            Self::ToolClaimed { .. } => "tool.claimed",
            Self::ToolFinished { .. } => "tool.finished",
            Self::ToolFailed { .. } => "tool.failed",
            Self::ToolRefused { .. } => "tool.refused",
            Self::ToolUnknown { .. } => "tool.unknown",
            Self::ToolLate { .. } => "tool.late",
            Self::SubagentStarted(_) => "subagent.started",
            Self::SubagentAsked(_) => "subagent.asked",
            Self::SubagentAnswered(_) => "subagent.answered",
            Self::SubagentEnded(_) => "subagent.ended",
            Self::ApprovalAsked(_) => "approval.asked",
            Self::ApprovalAnswered { .. } => "approval.answered",
            Self::ApprovalVoted { .. } => "approval.voted",
            Self::ApprovalReminded { .. } => "approval.reminded",
            Self::ApprovalEscalated { .. } => "approval.escalated",
            Self::MessageQueued { .. } => "message.queued",
            Self::MessageTaken { .. } => "message.taken",
            Self::BudgetSpent { .. } => "budget.spent",
            Self::HistoryCompacted(_) => "history.compacted",
            Self::StepFinished { .. } => "step.finished",
            Self::StepSnapshot(_) => "step.snapshot",
            Self::RunWaiting { .. } => "run.waiting",
            Self::RunResumed { .. } => "run.resumed",
            Self::RunFinished { .. } => "run.finished",
            Self::RunFailed { .. } => "run.failed",
            Self::RunCancelled(_) => "run.cancelled",
        }
    }

    /// The call this is about, if it is about one.
    pub fn call(&self) -> Option<&CallId> {
        match self {
            Self::ToolRequested { call, .. }
            | Self::ToolStarted { call, .. }
            | Self::ToolDelegated { call, .. }
            | Self::ToolClaimed { call, .. }
            | Self::ToolFinished { call, .. }
            | Self::ToolFailed { call, .. }
            | Self::ToolRefused { call, .. }
            | Self::ToolUnknown { call, .. }
            | Self::ToolLate { call, .. } => Some(call),
            Self::SubagentStarted(SubagentStarted { call, .. })
            | Self::SubagentAsked(SubagentAsked { call, .. })
            | Self::SubagentAnswered(SubagentAnswered { call, .. })
            | Self::SubagentEnded(SubagentEnded { call, .. }) => Some(call),
            Self::ApprovalAnswered { call, .. } => call.as_ref(),
            Self::ApprovalAsked(question) => question.call_id(),
            Self::RunStarted(_)
            | Self::StepRestarted { .. }
            | Self::ReasoningFinished { .. }
            | Self::TextFinished { .. }
            | Self::TextCutOff { .. }
            | Self::ToolDiscarded { .. }
            | Self::ApprovalVoted { .. }
            | Self::ApprovalReminded { .. }
            | Self::ApprovalEscalated { .. }
            | Self::MessageQueued { .. }
            | Self::MessageTaken { .. }
            | Self::BudgetSpent { .. }
            | Self::HistoryCompacted(_)
            | Self::StepFinished { .. }
            | Self::StepSnapshot(_)
            | Self::RunWaiting { .. }
            | Self::RunResumed { .. }
            | Self::RunFinished { .. }
            | Self::RunFailed { .. }
            | Self::RunCancelled(_) => None,
        }
    }
}

impl Fact {
    /// The state that it puts its call into; none if that stays as it is. What the answers to questions lead to, but for
    /// a yes, is recorded by the fact that ends the call.
    pub fn call_state(&self) -> Option<CallState> {
        match self {
            Self::ToolRequested { .. } => Some(CallState::Requested),
            Self::ToolStarted { .. } | Self::SubagentStarted(_) => Some(CallState::Running),
            Self::ToolDelegated { .. } => Some(CallState::Delegated),
            Self::ToolClaimed { .. } => Some(CallState::Claimed),
            Self::ToolFinished { .. } => Some(CallState::Finished),
            Self::ToolFailed { .. } => Some(CallState::Failed),
            Self::ToolRefused { failure, .. } => Some(CallState::from_refusal(failure.kind)),
            Self::ToolUnknown { .. } => Some(CallState::Unknown),
            Self::ApprovalAsked(question) if question.kind().holds_call() => Some(CallState::Asked),
            Self::ApprovalAnswered { answer: Answer::Approve { .. }, .. } => Some(CallState::Approved),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunStarted {
    pub agent: String,
    pub model: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationId>,
    /// The user's message, where the server keeps the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
    /// The message that will hold the answer.
    pub reply: MessageId,
    pub text: String,
}

/// How a question was settled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Answer {
    Approve {
        /// Edited arguments, as JSON text; the call runs with these instead.
        #[serde(
            default,
            skip_serializing_if = "Option::is_none",
            deserialize_with = "deserialize_edited_arguments"
        )]
        arguments: Option<String>,
        /// Calls like this one need not be asked about again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        always: Option<Always>,
    },
    Reject {
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    /// The person answers in the tool's place.
    Respond {
        text: String,
    },
    Outcome {
        answer: OutcomeAnswer,
    },
    /// What the model wanted to know: a value that fits the question's form.
    Reply {
        value: Value,
    },
    /// The person would rather not say.
    Decline {
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    /// No answer came in time.
    Expire,
}

impl Answer {
    /// Yes, as asked, this once.
    pub fn approve() -> Self {
        Self::Approve { arguments: None, always: None }
    }

    /// Whether this can settle a question of that kind.
    pub fn fits(&self, kind: ApprovalKind) -> bool {
        match self {
            Self::Approve { arguments: None, always: None } | Self::Reject { .. } => {
                matches!(kind, ApprovalKind::Permission | ApprovalKind::Budget)
            }
            Self::Approve { .. } | Self::Respond { .. } => kind == ApprovalKind::Permission,
            Self::Outcome { .. } => kind == ApprovalKind::Outcome,
            Self::Reply { .. } | Self::Decline { .. } => kind == ApprovalKind::User,
            Self::Expire => true,
        }
    }
}

/// The text of edited arguments. An object is not written down in its place: its large numbers have lost digits by now.
fn deserialize_edited_arguments<'de, D: Deserializer<'de>>(given: D) -> Result<Option<String>, D::Error> {
    match Option::<Value>::deserialize(given)? {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => {
            let wanted = r#"`arguments` must be the text of a JSON object, as in "{\"to\": \"mei\"}""#;
            Err(D::Error::custom(wanted))
        }
    }
}

/// Why the model stopped writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    Stop,
    ToolCalls,
    Length,
    ContentFilter,
    /// A person stopped it.
    Cancelled,
    /// It broke off and no other try was left: the step is on record for what was spent on it.
    Failed,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
pub struct Usage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Of the input, what was read from the vendor's cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached_tokens: u64,
    /// Of the input, what was written to it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    /// Of the output, what was spent on thinking.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reasoning_tokens: u64,
}

impl Usage {
    pub fn plus(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cached_tokens: self.cached_tokens.saturating_add(other.cached_tokens),
            cache_write_tokens: self.cache_write_tokens.saturating_add(other.cache_write_tokens),
            reasoning_tokens: self.reasoning_tokens.saturating_add(other.reasoning_tokens),
        }
    }
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    Answered,
    /// The steps ran out; the last answer was given without tools.
    StepLimit,
    /// The client owns the history and has to run the requested tools.
    ClientTools,
    /// A call was required, and the model answered in words, also when it was asked once more.
    WithoutCall,
    /// The run repeated itself and a person ended it; the last answer was given without tools.
    Repeating,
    /// A budget was used up.
    BudgetSpent,
    /// A person refused a call, and the agent ends its runs there.
    Refused,
}

impl Ending {
    /// The ending as a word for programs, and a sentence for whoever speaks no code; none where the answer is complete.
    pub fn lack(self) -> Option<(&'static str, &'static str)> {
        Some(match self {
            Self::Answered | Self::ClientTools => return None,
            Self::StepLimit => (
                "step_limit",
                "the agent has used all of its steps; the last answer was given without tools and may be incomplete",
            ),
            Self::WithoutCall => {
                ("without_call", "a tool call was required, but the model answered in words")
            }
            Self::Repeating => (
                "repeating",
                "the run went round in circles and was stopped; the last answer was given without tools",
            ),
            Self::BudgetSpent => {
                ("budget_spent", "a budget was used up, so the run ends here; the answer may be incomplete")
            }
            Self::Refused => ("refused", "a call was refused, and the agent ends its runs there"),
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cancelled {
    pub by: String,
}

#[cfg(test)]
mod tests;
