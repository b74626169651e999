//! Tools that are rows: HTTP endpoints and OpenAPI documents become tools.
//!
//! A definition is read once, when it is made: its template, its transform, its guards. A call then fills the
//! template, leaves through the egress, and turns the answer into an output. Knows no store and no model.

pub mod openapi;

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
        _ = (&self.egress, definition);
        Err(DefinitionError::new("endpoint", "tools over HTTP are not made yet"))
    }
}
