//! A tool call and what became of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{CallId, Labels, Notice};

/// What repeating a call would do to the world, and so what a crash allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Changes nothing; may run any number of times.
    Read,
    /// Happens at least once, and always under the same key.
    Idempotent,
    /// Is sent at most once; cut off in flight, its outcome is unknown.
    NonIdempotent,
}

/// How far a call has come. The store, the API and the page use these words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallState {
    /// It is on record, and nothing was done about it yet.
    Requested,
    /// A person is asked whether it may run.
    Asked,
    /// A person allowed it.
    Approved,
    /// A client has to run it.
    Delegated,
    /// A client runs it.
    Claimed,
    /// It was sent, or is about to be.
    Running,
    Finished,
    /// It ran and failed.
    Failed,
    /// It did not run.
    Refused,
    /// A person was asked and did not answer in time, so it did not run.
    Expired,
    /// It was cut off in flight: its effect may or may not have happened.
    Unknown,
}

impl CallState {
    pub const ALL: [Self; 11] = [
        Self::Requested,
        Self::Asked,
        Self::Approved,
        Self::Delegated,
        Self::Claimed,
        Self::Running,
        Self::Finished,
        Self::Failed,
        Self::Refused,
        Self::Expired,
        Self::Unknown,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::Asked => "asked",
            Self::Approved => "approved",
            Self::Delegated => "delegated",
            Self::Claimed => "claimed",
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::Expired => "expired",
            Self::Unknown => "unknown",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }

    /// Whether something is still to come.
    pub fn is_open(self) -> bool {
        match self {
            Self::Requested
            | Self::Asked
            | Self::Approved
            | Self::Delegated
            | Self::Claimed
            | Self::Running => true,
            Self::Finished | Self::Failed | Self::Refused | Self::Expired | Self::Unknown => false,
        }
    }

    /// The state of a call that was kept from running.
    pub fn from_refusal(kind: FailureKind) -> Self {
        match kind {
            FailureKind::Unanswered => Self::Expired,
            _ => Self::Refused,
        }
    }

    /// The word for it in a part of a message.
    pub fn to_part_state(self) -> PartState {
        match self {
            Self::Requested | Self::Asked | Self::Approved | Self::Delegated => PartState::Pending,
            Self::Claimed | Self::Running => PartState::Running,
            Self::Finished => PartState::Completed,
            Self::Failed | Self::Refused | Self::Expired | Self::Unknown => PartState::Error,
        }
    }
}

/// How far a call has come, in the four words that messages have for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PartState {
    // Messages of older versions say `waiting` and `unknown`.
    #[serde(alias = "waiting")]
    Pending,
    Running,
    Completed,
    #[serde(alias = "unknown")]
    Error,
}

/// A call as the model wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    pub id: CallId,
    /// The name the model or its vendor gave to the call; results go back under it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    pub name: String,
    /// The JSON text exactly as written, so that history repeats it byte for byte.
    pub arguments: String,
    /// What was repaired to read the arguments, where they were not JSON as written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repairs: Vec<String>,
}

/// What a tool gives back: one view for the model, one for the person, and the value itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
pub struct ToolOutput {
    /// What the model reads.
    pub text: String,
    /// The value, for programs and plans.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// One line for the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The same where it is a sentence, which the reader's side makes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headline: Option<Box<Notice>>,
    /// Further facts for the person's view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// Files that the call made. The pipeline keeps them with its outcome and shows them as attachments.
    #[serde(skip)]
    pub files: Vec<OutputFile>,
    /// The size of the whole text where `text` is only its beginning; the whole is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole_bytes: Option<u64>,
    /// Where it is from and how far it is to be trusted. The pipeline writes it over whatever a tool may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<Labels>,
}

impl ToolOutput {
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// The title in words, and as a notice for readers of other languages.
    pub fn with_headline(self, title: impl Into<String>, headline: Notice) -> Self {
        Self { headline: Some(Box::new(headline)), ..self.with_title(title) }
    }

    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }
}

/// A file that a tool made, not yet kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputFile {
    pub name: String,
    pub media_type: String,
    pub bytes: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attachment {
    pub media_type: String,
    pub name: String,
    /// Where the bytes are kept, or a `data:` URL for small ones.
    pub url: String,
    /// How many there are, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// Why a call gave no output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    pub kind: FailureKind,
    /// Says what is wrong and how to do better; the model reads it.
    pub message: String,
    /// What a person is told; none where nothing is known beyond the kind and what the tool itself said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<Box<Notice>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// Where its words are from, if not all of them are Helve's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<Box<Labels>>,
}

