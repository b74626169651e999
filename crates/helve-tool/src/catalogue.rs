//! The tools that are rows: made when they are written, kept in the store, registered with the others.

use std::sync::Arc;

use helve_types::ToolDefinition;

use crate::{Guards, Tool};

/// A tool with its guards.
pub type Made = (Arc<dyn Tool>, Guards);

/// Turns a definition into a tool.
pub type Maker = Arc<dyn Fn(&ToolDefinition) -> Result<Made, DefinitionError> + Send + Sync>;

/// What is wrong with a definition, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{field}`: {problem}")]
pub struct DefinitionError {
    /// The way to the field, such as `endpoint.url_template`.
    pub field: String,
    /// What is wrong and what to do about it.
    pub problem: String,
}

impl DefinitionError {
    pub fn new(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { field: field.into(), problem: problem.into() }
    }
}
