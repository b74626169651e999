//! Ids: one type for each thing, so that a run is never looked up by a conversation's id.
//!
//! Runs, conversations, messages and approvals have 128-bit ids; a call's id is its place in its run, so the
//! same call has the same id after a crash. Users are named by the operator or the client, not by us.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
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

/// A tool call's position in its run, written `run:step:index`. It is also the key under which its effect happens.
///
/// A call that a person ordered in place of another one has the same position and a `+` more at the end of its text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId {
    pub run: RunId,
    pub step: u32,
    /// Which call of the step's message it is, from 0.
    pub index: u32,
    /// How many calls at this position it replaces, one after the other.
    pub repetition: u32,
}

impl CallId {
    pub fn new(run: RunId, step: u32, index: u32) -> Self {
        Self { run, step, index, repetition: 0 }
    }

    /// Its position as people are shown it in a list of the calls of one run, where the run needs no mention.
    pub fn position(&self) -> String {
        let mut position = format!("{}:{}", self.step, self.index);
        position.extend((0..self.repetition).map(|_| '+'));
        position
    }

    /// The id of the call that a person ordered in place of this one.
    #[must_use]
    pub fn next_repetition(&self) -> Self {
        Self { repetition: self.repetition.saturating_add(1), ..self.clone() }
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.run, self.step, self.index)?;
        (0..self.repetition).try_for_each(|_| f.write_str("+"))
    }
}

impl FromStr for CallId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let read = || {
            let position = text.trim_end_matches('+');
            let repetition = u32::try_from(text.len() - position.len()).ok()?;
            let mut pieces = position.split(':');
            let run = pieces.next()?.parse().ok()?;
            let (step, index) = (parse_number(pieces.next()?)?, parse_number(pieces.next()?)?);
            pieces.next().is_none().then_some(Self { run, step, index, repetition })
        };
        read().ok_or_else(|| IdError { kind: "call", text: text.to_owned() })
    }
}

/// The number, if it is written as `Display` writes it: one call has one text.
fn parse_number(text: &str) -> Option<u32> {
    let number: u32 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

impl Serialize for CallId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CallId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'_, str>::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

impl JsonSchema for CallId {
    fn schema_name() -> Cow<'static, str> {
        "CallId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A tool call's position in its run, written `run:step:index`. It is also the key under which its effect happens.\n\nA call that a person ordered in place of another one has the same position and a `+` more at the end of its text.",
            "type": "string"
        })
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
        Self(call.to_string())
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
    fn a_call_id_reads_back_from_its_text_and_from_json() {
        let run = RunId(Uuid::from_u128(7));
        let id = CallId::new(run, 2, 1);
        assert_eq!(id.to_string(), format!("{run}:2:1"));
        assert_eq!(id.next_repetition().next_repetition().to_string(), format!("{run}:2:1++"));
        assert_eq!(id.next_repetition().position(), "2:1+");
        for id in [id.clone(), id.next_repetition(), id.next_repetition().next_repetition()] {
            assert_eq!(id.to_string().parse(), Ok(id.clone()));
            let json = serde_json::to_string(&id).unwrap();
            assert_eq!(json, format!("\"{id}\""));
            assert_eq!(serde_json::from_str::<CallId>(&json).unwrap(), id);
        }
        assert!(serde_json::from_str::<CallId>("\"a:1:2\"").is_err());
    }

    #[test]
    fn calls_are_ordered_by_number_and_a_repetition_follows_what_it_repeats() {
        let run = RunId(Uuid::from_u128(7));
        let mut ids =
            [CallId::new(run, 10, 0), CallId::new(run, 2, 1).next_repetition(), CallId::new(run, 2, 1)];
        ids.sort();
        assert_eq!(ids.map(|id| (id.step, id.index, id.repetition)), [(2, 1, 0), (2, 1, 1), (10, 0, 0)]);
    }

    #[test]
    fn text_that_is_no_id_is_named_in_the_error() {
        let wrong = "../etc/passwd".parse::<RunId>().unwrap_err();
        assert_eq!(wrong.to_string(), "`../etc/passwd` is not a run id");
        for text in ["", "a:b:c", "1:2", "++"] {
            assert!(text.parse::<CallId>().is_err(), "{text}");
        }
        for rest in ["1:0:9", "1", "+1:0", "01:0", "1:-0", "1:0+0", "4294967296:0", " 1:0"] {
            let text = format!("0190163d-8694-739b-aea5-966c26f8ad91:{rest}");
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
