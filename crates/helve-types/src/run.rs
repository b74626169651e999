//! A run's fixed setup and its states.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Language, ParentCall, ToolSpec};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    Running,
    WaitingApproval,
    WaitingClient,
    /// Subagents work on its calls, and there is nothing else to do.
    WaitingSubagent,
    /// A person must say what became of a call before anything goes on.
    NeedsAttention,
    Completed,
    Failed,
    Cancelled,
}

impl RunState {
    pub const ALL: [Self; 8] = [
        Self::Running,
        Self::WaitingApproval,
        Self::WaitingClient,
        Self::WaitingSubagent,
        Self::NeedsAttention,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
    ];

    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    pub fn is_waiting(self) -> bool {
        matches!(
            self,
            Self::WaitingApproval | Self::WaitingClient | Self::WaitingSubagent | Self::NeedsAttention
        )
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::WaitingApproval => "waiting_approval",
            Self::WaitingClient => "waiting_client",
            Self::WaitingSubagent => "waiting_subagent",
            Self::NeedsAttention => "needs_attention",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }
}

/// How a model is asked to call tools.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Through the vendor's own function calling.
    Native,
    /// In the text, as the named prompt profile describes.
    Prompt(String),
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Native => f.write_str("native"),
            Self::Prompt(profile) => write!(f, "prompt:{profile}"),
        }
    }
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "native" => Ok(Self::Native),
            Some(("prompt", profile)) if !profile.is_empty() => Ok(Self::Prompt(profile.to_owned())),
            _ => Err(format!("`{text}` is neither `native` nor `prompt:<profile>`")),
        }
    }
}

impl Serialize for Mode {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Mode {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Mode {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Mode".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "pattern": "^(native|prompt:.+)$",
            "description": "How the model is asked to call tools: `native`, or `prompt:` and a profile."
        })
    }
}

/// Everything a run was started with. Pinned: later edits of the agent or a tool affect later runs only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunSetup {
    pub agent: String,
    /// The hash of the agent's definition, where the agent is a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_version: Option<String>,
    /// The model's name in the configuration.
    pub model: String,
    /// Whether the request named the model, which makes it the person's choice.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub model_is_chosen: bool,
    /// The models that answer in its place, where the agent names them; otherwise the model's own do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallback_models: Vec<String>,
    #[serde(default)]
    pub system: String,
    pub max_steps: u32,
    #[serde(default)]
    pub tool_choice: ToolChoice,
    /// The server's tools that this run may use, each at the version it had at the start.
    #[serde(default)]
    pub tools: Vec<PinnedTool>,
    /// The skills that this run may load, each at the version it had at the start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<PinnedSkill>,
    /// Tools that the client declared and will run itself.
    #[serde(default)]
    pub client_tools: Vec<ToolSpec>,
    /// What the request says; it wins over everything below.
    #[serde(default)]
    pub params: ModelParams,
    /// The variant of the model that was asked for. A model that answers in its place uses its own of that name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// What the agent says, below the variant.
    #[serde(default)]
    pub agent_params: ModelParams,
    /// Overrides the model's own way of calling tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Whether the model is asked to send its answer in pieces.
    #[serde(default = "default_true")]
    pub stream: bool,
    /// Whether the web is searched for what the person says before the model is asked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pre_search: bool,
    /// Whether the run ends when a person refuses one of its calls.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub end_when_refused: bool,
    /// The language of Helve's own words, where the agent says so; otherwise that of the people in the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
    /// The `X-Request-Id` of the HTTP request that started the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The call that this run works on, where it is the run of a subagent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Box<ParentCall>>,
    /// How often in a row the conversation went on because work in the background had ended.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub woken: u32,
    pub input: RunInput,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

fn default_true() -> bool {
    true
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedTool {
    pub name: String,
    pub version: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedSkill {
    pub name: String,
    /// The hash of its definition.
    pub version: String,
    /// Nobody has agreed to it: what the model reads of it is not trusted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untrusted: bool,
}

/// Where a run's history comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum RunInput {
    /// The server's own conversation, up to and including the message that started the run.
    Conversation,
    /// The client sent it all, and none of it is trusted.
    Client { messages: Vec<ChatMessage> },
    /// One tool call without a model.
    Call,
}

/// A message of a client-owned history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatMessage {
    pub role: ChatRole,
    #[serde(default)]
    pub content: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ChatCall>,
    /// Which call a `tool` message answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatCall {
    pub id: String,
    pub name: String,
    pub arguments: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatRole {
    System,
    User,
    Assistant,
    Tool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    None,
    #[default]
    Auto,
    Required,
    Named(String),
}

/// Sampling and length; what is not set is left to the vendor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields)]
pub struct ModelParams {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Sent to vendors that know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<i64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// How often the same model is asked again for a step whose answer did not come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// Sent to the vendor as it stands.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

impl ModelParams {
    /// These parameters, and where they are silent those of the layer below.
    pub fn with_defaults(self, below: &Self) -> Self {
        let mut extra = below.extra.clone();
        extra.extend(self.extra);
        Self {
            temperature: self.temperature.or(below.temperature),
            top_p: self.top_p.or(below.top_p),
            top_k: self.top_k.or(below.top_k),
            max_tokens: self.max_tokens.or(below.max_tokens),
            seed: self.seed.or(below.seed),
            stop: if self.stop.is_empty() { below.stop.clone() } else { self.stop },
            retries: self.retries.or(below.retries),
            extra,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_reads_back_from_its_name() {
        for state in RunState::ALL {
            assert_eq!(RunState::parse(state.as_str()), Some(state));
            assert_eq!(serde_json::to_value(state).unwrap(), state.as_str());
        }
    }

    #[test]
    fn a_mode_reads_back_from_its_name() {
        for mode in [Mode::Native, Mode::Prompt("xml_tag".into())] {
            assert_eq!(mode.to_string().parse(), Ok(mode));
        }
        assert!("prompt:".parse::<Mode>().is_err());
        assert!("auto".parse::<Mode>().is_err());
    }

    #[test]
    fn the_upper_layer_of_parameters_wins_where_it_speaks() {
        let below = ModelParams { temperature: Some(0.2), max_tokens: Some(100), ..Default::default() };
        let above = ModelParams { temperature: Some(0.9), ..Default::default() };
        let merged = above.with_defaults(&below);
        assert_eq!((merged.temperature, merged.max_tokens), (Some(0.9), Some(100)));
    }
}
