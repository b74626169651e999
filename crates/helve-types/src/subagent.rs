//! Runs that work on a call of another run: subagents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Answer, ApprovalId, CallId, ConversationId, Question, RunId, RunState, Taint, Trail, Used};

/// The call that the run of a subagent works on. Pinned when the run is opened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ParentCall {
    /// The run that made the call.
    pub run: RunId,
    pub call: CallId,
    /// The run above all others of the tree; it is no subagent's.
    pub root: RunId,
    /// The conversation of that run, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationId>,
    /// The agents of the runs above, the topmost first.
    pub agents: Vec<String>,
    /// The share of the parent's budget.
    #[serde(default, skip_serializing_if = "Granted::sets_no_limit")]
    pub budget: Granted,
    /// What the parent had read when it wrote the task: the task may hold all of it.
    #[serde(default)]
    pub taint: Taint,
    /// The parent does not wait for the result.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
}

impl ParentCall {
    /// How many runs are above; 1 for a subagent of a run that people started.
    pub fn depth(&self) -> usize {
        self.agents.len()
    }
}

/// What a subagent may use up of its parent's budget; none is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Granted {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_nanos: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_ms: Option<u64>,
}

impl Granted {
    pub fn sets_no_limit(&self) -> bool {
        *self == Self::default()
    }

    /// What is kept back for it while it is at work.
    pub fn to_used(&self) -> Used {
        let Self { cost_nanos, tokens, calls, active_ms } = *self;
        let amount = Option::unwrap_or_default;
        Used {
            cost_nanos: amount(cost_nanos),
            tokens: amount(tokens),
            calls: amount(calls),
            active_ms: amount(active_ms),
        }
    }
}

/// That the run of a subagent works on a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubagentStarted {
    pub call: CallId,
    /// The subagent's run, which is opened after this is on record.
    pub run: RunId,
    pub agent: String,
    /// The call that is made, as the check, hooks and people left it.
    pub arguments: String,
    /// What the subagent is to do; empty where the call waits for a run that was begun before.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub task: String,
    /// The call does not wait for the result.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
    #[serde(default, skip_serializing_if = "Granted::sets_no_limit")]
    pub budget: Granted,
    #[serde(default, skip_serializing_if = "Trail::is_empty")]
    pub trail: Trail,
}

impl SubagentStarted {
    /// Whether the call waits for a run that was begun before.
    pub fn joins_earlier_run(&self) -> bool {
        self.task.is_empty()
    }
}

/// A question of a subagent's run, shown with the call that it works on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubagentAsked {
    pub call: CallId,
    pub question: Box<Question>,
}

/// The question was settled, or its run ended before it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubagentAnswered {
    pub call: CallId,
    pub approval: ApprovalId,
    pub answer: Answer,
    pub by: String,
}

/// The subagent's run is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubagentEnded {
    pub call: CallId,
    pub run: RunId,
    pub state: RunState,
    /// What it used up, with all runs below it.
    pub used: Used,
}

/// The subagent that asks a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Asker {
    pub agent: String,
    pub run: RunId,
    /// The run that it works for.
    pub parent: RunId,
    /// The conversation that it all began in, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationId>,
}