impl Failure {
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), notice: None, retry_after_ms: None, labels: None }
    }

    /// What a person is told: its notice, or the kind alone.
    pub fn user_notice(&self) -> Notice {
        self.notice.as_deref().cloned().unwrap_or_else(|| Notice::from_failure_kind(self.kind))
    }

    /// With what a person is told.
    #[must_use]
    pub fn with_notice(self, notice: impl Into<Option<Notice>>) -> Self {
        Self { notice: notice.into().map(Box::new), ..self }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    UnknownTool,
    BadArguments,
    /// By a rule or by a person.
    Denied,
    /// A person was asked and did not answer in time.
    Unanswered,
    /// The rate limit was reached.
    Limited,
    /// The breaker is open.
    Unavailable,
    /// The run repeated itself.
    Repeating,
    TimedOut,
    Cancelled,
    /// The tool ran and said no.
    Failed,
}

impl FailureKind {
    pub const ALL: [Self; 10] = [
        Self::UnknownTool,
        Self::BadArguments,
        Self::Denied,
        Self::Unanswered,
        Self::Limited,
        Self::Unavailable,
        Self::Repeating,
        Self::TimedOut,
        Self::Cancelled,
        Self::Failed,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::UnknownTool => "unknown_tool",
            Self::BadArguments => "bad_arguments",
            Self::Denied => "denied",
            Self::Unanswered => "unanswered",
            Self::Limited => "limited",
            Self::Unavailable => "unavailable",
            Self::Repeating => "repeating",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }

    /// Whether the tool was kept from running, as opposed to having run and failed.
    pub fn is_refusal(self) -> bool {
        match self {
            Self::UnknownTool
            | Self::BadArguments
            | Self::Denied
            | Self::Unanswered
            | Self::Limited
            | Self::Unavailable
            | Self::Repeating => true,
            Self::TimedOut | Self::Cancelled | Self::Failed => false,
        }
    }
}

/// What a person says about a call whose outcome was not recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeAnswer {
    Happened,
    DidNotHappen,
    RunAgain,
}

/// What each stage of the pipeline decided, in order. A stage that was not reached is not in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(transparent)]
pub struct Trail(pub Vec<Stage>);

impl Trail {
    pub fn push(&mut self, stage: Stage) {
        self.0.push(stage);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn from_cache(&self) -> bool {
        self.0.iter().any(|stage| matches!(stage, Stage::Cache { found } if found != "miss"))
    }

    pub fn from_fallback(&self) -> bool {
        self.0.iter().any(|stage| matches!(stage, Stage::Fallback { .. }))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "stage", rename_all = "snake_case")]
pub enum Stage {
    Resolve {
        tool: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        repaired_from: Option<String>,
    },
    Check {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
        /// What was repaired in the arguments before they were checked.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        repairs: Vec<String>,
    },
    Judge {
        verdict: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<String>,
    },
    Cache {
        /// `hit`, `miss`, or `shared` with an identical call in flight.
        found: String,
    },
    Limit {
        waited_ms: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refused: Option<String>,
    },
    Breaker {
        state: String,
    },
    Run {
        attempt: u32,
        ms: u64,
    },
    /// A client ran it.
    Client {
        /// As it calls itself.
        name: String,
        /// From the claim to the result.
        ms: u64,
        /// A mark on what it brought, by which the same result is known when it comes again.
        brought: String,
    },
    /// A hook that had something to say.
    Hook {
        name: String,
        /// `changed`, `refused`, or `failed` where it could not be asked.
        did: String,
    },
    /// Something stood in for the tool.
    Fallback {
        /// `last_good`, or the name of the tool that did.
        by: String,
        because: String,
        /// The same for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        notice: Option<Box<Notice>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        age_ms: Option<u64>,
    },
    /// The operator left a guard out for this call.
    Skipped {
        /// `cache` or `limit`.
        guard: String,
    },
    Bound {
        whole_bytes: u64,
        kept_bytes: u64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_of_a_call_reads_back_from_its_name() {
        for state in CallState::ALL {
            assert_eq!(CallState::parse(state.as_str()), Some(state));
            assert_eq!(serde_json::to_value(state).unwrap(), state.as_str());
        }
    }

    #[test]
    fn every_kind_of_failure_reads_back_from_its_name() {
        for kind in FailureKind::ALL {
            assert_eq!(FailureKind::parse(kind.as_str()), Some(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
    }
}
