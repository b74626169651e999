//! Ids: one type for each thing, so that a run is never looked up by a conversation's id.
//!
//! Runs, conversations, messages and approvals have 128-bit ids; a call's id is its place in its run, so the
//! same call has the same id after a crash. Users are named by the operator or the client, not by us.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Text that is not the id it was taken for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdError {
    kind: &'static str,
    text: String,
}

impl fmt::Display for IdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: String = self.text.chars().take(60).collect();
        write!(f, "`{shown}` is not a {} id", self.kind)
    }
}

impl std::error::Error for IdError {}

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
        )]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                Uuid::parse_str(text)
                    .map(Self)
                    .map_err(|_| IdError { kind: $kind, text: text.to_owned() })
            }
        }
    };
}

uuid_id!(
    /// One execution of one agent on one input.
    RunId,
    "run"
);
uuid_id!(
    /// A series of messages between a person and an agent.
    ConversationId,
    "conversation"
);
uuid_id!(
    /// One message of a conversation.
    MessageId,
    "message"
);
uuid_id!(
    /// A question put to a person; random, so that it cannot be guessed.
    ApprovalId,
    "approval"
);
uuid_id!(
    /// A definition that is kept; it keeps its id however often it changes.
    RowId,
    "row"
);

/// A person or program that uses Helve.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct UserId(pub String);

impl UserId {
    const BYTES_MAX: usize = 128;

    /// Takes any printable name of reasonable length: it comes from a client and ends up in logs.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        let text = text.trim();
        if text.is_empty() || text.len() > Self::BYTES_MAX || text.chars().any(char::is_control) {
            return Err(IdError { kind: "user", text: text.to_owned() });
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for UserId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A tool call's place in its run: `run:step:index`. It is also the key under which its effect happens.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct CallId(String);

impl CallId {
    pub fn new(run: RunId, step: u32, index: u32) -> Self {
        Self(format!("{run}:{step}:{index}"))
    }

    /// The id of the call that a person ordered in place of this one.
    pub fn again(&self) -> Self {
        Self(format!("{}+", self.0))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn run(&self) -> Option<RunId> {
        self.0.split(':').next()?.parse().ok()
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for CallId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let wrong = || IdError { kind: "call", text: text.to_owned() };
        let mut pieces = text.trim_end_matches('+').split(':');
        let (Some(run), Some(step), Some(index), None) =
            (pieces.next(), pieces.next(), pieces.next(), pieces.next())
        else {
            return Err(wrong());
        };
        run.parse::<RunId>().map_err(|_| wrong())?;
        step.parse::<u32>().map_err(|_| wrong())?;
        index.parse::<u32>().map_err(|_| wrong())?;
        Ok(Self(text.to_owned()))
    }
}

/// A piece of a message while it is being written: `step.attempt.n`, or the id of a call for its progress.
///
/// The attempt is in it, so that text of a failed attempt is never taken for text of the next.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct PartId(String);

impl PartId {
    pub fn new(step: u32, attempt: u32, n: u32) -> Self {
        Self(format!("{step}.{attempt}.{n}"))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&CallId> for PartId {
    fn from(call: &CallId) -> Self {
        Self(call.0.clone())
    }
}

impl fmt::Display for PartId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_id_reads_back_what_it_was_made_of() {
        let run = RunId(Uuid::from_u128(7));
        let id = CallId::new(run, 2, 1);
        assert_eq!(id.as_str().parse::<CallId>(), Ok(id.clone()));
        assert_eq!(id.run(), Some(run));
        assert_eq!(id.again().as_str().parse::<CallId>(), Ok(id.again()));
    }

    #[test]
    fn text_that_is_no_id_is_named_in_the_error() {
        let wrong = "../etc/passwd".parse::<RunId>().unwrap_err();
        assert_eq!(wrong.to_string(), "`../etc/passwd` is not a run id");
        for text in ["", "a:b:c", "1:2", "0190163d-8694-739b-aea5-966c26f8ad91:1:0:9"] {
            assert!(text.parse::<CallId>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_user_name_with_control_characters_is_refused() {
        assert!(UserId::parse("mei 梅").is_ok());
        assert!(UserId::parse("  ").is_err());
        assert!(UserId::parse("a\nb").is_err());
        assert!(UserId::parse(&"x".repeat(129)).is_err());
    }
}
