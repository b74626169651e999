//! How the past is made short enough for a model.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CallId, Usage};

/// What the model is shown from here on in place of the oldest part of the past. All of it stays on record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Compaction {
    /// The step that is asked for next.
    pub step: u32,
    /// Calls whose output is no longer shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pruned: Vec<CallId>,
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
    /// How many messages of the conversation before this run it stands for.
    pub messages: u32,
    /// Up to and including which step of this run it stands for; 0 for none.
    pub through_step: u32,
    /// Who wrote it, and what that took.
    pub model: String,
    pub usage: Usage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_nanos: Option<u64>,
}
