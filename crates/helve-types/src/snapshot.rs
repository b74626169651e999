//! Snapshots that hooks take around a model step: what a hook may name one, and how the log keeps it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Notice;

/// How a hook calls a snapshot that it took: a commit, a path, a key of a store of its own.
///
/// Readers put it into addresses and shells, so it has few characters and does not begin with `-`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct SnapshotId(String);

/// Why a text is no id of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotIdError;

impl std::error::Error for SnapshotIdError {}

impl std::fmt::Display for SnapshotIdError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let max = SnapshotId::CHARS_MAX;
        write!(
            f,
            "a snapshot id has 1 to {max} of a-z A-Z 0-9 . _ : / @ + = - and begins with a letter or digit"
        )
    }
}

impl SnapshotId {
    pub const CHARS_MAX: usize = 200;

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for SnapshotId {
    type Error = SnapshotIdError;

    fn try_from(text: String) -> Result<Self, SnapshotIdError> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._:/@+=-".contains(&byte);
        let begins_well = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
        if begins_well && text.len() <= Self::CHARS_MAX && text.bytes().all(is_allowed) {
            Ok(Self(text))
        } else {
            Err(SnapshotIdError)
        }
    }
}

impl From<SnapshotId> for String {
    fn from(id: SnapshotId) -> Self {
        id.0
    }
}

impl std::fmt::Display for SnapshotId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Which end of a model step a hook is asked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepEdge {
    /// Before the model is asked.
    Before,
    /// When the calls of the model's message, if any, are done.
    After,
}

/// What a hook at one end of a step came to: the snapshot that it took, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepSnapshot {
    pub step: u32,
    pub edge: StepEdge,
    /// The name of the hook.
    pub hook: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<SnapshotId>,
    /// The hook failed; the run goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<Box<Notice>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_bounded_and_has_few_characters() {
        for good in ["a", "9f3c2e", "refs/helve/r:1@v+2=x.y_z-1", &"a".repeat(200)] {
            assert!(SnapshotId::try_from(good.to_owned()).is_ok(), "{good}");
        }
        for bad in ["", "-rf", "/etc", "a b", "a\n", "a;b", "$(a)", "é", &"a".repeat(201)] {
            assert!(serde_json::from_value::<SnapshotId>(bad.into()).is_err(), "{bad}");
        }
    }
}
