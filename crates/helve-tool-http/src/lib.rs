//! Tools that are rows: HTTP endpoints and OpenAPI documents become tools.
//!
//! A definition is read once, when it is made: its template, its transform, its guards. A call then fills the
//! template, leaves through the egress, and turns the answer into an output. Knows no store and no model.

mod answer;
mod call;
mod caller;
mod granted;
mod json;
mod make;
pub mod openapi;
mod stream;
mod template;
#[cfg(test)]
mod testing;
mod transform;

use helve_egress::Egress;
use std::sync::Arc;

use helve_tool::{BuiltTool, DefinitionError, SecretNeed, ToolGrants};
use helve_types::ToolDefinition;

/// Reads an environment variable.
pub type ReadVariable = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Makes tools of definitions.
#[derive(Clone)]
pub struct HttpTools {
    egress: Egress,
    variables: ReadVariable,
    /// The port of this server, which no tool reaches with the consent of a request.
    own_port: Option<u16>,
}

impl HttpTools {
    pub fn new(egress: Egress) -> Self {
        Self { egress, variables: Arc::new(|_| None), own_port: None }
    }

    /// With a way to read the variables that the operator binds to single tools.
    pub fn with_variables(self, variables: ReadVariable) -> Self {
        Self { variables, ..self }
    }

    /// Beside a server that listens on this port.
    pub fn with_own_port(self, port: u16) -> Self {
        Self { own_port: Some(port), ..self }
    }

    /// The tool that a definition describes, with its guards and what the operator allows it; or what is wrong with the
    /// definition.
    pub fn build_tool(
        &self,
        definition: &ToolDefinition,
        grants: &Arc<ToolGrants>,
    ) -> Result<BuiltTool, DefinitionError> {
        make::build_tool(self, definition, grants)
    }

    /// The secret that the tool of a definition cannot send now.
    pub fn find_secret_need(&self, definition: &ToolDefinition, grants: &ToolGrants) -> Option<SecretNeed> {
        granted::find_secret_need(self, definition, grants)
    }
}
