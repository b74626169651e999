//! How the past is made short enough for a model.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CallId, MessageId, Usage};

/// What the model is shown from here on in place of the oldest part of the past. All of it stays on record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Compaction {
    /// The step that is asked for next.
    pub step: u32,
    /// Calls whose output is no longer shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pruned: Vec<CallId>,
    /// Where the client keeps the history: in so many of its messages, from the first, long results are no longer
    /// shown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub client_messages: u32,
    /// Stands for everything up to a point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Summary>,
    /// Estimates, before and after.
    pub tokens_before: u64,
    pub tokens_after: u64,
}

/// The oldest part of the past, in few words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    pub text: String,
    /// The last message of the conversation before this run that it stands for; none if it stands for none of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<MessageId>,
    /// How many messages it stands for.
    pub messages: u32,
    /// Up to and including which step of this run it stands for; 0 for none. What the person said at the beginning of
    /// the run is shown all the same.
    pub through_step: u32,
    /// Who wrote it, and what that took.
    pub model: String,
    pub usage: Usage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_nanos: Option<u64>,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}
