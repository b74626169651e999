//! Consent that outlives one call.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a person adds to a yes so that they need not be asked again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Always {
    pub within: Within,
    /// What the arguments must be like, as rules write it; nothing said means any arguments.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arguments: BTreeMap<String, Value>,
    /// For how long; 30 days if not said, and at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub days: Option<u32>,
}

impl Always {
    /// No consent lasts longer.
    pub const DAYS_MAX: u32 = 30;

    pub fn days(&self) -> u32 {
        self.days.unwrap_or(Self::DAYS_MAX).min(Self::DAYS_MAX)
    }
}

/// How far such a consent reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Within {
    /// This run.
    Run,
    /// This conversation.
    Conversation,
    /// Everything that the user does with this agent.
    Agent,
}

impl Within {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Conversation => "conversation",
            Self::Agent => "agent",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Run, Self::Conversation, Self::Agent].into_iter().find(|within| within.as_str() == text)
    }
}
