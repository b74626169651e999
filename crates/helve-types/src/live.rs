//! Frames without an id: what is being written right now.
//!
//! They go to every reader at once, before anything is on disk. A reader that comes late or comes back gets
//! one `started` frame for each part in progress, with the text so far, which replaces what it had; so a
//! frame lost is a frame made up for. What is finished arrives as a `Fact` with the same part id.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::PartId;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type")]
pub enum Live {
    /// The model is being asked.
    #[serde(rename = "step.started")]
    StepStarted { step: u32, attempt: u32 },

    /// A part begins, or begins anew for this reader: `text` replaces all of it.
    #[serde(rename = "part.started")]
    PartStarted {
        part: PartId,
        kind: PartKind,
        /// The tool, where a call is being written or a tool reports progress.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool: Option<String>,
        text: String,
    },

    #[serde(rename = "part.delta")]
    PartDelta { part: PartId, text: String },

    /// The server is going down; reconnect and nothing is lost.
    #[serde(rename = "server.draining")]
    ServerDraining,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    Text,
    Reasoning,
    /// The arguments of a call while the model writes them.
    Input,
    /// What a running tool reports.
    Progress,
}
