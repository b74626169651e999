//! What `POST /api/agent` takes.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::protocols::request_params::{RequestParams, ToolSwitches};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentBody {
    pub(super) message: String,
    pub(super) conversation_id: Option<String>,
    pub(super) user_id: Option<String>,
    /// The name of a configured model, or `name:variant`.
    pub(super) model: Option<String>,
    /// A variant of the model.
    pub(super) variant: Option<String>,
    /// Over those of the model, the agent and the variant.
    #[serde(default)]
    pub(super) params: RequestParams,
    /// `false` for one answer in one piece.
    #[serde(default = "default_true")]
    pub(super) stream: bool,
    /// `false` withholds all tools. Or names of tools, each with `false` if this run does without it.
    #[serde(default)]
    pub(super) tools: AgentTools,
    /// Added to the agent's system prompt.
    pub(super) system: Option<String>,
    /// Whether the web is searched for the message before the model is first asked; as the agent or else the model has it if
    /// not said.
    #[serde(alias = "pre_search")]
    #[schemars(extend("x-aliases" = ["pre_search"]))]
    pub(super) pre_search: Option<bool>,
    /// `none`, `auto`, `required`, or `{"type": "function", "function": {"name"}}`.
    #[serde(rename = "tool_choice", alias = "toolChoice")]
    #[schemars(extend("x-aliases" = ["toolChoice"]))]
    pub(super) tool_choice: Option<Value>,
}

fn default_true() -> bool {
    true
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum AgentTools {
    All(bool),
    ToolSwitches(ToolSwitches),
}

impl Default for AgentTools {
    fn default() -> Self {
        Self::All(true)
    }
}
