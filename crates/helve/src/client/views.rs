//! The server's answers, as far as the commands look into them.

use helve_types::{Answer, Question, RunState, Spent, Timestamp, Vote};
use serde::Deserialize;

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Approval {
    pub(crate) run: String,
    pub(crate) user: String,
    #[serde(flatten)]
    pub(crate) question: Question,
    pub(crate) asked_at: Timestamp,
    pub(crate) state: ApprovalState,
    #[serde(default)]
    pub(crate) answer: Option<Answer>,
    #[serde(default)]
    pub(crate) by: Option<String>,
    #[serde(default)]
    pub(crate) answered_at: Option<Timestamp>,
    /// Of approvers, where several must agree.
    #[serde(default)]
    pub(crate) votes: Vec<Vote>,
    #[serde(default)]
    pub(crate) votes_missing: Option<u32>,
    #[serde(default)]
    pub(crate) escalated: bool,
    #[serde(default)]
    pub(crate) you: Option<ApproverRole>,
}

/// What the reader may do about a question with approvers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ApproverRole {
    MayAnswer,
    Voted,
    OwnRequest,
    NotApprover,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ApprovalState {
    Pending,
    Answered,
    /// Its run ended before it was answered.
    Withdrawn,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Run {
    pub(crate) run: String,
    #[serde(default)]
    pub(crate) conversation: Option<String>,
    pub(crate) state: RunState,
    pub(crate) agent: String,
    pub(crate) model: String,
    #[serde(flatten)]
    pub(crate) spent: Spent,
    pub(crate) last_event: u64,
    pub(crate) created_at: Timestamp,
    #[serde(default)]
    pub(crate) ended_at: Option<Timestamp>,
    /// The run that it works for.
    #[serde(default)]
    pub(crate) parent: Option<RelatedRun>,
    /// The runs that work on its calls.
    #[serde(default)]
    pub(crate) children: Vec<RelatedRun>,
}

/// A run above or below another one.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct RelatedRun {
    pub(crate) run: String,
    pub(crate) agent: String,
    /// Known of those below.
    #[serde(default = "running")]
    pub(crate) state: RunState,
}

fn running() -> RunState {
    RunState::Running
}

/// A moment, to the second, in universal time.
pub(crate) fn when(at: Timestamp) -> String {
    let second = jiff::Timestamp::from_second(at.0.div_euclid(1_000));
    second.map_or_else(|_| format!("{} ms", at.0), |at| at.to_string())
}
