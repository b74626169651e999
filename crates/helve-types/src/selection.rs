//! Which operations of an API are meant.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which operations: all if nothing is said. Several kinds narrow each other, several of one kind add to each other.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Selection {
    pub tags: Vec<String>,
    /// With `*` for anything inside of a segment and `**` for anything at all: `/repos/**`.
    pub paths: Vec<String>,
    pub methods: Vec<String>,
    /// By `operationId`.
    pub operations: Vec<String>,
    pub exclude_tags: Vec<String>,
    pub exclude_paths: Vec<String>,
    pub exclude_operations: Vec<String>,
}

impl Selection {
    pub fn is_everything(&self) -> bool {
        *self == Self::default()
    }
}
