//! A call that gave no output, as answers tell it: a sentence, and the code with what varies in it.
//!
//! The sentence is the one that the model reads. Clients make one in their reader's language from the code.

use std::collections::BTreeMap;

use helve_types::{Failure, Notice};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ToolFailure {
    error: String,
    /// Of `fixtures/codes.json`.
    code: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    params: BTreeMap<String, Value>,
}

impl ToolFailure {
    fn new(error: &str, Notice { code, params }: Notice) -> Self {
        Self { error: error.to_owned(), code, params }
    }

    /// Of a call that was cut off, whose effect may have happened.
    pub(crate) fn unknown(because: &str) -> Self {
        Self::new(because, Notice::call_outcome_unknown())
    }
}

impl From<&Failure> for ToolFailure {
    fn from(failure: &Failure) -> Self {
        Self::new(&failure.message, failure.user_notice())
    }
}
