//! What a model has been found to do: asked, not guessed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Timestamp, Usage};

/// What came out when a model was asked a few cheap questions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelProfile {
    pub at: Timestamp,
    /// Which model was asked, and where. The profile says nothing about any other.
    pub subject: String,
    /// It calls tools through the vendor's own function calling.
    pub native: Finding,
    /// Its server leaves calls in the text, where they must be looked for.
    #[serde(default = "not_asked")]
    pub calls_in_text: Finding,
    /// It asks for several calls in one message.
    pub parallel: Finding,
    /// It calls a tool where one is required, even if it would rather talk.
    pub required: Finding,
    /// The arguments of a call come in pieces, as they are written.
    pub streams_arguments: Finding,
    /// The end of a message with calls is named as such.
    pub names_its_end: Finding,
    /// It thinks before it answers, and shows it.
    pub reasons: Finding,
    /// Its answers begin inside reasoning that its prompt has opened, and its server leaves that in the text.
    #[serde(default = "not_asked")]
    pub reasoning_open: Finding,
    /// Its server refuses a conversation in which the reasoning before a call is missing.
    pub wants_reasoning_back: Finding,
    /// Its server takes tools whose schemas say more than names and types.
    pub rich_schemas: Finding,
    /// The words of JSON Schema with which its server refuses a tool.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rejects: Vec<String>,
    /// The prompt profile with which it wrote a call that can be read, where it has no native calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The dialect in which it wrote a call into its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialect: Option<String>,
    /// How many questions it took, and what they used.
    pub questions: u32,
    pub usage: Usage,
}

impl ModelProfile {
    /// A profile of which nothing is known yet.
    pub fn unknown(at: Timestamp, subject: impl Into<String>) -> Self {
        let unknown = not_asked;
        Self {
            at,
            subject: subject.into(),
            native: unknown(),
            calls_in_text: unknown(),
            parallel: unknown(),
            required: unknown(),
            streams_arguments: unknown(),
            names_its_end: unknown(),
            reasons: unknown(),
            reasoning_open: unknown(),
            wants_reasoning_back: unknown(),
            rich_schemas: unknown(),
            rejects: vec![],
            prompt: None,
            dialect: None,
            questions: 0,
            usage: Usage::default(),
        }
    }

    /// Every finding with a name that a person would give it.
    pub fn findings(&self) -> [(&'static str, &Finding); 10] {
        [
            ("native calls", &self.native),
            ("calls in text", &self.calls_in_text),
            ("parallel calls", &self.parallel),
            ("required calls", &self.required),
            ("streams arguments", &self.streams_arguments),
            ("names its end", &self.names_its_end),
            ("reasons", &self.reasons),
            ("reasoning open", &self.reasoning_open),
            ("wants reasoning back", &self.wants_reasoning_back),
            ("rich schemas", &self.rich_schemas),
        ]
    }
}

fn not_asked() -> Finding {
    Finding::unknown("not asked")
}

/// An answer, and what was seen that makes it so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    pub is: Answered,
    pub because: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Answered {
    Yes,
    No,
    Unknown,
}

impl Finding {
    pub fn yes(because: impl Into<String>) -> Self {
        Self { is: Answered::Yes, because: because.into() }
    }

    pub fn no(because: impl Into<String>) -> Self {
        Self { is: Answered::No, because: because.into() }
    }

    pub fn unknown(because: impl Into<String>) -> Self {
        Self { is: Answered::Unknown, because: because.into() }
    }

    pub fn is_yes(&self) -> bool {
        self.is == Answered::Yes
    }

    pub fn is_unknown(&self) -> bool {
        self.is == Answered::Unknown
    }

    pub fn is_no(&self) -> bool {
        self.is == Answered::No
    }
}
