//! Tools that are rows: HTTP endpoints and OpenAPI documents become tools.
//!
//! A definition is read once, when it is made: its template, its transform, its guards. A call then fills the
//! template, leaves through the egress, and turns the answer into an output. Knows no store and no model.

mod answer;
mod call;
mod json;
mod make;
pub mod openapi;
mod stream;
mod template;
#[cfg(test)]
mod testing;
mod transform;

use helve_egress::Egress;
use helve_tool::{DefinitionError, Made};
use helve_types::ToolDefinition;

/// Makes tools of definitions.
#[derive(Debug, Clone)]
pub struct HttpTools {
    egress: Egress,
}

impl HttpTools {
    pub fn new(egress: Egress) -> Self {
        Self { egress }
    }

    /// The tool that a definition describes, with its guards; or what is wrong with the definition.
    pub fn make(&self, definition: &ToolDefinition) -> Result<Made, DefinitionError> {
        make::make(self, definition)
    }
}
